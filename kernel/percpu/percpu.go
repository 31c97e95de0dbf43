package percpu

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
)

// Record is one CPU's own data. Its own code writes it, with interrupts off, in early and
// kernel context.
type Record struct {
	arch.CPU // what the entry code needs: first, as the per-CPU pointer leads to it

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
	// Switched is the running time, as thread.CPUTime has it, at which it got the CPU; LeftCall
	// is set if the thread before it was in a system call then.
	Switched uint64
	LeftCall bool

	// Shot is the deadline of the timer's shot that is under way, for package clock.
	Shot uint64

	// Of package probe: 1 + the number of the place whose instruction is put back, for one
	// step, and what arch's BeginStep has returned.
	Stepping  uint32
	StepFlags uintptr

	// Of package fault. Stage is the topmost panic stage in use, Fatal the number of fatal
	// traps since the first one began, TrapStackLo and TrapStackTop are what the trap stacks
	// were then. Hung is set when the watchdog has expired.
	Stage, Fatal              uint8
	Hung                      bool
	TrapStackLo, TrapStackTop [arch.NumTrapStacks]uintptr
}

// first is the record of the CPU that boots: boot/start_amd64.s sets the per-CPU pointer to
// it. One per CPU.
var first Record

// This returns the running CPU's record. It takes a dozen instructions: who has the record
// passes it on. Early and kernel context.
func This() *Record { return Of(arch.ThisCPU()) }

// Of returns the record of which c is a part.
func Of(c *arch.CPU) *Record { return (*Record)(unsafe.Pointer(c)) }

// Init is for a record that is all zero but for the CPU's part: the timer is off. Early
// context.
func (r *Record) Init() { r.Event, r.Shot = ^uint64(0), ^uint64(0) }

// Calls returns the number of system calls of all CPUs since boot. Any context.
func Calls() uint64 { return first.Calls }
