package thread

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Threads on several CPUs. There is one queue for all: an idle CPU halts, and an interrupt wakes it
// when a thread that may run on it is ready. When all are busy, each CPU's timer ends its thread's
// time.

// idleCPUs has a bit for each CPU that waits for an interrupt and that nobody has woken yet. Under
// the kernel lock.
var idleCPUs uint64

// Join makes the running CPU, which was just started, run threads. It does not return. Kernel
// context, on the CPU's kernel stack.
func Join() {
	percpu.This().Lock(percpu.Idle, 0)
	Run()
}

// IdleCPU returns the number of an idle CPU. Kernel context.
func IdleCPU() (n uint32, ok bool) {
	for n = 0; n < percpu.Count(); n++ {
		if idleCPUs>>n&1 != 0 {
			return n, true
		}
	}
	return 0, false
}

// AwaitOthers waits until all other CPUs are idle, for at most joinWait: they queue for the kernel
// lock, which the running CPU releases meanwhile. Kernel context, before the first thread runs.
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

// giveCPU wakes an idle CPU for a thread that is now in the queue; it returns false if no idle CPU
// may run the thread.
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
	if idle>>n&1 == 0 { // this CPU, if it is idle: it is in an interrupt's handler
		for n = 0; idle>>n&1 == 0; n++ {
		}
		arch.InterruptCPU(percpu.At(n).ID, arch.InterruptWake)
		r.Note(percpu.EventSend, arch.InterruptWake, uintptr(n), 0)
	}
	idleCPUs &^= 1 << n
	return true
}

// passOn runs on a CPU that takes a thread that may not run on all CPUs: it may have been woken for
// another thread, and now wakes an idle CPU for that one.
func passOn(t *Thread) {
	if all := ^uint64(0) >> (64 - percpu.Count()); t.Affinity&all == all {
		return
	}
	for o := Get(runHead); o != nil && idleCPUs != 0; o = Get(o.next) {
		giveCPU(o)
	}
}

// armSlice limits the running thread to its time, because another thread waits for the CPU.
func armSlice(r *percpu.Record) {
	if r.Thread == 0 {
		return
	}
	if chaos && r.Event > r.SliceEnd {
		// The thread was alone, perhaps for longer than its slice. The switch must not always come
		// here.
		r.SliceEnd = max(r.SliceEnd, clock.Now()+sliceLength())
	}
	armBy(r, r.SliceEnd)
}

// armSlices does the same on all CPUs.
func armSlices(r *percpu.Record) {
	armSlice(r)
	for n := range percpu.Count() {
		if o := percpu.At(n); o != r && o.Thread != 0 && o.Event > o.SliceEnd {
			o.Event = o.SliceEnd // that CPU sets its timer itself, in Tick
			arch.InterruptCPU(o.ID, arch.InterruptWake)
			r.Note(percpu.EventSend, arch.InterruptWake, uintptr(n), 0)
		}
	}
}

// Queued reports whether there is a thread in the queue. Kernel context; without the kernel lock
// the answer may be outdated.
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

// watched reports whether another CPU's timer interrupts at that time or before: it then sets the
// timer again.
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

// anyRuns reports whether any CPU runs a thread.
func anyRuns() bool {
	for n := range percpu.Count() {
		if percpu.At(n).Thread != 0 {
			return true
		}
	}
	return false
}

// Poke makes the CPU of a running thread, if it is another one, check what the thread has to do.
func Poke(t *Thread) {
	if o := percpu.At(t.On); percpu.Many && t.State == Running && o != percpu.This() {
		arch.InterruptCPU(o.ID, arch.InterruptWake)
		percpu.This().Note(percpu.EventSend, arch.InterruptWake, uintptr(o.Number), 0)
	}
}

// SetAffinity sets the CPUs on which a thread may run, a bit for each; at least one of them must
// exist.
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
