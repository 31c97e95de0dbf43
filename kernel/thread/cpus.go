package thread

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Threads on several CPUs. There is one queue for all: a CPU that has nothing to do halts, and is
// woken by an interrupt when a thread is ready that may run on it. When all are busy, each
// has its timer end its thread's time.

// idleCPUs has a bit for each CPU that waits for an interrupt, and that nobody has woken yet.
// Under the kernel lock.
var idleCPUs uint64

// Join makes the running CPU, which has been started, one that runs threads. It does not return.
// Kernel context, on the CPU's kernel stack.
func Join() {
	percpu.This().Lock(percpu.Idle, 0)
	Run()
}

// IdleCPU returns the number of a CPU that has nothing to do. Kernel context.
func IdleCPU() (n uint32, ok bool) {
	for n = 0; n < percpu.Count(); n++ {
		if idleCPUs>>n&1 != 0 {
			return n, true
		}
	}
	return 0, false
}

// AwaitOthers waits until all other CPUs are idle, joinWait at most: they are in line for the kernel lock,
// which the running CPU has, and lets go of meanwhile. Kernel context, before the first thread runs.
func AwaitOthers() {
	const joinWait = 100e6 // ns
	r := percpu.This()
	others := ^uint64(0) >> (64 - percpu.Count()) &^ (1 << r.Number)
	for began := clock.Now(); idleCPUs&others != others && clock.Now()-began < joinWait; {
		r.Unlock()
		arch.Pause()
		r.Lock(percpu.Idle, 0)
	}
}

// giveCPU is for a thread that is now in the queue: an idle CPU that may run it is woken; it
// returns false if there is none.
func giveCPU(t *Thread) bool {
	percpu.AssertLocked()
	r := percpu.This()
	if !percpu.Many {
		armSlice(r)
		return false
	}
	idle := idleCPUs & t.Affinity
	if idle == 0 {
		armSlices(r)
		return false
	}
	n := r.Number
	if idle>>n&1 == 0 { // this one, if it is idle: it is in an interrupt's handler
		for n = 0; idle>>n&1 == 0; n++ {
		}
		arch.InterruptCPU(percpu.At(n).ID, arch.InterruptWake)
		r.Note(percpu.EventSend, arch.InterruptWake, uintptr(n), 0)
	}
	idleCPUs &^= 1 << n
	return true
}

// passOn is for a CPU that takes a thread that may not run on all: it may have been woken for another one,
// for which an idle CPU is woken now.
func passOn(t *Thread) {
	if all := ^uint64(0) >> (64 - percpu.Count()); t.Affinity&all == all {
		return
	}
	for o := Get(runHead); o != nil && idleCPUs != 0; o = Get(o.next) {
		giveCPU(o)
	}
}

// armSlice is for when another thread waits for the CPU: the running one has its time and no
// more.
func armSlice(r *percpu.Record) {
	if r.Thread == 0 {
		return
	}
	if chaos && r.Event > r.SliceEnd {
		// It was alone, for longer than its slice perhaps: the switch is not to come always here.
		r.SliceEnd = max(r.SliceEnd, clock.Now()+sliceLength())
	}
	armBy(r, r.SliceEnd)
}

// armSlices does so with all CPUs.
func armSlices(r *percpu.Record) {
	armSlice(r)
	for n := range percpu.Count() {
		if o := percpu.At(n); o != r && o.Thread != 0 && o.Event > o.SliceEnd {
			o.Event = o.SliceEnd // it sets its timer itself, in Tick
			arch.InterruptCPU(o.ID, arch.InterruptWake)
			r.Note(percpu.EventSend, arch.InterruptWake, uintptr(n), 0)
		}
	}
}

// Queued reports whether there is a thread in the queue. Kernel context, without the kernel lock:
// it may have changed.
func Queued() bool { return percpu.Load((*uint32)(unsafe.Pointer(&runHead))) != 0 }

// firstFor returns the first thread in the queue that may run on a CPU, or nil.
func firstFor(r *percpu.Record) *Thread {
	t := Get(runHead)
	for t != nil && !t.mayRunOn(r) {
		t = Get(t.next)
	}
	return t
}

func (t *Thread) mayRunOn(r *percpu.Record) bool { return t.Affinity>>r.Number&1 != 0 }

// watched reports whether the timer of another CPU interrupts at a time, or before: it sets it
// anew then.
func watched(r *percpu.Record, at uint64) bool {
	for n := range percpu.Count() {
		if o := percpu.At(n); o != r && o.Event <= at {
			return true
		}
	}
	return false
}

// watchEvery is how often an idle CPU wakes up while others run, in nanoseconds.
const watchEvery = 2e9

// anyRuns reports whether a CPU runs a thread.
func anyRuns() bool {
	for n := range percpu.Count() {
		if percpu.At(n).Thread != 0 {
			return true
		}
	}
	return false
}

// Poke has the CPU of a running thread, if it is another one, look what the thread has to do.
func Poke(t *Thread) {
	if o := percpu.At(t.On); percpu.Many && t.State == Running && o != percpu.This() {
		arch.InterruptCPU(o.ID, arch.InterruptWake)
		percpu.This().Note(percpu.EventSend, arch.InterruptWake, uintptr(o.Number), 0)
	}
}

// SetAffinity says on which CPUs a thread may run: a bit for each, one of them at least is there.
func SetAffinity(t *Thread, cpus uint64) {
	percpu.AssertLocked()
	t.Affinity = cpus
	switch o := percpu.At(t.On); {
	case t.State == Running && !t.mayRunOn(o):
		o.Preempt = true
		Poke(t)
	case t.State == Ready:
		giveCPU(t)
	}
}
