package thread

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// MaxThreads is the largest number of threads at a time.
const MaxThreads = 2000

// State says what a thread is doing.
type State uint8

// The states.
const (
	Running State = iota + 1 // it has the CPU
	Ready                    // it is in the run queue
	Waiting                  // it waits for an event, and perhaps until a time
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case Running:
		return "running"
	case Ready:
		return "ready"
	case Waiting:
		return "waiting"
	}
	return "?"
}

// Why says what a waiting thread waits for.
type Why uint8

// The reasons. The meaning of Key depends on them.
const (
	ForNothing Why = iota
	ForFutex       // Key: the address of the word
	ForTime
	ForEpoll  // Key: the number of the epoll instance
	ForFile   // Key: the number of the open file
	ForSignal // a signal, whichever
	ForLock   // Key: the number of the locked file
	ForShare  // Key: the node of the tree that lacks data of the host
)

// String returns the reason's name.
func (w Why) String() string {
	switch w {
	case ForFutex:
		return "futex"
	case ForTime:
		return "sleep"
	case ForEpoll:
		return "epoll"
	case ForFile:
		return "read or write"
	case ForSignal:
		return "signal"
	case ForLock:
		return "file lock"
	case ForShare:
		return "file of the host"
	}
	return "nothing"
}

// A Fault is a thread's fault and the signal that it causes: si_code, si_addr, and vector, error
// code and pc from the CPU.
type Fault struct {
	Signal        uint8
	Code          int32
	Addr          uintptr
	Vector, Error uintptr
	PC            uintptr
}

// Thread is a thread of the program. It lies at the start of a page frame of its own, followed by
// the FPU's save area.
type Thread struct {
	// Frame holds the registers while the thread does not run. It comes first, because Resume loads
	// them with the stack pointer moving through it.
	Frame arch.TrapFrame
	// Control holds the FPU's control words, if Full is not set.
	Control uint64
	// Full is set when the save area holds the whole FPU state.
	Full bool

	State State
	Why   Why
	TID   int32
	next  int32 // in the run queue or the list of sleepers; 0 ends
	Key   uintptr

	deadline uint64 // when a sleeper wakes, in ns of the clock
	sleeps   bool   // it is in the list of sleepers
	timeout  int64  // what its system call returns then
	held     uint64 // until when it is kept from the CPU if there are others, in ns of the clock

	// On is the number of the CPU on which the thread runs, or last ran; Affinity has a bit for
	// each CPU on which it may run.
	On       uint32
	Affinity uint64

	// Mask and Pending are sets of signals, bit n-1 for signal n.
	Mask, Pending uint64
	// ByTimer and ByKernel say which of Pending were sent by a timer of timer_create, or by the
	// kernel itself, for example for an interval timer.
	ByTimer, ByKernel uint64
	// Shared says which of Pending are for the program: another thread may take them.
	Shared uint64
	// SavedMask is the mask to restore after a call that changed it while it waited.
	SavedMask    uint64
	HasSavedMask bool
	// Retried is set when the system call starts over; Until is its deadline, and Done what it has
	// done before.
	Retried bool
	Until   uint64
	Done    uintptr
	// Left is where a sleep that a signal ends writes the time that is left, or 0.
	Left uintptr
	// Turn is smaller for a call that has waited longer. For a futex, Bits are those that may wake
	// the wait; for a file's lock, they say who waits for it.
	Bits uint32
	Turn uint64
	// Opening is 1 + the descriptor of a pipe whose other end a call of open waits for; 0 if there
	// is none.
	Opening int32
	// Told is set when the host has answered a call: with a Linux error, or with TellValue, whose
	// meaning is in TellKind (kernel/linux/share.go).
	Told      bool
	TellKind  uint8
	TellErrno int64
	TellValue uintptr
	// Number and Args belong to the system call that waits.
	Number uintptr

	// Fault is the fault for which the thread must take a signal; Delivered is the last one for
	// which it took a signal. Signal is 0 if there is none.
	Fault, Delivered Fault

	// The signal stack that the program set: size 0 is none.
	AltSP, AltSize uintptr
	// ClearTID is where a zero is stored and a futex woken when the thread ends.
	ClearTID uintptr
	// StackLo and StackHi bound the stack that the Go runtime gave the thread, SigLo and SigHi its
	// signal stack; 0 if not known.
	StackLo, StackHi uintptr
	SigLo, SigHi     uintptr

	// Name and KeepCaps are settings of prctl.
	Name     [16]byte
	KeepCaps uint8

	// CPU is the time in ns that the thread has run, up to when it last stopped.
	CPU uint64
}

// fpuOffset is where the FPU's save area lies in a thread's page.
const fpuOffset = 1024

// A thread and its save area must fit into a page.
const (
	_ = fpuOffset - unsafe.Sizeof(Thread{})
	_ = arch.PageSize - fpuOffset - arch.MaxFPU
	_ = -(fpuOffset % arch.FPUAlign)
)

// table holds the addresses of the threads by number; 0 is no thread. Under the kernel lock.
var table [MaxThreads + 1]uintptr

var (
	highTID int32 // the highest number of any thread so far; under the kernel lock
	count   int32 // under the kernel lock
)

// FPU returns the address of the thread's FPU save area.
func (t *Thread) FPU() uintptr { return uintptr(unsafe.Pointer(t)) + fpuOffset }

// Get returns a thread by its number, or nil.
func Get(tid int32) *Thread {
	if tid <= 0 || tid > MaxThreads || table[tid] == 0 {
		return nil
	}
	return (*Thread)(arch.Pointer(table[tid]))
}

// Next returns the thread with the lowest number above tid, or nil, for loops over all threads. Any
// context.
//
//go:noinline
func Next(tid int32) *Thread {
	for tid++; tid <= highTID; tid++ {
		if t := Get(tid); t != nil {
			return t
		}
	}
	return nil
}

// WaitsFor reports whether the thread waits for why.
func (t *Thread) WaitsFor(why Why) bool { return t.State == Waiting && t.Why == why }

// Current returns the thread that runs, or whose system call or trap is being handled; nil if the
// CPU is idle. Any context.
func Current() *Thread { return Get(percpu.This().Thread) }

// HandlesSignal reports whether a stack pointer of the thread is on its stack for signals, so that
// a handler runs; false if t is nil. Kernel context.
func (t *Thread) HandlesSignal(sp uintptr) bool { return t != nil && sp-t.SigLo < t.SigHi-t.SigLo }

// Count returns the number of threads. Any context.
func Count() int { return int(count) }

// MaxTID returns the highest number that any thread has had.
func MaxTID() int32 { return highTID }

// New makes a thread with the lowest free number, not ready to run, or returns nil if there is no
// room. Thread 1 is the first.
func New() *Thread {
	percpu.AssertLocked()
	for tid := int32(1); tid <= MaxThreads; tid++ {
		if table[tid] != 0 {
			continue
		}
		f := mem.Frame()
		if f == 0 {
			return nil
		}
		table[tid] = f
		if tid > highTID {
			highTID = tid
		}
		count++
		t := (*Thread)(arch.Pointer(f))
		t.TID = tid
		t.Control, t.Affinity = arch.InitialControl, ^uint64(0)
		t.Frame.InitThread()
		if onEvent != 0 {
			callOnEvent(Began, t, never)
		}
		return t
	}
	return nil
}

// End removes the running thread. Run must follow.
func End(t *Thread) {
	percpu.AssertLocked()
	tid := t.TID
	if onEvent != 0 {
		callOnEvent(Ended, t, never)
	}
	leaveCPU(percpu.This(), true)
	count--
	f := table[tid]
	table[tid] = 0
	mem.FreeFrame(f)
}
