package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// Signal frames: how a thread enters a signal handler, and how it returns.
//
// The frame on the signal stack, from the handler's stack pointer upwards (Linux:
// arch/x86/include/asm/sigframe.h):
//
//	return address: the restorer, which calls rt_sigreturn
//	struct ucontext, with the registers
//	struct siginfo
//	the FPU's save area
//	a trap record
//
// Only the trap record is Zeroframe's own: the handler's frame pointer points to it, so a walk of
// the stack crosses to the interrupted code as it does at a trap.

// VectorSignal is the vector in the record of a signal that no fault caused; the error code is then
// the signal's number. It equals the tracer's constant of that name; package kernel checks that.
const VectorSignal = 258

// ucontext is struct ucontext up to the signal mask, in words.
type ucontext struct {
	flags, link uint64
	stack       [3]uint64
	cpu         arch.SignalContext
	mask        [16]uint64
}

type siginfo struct {
	signo, errno, code int32
	_                  int32
	addr               uintptr // or the sender's process and user ID
	_                  [13]uint64
}

// image is the frame while it is being built, without the FPU's area. Under the kernel lock.
var image struct {
	ret  uintptr
	uc   ucontext
	info siginfo
}

// faultRegisters holds the registers of the latest fault that became a signal. Under the kernel
// lock. zf finds the variable by its name (tools/format/resolve/arguments.go).
var faultRegisters arch.SignalContext

// FaultRegisters returns the registers of the latest fault that became a signal, for the panic
// path.
func FaultRegisters() *arch.SignalContext { return &faultRegisters }

// ucXState in the flags says that the FPU's save area is larger than FXSAVE's.
const ucXState = 1

const (
	siUser   = 0
	siTkill  = -6
	siTimer  = -2
	siKernel = 0x80
)

// deliver is called for each thread that is about to go on. If the thread has a signal, it goes on
// in the handler.
func deliver(t *thread.Thread) {
	for {
		for sig := next(t); sig != 0; sig = next(t) {
			a := &actions[sig]
			if a.handler == sigIgnore || a.handler == sigDefault {
				if ignored(sig) {
					continue
				}
				kill(t, sig)
			}
			restart(t, true, a.flags&saRestart != 0)
			if !enter(t, sig, a) {
				t.Fault.Signal = 0
				kill(t, sigSEGV) // there is no room for the frame
			}
		}
		restart(t, false, true)
		if !t.HasSavedMask {
			return
		}
		t.Mask, t.HasSavedMask = t.SavedMask, false
	}
}

// next takes the next signal that the thread must handle, or returns 0. The signal of a fault comes
// first, and cannot be blocked.
func next(t *thread.Thread) int {
	if sig := int(t.Fault.Signal); sig != 0 {
		if t.Mask&(1<<(sig-1)) != 0 || actions[sig].handler == sigIgnore {
			kill(t, sig)
		}
		return sig
	}
	set := t.Pending &^ t.Mask
	if set == 0 {
		return 0
	}
	sig := 1
	for set&1 == 0 {
		set >>= 1
		sig++
	}
	t.Pending &^= 1 << (sig - 1)
	return sig
}

// restart finishes a system call that a signal interrupted: it starts over or goes on, or, after a
// handler, returns EINTR.
func restart(t *thread.Thread, handled, again bool) {
	if t.Full {
		return
	}
	switch e := -int64(t.Frame.Result()); {
	case e == eRESTART && again, e == eRESTARTTIMED && !handled:
		t.Frame.Restart(t.Number)
		t.Retried = e == eRESTARTTIMED
	case e == eRESTART:
		t.Frame.SetResult(errnoWord(eINTR))
	case e == eRESTARTTIMED:
		t.Frame.SetResult(errnoWord(eINTR))
		if t.Left == 0 {
			return
		}
		if now := clock.Now(); now >= t.Until {
			t.Frame.SetResult(0)
		} else if outTimespec(t.Left, t.Until-now) != 0 {
			t.Frame.SetResult(errnoWord(eFAULT))
		}
	}
}

// enter builds the frame and makes the thread go on in its handler.
func enter(t *thread.Thread, sig int, a *action) bool {
	f := &t.Frame
	sp := f.SP - arch.RedZone
	onAlt := onAltStack(t, f.SP)
	if a.flags&saOnStack != 0 && t.AltSize != 0 && !onAlt {
		sp = t.AltSP + t.AltSize
	}
	rec := (sp - arch.RecordSize) &^ 7
	fpu := (rec - arch.FPUSize()) &^ (arch.FPUAlign - 1)
	ret := (fpu-unsafe.Sizeof(image))&^15 - 8

	if !t.Full {
		arch.ResetFPU(t.FPU(), t.Control)
	}
	r := f.MakeRecord(VectorSignal, uintptr(sig))
	info := &image.info
	info.signo, info.errno = int32(sig), 0
	info.code, info.addr = takePending(t, sig)
	uc := &image.uc
	cpu := &uc.cpu
	cpu.Error, cpu.Trap, cpu.Addr = 0, 0, 0
	t.Delivered = thread.Fault{}
	if int(t.Fault.Signal) == sig {
		info.code, info.addr = t.Fault.Code, t.Fault.Addr
		r = f.MakeRecord(t.Fault.Vector, t.Fault.Error)
		faultRegisters.Save(f)
		cpu.Error, cpu.Trap, cpu.Addr = t.Fault.Error, t.Fault.Vector, t.Fault.Addr
		t.Delivered, t.Fault.Signal = t.Fault, 0
	}
	cpu.Save(f)
	cpu.FPU = fpu
	uc.stack[0], uc.stack[2] = uint64(t.AltSP), uint64(t.AltSize)
	mask := t.Mask
	if t.HasSavedMask {
		mask, t.HasSavedMask = t.SavedMask, false
	}
	uc.mask[0], cpu.Mask = mask, uintptr(mask)
	image.ret = a.restorer
	uc.flags = 0
	if arch.MarkFPU(t.FPU()) {
		uc.flags = ucXState
	}
	if !store(rec, &r) ||
		!copyOut(fpu, t.FPU(), arch.FPUSize()) ||
		!store(ret, &image) {
		return false
	}
	t.Mask |= a.mask &^ unblockable
	if a.flags&saNoDefer == 0 {
		t.Mask |= 1 << (sig - 1)
	}
	handler := a.handler
	if a.flags&saResetHand != 0 {
		a.handler = sigDefault
	}
	f.CallHandler(handler, ret, rec, uintptr(sig), ret+unsafe.Offsetof(image.info),
		ret+unsafe.Offsetof(image.uc))
	t.Full, t.Control = false, arch.InitialControl
	return true
}

// sysSigreturn returns to what the signal interrupted.
func sysSigreturn(c *call) int64 {
	t := thread.SaveCall(c.f)
	uc := &image.uc
	if !copyIn(uintptr(unsafe.Pointer(uc)), c.f.SP, unsafe.Sizeof(*uc)) {
		kill(t, sigSEGV)
	}
	f := &t.Frame
	goesOn := uc.cpu.Load(f)
	t.Mask = uc.mask[0] &^ unblockable
	t.Full = uc.cpu.FPU != 0
	if t.Full {
		if !copyIn(t.FPU(), uc.cpu.FPU, arch.FPUFirst) {
			kill(t, sigSEGV)
		}
		more := arch.FPUMarked(t.FPU())
		if more && !copyIn(t.FPU()+arch.FPUFirst, uc.cpu.FPU+arch.FPUFirst,
			arch.FPUSize()-arch.FPUFirst) {
			kill(t, sigSEGV)
		}
		arch.CheckFPU(t.FPU(), more)
	}
	if !goesOn {
		t.Fault = thread.Fault{Signal: sigSEGV, Code: siKernel, Addr: f.PC,
			Vector: arch.TrapProtection, PC: f.PC}
	}
	thread.Resume(t)
	return 0
}
