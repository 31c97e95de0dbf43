package tracer

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// TestBehindCall: each form of a call instruction is recognized from its end, and none where there
// is none (SDM Vol. 2A, tables 2-2 and 2-3).
func TestBehindCall(t *testing.T) {
	tests := []struct {
		arch *Arch
		code string
		want bool
	}{
		{&AMD64, "\xe8\x01\x02\x03\x04", true},         // CALL rel32
		{&AMD64, "\xff\xd0", true},                     // CALL AX
		{&AMD64, "\x41\xff\xd4", true},                 // CALL R12
		{&AMD64, "\xff\x12", true},                     // CALL (DX)
		{&AMD64, "\xff\x14\x24", true},                 // CALL (SP)
		{&AMD64, "\xff\x14\xc5\x01\x02\x03\x04", true}, // CALL disp32(AX*8)
		{&AMD64, "\xff\x51\x18", true},                 // CALL 0x18(CX)
		{&AMD64, "\x41\xff\x54\x24\x18", true},         // CALL 0x18(R12)
		{&AMD64, "\xff\x92\x01\x02\x03\x04", true},     // CALL disp32(DX)
		{&AMD64, "\xff\x94\x24\x01\x02\x03\x04", true}, // CALL disp32(SP)
		{&AMD64, "\xff\x15\x01\x02\x03\x04", true},     // CALL disp32(IP)
		{&AMD64, "\xe9\x01\x02\x03\x04", false},        // JMP rel32
		{&AMD64, "\xff\xe0", false},                    // JMP AX
		{&AMD64, "\xff\x34\x24", false},                // PUSHQ (SP)
		{&AMD64, "\xff\x92\x01\x02\x03", false},        // the end of the number is missing
		{&AMD64, "\x48\x89\xe5", false},                // MOVQ SP, BP
		{&AMD64, "\x90\x90", false},                    // NOP
		{&ARM64, "\x01\x00\x00\x94", true},             // BL
		{&ARM64, "\x20\x00\x3f\xd6", true},             // BLR X1
		{&ARM64, "\x01\x00\x00\x14", false},            // B
		{&ARM64, "\x20\x00\x1f\xd6", false},            // BR X1
		{&ARM64, "\xc0\x03\x5f\xd6", false},            // RET
	}
	for _, tt := range tests {
		code := append(bytes.Repeat([]byte{0}, 16), tt.code...)
		end := uintptr(unsafe.Pointer(unsafe.SliceData(code))) + uintptr(len(code))
		if got := tt.arch.behindCall(end); got != tt.want {
			t.Errorf("behind % x: %v, want %v", tt.code, got, tt.want)
		}
		runtime.KeepAlive(code)
	}
}

// TestReturns: a return can go to this test's caller, and to no other address.
func TestReturns(t *testing.T) {
	table, _ := ownTable(t)
	var pcs [64]uintptr
	n := runtime.Callers(1, pcs[:])
	here := pcs[0]
	for _, ra := range pcs[:n] {
		if f := runtime.FuncForPC(ra); strings.HasPrefix(f.Name(), "runtime.Callers") {
			continue
		}
		for _, pc := range []uintptr{here, 8} { // 8 is in no function
			if !table.Returns(pc, ra) {
				t.Errorf("Returns(%#x, %#x) = false, behind a call in %s", pc, ra, runtime.FuncForPC(ra).Name())
			}
			for _, no := range []uintptr{8, ra + 1} {
				if table.Returns(pc, no) {
					t.Errorf("Returns(%#x, %#x) = true, behind no call", pc, no)
				}
			}
		}
	}
}
