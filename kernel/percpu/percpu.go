package percpu

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
)

// Record is one CPU's own data. Its own code writes it, with interrupts off, in early and
// kernel context.
type Record struct {
	arch.CPU // what the entry code needs: first, as the per-CPU pointer leads to it

	// Of this package. Number is the CPU's, from 0, which is the one that boots.
	Number uint32
	// Of package smp. ID is what interrupt controllers call the CPU, State what it does, Call the
	// address of a function that it is to call, 0: none.
	ID    uint32
	State State
	Call  uintptr

	// Of the kernel lock (lock.go, flush.go). Locked is set while the CPU has it, AtGate is 1 while
	// it waits for it or for an interrupt, or runs no threads; Flushed is how often it has dropped what it has kept of page tables.
	// WaitGate, WaitPC and WaitSince are what it waits for the lock for, and since when, by
	// arch.ReadCounter; 0: it does not. Ticket is its place in the line then.
	// Joined is set once it runs threads.
	Locked, Joined  bool
	AtGate, Flushed uint32
	WaitGate        Gate
	WaitPC          uintptr
	WaitSince       uint64
	Ticket          uint32
	WaitsFor        uint32 // 1 + the number of the CPU that is to drop pages; 0: none
	// Halting is set while the CPU lets interrupts in; bit n of Deferred is set for interrupt
	// arch.TrapInterrupt+n, which has come when the lock could not be waited for, and is to come
	// again. PutOff is how often one was put off.
	Halting  Halt
	Deferred uint64
	PutOff   uint8

	// Of package fault, for lock-ups: how often the same was seen, what that was, and when it is to be
	// looked at again.
	Looks               uint8
	SeenOwner, SeenShot uint64
	NextLook            uint64

	// Devices counts the interrupts of devices.
	Devices uint64

	// Calls counts the system calls; CallPC is where the one that is being handled was made.
	Calls  uint64
	CallPC uintptr

	// Of package thread. Thread is the number of the running thread, 0 if the CPU is idle or
	// handles an exit; Preempt is set when that thread should give way. Started is when it got
	// the CPU, in ns of the clock, SliceEnd when it has had its time. Event is when the
	// scheduler wants the timer to interrupt.
	Thread            int32
	Preempt           bool
	Started, SliceEnd uint64
	Event             uint64
	// Ran is how long threads have run on the CPU, in ns, NextTick at which Ran package profile wants to look.
	Ran, NextTick uint64
	// Switched is what Ran was when the running thread got the CPU; LeftCall
	// is set if the thread before it was in a system call then.
	Switched uint64
	LeftCall bool

	// Shot is the deadline of the timer's shot that is under way, for package clock.
	Shot uint64

	// Of package probe: 1 + the number of the place whose instruction is put back, for one
	// step, and what arch's BeginStep has returned.
	Stepping  uint32
	StepFlags uintptr
	// ProbeTicks is how long it has taken on this CPU, all together. Holding is set while all others
	// stand still for such a step (fault/probe.go).
	ProbeTicks uint64
	Holding    bool

	// Of package fault. Stage is the topmost panic stage in use, Fatal the number of fatal
	// traps since the first one began, TrapStackLo and TrapStackTop are what the trap stacks
	// were then. Hung is set when the watchdog has expired. Frame is the trap by which another CPU
	// has stopped this one, or by which it died itself; 0 and FP, if it died by a call, the frame
	// record of the function that called. Asked is set by a CPU that sends this one an NMI to have it
	// stand still for the monitor.
	Stage, Fatal              uint8
	Hung                      bool
	TrapStackLo, TrapStackTop [arch.NumTrapStacks]uintptr
	Frame, FP                 uintptr
	Asked                     uint32
	// WatchTurn is which of the changes of what is watched the CPU has taken over, 0: it has never watched
	// anything; WatchHeld is how many have it watch nothing for now.
	WatchTurn, WatchHeld uint32
	WatchStep            bool // it does so for a single step

	// Of this package (ring.go): what LatestEvent was when the ring was ended, 0: it was not.
	lastEvent uintptr
}

// State is what a CPU does, for other CPUs. Its own code sets it, but for Starting.
type State uint32

// The states.
const (
	Starting State = iota // nothing is known of it yet
	Running               // it runs, or waits for an interrupt
	Dying                 // it has died, behind another one
	Stopped               // it stands still, since another one has died
	Held                  // it stands still while the monitor is open on another one
)

// first is the record of the CPU that boots: boot/start_amd64.s sets the per-CPU pointer to
// it. One per CPU.
var first Record

// records has the addresses of all CPUs' records, by number; numRecords is how many there are.
// Set once at boot.
var (
	records    [arch.MaxCPUs]uintptr
	numRecords uint32
)

// Add makes r, all zero but for the CPU's part, a record of a CPU. Early context.
func Add(r *Record) {
	r.Number = numRecords
	records[numRecords] = uintptr(unsafe.Pointer(r))
	numRecords++
	r.AtGate = 1
	r.Event, r.Shot = ^uint64(0), ^uint64(0) // the timer is off
}

// Remove undoes the latest Add: that CPU does not answer. Early context.
func Remove() { numRecords-- }

// Count returns the number of CPUs. Early and kernel context.
func Count() uint32 { return numRecords }

// At returns the record of a CPU below Count. Early and kernel context.
func At(number uint32) *Record { return (*Record)(arch.Pointer(records[number])) }

// Keep has arch keep which records there are, and of each what is set once at boot. Early context,
// when all CPUs have started.
func Keep() {
	for n := range Count() {
		r := At(n)
		r.CPU.Keep()
		arch.Keep(unsafe.Pointer(&r.Number), unsafe.Sizeof(r.Number))
		arch.Keep(unsafe.Pointer(&r.ID), unsafe.Sizeof(r.ID))
	}
	arch.Keep(unsafe.Pointer(&records), unsafe.Sizeof(records))
	arch.Keep(unsafe.Pointer(&numRecords), unsafe.Sizeof(numRecords))
}

// Now returns the state, which another CPU may have changed. Early and kernel context.
func (s *State) Now() State { return State(arch.Load32(uintptr(unsafe.Pointer(s)))) }

// Set sets the state, behind all that the CPU has written before. Early and kernel context.
func (s *State) Set(to State) { arch.Store32(uintptr(unsafe.Pointer(s)), uint32(to)) }

// This returns the running CPU's record. It takes a dozen instructions: who has the record
// passes it on. Early and kernel context.
func This() *Record { return Of(arch.ThisCPU()) }

// Of returns the record of which c is a part.
func Of(c *arch.CPU) *Record { return (*Record)(unsafe.Pointer(c)) }

// InitFirst adds the record of the CPU that boots, which runs. Early context.
func InitFirst() {
	Add(&first)
	first.State, first.AtGate = Running, 0
}

// Calls returns the number of system calls of all CPUs since boot. Any context.
func Calls() (n uint64) {
	for i := range numRecords {
		n += At(i).Calls
	}
	return n
}
