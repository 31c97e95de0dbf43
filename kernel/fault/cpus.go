package fault

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// A death with several CPUs. The first CPU that dies takes over the machine with one atomic
// exchange and stops the others by NMIs. Each of them leaves its trap frame in its record and
// halts. Then the first CPU writes all traces: its own, and one for each other CPU.
//
//	the CPU that dies first              another one
//	takeMachine: dying = its number      it runs, or dies: takeMachine waits for the NMI
//	awaitReport: waits                   it may report an NMI, to the end
//	stopOthers: NMIs, waits              stopIfAsked, in the NMI: Frame, Stopped, halt
//	WriteTrace: its own
//	EndMachine: traceOthers
//
// While the monitor is open, or an NMI is reported, the other CPUs stand still, too, and go on
// afterwards: HoldCPUs, standStill, ReleaseCPUs.
//
// With one CPU, none of this is needed.

// dying is 1 + the number of the CPU that died first, or 0 if none has died. Panic path only.
var dying uint32

// Time limits for waiting for another CPU, in nanoseconds. Within stopWait all CPUs together must
// answer their NMIs. A CPU does so within microseconds, but the host of an emulated one may not let
// it run at once. A CPU that dies after another one waits takeWait to be stopped by it, but only
// doubtWait if that other CPU does not look dead.
const (
	stopWait  = 900e6
	takeWait  = 30e9
	doubtWait = 1e9
)

// takeMachine makes the running CPU, which has died, the one that writes all traces. It does not
// return if another CPU is already doing that. f is the trap by which the CPU died, or nil; then fp
// is the frame record of the function that called NextStage.
func takeMachine(f *arch.TrapFrame, fp uintptr) {
	r := percpu.This()
	me := r.Number + 1
	if percpu.Count() == 1 || dying == me {
		return
	}
	if !arch.CompareAndSwap(&dying, 0, me) {
		r.Frame, r.FP = uintptr(unsafe.Pointer(f)), fp
		r.State.Set(percpu.Dying)
		// If nobody stops this CPU, then dying is wrong, or that CPU got stuck. One of the waiting
		// CPUs takes over the machine, and the others wait for that one.
		for first := percpu.Load(&dying); ; first = percpu.Load(&dying) {
			awaitStop(first - 1)
			if arch.CompareAndSwap(&dying, first, me) {
				break
			}
		}
	}
	r.State.Set(percpu.Dying)
	awaitReport(me)
	arch.DropNMI(false) // the first CPU may be writing a trace of something else
	stopOthers(me - 1)
}

// awaitStop waits until the CPU that died first stops this one. It returns if that takes too long.
func awaitStop(first uint32) {
	for began := clock.Now(); clock.Now()-began < takeWait; arch.Pause() {
		if clock.Now()-began > doubtWait &&
			(first >= percpu.Count() || percpu.At(first).State.Now() != percpu.Dying) {
			return
		}
	}
}

// reporting is 1 + the number of the CPU that reports an NMI, or 0. That CPU takes no other NMI, so
// nobody can stop it. Panic path only.
var reporting uint32

// beginReport is called when a CPU is about to report an NMI. It returns false if another CPU has
// died: that one does not wait for a report that has not begun.
func beginReport() bool {
	if percpu.Count() == 1 {
		return true
	}
	arch.CompareAndSwap(&reporting, 0, percpu.This().Number+1)
	if percpu.Load(&dying) == 0 {
		return true
	}
	endReport()
	return false
}

// endReport is called when the report has ended.
func endReport() {
	if reporting == percpu.This().Number+1 {
		arch.Store32(uintptr(unsafe.Pointer(&reporting)), 0)
	}
}

// awaitReport waits until no other CPU reports an NMI, for takeWait at most. A CPU that dies need
// not stand still meanwhile: its host may not have let it run when it was asked to, and while a
// trace is written, NMIs are dropped.
func awaitReport(me uint32) {
	for began := clock.Now(); clock.Now()-began < takeWait; arch.Pause() {
		if n := percpu.Load(&reporting); n == 0 || n == me {
			return
		}
	}
}

// stopOthers stops all other CPUs.
func stopOthers(me uint32) {
	for n := range percpu.Count() {
		if n != me {
			arch.StopCPU(percpu.At(n).ID)
		}
	}
	for began := clock.Now(); clock.Now()-began < stopWait; arch.Pause() {
		left := 0
		for n := range percpu.Count() {
			if s := percpu.At(n).State.Now(); n != me && (s == percpu.Running || s == percpu.Held) {
				left++
			}
		}
		if left == 0 {
			return
		}
	}
	// Resetting the first CPU would reset the machine.
	for n := uint32(1); n < percpu.Count(); n++ {
		if r := percpu.At(n); n != me && r.State.Now() == percpu.Running {
			arch.InitCPU(r.ID)
		}
	}
}

// stopIfAsked is called in an NMI. It does not return if another CPU has died. It reports whether
// this CPU is the one that died: then nothing is to be traced.
func stopIfAsked(f *arch.TrapFrame) bool {
	if percpu.Count() == 1 {
		return false
	}
	r := percpu.This()
	if dying == 0 {
		return standStill(r, f)
	}
	if dying == r.Number+1 {
		return true
	}
	r.EndRing()
	if r.State.Now() == percpu.Running {
		r.Frame = uintptr(unsafe.Pointer(f))
		r.State.Set(percpu.Stopped)
	}
	halt()
	return true
}

// held is 1 + the number of the CPU whose monitor the others stand still for, or 0 if there is
// none. It is changed by one atomic exchange, because one CPU may report a lock-up while another
// opens the monitor. Under the kernel lock; the panic path takes none.
var held uint32

// HoldCPUs makes all other CPUs stand still, each in an NMI. It reports whether they do so now and
// did not before. A CPU that has not answered after stopWait goes on running. Kernel and early
// context.
func HoldCPUs() bool {
	if percpu.Count() == 1 || dying != 0 {
		return false
	}
	me := percpu.This().Number
	if !arch.CompareAndSwap(&held, 0, me+1) {
		return false
	}
	for n := range percpu.Count() {
		if r := percpu.At(n); n != me {
			arch.Store32(uintptr(unsafe.Pointer(&r.Asked)), 1)
			arch.StopCPU(r.ID)
		}
	}
	awaitNone(percpu.Running, me)
	return true
}

// ReleaseCPUs lets the CPUs go on that HoldCPUs stopped. Before that it shows the first CPU's stacks
// in the table again: that CPU checks them (checkInTime). Kernel and early context.
func ReleaseCPUs() {
	me := percpu.This().Number
	if dying == 0 {
		stack.Show(0)
	}
	arch.Store32(uintptr(unsafe.Pointer(&held)), 0)
	awaitNone(percpu.Held, me) // so that no CPU takes the next hold for this one
}

// awaitNone waits until no CPU but me is in the state, for stopWait at most.
func awaitNone(s percpu.State, me uint32) {
	for began := clock.Now(); clock.Now()-began < stopWait; arch.Pause() {
		left := false
		for n := range percpu.Count() {
			left = left || n != me && percpu.At(n).State.Now() == s
		}
		if !left {
			return
		}
	}
}

// standStill is called in an NMI while no CPU has died. It reports whether the NMI came from
// HoldCPUs, and returns when the CPU is to go on. It does not return if a CPU dies meanwhile,
// because that CPU's NMI cannot interrupt this one.
func standStill(r *percpu.Record, f *arch.TrapFrame) bool {
	if arch.Load32(uintptr(unsafe.Pointer(&r.Asked))) == 0 {
		return false
	}
	r.Asked = 0
	for arch.Load32(uintptr(unsafe.Pointer(&held))) != 0 {
		r.Frame = uintptr(unsafe.Pointer(f))
		r.State.Set(percpu.Held)
		if arch.Load32(uintptr(unsafe.Pointer(&dying))) != 0 {
			r.State.Set(percpu.Stopped)
			halt()
		}
		arch.Pause()
	}
	if r.WatchTurn != watchTurn {
		takeWatches()
	}
	r.State.Set(percpu.Running)
	r.CatchUpHeld() // so that nobody who changes page tables waits for this CPU
	return true
}

// TraceCPU writes a trace of another CPU, which stands still. Kernel and early context.
func TraceCPU(n uint32) {
	me := percpu.This().Number
	d := NextStage(tracer.KindTrace)
	stack.Show(n)
	d.cpu, d.other = n, true
	if dying != 0 {
		d.of = deathSeq
	}
	WriteTrace()
	LeaveStages()
	stack.Show(me)
}

// traceHeld writes a trace of each other CPU that runs a thread, while HoldCPUs makes them stand
// still. What the idle ones do is known.
func traceHeld() {
	me := percpu.This().Number
	for n := range percpu.Count() {
		if r := percpu.At(n); n != me && r.State.Now() == percpu.Held && r.Thread != 0 {
			TraceCPU(n)
			noteBetween(n)
		}
	}
}

// OfCPU fills d with what another CPU was doing, which stands still, and shows that CPU's stacks
// until stack.Show is called. It returns false if that is not known. Kernel and early context.
func (d *Details) OfCPU(n uint32) bool {
	*d = Details{}
	d.cpu, d.other = n, true
	stack.Show(n)
	return d.fromCPU(StageFull)
}

// othersTraced is the number of CPUs that traceOthers has handled, and deathSeq the number of the
// death's trace. Panic path only.
var othersTraced, deathSeq uint32

// traceOthers writes a trace of each other CPU, after that of the death, in the current stage's
// form: the last stage writes one line each. If tracing a CPU faults, the next stage goes on with
// the CPU after it.
func traceOthers() {
	s := stage()
	if percpu.Count() == 1 || s == noStage || s > StageLine {
		return
	}
	me, d := percpu.This().Number, &stageDetails[s-1]
	if othersTraced == 0 {
		deathSeq = stageDetails[0].Seq
		beginCPULog()
	}
	for othersTraced < percpu.Count() {
		n := othersTraced
		if othersTraced++; n == me {
			continue
		}
		stack.Show(n)
		fatalDetails = *d
		d.begin(tracer.KindTrace)
		d.cpu, d.other, d.of = n, true, deathSeq
		cpusLeftOut++
		WriteTrace()
		if s.row().log != nil {
			onPanicStack(cpuInLog | s)
		}
		*d = fatalDetails
		stack.Show(me)
	}
	if othersTraced == percpu.Count() {
		othersTraced++
		endCPULog()
		if s == StageFull {
			sayLock()
		}
	}
}

// fromCPU fills d with what the CPU of that number was doing; it runs on the panic stack. It
// returns false if that is not known. After the first stage it reads no more than it must.
func (d *Details) fromCPU(s Stage) bool {
	r := percpu.At(d.cpu)
	if s == StageLine {
		d.Reason.Str("CPU ")
		d.Reason.Dec(uint64(d.cpu))
		d.Reason.Str(": ")
	}
	d.Context, d.Thread, d.fs = tracer.ContextEarly, uint32(r.Thread), r.UserTLS()
	if stack.Running {
		d.Context = tracer.ContextKernel
	}
	f := (*arch.TrapFrame)(arch.Pointer(r.Frame))
	switch r.State.Now() {
	case percpu.Dying:
		d.Reason.Str(tracer.DiedToo)
		if f == nil {
			saved, ra := arch.FrameRecord(r.FP)
			d.callerAt(ra, r.FP+16, saved)
			d.Reason.Str("panic")
			return true
		}
		d.ofFrame(f, r)
		if s > StageFull {
			d.describe(false)
		} else if !d.goPanic() {
			d.describe(true)
		}
	case percpu.Stopped:
		d.ofFrame(f, r)
		d.Cause = false
		if s == StageFull && d.onTheWay(f.Addr) {
			d.Reason.Str(tracer.DiedToo)
			d.describe(true)
		} else {
			d.Reason.Str("stopped")
		}
	case percpu.Held:
		d.ofFrame(f, r)
		d.Cause = false
		d.Reason.Str("monitor")
	default:
		d.Reason.Str("the CPU did not answer")
		return false
	}
	return true
}

// onTheWay reports whether the CPU was stopped on its way from a fault of the kernel to
// takeMachine, and if so makes that fault the cause. addr is the address of a page fault.
func (d *Details) onTheWay(addr uintptr) bool {
	Walk(d)
	for i := 0; i+1 < stack.Walker.N; i++ {
		t, in := &stack.Walker.Frames[i], &stack.Walker.Frames[i+1]
		if t.Kind != tracer.Trap {
			continue
		}
		switch v := t.Vector; {
		case v >= arch.TrapInterrupt, v == arch.TrapNMI, v == arch.TrapDebug, v == arch.TrapBreakpoint,
			v == arch.TrapFPU:
		// A thread's stack, where the fault may become a signal.
		case in.Stack < 0 || int(in.Stack) >= stack.Count:
		case tracer.Fixup(t.Addr) != 0 || arch.UserFixup(t.Addr) != 0:
		default:
			d.Cause, d.vector, d.code, d.at, d.addr = true, v, t.Error, t.Addr, addr
			return true
		}
	}
	return false
}

// ofFrame copies the registers of another CPU's trap.
func (d *Details) ofFrame(f *arch.TrapFrame, r *percpu.Record) {
	d.fromTrap(f)
	if stack.Running && !f.InKernelOf(&r.CPU) {
		d.Context, d.fs = tracer.ContextGoroutine, f.TLS
	}
}
