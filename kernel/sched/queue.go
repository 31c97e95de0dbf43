package sched

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/resource"
)

// Who runs next, and until when.

// slice is how long a thread may run, in ns, while another one is ready.
const slice = 10_000_000

const never = ^uint64(0)

var (
	runHead, runTail int32 // the run queue, by thread number
	sleepHead        int32 // the sleepers, soonest first

	started  uint64 // when the running thread got the CPU
	sliceEnd uint64
	armed    uint64 = never // what the timer is set to
	preempt  bool           // the running thread should give way
	pastCPU  uint64         // ns that all threads have run

	onResume uintptr // the address of a function
	onTick   uintptr
)

// OnResume sets a function that is called for each thread that is about to go on
// after it has been saved: where signals are delivered. It must be a top-level function.
func OnResume(f func(*Thread)) { onResume = **(**uintptr)(unsafe.Pointer(&f)) }

// OnTick sets a function that is called with the time on each timer interrupt, and
// whenever the timer is set, and returns when it wants to be called next, or ^0.
func OnTick(f func(now uint64) uint64) { onTick = **(**uintptr)(unsafe.Pointer(&f)) }

// Enqueue makes a thread ready, last in the queue.
func Enqueue(t *Thread) {
	t.State, t.Why, t.next = Ready, ForNothing, 0
	if runHead == 0 {
		runHead = t.TID
	} else {
		Get(runTail).next = t.TID
	}
	runTail = t.TID
	if current != 0 {
		armBy(sliceEnd)
	}
}

// enqueueFirst makes a thread ready before all others.
func enqueueFirst(t *Thread) {
	t.State, t.Why, t.next = Ready, ForNothing, runHead
	if runHead == 0 {
		runTail = t.TID
	}
	runHead = t.TID
	if current != 0 {
		armBy(sliceEnd)
	}
}

// AnyReady reports whether a thread waits for the CPU.
func AnyReady() bool { return runHead != 0 }

// Wake makes a waiting thread ready; its system call returns result.
func Wake(t *Thread, result int64) {
	t.Frame.AX = uintptr(result)
	unsleep(t)
	Enqueue(t)
}

// WakeNow is Wake for something that has come from outside: the thread runs before
// all others.
func WakeNow(t *Thread, result int64) {
	t.Frame.AX = uintptr(result)
	unsleep(t)
	enqueueFirst(t)
	preempt = true
}

// Retry makes a waiting thread ready; it makes its system call again.
func Retry(t *Thread) {
	t.Frame.AX = t.Number
	t.Frame.RIP -= syscallSize
	t.Retried = true
	unsleep(t)
	enqueueFirst(t)
	preempt = true
}

// syscallSize is the length in bytes of the SYSCALL instruction.
const syscallSize = 2

// Block saves the running thread, whose system call has the frame f, as waiting for
// why and key, and turns to the next one. With a deadline other than ^0 (ns of the
// clock) it waits until then at most, and its call then returns timeout. It does
// not return.
func Block(f *amd64.TrapFrame, why Why, key uintptr, deadline uint64, timeout int64) {
	t := Current()
	saveCall(t, f)
	t.State, t.Why, t.Key = Waiting, why, key
	t.Number = f.Error
	if resource.On() {
		logWait(t, deadline)
	}
	if deadline != never {
		sleep(t, deadline, timeout)
	}
	account()
	current = 0
	Run()
}

// Yield puts the running thread, whose system call has the frame f, behind all that
// are ready. It returns if there are none.
func Yield(f *amd64.TrapFrame) {
	if runHead == 0 {
		return
	}
	t := Current()
	saveCall(t, f)
	account()
	current = 0
	Enqueue(t)
	Run()
}

func saveCall(t *Thread, f *amd64.TrapFrame) {
	amd64.CopyFrame(&t.Frame, f)
	t.Control, t.Full = amd64.SaveControl(), false
}

// SaveCall saves the running thread's registers from its system call's frame, to go
// on with them by Resume.
func SaveCall(f *amd64.TrapFrame) *Thread {
	t := Current()
	saveCall(t, f)
	return t
}

// SaveTrap saves the running thread's registers from the frame of a trap that has
// interrupted it.
func SaveTrap(f *amd64.TrapFrame) *Thread {
	t := Current()
	amd64.CopyFrame(&t.Frame, f)
	amd64.SaveFPU(t.FPU(), f)
	t.Full = true
	return t
}

// Preempting reports whether the running thread should give way.
func Preempting() bool { return preempt }

// GiveWay lets others run before the running thread, which has been saved. It does
// not return.
func GiveWay(t *Thread) {
	account()
	current = 0
	if preempt && clock.Now() < sliceEnd {
		// Someone has woken up who runs at once; this thread has not had its time.
		first := Get(runHead)
		if first == nil {
			Enqueue(t)
		} else {
			t.State, t.Why, t.next = Ready, ForNothing, first.next
			first.next = t.TID
			if runTail == first.TID {
				runTail = t.TID
			}
		}
	} else {
		Enqueue(t)
	}
	Run()
}

// Resume goes on with the running thread, which has been saved. It does not return.
func Resume(t *Thread) {
	if onResume != 0 {
		p := &onResume
		(*(*func(*Thread))(unsafe.Pointer(&p)))(t)
	}
	fpu := uintptr(0)
	if t.Full {
		fpu = t.FPU()
	}
	amd64.Resume(&t.Frame, fpu, t.Control)
}

// Run gives the CPU to the first thread in the queue, and waits for an event while
// there is none. It does not return.
func Run() {
	for runHead == 0 {
		idle()
	}
	t := Get(runHead)
	runHead = t.next
	t.next = 0
	if runHead == 0 {
		runTail = 0
	}
	current = t.TID
	t.State = Running
	preempt = false
	started = clock.Now()
	sliceEnd = started + slice
	if runHead != 0 {
		armBy(sliceEnd)
	}
	armBy(callTick(started))
	Resume(t)
}

// idle waits for one interrupt. The timer is set for the next event and no other: an
// idle machine sleeps.
func idle() {
	next := expire(clock.Now())
	if runHead != 0 {
		return
	}
	armed = next
	clock.Arm(next)
	amd64.WaitForInterrupt()
}

// account adds the time of the running thread up.
func account() {
	if t := Current(); t != nil {
		now := clock.Now()
		t.CPU += now - started
		pastCPU += now - started
		started = now
	}
}

// CPUTime returns the time in ns that all threads together have run.
func CPUTime() uint64 {
	account()
	return pastCPU
}

// ThreadTime returns the time in ns that the running thread has run.
func ThreadTime() uint64 {
	account()
	return Current().CPU
}
