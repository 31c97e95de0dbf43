package amd64

import (
	"testing"
	"unsafe"
)

// TestDR7: SDM Vol. 3B, figure 18-1 and table 18-2.
func TestDR7(t *testing.T) {
	for _, tt := range []struct {
		w    [NumWatches]Watch
		want uint64
	}{
		{[NumWatches]Watch{}, 0x400},
		{[NumWatches]Watch{{Addr: 8, Size: 8}}, 0x0009_0402},
		{[NumWatches]Watch{{Addr: 8, Size: 1, Reads: true}, {Addr: 2, Size: 2}}, 0x0053_040a},
		{[NumWatches]Watch{{}, {}, {Addr: 4, Size: 4}, {Addr: 4, Size: 4, Reads: true}}, 0xfd00_04a0},
	} {
		if got := dr7Of(&tt.w); got != tt.want {
			t.Errorf("DR7 for %+v is %#x; want %#x", tt.w, got, tt.want)
		}
	}
}

// TestBehindAccess: the pc is at a repeated instruction that has more to do, and after any other.
func TestBehindAccess(t *testing.T) {
	for _, tt := range []struct {
		name   string
		code   []byte
		count  uintptr
		flags  uintptr
		behind bool
	}{
		{"rep movsb, more to do", []byte{0xf3, 0xa4, 0x90}, 3, flagResume, false},
		{"rep stosq, more to do", []byte{0xf3, 0x48, 0xab}, 1, flagResume, false},
		{"rep movsb comes next", []byte{0xf3, 0xa4, 0x90}, 3, 0, true},
		{"rep movsb, over", []byte{0xf3, 0xa4, 0x90}, 0, flagResume, true},
		{"another one with that prefix", []byte{0xf3, 0x0f, 0x10}, 3, flagResume, true},
		{"any", []byte{0x48, 0x89, 0xc3}, 3, 0, true},
	} {
		f := TrapFrame{PC: uintptr(unsafe.Pointer(&tt.code[0])), CX: tt.count, RFLAGS: tt.flags}
		if got := f.BehindAccess(); got != tt.behind {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.behind)
		}
	}
}
