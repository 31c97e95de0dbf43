package amd64

import "unsafe"

// How a walk passes the entry code when something strikes in it: an NMI, a machine check or a
// breakpoint anywhere, a fault if there is a bug. While a trap's record exists and RBP leads to it,
// a walk needs no help. Before that, and while the record is being taken down, RBP is still, or
// already again, the interrupted code's, and what was interrupted is elsewhere: where the CPU
// pushed it, in the registers in which SYSCALL leaves it, or in the frame of the thread that is
// being resumed.

// EntryState says how a walk passes code of this package.
type EntryState uint8

const (
	// NoEntry: like any other code.
	NoEntry EntryState = iota
	// EntryRecord: RBP leads to a record; the pc tables are not valid.
	EntryRecord
	// EntryBare: RBP leads to no record, and what was interrupted is in an Interrupted.
	EntryBare
)

// Interrupted is what a trap, a system call or a switch of stacks interrupted, or where the exit
// from one returns to.
type Interrupted struct {
	Trap, Error uintptr
	PC, SP, FP  uintptr // PC is a return address if Trap is VectorCall
}

// EntryBounds bounds the code that AtEntry knows: lo <= pc < hi.
func EntryBounds() (lo, hi uintptr) {
	enter, _, hi1 := entryCode()
	vectors, entry, _, _, _, fpu := entryAddrs()
	stackLo, stackHi := onStackCode()
	return min(enter, entry, vectors, stackLo),
		max(hi1, fpu+fpuEntrySize, vectors+256*vectorStub, stackHi)
}

// Lengths of functions of trap_amd64.s in bytes, and of their parts.
const (
	trapPush       = 0x14f // trapEntry: where PUSHQ trapMark is
	trapMarkPush   = 6
	trapBPPush     = 1 // PUSHQ BP
	trapRecordMade = trapPush + 10
	trapLeaveSize  = 7
	trapReturnSize = 17
	nmiEntrySize   = 26
	nmiEntryLast   = 24
	fpuEntrySize   = 32
	fpuEntryLast   = 27
)

// EntryRegisters returns the registers that AtEntry needs besides SP and FP.
func EntryRegisters(r []uintptr) (a, b uintptr) { return r[regAX], r[regCX] }

// EntryRegistersAt is EntryRegisters for a trap record. load is as in AtEntry.
func EntryRegistersAt(record uintptr, load func(uintptr) (uintptr, bool)) (a, b uintptr) {
	f := record - unsafe.Offsetof(TrapFrame{}.FP)
	a, _ = load(f + unsafe.Offsetof(TrapFrame{}.AX))
	b, _ = load(f + unsafe.Offsetof(TrapFrame{}.CX))
	return a, b
}

// AtEntry tells how a walk passes an exact pc of a CPU, with these values of RSP, RBP, RAX and RCX
// there. load reads the word at an address, and returns false if it cannot. Kernel context.
func AtEntry(c *CPU, pc, sp, bp, ax, cx uintptr,
	load func(uintptr) (uintptr, bool)) (i Interrupted, s EntryState) {
	enter, resume, end := entryCode()
	vectors, entry, leave, ret, nmi, fpu := entryAddrs()
	stackLo, stackHi := onStackCode()
	switch {
	case pc-enter < resume-enter:
		return c.atSyscall(sp, bp, ax, cx)
	case pc-resume < end-resume:
		return c.atResume(sp, load)
	case pc-vectors < 256*vectorStub:
		return atVector(pc-vectors, sp, bp, load)
	case pc-entry <= trapPush:
		return pushed(sp+16, bp, load)
	case pc-entry < leave-entry:
		switch pc - entry {
		case trapPush + trapMarkPush:
			return pushed(sp+24, bp, load)
		case trapPush + trapMarkPush + trapBPPush:
			return pushed(sp+32, bp, load)
		}
		return i, EntryRecord
	case pc == leave, pc == ret:
		return record(sp, load)
	case pc == leave+1, pc == ret+1:
		return pushed(sp+24, bp, load)
	case pc == leave+5, pc == ret+5, pc == nmi+nmiEntryLast:
		return pushed(sp, bp, load)
	case pc == ret+11:
		i, s = pushed(sp, bp, load)
		i.SP += 8
		return i, s
	case pc == ret+16:
		// The record lies below the stack pointer's path; its vector is lost.
		i.Trap = VectorPF
		i.PC, i.SP, i.FP = 0, sp+8, bp
		if v, ok := load(sp); ok {
			i.PC = v
			return i, EntryBare
		}
		return i, NoEntry
	case pc-nmi < nmiEntryLast, pc == fpu, pc == fpu+fpuEntryLast:
		return pushed(sp+16, bp, load)
	case pc-fpu < fpuEntryLast:
		return pushed(sp+24, bp, load)
	case pc-stackLo < stackHi-stackLo:
		// The record lies above 16 bytes while SP is on the new stack.
		if mark, ok := load(sp + 16 + 8); !ok || mark != TrapMark {
			return i, NoEntry
		}
		if bp == sp+16 {
			return i, EntryRecord
		}
		return record(sp+16, load)
	}
	return i, NoEntry
}

// atVector is AtEntry for the stubs of the vectors, at bytes into them.
func atVector(at, sp, bp uintptr,
	load func(uintptr) (uintptr, bool)) (i Interrupted, s EntryState) {
	v, off := at/vectorStub, at%vectorStub
	rip := sp
	if v < 32 && errorCodes>>v&1 != 0 {
		rip += 8 // pushed by the CPU
		if off != 0 {
			rip += 8
		}
	} else if off != 0 {
		rip += 8
		if off != 2 {
			rip += 8
		}
	}
	i.Trap = v
	if rip != sp {
		i.Error, _ = load(rip - 8)
	}
	return gate(i, rip, bp, load)
}

// atSyscall is AtEntry for syscallEntry.
func (c *CPU) atSyscall(sp, bp, ax, cx uintptr) (i Interrupted, s EntryState) {
	if bp == c.syscallTop-recordSize {
		return i, EntryRecord
	}
	i = Interrupted{Trap: VectorSyscall, Error: ax, PC: cx, SP: sp, FP: bp}
	if c.syscallTop-sp <= recordSize { // on the kernel's stack
		i.SP = c.userSP
	}
	return i, EntryBare
}

// atResume is AtEntry for resume.
func (c *CPU) atResume(sp uintptr,
	load func(uintptr) (uintptr, bool)) (i Interrupted, s EntryState) {
	if sp-c.resumed >= unsafe.Sizeof(TrapFrame{}) {
		return i, NoEntry // still on the kernel's stack
	}
	return record(c.resumed+unsafe.Offsetof(TrapFrame{}.FP), load)
}

// recordSize is the size of a trap record: a TrapFrame from BP up.
const recordSize = unsafe.Sizeof(TrapFrame{}) - unsafe.Offsetof(TrapFrame{}.FP)

// record reads the record at a, to which RBP does not lead.
func record(a uintptr, load func(uintptr) (uintptr, bool)) (i Interrupted, s EntryState) {
	bp, ok := load(a)
	if !ok {
		return i, NoEntry
	}
	return pushed(a+32, bp, load)
}

// pushed reads what the CPU and the stub pushed: RIP at the address rip, error code and vector
// below it.
func pushed(rip, bp uintptr, load func(uintptr) (uintptr, bool)) (i Interrupted, s EntryState) {
	i.Error, _ = load(rip - 8)
	i.Trap, _ = load(rip - 16)
	return gate(i, rip, bp, load)
}

// gate reads what the CPU pushed: RIP, CS, RFLAGS, RSP, SS, with RIP at the address rip.
func gate(i Interrupted, rip, bp uintptr,
	load func(uintptr) (uintptr, bool)) (Interrupted, EntryState) {
	pc, ok := load(rip)
	sp, ok2 := load(rip + 24)
	if !ok || !ok2 {
		return i, NoEntry
	}
	i.PC, i.SP, i.FP = pc, sp, bp
	return i, EntryBare
}

// inEntry reports whether pc is in code that runs before the kernel's FS base is set, or after it
// was set back.
func inEntry(pc uintptr) bool {
	enter, _, end := entryCode()
	vectors, entry, _, _, _, fpu := entryAddrs()
	return pc-enter < end-enter || pc-entry < fpu+fpuEntrySize-entry || pc-vectors < 256*vectorStub
}
