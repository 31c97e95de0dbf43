package amd64

import "unsafe"

// One CPU's own data. The GS base leads to it, so the entry code finds it without a
// register. No program may set GS (arch_prctl refuses it), but its code can, since it runs
// in ring 0. So the entry of a trap sets the GS base anew, with the address that is behind
// the GDT, in pages that nobody can write to. The entry of a system call has no register for
// that; it looks for callReady in the record. Behind a wrong GS base that faults, and
// Repaired makes the instruction run again.

// CPU is the CPU's part of its record, at the record's beginning. Its own code writes it,
// with interrupts off.
type CPU struct {
	self uintptr // the record's address; a trap's entry sets it, too
	call uint32  // callReady; 0 while a system call is being handled: SYSCALL may not nest

	// What SYSCALL's entry needs.
	syscallTop   uintptr // just above the kernel stack
	syscallGuard uintptr // stack guard of Go code on it
	userSP       uintptr // RSP of the thread that has entered, for a moment
	userFS       uintptr // FS base of the running thread
	resumed      uintptr // the latest TrapFrame that a thread was resumed from

	tls      [2]uintptr      // FS:-8 holds the fake g's address: FS is the address of the second word
	g        [64]uintptr     // the fake g, large enough for any access by compiled code
	irqSS    uintptr         // the address of the word ss in the landing of the stack for interrupts
	istGuard [NumIST]uintptr // for each IST slot, the stack guard of Go code on that stack

	depth   uint32 // traps that are being handled, one within the other
	tooDeep uint32 // times that these were more than mostDepth

	restored, restoredAt uintptr // words that were put back (keep.go), and the address of the first

	CounterOffset uint64  // what is to be added to the CPU's time stamp counter for it to be the first CPU's, modulo 2^64; the kernel sets it at boot
	LatestEvent   uintptr // the address of the latest event of the CPU's ring (ring.go), 0: none are noted

	branches uint32 // branchesOff, branchesOn or branchesHeld (branch.go)

	repairs      uint32 // faults after which Repaired has let the code go on
	tablesLocked bool   // the pages of the tables are read-only
	tableRoom    [3 * PageSize]byte
}

// mostDepth is how deep traps are at most that come one within the other before what is kept is
// put back: in an interrupt a page fault, an NMI, a load that may fault, and as much again in the
// first panic stage. They all have room on one stack, below each other. mostTooDeep is how often
// that is mended.
const (
	mostDepth   = 8
	mostTooDeep = 8
)

// callReady is in CPU.call when a system call may be made: a number that memory behind a
// wrong GS base does not have by chance.
const callReady = 0x7a663163

// SetGo makes the CPU ready for compiled Go on the stack with the lowest
// address lo, with the record c, all zero: R14, FS, GS, X15, the stack guard. It is the
// first call of the boot.
func SetGo(lo uintptr, c *CPU)

// ThisCPU returns the running CPU's record. Early and kernel context.
func ThisCPU() *CPU

// OnHost makes the record one that ThisCPU returns where the GS base is what it returns: for
// tests on the host.
func (c *CPU) OnHost() (base uintptr) {
	c.self = uintptr(unsafe.Pointer(c))
	return c.self
}

// KernelFS is the FS base while kernel-context code runs: by it, a trap tells what
// it has interrupted.
func (c *CPU) KernelFS() uintptr { return uintptr(unsafe.Pointer(&c.tls[1])) }
