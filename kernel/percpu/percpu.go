package percpu

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
)

// Record is one CPU's own data. Its own code writes it, with interrupts off, in early and kernel
// context.
type Record struct {
	arch.CPU // for the entry code: first, as the per-CPU pointer leads to it

	// Of this package. Number is the CPU's number, from 0, the CPU that boots.
	Number uint32
	// Of package smp. ID is the CPU's number for interrupt controllers, State what it does, Call
	// the address of a function that it must call, 0: none.
	ID    uint32
	State State
	Call  uintptr

	// Of the kernel lock (lock.go, flush.go). Locked is set while the CPU has it, AtGate is 1 while
	// it waits for it or for an interrupt, or runs no threads; Flushed counts how often it has
	// dropped its cached page-table entries. WaitGate, WaitPC and WaitSince say why it waits for
	// the lock, and since when, by arch.ReadCounter; 0: it does not wait. Ticket is then its place
	// in the line. Joined is set once it runs threads.
	Locked, Joined  bool
	AtGate, Flushed uint32
	WaitGate        Gate
	WaitPC          uintptr
	WaitSince       uint64
	Ticket          uint32
	WaitsFor        uint32 // 1 + the number of the CPU that must drop pages; 0: none
	// Halting is set while the CPU lets interrupts in; bit n of Deferred is set for interrupt
	// arch.TrapInterrupt+n, which came when waiting for the lock was impossible, and must come
	// again. PutOff is how often one was postponed.
	Halting  Halt
	Deferred uint64
	PutOff   uint8

	// Of package fault, for lock-ups: how often the same state was seen, what it was, and when to
	// check again.
	Looks               uint8
	SeenOwner, SeenShot uint64
	NextLook            uint64

	// Devices counts the interrupts of devices.
	Devices uint64

	// Calls counts the system calls; CallPC is where the current one was made.
	Calls  uint64
	CallPC uintptr

	// Of package thread. Thread is the number of the running thread, 0 if the CPU is idle or
	// handles an exit; Preempt is set when that thread should give way. Started is when it got the
	// CPU, in ns of the clock, SliceEnd when its time ends. Event is when the scheduler wants the
	// timer to interrupt.
	Thread            int32
	Preempt           bool
	Started, SliceEnd uint64
	Event             uint64
	// Ran is how long threads have run on the CPU, in ns; NextTick is the value of Ran at the next
	// tick of package profile.
	Ran, NextTick uint64
	// Switched is the value of Ran when the running thread got the CPU; LeftCall is set if the
	// previous thread was in a system call then.
	Switched uint64
	LeftCall bool

	// Shot is the deadline of the timer's current shot, for package clock.
	Shot uint64

	// Of package probe: 1 + the number of the place whose instruction is restored for one step, and
	// the result of arch's BeginStep.
	Stepping  uint32
	StepFlags uintptr
	// ProbeTicks is the total time that the package took on this CPU. Holding is set while all
	// others stand still for such a step (fault/probe.go).
	ProbeTicks uint64
	Holding    bool

	// Of package fault. Stage is the topmost panic stage in use, Fatal the number of fatal traps
	// since the first one began, TrapStackLo and TrapStackTop are the trap stacks at that time.
	// Hung is set when the watchdog has expired. Frame is the trap by which another CPU stopped
	// this one, or by which it died itself; if it is 0, the CPU died by a call, and FP is the frame
	// record of the calling function. Asked is set by a CPU that sends this one an NMI to make it
	// stand still for the monitor.
	Stage, Fatal              uint8
	Hung                      bool
	TrapStackLo, TrapStackTop [arch.NumTrapStacks]uintptr
	Frame, FP                 uintptr
	Asked                     uint32
	// WatchTurn is the latest change of the watches that the CPU has taken over, 0: it has never
	// watched anything; WatchHeld is how many callers have suspended its watches.
	WatchTurn, WatchHeld uint32
	WatchStep            bool // one of them is a single step

	// Of this package (ring.go): the value of LatestEvent when the ring was ended, 0: it was not.
	lastEvent uintptr
}

// State is what a CPU does, for other CPUs. Its own code sets it, except Starting.
type State uint32

// The states.
const (
	Starting State = iota // nothing is known of it yet
	Running               // it runs, or waits for an interrupt
	Dying                 // it has died, after another one
	Stopped               // it stands still, because another one has died
	Held                  // it stands still while the monitor is open on another one
)

// first is the record of the CPU that boots: boot/start_amd64.s sets the per-CPU pointer to
// it. One per CPU.
var first Record

// records holds the addresses of all CPUs' records, by number; numRecords is their number. Set once
// at boot.
var (
	records    [arch.MaxCPUs]uintptr
	numRecords uint32
)

// Add makes r, all zero except the CPU's part, a record of a CPU. Early context.
func Add(r *Record) {
	r.Number = numRecords
	records[numRecords] = uintptr(unsafe.Pointer(r))
	numRecords++
	r.AtGate = 1
	r.Event, r.Shot = ^uint64(0), ^uint64(0) // the timer is off
}

// Remove undoes the latest Add, because that CPU does not answer. Early context.
func Remove() { numRecords-- }

// Count returns the number of CPUs. Early and kernel context.
func Count() uint32 { return numRecords }

// At returns the record of a CPU below Count. Early and kernel context.
func At(number uint32) *Record { return (*Record)(arch.Pointer(records[number])) }

// Keep stores second copies of the list of records, and of what is set once at boot in each
// (arch.Keep). Early context, when all CPUs have started.
func Keep() {
	for n := range Count() {
		r := At(n)
		r.CPU.Keep()
		arch.KeepVar(&r.Number)
		arch.KeepVar(&r.ID)
	}
	arch.KeepVar(&records)
	arch.KeepVar(&numRecords)
}

// Now returns the state, which another CPU may have changed. Early and kernel context.
func (s *State) Now() State { return State(arch.Load32(uintptr(unsafe.Pointer(s)))) }

// Set sets the state, after all the CPU's earlier writes. Early and kernel context.
func (s *State) Set(to State) { arch.Store32(uintptr(unsafe.Pointer(s)), uint32(to)) }

// This returns the running CPU's record. It takes a dozen instructions, so pass the record on.
// Early and kernel context.
func This() *Record { return Of(arch.ThisCPU()) }

// Of returns the record that contains c.
func Of(c *arch.CPU) *Record { return (*Record)(unsafe.Pointer(c)) }

// InitFirst adds the record of the CPU that boots, which is running. Early context.
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
