package amd64

import (
	"strings"
	"testing"
	"unsafe"
)

// This file tests the states of the entry code in which no test can stop a machine: those of NMIs,
// and switches of stacks. qemu's TestEveryEntryInstruction stops in each of the others.

// words is memory.
type words map[uintptr]uintptr

func (w words) load(a uintptr) (uintptr, bool) {
	v, ok := w[a]
	return v, ok
}

const (
	ripAt  = 0x1000 // where a trap's RIP has been pushed
	wasPC  = 0x111
	wasSP  = 0x222
	wasBP  = 0x333
	atTrap = 14
)

// trapped returns the words that the CPU and the entry code have pushed.
func trapped() words {
	return words{ripAt + 24: wasSP, ripAt: wasPC, ripAt - 8: 7, ripAt - 16: atTrap, ripAt - 24: TrapMark, ripAt - 32: wasBP}
}

func TestAtEntry(t *testing.T) {
	vectors, entry, leave, ret, nmi, fpu := entryAddrs()
	irq, pf := vectors+32*vectorStub, vectors+14*vectorStub
	for _, tt := range []struct {
		name   string
		pc, sp uintptr
		state  EntryState
		vector uintptr
	}{
		{"interrupt", irq, ripAt, EntryBare, 32},
		{"interrupt, error pushed", irq + 2, ripAt - 8, EntryBare, 32},
		{"interrupt, vector pushed", irq + 7, ripAt - 16, EntryBare, 32},
		{"page fault", pf, ripAt - 8, EntryBare, 14},
		{"page fault, vector pushed", pf + 5, ripAt - 16, EntryBare, 14},
		{"last vector", vectors + 255*vectorStub + 7, ripAt - 16, EntryBare, 255},
		{"behind the vectors", vectors + 256*vectorStub, ripAt, NoEntry, 0},
		{"before the vectors", vectors - 1, ripAt, NoEntry, 0},
		{"trapEntry", entry, ripAt - 16, EntryBare, atTrap},
		{"trapEntry, inside another trap", entry + 12, ripAt - 16, EntryBare, atTrap},
		{"trapEntry, free", entry + trapPush, ripAt - 16, EntryBare, atTrap},
		{"trapEntry, mark pushed", entry + trapPush + 6, ripAt - 24, EntryBare, atTrap},
		{"trapEntry, BP pushed", entry + trapPush + 7, ripAt - 32, EntryBare, atTrap},
		{"trapLeave", leave, ripAt - 32, EntryBare, atTrap},
		{"trapLeave, BP popped", leave + 1, ripAt - 24, EntryBare, atTrap},
		{"trapLeave, IRETQ", leave + 5, ripAt, EntryBare, atTrap},
		{"behind trapLeave", leave + trapLeaveSize, ripAt, NoEntry, 0},
		{"trapReturn", ret, ripAt - 32, EntryBare, atTrap},
		{"trapReturn, BP popped", ret + 1, ripAt - 24, EntryBare, atTrap},
		{"trapReturn, RSP not changed", ret + 5, ripAt, EntryBare, atTrap},
		{"behind trapReturn", ret + trapReturnSize, ripAt, NoEntry, 0},
		{"nmiEntry", nmi, ripAt - 16, EntryBare, atTrap},
		{"nmiEntry, dropping", nmi + 20, ripAt - 16, EntryBare, atTrap},
		{"nmiEntry, IRETQ", nmi + 24, ripAt, EntryBare, atTrap},
		{"behind nmiEntry", nmi + nmiEntrySize, ripAt, NoEntry, 0},
		{"fpuEntry", fpu, ripAt - 16, EntryBare, atTrap},
		{"fpuEntry, AX pushed", fpu + 1, ripAt - 24, EntryBare, atTrap},
		{"fpuEntry, AX popped", fpu + fpuEntryLast, ripAt - 16, EntryBare, atTrap},
		{"behind fpuEntry", fpu + fpuEntrySize, ripAt, NoEntry, 0},
	} {
		bp := uintptr(wasBP)
		if tt.pc == leave {
			bp = 0x999 // resume's caller's; the thread's is in the record
		}
		i, s := AtEntry(new(CPU), tt.pc, tt.sp, bp, 0, 0, trapped().load)
		want := Interrupted{Trap: tt.vector, PC: wasPC, SP: wasSP, FP: wasBP}
		if tt.sp < ripAt {
			want.Error = 7
		}
		if tt.pc == leave+5 || tt.pc == ret+5 || tt.pc == nmi+24 {
			want.Error = 7 // still below the stack pointer
		}
		if s != tt.state || s == EntryBare && i != want {
			t.Errorf("%s: %+v, %d; want %+v, %d", tt.name, i, s, want, tt.state)
		}
		if lo, hi := EntryBounds(); s != NoEntry && (tt.pc < lo || tt.pc >= hi) {
			t.Errorf("%s: not within EntryBounds", tt.name)
		}
		if got := inEntry(tt.pc); got != (s != NoEntry) && !strings.HasPrefix(tt.name, "behind trap") && !strings.HasPrefix(tt.name, "behind nmi") {
			t.Errorf("%s: inEntry: %v", tt.name, got)
		}
		// Memory that cannot be read.
		if _, s := AtEntry(new(CPU), tt.pc, tt.sp, bp, 0, 0, words{}.load); s == EntryBare {
			t.Errorf("%s: something is found in no memory", tt.name)
		}
	}
	// trapReturn with the interrupted RSP, less a word: when it is in memory, and when it is in RSP
	// already.
	m := trapped()
	m[ripAt+24] = wasSP - 8
	m[wasSP-8] = wasPC
	for off, sp := range map[uintptr]uintptr{11: ripAt, 16: wasSP - 8} {
		if i, s := AtEntry(new(CPU), ret+off, sp, wasBP, 0, 0, m.load); s != EntryBare || i.PC != wasPC || i.SP != wasSP || i.FP != wasBP {
			t.Errorf("trapReturn+%d: %+v, %d", off, i, s)
		}
	}
}

func TestAtSyscallEntry(t *testing.T) {
	const top, frame = 0x8000, 0x5000
	c := CPU{syscallTop: top, userSP: wasSP, resumed: frame}
	want := Interrupted{VectorSyscall, 39, wasPC, wasSP, wasBP}
	for _, sp := range []uintptr{wasSP, top, top - 8, top - 64, top - 72} {
		if i, s := c.atSyscall(sp, wasBP, 39, wasPC); s != EntryBare || i != want {
			t.Errorf("syscallEntry with RSP %#x: %+v, %d; want %+v", sp, i, s, want)
		}
	}
	if _, s := c.atSyscall(top-0x100, top-72, 39, wasPC); s != EntryRecord {
		t.Errorf("syscallEntry with its record: %d", s)
	}
	// resume: on the kernel's stack, then while it pops the thread's frame.
	bp := frame + unsafe.Offsetof(TrapFrame{}.FP)
	m := words{bp: wasBP, bp + 16: VectorSyscall, bp + 24: 39, bp + 32: wasPC, bp + 56: wasSP}
	if _, s := c.atResume(top-0x100, m.load); s != NoEntry {
		t.Errorf("resume on the kernel's stack: %d", s)
	}
	for sp := uintptr(frame); sp <= bp; sp += 8 {
		if i, s := c.atResume(sp, m.load); s != EntryBare || i != want {
			t.Errorf("resume at %#x: %+v, %d; want %+v", sp, i, s, want)
		}
	}
}

// TestAtOnStack: on the old stack the pc tables are right; on the new one the record is.
func TestAtOnStack(t *testing.T) {
	lo, _ := onStackCode()
	const record = 0x7000
	m := words{record: wasBP, record + 8: TrapMark, record + 16: VectorCall, record + 24: 0, record + 32: wasPC, record + 56: wasSP, wasSP: 1}
	if _, s := AtEntry(new(CPU), lo, wasSP, wasBP, 0, 0, m.load); s != NoEntry {
		t.Errorf("on the old stack: %d", s)
	}
	if i, s := AtEntry(new(CPU), lo, record-16, wasBP, 0, 0, m.load); s != EntryBare || i != (Interrupted{VectorCall, 0, wasPC, wasSP, wasBP}) {
		t.Errorf("on the new stack: %+v, %d", i, s)
	}
	if _, s := AtEntry(new(CPU), lo, record-16, record, 0, 0, m.load); s != EntryRecord {
		t.Errorf("with the record: %d", s)
	}
}
