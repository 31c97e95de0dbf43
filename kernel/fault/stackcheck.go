package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// CheckStacks measures every stack, warns of those that are more than three quarters full, and
// treats one that has passed its limit as [stack.OverLimit] says. Early and kernel context. It
// takes about one instruction for each unused word of stack.
func CheckStacks() {
	for i := range stack.Table[:stack.Count] {
		s := &stack.Table[i]
		stack.Measure(s)
		if s.Level() < tracer.LevelOverLimit {
			stack.WarnOnce(i)
		} else if stack.FirstTime(i) {
			overLimit(s)
		}
	}
}

// overLimit reports a stack that is over its limit. The trace begins at its caller.
//
//go:noinline
func overLimit(s *tracer.Stack) {
	fp := arch.FramePointer()
	d := NextStage(overKind())
	d.Reason.overLimit(s)
	d.fromCaller(fp)
	d.found(s, 0)
	overTold(d)
}

// overKind is the kind of trace for a stack over its limit.
func overKind() tracer.TraceKind {
	if stack.OverLimit == stack.ReportOver {
		return tracer.KindTrace
	}
	return tracer.KindPanic
}

// overTold writes such a trace; if stacks over their limit are fatal, it does not return.
func overTold(d *Details) {
	WriteTrace()
	if d.Kind == tracer.KindPanic {
		EndMachine()
	}
	LeaveStages()
}

func (r *text) overLimit(s *tracer.Stack) {
	r.Str("stack ")
	r.Str(s.Name)
	if s.Level() == tracer.LevelOverflowed {
		r.Str(" overflowed")
	} else {
		r.Str(" is over its limit")
	}
	r.Str(": at least ")
	r.Dec(uint64(s.Used))
	r.Str(" of ")
	r.Dec(uint64(s.Size()))
	r.Str(" bytes used, limit ")
	r.Dec(uint64(s.Limit))
}

// found says since when a stack is over its limit, in nanoseconds since boot, and whether the
// traced code runs on it.
func (d *Details) found(s *tracer.Stack, since uint64) {
	r := &d.Reason
	r.Str(", since between ")
	r.seconds(since)
	r.Str(" s and ")
	r.seconds(clock.Now())
	r.Str(" s; ")
	if s.Contains(d.sp) {
		r.Str("the trace is of what runs on it")
	} else {
		r.Str("nothing runs on it now, the trace is of what was interrupted")
	}
}

// checkEvery is how often the limits are checked, in nanoseconds: at the first timer interrupt
// after that time.
const checkEvery = 1e9

// Under the kernel lock.
var (
	// nextCheck is when the limits are checked again, in nanoseconds since boot. The boot report's
	// check counts for the first second: an emulator has to translate the check first, and the
	// program has not started yet.
	nextCheck uint64 = checkEvery
	putOff    uint8  // how many checks the runtime's own work has put off
)

// checkInTime checks the limits if a second has gone by. f is what the timer interrupted, where the
// trace begins. The check is put off while that is the runtime's own work, and while another CPU
// reports, whose stacks are in the table: this one may not have answered in time.
func checkInTime(f *arch.TrapFrame) {
	percpu.AssertLocked()
	now := clock.Now()
	if now < nextCheck || percpu.Load(&held) != 0 || runtimeAtWork(f, &putOff) {
		return
	}
	nextCheck, putOff = now+checkEvery, 0
	s, since := stack.FirstOver(now)
	if s == nil {
		return
	}
	d := NextStage(overKind())
	d.atTrap(f)
	d.Cause = false
	d.Reason.overLimit(s)
	d.found(s, since)
	overTold(d)
}
