package thread

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Who runs next, and until when.

// slice is how long a thread may run, in ns, while another one is ready.
const slice = 10_000_000

const never = ^uint64(0)

var (
	runHead, runTail int32 // the run queue, by thread number; under the kernel lock
	sleepHead        int32 // the sleepers, soonest first; under the kernel lock

	pastCPU  uint64 // ns that all threads have run; under the kernel lock
	switches uint64 // how often a thread got a CPU; under the kernel lock

	onResume uintptr // the address of a function; set once at boot
	onTick   uintptr // set once at boot
)

// OnResume sets a function that is called for each saved thread that is about to go on; it delivers
// signals. It must be a top-level function.
func OnResume(f func(*Thread)) { onResume = arch.EntryOf(f) }

// OnTick sets a function that is called with the time in each timer interrupt, and whenever the
// timer is set; it returns when it wants to be called next, or ^0.
func OnTick(f func(now uint64) uint64) { onTick = arch.EntryOf(f) }

// Enqueue makes a thread ready, at the end of the queue.
func Enqueue(t *Thread) {
	percpu.AssertLocked()
	t.State, t.Why, t.next = Ready, ForNothing, 0
	if runHead == 0 {
		runHead = t.TID
	} else {
		Get(runTail).next = t.TID
	}
	runTail = t.TID
	giveCPU(t)
}

// enqueueFirst makes a thread ready before all others.
func enqueueFirst(t *Thread) {
	percpu.AssertLocked()
	t.State, t.Why, t.next = Ready, ForNothing, runHead
	if runHead == 0 {
		runTail = t.TID
	}
	runHead = t.TID
	if !giveCPU(t) {
		percpu.This().Preempt = true
	}
}

// AnyReady reports whether a thread waits for the running CPU, or the CPU's own thread must move to
// another.
func AnyReady() bool {
	if !percpu.Many {
		return runHead != 0
	}
	r := percpu.This()
	t := Get(r.Thread)
	return firstFor(r) != nil || t != nil && !t.mayRunOn(r)
}

// Wake makes a waiting thread ready; its system call returns result.
func Wake(t *Thread, result int64) {
	t.Frame.SetResult(uintptr(result))
	noteWake(t)
	unsleep(t)
	Enqueue(t)
	perhapsFirst()
}

// WakeNow is Wake for an event from outside: the thread runs before all others.
func WakeNow(t *Thread, result int64) {
	t.Frame.SetResult(uintptr(result))
	noteWake(t)
	unsleep(t)
	enqueueFirst(t)
}

// Retry makes a waiting thread ready; it makes its system call again.
func Retry(t *Thread) {
	t.Frame.Restart(t.Number)
	t.Retried = true
	noteWake(t)
	unsleep(t)
	enqueueFirst(t)
}

func noteWake(t *Thread) { percpu.This().Note(percpu.EventWake, uint32(t.TID), 0, 0) }

// Block saves the running thread, whose system call has the frame f, as waiting for why and key,
// and turns to the next one. With a deadline other than ^0 (ns of the clock) it waits until then at
// most, and its call then returns timeout. Block does not return.
func Block(f *arch.TrapFrame, why Why, key uintptr, deadline uint64, timeout int64) {
	percpu.AssertLocked()
	r := percpu.This()
	t := Get(r.Thread)
	saveCall(t, f)
	t.State, t.Why, t.Key = Waiting, why, key
	t.Number = f.Error
	if onEvent != 0 {
		callOnEvent(Waits, t, deadline)
	}
	if deadline != never {
		sleep(t, deadline, timeout)
	}
	leaveCPU(r, true)
	Run()
}

// Yield moves the running thread, whose system call has the frame f, to the end of the queue. It
// returns if the queue is empty.
func Yield(f *arch.TrapFrame) {
	if !AnyReady() {
		return
	}
	r := percpu.This()
	t := Get(r.Thread)
	saveCall(t, f)
	leaveCPU(r, true)
	Enqueue(t)
	Run()
}

func saveCall(t *Thread, f *arch.TrapFrame) {
	arch.CopyFrame(&t.Frame, f)
	t.Control, t.Full = arch.SaveControl(), false
}

// SaveCall saves the running thread's registers from its system call's frame; Resume goes on with
// them.
func SaveCall(f *arch.TrapFrame) *Thread {
	t := Current()
	saveCall(t, f)
	return t
}

// SaveTrap saves the running thread's registers from the frame of a trap that interrupted it.
func SaveTrap(f *arch.TrapFrame) *Thread {
	t := Current()
	arch.CopyFrame(&t.Frame, f)
	arch.SaveFPU(t.FPU(), f)
	t.Full = true
	return t
}

// GiveWay lets others run before the running thread, which must have been saved. It does not
// return.
func GiveWay(t *Thread) {
	percpu.AssertLocked()
	r := percpu.This()
	leaveCPU(r, !t.Full)
	if r.Preempt && clock.Now() < r.SliceEnd {
		// A thread that may run at once was woken; this thread has not used up its time.
		first := Get(runHead)
		if first == nil {
			Enqueue(t)
		} else {
			t.State, t.Why, t.next = Ready, ForNothing, first.next
			first.next = t.TID
			if runTail == first.TID {
				runTail = t.TID
			}
			giveCPU(t)
		}
	} else {
		t.hold(clock.Now())
		Enqueue(t)
	}
	Run()
}

// Resume goes on with the running thread, which must have been saved. It does not return.
func Resume(t *Thread) {
	if onResume != 0 {
		arch.FuncAt[func(*Thread)](&onResume)(t)
	}
	fpu := uintptr(0)
	if t.Full {
		fpu = t.FPU()
	}
	if percpu.Many {
		percpu.This().Unlock() // the running thread's registers are its own
	}
	arch.Resume(&t.Frame, fpu, t.Control)
}

// Run gives the CPU to the first thread in the queue, and waits for an event while there is none.
// It does not return.
func Run() {
	if percpu.Many {
		arch.BeginKernelStack(awaitThread)
	}
	r := percpu.This()
	t := take(r)
	for t == nil {
		idle()
		t = take(r)
	}
	run(r, t)
}

// awaitThread is where one of several CPUs gets its next thread, or is idle. The thread that it ran
// may go on elsewhere as soon as the lock is free, and so may what is on its stack. So the CPU's
// own stack begins anew here, and a trace ends here.
func awaitThread() {
	r := percpu.This()
	t := take(r)
	for t == nil {
		idle()
		t = take(r)
	}
	run(r, t)
}

// run gives a CPU to a thread that was taken out of the queue.
func run(r *percpu.Record, t *Thread) {
	percpu.AssertLocked()
	t.State, t.On = Running, r.Number
	switches++
	r.Thread, r.Preempt = t.TID, false
	r.Note(percpu.EventSwitch, uint32(t.TID), t.Frame.PC, 0)
	now := clock.Now()
	r.Started, r.SliceEnd, r.Switched = now, now+sliceLength(), r.Ran
	if runHead != 0 {
		armBy(r, r.SliceEnd)
	}
	if s := Get(sleepHead); percpu.Many && s != nil && !watched(r, s.deadline) {
		armBy(r, s.deadline)
	}
	armBy(r, callTick(now))
	Resume(t)
}

// take removes and returns the first thread in the queue that may run on a CPU, in chaos any of
// them, or returns nil.
func take(r *percpu.Record) *Thread {
	percpu.AssertLocked()
	t := Get(runHead)
	if percpu.Many {
		t = firstFor(r)
	}
	if chaos {
		t = anyFor(r)
	}
	switch {
	case t == nil:
		return nil
	case t.TID == runHead:
		runHead = t.next
		if runHead == 0 {
			runTail = 0
		}
	default:
		p := Get(runHead)
		for p.next != t.TID {
			p = Get(p.next)
		}
		if p.next = t.next; p.next == 0 {
			runTail = p.TID
		}
	}
	t.next = 0
	if percpu.Many {
		passOn(t)
	}
	return t
}

// idle waits for one interrupt. The timer is set only for the next event, so an idle machine
// sleeps.
func idle() {
	percpu.AssertLocked()
	next := expire(clock.Now())
	if AnyReady() {
		return
	}
	r := percpu.This()
	if percpu.Many && watched(r, next) {
		next = never
		if anyRuns() {
			next = clock.Now() + watchEvery // the running threads may hang
		}
	}
	r.Event = next
	clock.Arm(&r.Shot, next)
	r.Note(percpu.EventIdle, 0, 0, 0)
	if !percpu.Many {
		arch.WaitForInterrupt()
		return
	}
	idleCPUs |= 1 << r.Number
	r.AtGate, r.Halting = 1, percpu.HaltsIdle
	r.Unlock()
	arch.WaitForInterrupt()
	r.Halting = percpu.NoHalt
	r.Lock(percpu.Idle, 0)
	idleCPUs &^= 1 << r.Number
	r.Event, r.Shot = never, clock.Never // the timer may have interrupted already: set it again
}

// account adds the time of the running thread to its total.
func account(r *percpu.Record) {
	percpu.AssertLocked()
	if t := Get(r.Thread); t != nil {
		now := clock.Now()
		t.CPU += now - r.Started
		pastCPU += now - r.Started
		r.Ran += now - r.Started
		r.Started = now
	}
}

// leaveCPU ends a thread's turn; inCall says that it is in a system call.
func leaveCPU(r *percpu.Record, inCall bool) {
	account(r)
	r.Thread, r.LeftCall = 0, inCall
}

// Ran returns the time in ns that threads have run on this CPU. Kernel context.
func Ran() uint64 {
	r := percpu.This()
	account(r)
	return r.Ran
}

// Switched returns the value of Ran when the running thread got the CPU, and whether the kernel was
// in a system call of the previous thread until then: [arch.LastCall] is its frame, as long as the
// running thread has made no call. Kernel context.
func Switched() (at uint64, call bool) {
	r := percpu.This()
	return r.Switched, r.LeftCall
}

// Switches returns how often a thread got a CPU. Kernel context.
func Switches() uint64 { return switches }

// CPUTime returns the time in ns that all threads together have run.
func CPUTime() uint64 {
	for n := range percpu.Count() {
		account(percpu.At(n))
	}
	return pastCPU
}

// ThreadTime returns the time in ns that the running thread has run.
func ThreadTime() uint64 {
	r := percpu.This()
	account(r)
	return Get(r.Thread).CPU
}
