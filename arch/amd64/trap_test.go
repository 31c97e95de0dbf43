package amd64

import (
	"encoding/binary"
	"testing"
	"unsafe"
)

// TestVectorStubs decodes the 256 stubs by hand: each pushes an error code
// where the CPU does not, then its vector, and jumps to the entry code.
func TestVectorStubs(t *testing.T) {
	// Vectors whose error code the CPU pushes (SDM Vol. 3A, table 6-1; APM Vol.
	// 2, 8.4): #DF #TS #NP #SS #GP #PF #AC #CP #VC #SX.
	withCode := map[int]bool{8: true, 10: true, 11: true, 12: true, 13: true, 14: true, 17: true, 21: true, 29: true, 30: true}
	base, entry, leave, ret, nmi, fpu := entryAddrs()
	code := unsafe.Slice((*byte)(Pointer(base)), 256*vectorStub)
	targets := map[uintptr][]int{}
	for v := 0; v < 256; v++ {
		s := code[v*vectorStub : (v+1)*vectorStub]
		if !withCode[v] {
			if s[0] != 0x6a || s[1] != 0 {
				t.Errorf("stub %d begins % x; want a push of 0", v, s[:2])
			}
			s = s[2:]
		}
		if s[0] != 0x68 || binary.LittleEndian.Uint32(s[1:]) != uint32(v) {
			t.Errorf("stub %d pushes % x; want 68 and its vector", v, s[:5])
		}
		if s[5] != 0xe9 {
			t.Fatalf("stub %d has % x; want a jump", v, s[5:])
		}
		next := uintptr(unsafe.Pointer(&s[0])) + 10
		target := next + uintptr(int64(int32(binary.LittleEndian.Uint32(s[6:]))))
		targets[target] = append(targets[target], v)
	}
	if len(targets) != 3 || len(targets[entry]) != 253 || len(targets[fpu]) != 2 {
		t.Errorf("the stubs jump to %d places, %d to trapEntry; want 3, 253", len(targets), len(targets[entry]))
	}
	// AtEntry relies on these lengths of instructions.
	for _, tt := range []struct {
		name string
		addr uintptr
		code string
	}{
		{"trapEntry, at its push of the mark", entry + trapPush, "\xff\x35....\x55\x48\x89\xe5"},
		{"trapLeave", leave, "\x5d\x48\x83\xc4\x18\x48\xcf"},
		{"trapReturn", ret, "\x5d\x48\x83\xc4\x18\x48\x83\x6c\x24\x18\x08\x48\x8b\x64\x24\x18\xc3"},
		{"nmiEntry", nmi, "\x83\x3d....\x00\x75\x05\xe9....\xff\x05....\x48\x83\xc4\x10\x48\xcf"},
		{"fpuEntry", fpu, "\x50\x48\x8b\x05....\x48\x85\xc0\x74\x03\x0f\x22\xe0\x0f\x20\xc0\x48\x83\xe0\xf3\x0f\x22\xc0\x58\xe9"},
	} {
		for i, b := range unsafe.Slice((*byte)(Pointer(tt.addr)), len(tt.code)) {
			if tt.code[i] != '.' && b != tt.code[i] {
				t.Errorf("%s+%d is %#x; want %#x", tt.name, i, b, tt.code[i])
			}
		}
	}
	for target, vs := range targets {
		if len(vs) == 1 && vs[0] != VectorNMI {
			t.Errorf("only vector %d jumps to %#x; want only the NMI to have an entry of its own", vs[0], target)
		}
	}
}

// TestTrapFrame: the upper part of a TrapFrame is the tracer's trap record.
func TestTrapFrame(t *testing.T) {
	var f TrapFrame
	base := unsafe.Offsetof(f.FP)
	for _, tt := range []struct {
		name      string
		got, want uintptr
	}{
		{"Mark", unsafe.Offsetof(f.Mark) - base, 8},
		{"Vector", unsafe.Offsetof(f.Trap) - base, 16},
		{"Error", unsafe.Offsetof(f.Error) - base, 24},
		{"RIP", unsafe.Offsetof(f.PC) - base, 32},
		{"RSP", unsafe.Offsetof(f.SP) - base, 56},
		{"end", unsafe.Sizeof(f) - base, 72},
		{"BP above the start, as trapEntry's LEAQ has it", base, 17 * 8},
	} {
		if tt.got != tt.want {
			t.Errorf("offset of %s = %d; want %d", tt.name, tt.got, tt.want)
		}
	}
}

// TestISTOf: vectors that can strike inside each other's handlers have stacks
// of their own.
func TestISTOf(t *testing.T) {
	for v, want := range map[int]int{0: ISTException, 2: ISTNMI, 3: ISTDebug, 1: ISTDebug, 6: ISTException, 8: ISTDouble,
		13: ISTException, 14: ISTPageFault, 18: ISTMachine, 31: ISTException, 32: ISTInterrupt, 255: ISTInterrupt} {
		if got := ISTOf(v); got != want {
			t.Errorf("ISTOf(%d) = %d; want %d", v, got, want)
		}
	}
}

func TestSetIST(t *testing.T) {
	var c CPU
	for slot := 1; slot < NumIST; slot++ {
		lo, top := uintptr(slot)<<32, uintptr(slot)<<32+0x4000
		c.SetIST(slot, lo, top)
		if gotLo, gotTop := c.IST(slot); gotLo != lo || gotTop != top {
			t.Errorf("IST(%d) = %#x, %#x; want %#x, %#x", slot, gotLo, gotTop, lo, top)
		}
	}
	// The last slot ends 8 bytes before reserved words and the I/O map base (SDM
	// Vol. 3A, figure 7-11): offset 36 + 7*8 = 92.
	if got := (tssIST + 2*NumIST - 2) * 4; got != 92 {
		t.Errorf("IST ends at byte %d of the TSS; want 92", got)
	}
}
