package percpu

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
)

// The kernel lock. If threads run on several CPUs, one of them at a time is in the kernel: the
// gates take the lock (package fault for traps, package linux for system calls), and whoever leaves
// the kernel, or waits in it for an interrupt, releases it. With one CPU it is enough that
// interrupts are off, and none of this is done.
//
// It is a ticket lock: CPUs get it in the order in which they asked. A waiting CPU spins for a
// while and then halts, with interrupts enabled, until an owner wakes it, because an emulated CPU,
// or one that shares its host's with others, would take time that the owner needs. Until the first
// in line is awake, a newcomer may take the lock before it, a few times at most; otherwise each
// change of owners would take as long as a host needs to let a CPU run. The panic path and NMIs
// take no lock.
//
// A CPU that waits for the lock, or for an interrupt, is at the gate: it touches nothing of the
// program until it has the lock, and then checks whether page tables have changed (flush.go).

// Many is set if threads run on several CPUs. Set once at boot.
var Many bool

// mostPassed is how many times the lock may be taken before the first in line gets it. A CPU that
// checked earlier may be late, so with n CPUs it may be 2n-3 times more (model_lock_test.go).
const mostPassed = 32

// lock is the lock, each part on a cache line of its own. held, the tickets and halted change
// atomically; only the owner writes the rest. Under the kernel lock; the panic path takes none.
var (
	lock struct {
		held uint32 // 1: a CPU has it
		_    [60]byte
		next uint32 // the next ticket
		_    [60]byte
		now  uint32 // the ticket of the first in line; next, if nobody waits
		// passed is how many have taken the lock before it.
		passed uint32
		_      [56]byte
	}
	holder Holder
	// halted holds, at the ticket modulo its length, 1 + the number of the CPU that waits with that
	// ticket, if it has halted and nobody has woken it yet.
	halted [arch.MaxCPUs]uint32
)

// Holder is the CPU that has the kernel lock.
type Holder struct {
	CPU   uint32  // 1 + its number; 0: nobody
	Gate  Gate    // the gate through which it came
	PC    uintptr // what was interrupted, or made the call
	Since uint64  // arch.ReadCounter when it got the lock
}

// Halt is what a CPU halts for.
type Halt uint8

// The reasons.
const (
	NoHalt       Halt = iota
	HaltsIdle         // it has nothing to do
	HaltsForLock      // the kernel lock
)

// Gate is a way into the kernel: the number of a system call, or one of the constants.
type Gate uint16

// The gates that are no system calls.
const (
	Interrupt  Gate = NumGates - 1 - iota // an interrupt
	PageFault                             // a page that was not present
	Exception                             // another fault of the program
	Idle                                  // the CPU has waited for an interrupt
	OtherCalls                            // system calls with greater numbers
)

// NumGates is the number of gates.
const NumGates = 512

// GateCount is the cost of a gate, in ticks of arch.ReadCounter.
type GateCount struct {
	Taken          uint64 // how often the lock was taken
	Waited         uint64 // how often another CPU had it then
	Waiting, Held  uint64 // ticks
	Longest        uint64 // the longest time that it was held, in ticks
	LongestWaiting uint64
}

// gates counts by gate. Under the kernel lock.
var gates [NumGates]GateCount

// GateOf returns the gate of a system call.
func GateOf(call uintptr) Gate {
	if call >= uintptr(OtherCalls) {
		return OtherCalls
	}
	return Gate(call)
}

// Counts returns the cost of a gate. Any context; another CPU may be changing it.
func Counts(g Gate) *GateCount { return &gates[g] }

// Lock takes the kernel lock for the CPU of the record, which must not have it. pc is what was
// interrupted. Kernel context.
//
//go:noinline
func (r *Record) Lock(g Gate, pc uintptr) {
	r.AtGate = 1
	if !r.TryLock(g, pc) {
		r.wait(g, pc)
		r.begin(g, pc)
	}
}

// TryLock is Lock without a long wait. It returns false if the CPU did not get the lock.
func (r *Record) TryLock(g Gate, pc uintptr) bool {
	for n := uint32(1); ; n++ {
		waits := Load(&lock.now) != Load(&lock.next)
		if waits && Load(&lock.passed) >= mostPassed {
			return false
		}
		if Load(&lock.held) == 0 && arch.CompareAndSwap(&lock.held, 0, 1) {
			if waits {
				lock.passed++
			}
			r.begin(g, pc)
			return true
		}
		if n == tries {
			return false
		}
		relax(n)
	}
}

// begin records that the CPU has taken the lock.
func (r *Record) begin(g Gate, pc uintptr) {
	gates[g].Taken++
	r.Locked = true
	holder.CPU, holder.Gate, holder.PC, holder.Since = r.Number+1, g, pc, arch.ReadCounter()
	r.CatchUp()
	r.AtGate = 0
}

// How long a CPU spins, in turns of its loop: before it takes a ticket, and then before it halts.
const (
	tries = 512
	spins = 4096
)

// wait takes a ticket and waits for the lock.
func (r *Record) wait(g Gate, pc uintptr) {
	began := arch.ReadCounter()
	r.WaitGate, r.WaitPC, r.WaitSince = g, pc, began
	ticket := arch.FetchAdd(&lock.next, 1)
	r.Ticket = ticket
	for n := uint32(1); !turn(ticket) || !arch.CompareAndSwap(&lock.held, 0, 1); n++ {
		if n%spins != 0 {
			relax(n)
			continue
		}
		if onLongWait != 0 {
			callOnLongWait(r)
		}
		if g != Interrupt { // another interrupt would need its stack
			r.haltFor(ticket)
		}
	}
	lock.passed = 0
	arch.FetchAdd(&lock.now, 1)
	r.WaitSince = 0
	waited := arch.ReadCounter() - began
	count := &gates[g]
	count.Waited++
	count.Waiting += waited
	count.LongestWaiting = max(count.LongestWaiting, waited)
	r.Note(EventLock, uint32(g), pc, uintptr(waited))
}

// turn reports whether the lock is free for the ticket.
func turn(ticket uint32) bool { return Load(&lock.now) == ticket && Load(&lock.held) == 0 }

// haltFor halts until an interrupt comes, unless it is the ticket's turn.
func (r *Record) haltFor(ticket uint32) {
	slot := &halted[ticket%arch.MaxCPUs]
	// An owner releases the lock first and then checks this; this CPU checks the lock afterwards.
	if arch.CompareAndSwap(slot, 0, r.Number+1); !turn(ticket) {
		r.Halting = HaltsForLock
		arch.WaitForInterrupt()
		r.Halting = NoHalt
	}
	arch.CompareAndSwap(slot, r.Number+1, 0)
	r.RaiseDeferred()
}

// RaiseDeferred raises the postponed interrupts again. Kernel context.
func (r *Record) RaiseDeferred() {
	for n := uint8(arch.TrapInterrupt); r.Deferred != 0; n++ {
		if r.Deferred&1 != 0 {
			arch.InterruptSelf(n)
		}
		r.Deferred >>= 1
	}
}

// Defer postpones an interrupt that comes while the CPU halts, if possible, so that it does not
// need the lock then. On a CPU that waits for the lock, it comes again once interrupts are enabled;
// on an idle one, the idle loop does the work of the timer's interrupt and of other CPUs'. Kernel
// context, in the interrupt's handler.
func (r *Record) Defer(number uint8) bool {
	switch {
	case r.Halting == HaltsForLock && number < arch.TrapInterrupt+64:
		r.Deferred |= 1 << (number - arch.TrapInterrupt)
		return true
	case r.Halting == HaltsIdle && !r.Hung &&
		(number == arch.InterruptTimer || number == arch.InterruptWake):
		return true
	}
	return false
}

// TryInterrupt takes the kernel lock for an interrupt of the program. If it would have to wait for
// it, it postpones the interrupt, a few times at most, and returns false: the timer must interrupt
// soon. Kernel context, in the interrupt's handler.
func (r *Record) TryInterrupt(number uint8, pc uintptr) bool {
	if !r.TryLock(Interrupt, pc) {
		if r.PutOff++; r.PutOff < mostPutOff && number < arch.TrapInterrupt+64 {
			r.Deferred |= 1 << (number - arch.TrapInterrupt)
			return false
		}
		r.AtGate = 1
		r.wait(Interrupt, pc)
		r.begin(Interrupt, pc)
	}
	r.PutOff = 0
	r.Deferred &^= 1 << (number - arch.TrapInterrupt)
	r.RaiseDeferred()
	return true
}

// mostPutOff is how often an interrupt is postponed at most.
const mostPutOff = 20

// relax is for turn n of a loop that waits for another CPU. For QEMU's emulation the pause
// instruction leaves the emulated code, which takes a lock that the other CPU may need, too; so it
// is left out in most turns.
func relax(n uint32) {
	if n%256 == 0 {
		arch.Pause()
	}
}

// Unlock releases the kernel lock. A postponed interrupt comes again at once: the timer that was to
// bring it may have been set to something later meanwhile. Kernel context.
//
//go:noinline
func (r *Record) Unlock() {
	count := &gates[holder.Gate]
	held := arch.ReadCounter() - holder.Since
	count.Held += held
	count.Longest = max(count.Longest, held)
	r.Locked = false
	holder.CPU = 0
	arch.CompareAndSwap(&lock.held, 1, 0)
	slot := &halted[Load(&lock.now)%arch.MaxCPUs]
	if n := Load(slot); n != 0 && arch.CompareAndSwap(slot, n, 0) {
		arch.InterruptCPU(At(n-1).ID, arch.InterruptWake)
		r.Note(EventSend, arch.InterruptWake, uintptr(n-1), 0)
	}
	r.RaiseDeferred()
}

// Owner returns who has the kernel lock. Any context; the owner may have changed since.
func Owner() Holder { return holder }

// FirstInLine returns 1 + the number of the CPU that takes the lock next, 0 if none waits for it,
// and its ticket. Any context; that may have changed since.
func FirstInLine() (first, ticket uint32) {
	ticket = Load(&lock.now)
	for n := range Count() {
		if r := At(n); r.WaitSince != 0 && r.Ticket == ticket {
			first = n + 1
		}
	}
	return first, ticket
}

// onLongWait is the address of a function; set once at boot.
var onLongWait uintptr

// OnLongWait sets a function that is called, repeatedly, for a CPU that waits for the lock and is
// about to halt; the function must make the timer interrupt in time. It must be a top-level
// function. Early context.
//
//go:noinline
func OnLongWait(f func(*Record)) { onLongWait = arch.EntryOf(f) }

// Not inlined, so that the call is in one place (tools/symbol/stacks/kernel.txt).
//
//go:noinline
func callOnLongWait(r *Record) {
	arch.FuncAt[func(*Record)](&onLongWait)(r)
}

// Load reads a word that another CPU may write. Any context.
func Load(p *uint32) uint32 { return arch.Load32(uintptr(unsafe.Pointer(p))) }
