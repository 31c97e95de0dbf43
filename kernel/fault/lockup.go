package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/tracer"
)

// Lock-ups: with threads on several CPUs, a healthy CPU finds another that is stuck (option
// lockup=).
//
//	a CPU waits for the kernel lock, which the same one has all the time   LongWait
//	nobody has it, and the CPU that is to take it next does not            LongWait
//	a CPU lets no interrupt of its timer in                                lookAtCPUs
//	threads wait for a CPU, and none gets one                              lookAtCPUs
//
// Time alone proves nothing, because the host may not have let the machine run. So each state is
// checked once a second, and must be the same for a number of checks.

// How often the CPUs are checked, in nanoseconds, and after how many equal checks it is a lock-up.
const (
	lookEvery   = 1e9
	waitLooks   = 5
	hangLooks   = 10
	queuedLooks = 20
)

// The words of the option lockup=, in their order (kernel/option/table.go).
const (
	lockUpReport = iota
	lockUpPanic
	lockUpOff
)

// lockUps is the option. Set once at boot.
var lockUps int

// What lookAtCPUs saw last. Under the kernel lock.
var (
	nextLook uint64
	switches uint64 // how often a thread had got a CPU
	queued   int    // how many checks found that unchanged while threads waited
)

// SetLockUps reads the option. Early context.
func SetLockUps() {
	if w, ok := option.Word("lockup"); ok {
		lockUps = w
	}
}

// hangs is what is printed of a CPU that lets no interrupt in.
const hangs = " has let no interrupt in for 10 s"

// LongWait is called for a CPU that waits for the kernel lock and is about to halt, and repeatedly
// for one that waits until another CPU drops pages. A timer interrupt follows within a second, and
// then it is called again.
//
//go:noinline
func LongWait(r *percpu.Record) {
	now := clock.Now()
	clock.Arm(&r.Shot, min(r.Event, now+lookEvery))
	if now < r.NextLook || lockUps == lockUpOff {
		return
	}
	r.NextLook = now + lookEvery
	if r.WaitsFor != 0 {
		if r.Looks++; r.Looks == hangLooks && !reportLockUp(r.WaitsFor-1, arch.FramePointer(), hangs) {
			r.Looks--
		}
		return
	}
	owner := percpu.Owner()
	about, seen, looks, what := owner.CPU, owner.Since, uint8(waitLooks),
		" has had the kernel lock for 5 s, while this one waits for it"
	if about == 0 {
		first, ticket := percpu.FirstInLine()
		about, seen, looks, what = first, uint64(ticket), hangLooks,
			hangs+", and nobody else is to take the kernel lock before it"
	}
	if about == 0 || about == r.Number+1 || seen != r.SeenOwner ||
		percpu.At(about-1).Stage != uint8(noStage) {
		r.SeenOwner, r.Looks = seen, 0
		return
	}
	if r.Looks++; r.Looks == looks && !reportLockUp(about-1, arch.FramePointer(), what) {
		r.Looks--
	}
}

// lookAtCPUs looks for CPUs that hang, and returns when it wants to be called next, in nanoseconds
// since boot. Kernel context, with the lock.
//
//go:noinline
func lookAtCPUs(now uint64) (next uint64) {
	percpu.AssertLocked()
	if !percpu.Many || lockUps == lockUpOff {
		return clock.Never
	}
	if now < nextLook {
		return nextLook
	}
	nextLook = now + lookEvery
	me, busy := percpu.This(), false
	for n := range percpu.Count() {
		o := percpu.At(n)
		busy = busy || o.Thread != 0
		if due := o.Shot; o == me || o.Halting != percpu.NoHalt || due == clock.Never ||
			now < due+lookEvery/2 {
			o.Looks = 0
		} else if due != o.SeenShot {
			o.SeenShot, o.Looks = due, 0
		} else if o.Looks++; o.Looks == hangLooks && !reportLockUp(n, arch.FramePointer(), hangs) {
			o.Looks--
		}
	}
	if s := thread.Switches(); s != switches || !thread.Queued() {
		switches, queued = s, 0
	} else if queued++; queued == queuedLooks &&
		!reportLockUp(me.Number, arch.FramePointer(),
			" sees that no thread has been given a CPU for 20 s, while some wait") {
		queued--
	}
	if !busy {
		return clock.Never
	}
	return nextLook
}

// reportLockUp writes a trace of the function with the frame record at fp, and one of the CPU that
// the lock-up is about; or it ends the machine, which writes one of each CPU. It returns false if
// another CPU is writing a trace and holds this one: then the next check is to report the lock-up.
//
//go:noinline
func reportLockUp(about uint32, fp uintptr, what string) bool {
	kind := tracer.KindPanic
	if lockUps == lockUpReport {
		if kind = tracer.KindTrace; !HoldCPUs() {
			return false
		}
	}
	d := NextStage(kind)
	d.Reason.Str("lock-up: CPU ")
	d.Reason.Dec(uint64(about))
	d.Reason.Str(what)
	if lockUps != lockUpReport {
		panicCaller(d, fp)
	}
	d.fromCaller(fp)
	WriteTrace()
	LeaveStages()
	if about != percpu.This().Number {
		TraceCPU(about)
	}
	sayLock()
	ReleaseCPUs()
	return true
}
