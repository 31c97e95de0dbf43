package fault

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// A death with several CPUs. The first CPU that dies takes the machine, by one exchange, and stops
// the others by NMIs; each leaves its trap frame in its record and halts. The first one then writes
// all traces: its own, and one of each other CPU.
//
//	the CPU that dies first              another one
//	takeMachine: dying = its number      it runs, or dies: takeMachine waits for the NMI
//	stopOthers: NMIs, waits              stopIfAsked, in the NMI: Frame, Stopped, halt
//	WriteTrace: its own
//	EndMachine: traceOthers
//
// While the monitor is open the others stand still, too, but go on behind it: HoldCPUs, standStill,
// ReleaseCPUs.
//
// With one CPU nothing of this is done.

// dying is 1 + the number of the CPU that has died first, 0 if none has. Panic path only.
var dying uint32

// How long another CPU is waited for, in nanoseconds: stopWait is for all together to answer their
// NMIs. A CPU does within microseconds, but the host of an emulated one may let it run later.
// A CPU that has died behind another waits takeWait to be stopped by that, and no longer than
// doubtWait if it does not look as if that one had died.
const (
	stopWait  = 900e6
	takeWait  = 30e9
	doubtWait = 1e9
)

// takeMachine makes the running CPU, which has died, the one that writes all traces. It does not
// return if another one is. f is the trap by which it has died, or nil; then fp is the frame record of the
// function that has called NextStage.
func takeMachine(f *arch.TrapFrame, fp uintptr) {
	r := percpu.This()
	me := r.Number + 1
	if percpu.Count() == 1 || dying == me {
		return
	}
	if !arch.CompareAndSwap(&dying, 0, me) {
		r.Frame, r.FP = uintptr(unsafe.Pointer(f)), fp
		r.State.Set(percpu.Dying)
		// If nobody stops it, what dying says is wrong, or that CPU has come no further. Of those that wait, one
		// takes the machine over, and the others wait for that one.
		for first := percpu.Load(&dying); ; first = percpu.Load(&dying) {
			awaitStop(first - 1)
			if arch.CompareAndSwap(&dying, first, me) {
				break
			}
		}
	}
	r.State.Set(percpu.Dying)
	arch.DropNMI(false) // the first CPU may be at the trace of something else
	stopOthers(me - 1)
}

// awaitStop waits to be stopped by the CPU that has died first. It returns if that takes too long.
func awaitStop(first uint32) {
	for began := clock.Now(); clock.Now()-began < takeWait; arch.Pause() {
		if clock.Now()-began > doubtWait && (first >= percpu.Count() || percpu.At(first).State.Now() != percpu.Dying) {
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
	for n := uint32(1); n < percpu.Count(); n++ { // a reset of the first CPU would be one of the machine
		if r := percpu.At(n); n != me && r.State.Now() == percpu.Running {
			arch.InitCPU(r.ID)
		}
	}
}

// stopIfAsked is for an NMI. It does not return if another CPU has died, and reports whether this
// one has: then nothing is to be traced.
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

// held is 1 + the number of the CPU whose monitor the others stand still for, 0 if there is none.
// It changes in one step for all CPUs, since one that waits for the lock may report a lock-up while another
// one opens the monitor. Under the kernel lock; the panic path takes none.
var held uint32

// HoldCPUs has all other CPUs stand still, each in an NMI, and reports whether they do now and did
// not before. One that has not answered after stopWait runs on. Kernel and early context.
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

// ReleaseCPUs lets them go on. Kernel and early context.
func ReleaseCPUs() {
	me := percpu.This().Number
	arch.Store32(uintptr(unsafe.Pointer(&held)), 0)
	awaitNone(percpu.Held, me) // so that none takes the next time for this one
}

// awaitNone waits until no CPU but me is in the state, or until stopWait is over.
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

// standStill is for an NMI while no CPU has died. It reports whether it is HoldCPUs', and returns when
// the CPU is to go on. It does not return if a CPU dies meanwhile, whose NMI does not come in here.
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
	r.CatchUpHeld() // who changes page tables does not wait for it meanwhile
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

// OfCPU makes d what another CPU is at, which stands still, and shows that one's stacks until
// stack.Show is called. It returns false if it is not known. Kernel and early context.
func (d *Details) OfCPU(n uint32) bool {
	*d = Details{}
	d.cpu, d.other = n, true
	stack.Show(n)
	return d.fromCPU(StageFull)
}

// othersTraced is how many CPUs have been gone through by traceOthers, deathSeq the number of the
// death's trace. Panic path only.
var othersTraced, deathSeq uint32

// traceOthers writes a trace of each other CPU, behind that of the death, as the stage does: in the
// last one a line each. If one of them faults, the next stage goes on behind it.
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

// fromCPU makes d what the CPU of that number was at, on the panic stack. It returns false if that
// is not known. Behind the first stage it asks no more than it must.
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

// onTheWay reports whether the CPU was on its way from a fault of the kernel to takeMachine when it
// was stopped, and makes that fault the cause. addr is what a page fault would have accessed.
func (d *Details) onTheWay(addr uintptr) bool {
	Walk(d)
	for i := 0; i+1 < stack.Walker.N; i++ {
		t, in := &stack.Walker.Frames[i], &stack.Walker.Frames[i+1]
		if t.Kind != tracer.Trap {
			continue
		}
		switch v := t.Vector; {
		case v >= arch.TrapInterrupt, v == arch.TrapNMI, v == arch.TrapDebug, v == arch.TrapBreakpoint, v == arch.TrapFPU:
		case in.Stack < 0 || int(in.Stack) >= stack.Count: // a thread's, which may be a signal
		case tracer.Fixup(t.Addr) != 0 || arch.UserFixup(t.Addr) != 0:
		default:
			d.Cause, d.vector, d.code, d.at, d.addr = true, v, t.Error, t.Addr, addr
			return true
		}
	}
	return false
}

// ofFrame takes the registers of another CPU's trap.
func (d *Details) ofFrame(f *arch.TrapFrame, r *percpu.Record) {
	d.fromTrap(f)
	if stack.Running && !f.InKernelOf(&r.CPU) {
		d.Context, d.fs = tracer.ContextGoroutine, f.TLS
	}
}
