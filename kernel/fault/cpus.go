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
		for began := clock.Now(); clock.Now()-began < takeWait; arch.Pause() {
			if other := dying - 1; clock.Now()-began > doubtWait &&
				(other >= percpu.Count() || percpu.At(other).State.Now() != percpu.Dying) {
				break
			}
		}
		// Nobody stops it: what dying says is wrong, or that CPU has come no further.
		dying = me
	}
	r.State.Set(percpu.Dying)
	arch.DropNMI(false) // the first CPU may be at the trace of something else
	stopOthers(me - 1)
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
			if n != me && percpu.At(n).State.Now() == percpu.Running {
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
	if dying == 0 || percpu.Count() == 1 {
		return false
	}
	r := percpu.This()
	if dying == r.Number+1 {
		return true
	}
	if r.State.Now() == percpu.Running {
		r.Frame = uintptr(unsafe.Pointer(f))
		r.State.Set(percpu.Stopped)
	}
	halt()
	return true
}

// othersTraced is set when traceOthers has begun. Panic path only.
var othersTraced bool

// traceOthers writes a trace of each other CPU, behind that of the death.
func traceOthers() {
	if percpu.Count() == 1 || othersTraced {
		return
	}
	othersTraced = true // a fault in one of them ends this
	me, of := percpu.This().Number, stageDetails[0].Seq
	for n := range percpu.Count() {
		if n == me {
			continue
		}
		stack.Show(n)
		d := &stageDetails[0]
		fatalDetails = *d
		d.begin(tracer.KindTrace)
		d.cpu, d.of = n, of
		WriteTrace()
		*d = fatalDetails
		stack.Show(me)
	}
}

// fromCPU makes d what another CPU was at, on the panic stack. It returns false if that is not
// known.
func (d *Details) fromCPU(r *percpu.Record) bool {
	d.Context, d.Thread, d.fs = tracer.ContextEarly, uint32(r.Thread), r.UserTLS()
	if stack.Running {
		d.Context = tracer.ContextKernel
	}
	f := (*arch.TrapFrame)(arch.Pointer(r.Frame))
	switch r.State.Now() {
	case percpu.Dying:
		d.Reason.Str("died at the same time: ")
		if f == nil {
			saved, ra := arch.FrameRecord(r.FP)
			d.callerAt(ra, r.FP+16, saved)
			d.Reason.Str("panic")
			return true
		}
		d.ofFrame(f, r)
		if !d.goPanic() {
			d.describe(true)
		}
	case percpu.Stopped:
		d.ofFrame(f, r)
		d.Cause = false
		d.Reason.Str("stopped")
	default:
		d.Reason.Str("the CPU did not answer")
		return false
	}
	return true
}

// ofFrame takes the registers of another CPU's trap.
func (d *Details) ofFrame(f *arch.TrapFrame, r *percpu.Record) {
	d.fromTrap(f)
	if stack.Running && !f.InKernelOf(&r.CPU) {
		d.Context, d.fs = tracer.ContextGoroutine, f.TLS
	}
}
