package amd64

import "unsafe"

// One CPU's own data. The GS base leads to it, so the entry code finds it without a register. No
// program may set GS (arch_prctl refuses it), but its code can, because it runs in ring 0. So the
// entry of a trap sets the GS base again, to the address that is stored after the GDT, in read-only
// pages. The entry of a system call has no register for that, so it checks for callReady in the
// record. If GS is wrong, that check faults, and Repaired makes the instruction run again.

// CPU is the CPU's part of its record, at the start of the record. Only the CPU's own code writes
// it, with interrupts off.
type CPU struct {
	self uintptr // the record's address; a trap's entry also sets it
	call uint32  // callReady; 0 while a system call is being handled: SYSCALL may not nest

	// For SYSCALL's entry.
	syscallTop   uintptr // just above the kernel stack
	syscallGuard uintptr // stack guard of Go code on it
	userSP       uintptr // RSP of the thread that entered, for a moment
	userFS       uintptr // FS base of the running thread
	resumed      uintptr // the latest TrapFrame that a thread was resumed from

	tls      [2]uintptr      // FS:-8 holds the fake g's address: FS is the address of the second word
	g        [64]uintptr     // the fake g, large enough for all accesses by compiled code
	irqSS    uintptr         // the address of the word ss in the landing of the stack for interrupts
	istGuard [NumIST]uintptr // for each IST slot, the stack guard of Go code on that stack

	depth   uint32 // traps that are being handled, one inside another
	tooDeep uint32 // times that these were more than mostDepth

	restored, restoredAt uintptr // words that were restored (keep.go), and the address of the first

	// CounterOffset is added to the CPU's time stamp counter to get the first CPU's, modulo 2^64;
	// the kernel sets it at boot.
	CounterOffset uint64
	LatestEvent   uintptr // the address of the latest event of the CPU's ring (ring.go), 0: no ring

	branches uint32 // branchesOff, branchesOn or branchesHeld (branch.go)

	repairs      uint32 // faults after which Repaired has let the code go on
	tablesLocked bool   // the pages of the tables are read-only
	tableRoom    [3 * PageSize]byte
}

// mostDepth is the largest plausible nesting of traps, beyond which what is kept is restored: in an
// interrupt a page fault, an NMI, a load that may fault, and the same again in the first panic
// stage. They all fit on one stack, below each other. mostTooDeep is how often that is tried.
const (
	mostDepth   = 8
	mostTooDeep = 8
)

// callReady is in CPU.call when a system call may be made: a number that memory at a wrong GS base
// is unlikely to contain.
const callReady = 0x7a663163

// SetGo prepares the CPU for compiled Go on the stack with the lowest address lo, with the record
// c, all zero: R14, FS, GS, X15, the stack guard. It is the first call of the boot.
func SetGo(lo uintptr, c *CPU)

// ThisCPU returns the running CPU's record. Early and kernel context.
func ThisCPU() *CPU

// OnHost makes ThisCPU return the record when the GS base is the returned value: for tests on the
// host.
func (c *CPU) OnHost() (base uintptr) {
	c.self = uintptr(unsafe.Pointer(c))
	return c.self
}

// KernelFS is the FS base while kernel-context code runs; by it, a trap tells what it interrupted.
func (c *CPU) KernelFS() uintptr { return uintptr(unsafe.Pointer(&c.tls[1])) }
