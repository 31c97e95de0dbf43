package linuxabi

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/sched"
)

// Signal frames: how a thread comes to run its handler, and how it comes back.
//
// The frame on the signal stack, from the handler's RSP upwards (Linux:
// arch/x86/include/asm/sigframe.h):
//
//	return address: the restorer, which calls rt_sigreturn
//	struct ucontext, with the registers
//	struct siginfo
//	the FPU's save area
//	a trap record
//
// The last is Zeroframe's: the handler runs with RBP at it, so a walk of the stack
// crosses to the interrupted code as it does at a trap.

// vectorSignal is the vector in the record of a signal that no fault has caused; the
// error code is then the signal's number. It equals the tracer's constant of that
// name; package kernel checks that.
const VectorSignal = 258

// ucontext is struct ucontext up to the signal mask, in words.
type ucontext struct {
	flags, link             uint64
	stack                   [3]uint64
	r8, r9, r10, r11        uintptr
	r12, r13, r14, r15      uintptr
	di, si, bp, bx          uintptr
	dx, ax, cx, sp, ip      uintptr
	eflags, segments        uintptr
	err, trap, oldmask, cr2 uintptr
	fpu                     uintptr
	_                       [8]uint64
	mask                    [16]uint64
}

type siginfo struct {
	signo, errno, code int32
	_                  int32
	addr               uintptr // or the sender's process and user number
	_                  [13]uint64
}

// trapRecord is what the tracer knows as one.
type trapRecord struct {
	bp, mark, vector, err, ip, cs, flags, sp, ss uintptr
}

// image is the frame while it is being made, but for the FPU's area.
var image struct {
	ret  uintptr
	uc   ucontext
	info siginfo
}

const (
	siUser    = 0
	siTkill   = -6
	siTimer   = -2
	siKernel  = 0x80
	redZone   = 128
	userFlags = 0x40dd5 // the bits of RFLAGS that a program may set
)

// deliver is called for each thread that is about to go on: if there is a signal for
// it, it goes on in the handler.
func deliver(t *sched.Thread) {
	for {
		sig := next(t)
		if sig == 0 {
			break
		}
		a := &actions[sig]
		if a.handler == sigIgnore || a.handler == sigDefault {
			if ignored(sig) {
				continue
			}
			kill(t, sig)
		}
		restart(t, a.flags&saRestart != 0)
		if !enter(t, sig, a) {
			t.Fault.Signal = 0
			kill(t, sigSEGV) // there is no room for the frame
		}
	}
	restart(t, true)
	if t.HasSavedMask {
		t.Mask, t.HasSavedMask = t.SavedMask, false
	}
}

// next takes the next signal that the thread must handle, or 0. One for a fault comes
// first, and cannot be held off.
func next(t *sched.Thread) int {
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

// restart finishes a system call that a signal has broken off: it starts over, or
// returns EINTR.
func restart(t *sched.Thread, again bool) {
	if t.Full || int64(t.Frame.AX) != -eRESTART {
		return
	}
	if again {
		t.Frame.AX = t.Number
		t.Frame.RIP -= 2 // SYSCALL
	} else {
		t.Frame.AX = errnoWord(eINTR)
	}
}

// enter makes the frame and sends the thread to its handler.
func enter(t *sched.Thread, sig int, a *action) bool {
	f := &t.Frame
	sp := f.RSP - redZone
	onAlt := onAltStack(t, f.RSP)
	if a.flags&saOnStack != 0 && t.AltSize != 0 && !onAlt {
		sp = t.AltSP + t.AltSize
	}
	rec := (sp - unsafe.Sizeof(trapRecord{})) &^ 7
	fpu := (rec - amd64.FPUSize()) &^ (amd64.FPUAlign - 1)
	ret := (fpu-unsafe.Sizeof(image))&^15 - 8

	if !t.Full {
		amd64.ResetFPU(t.FPU(), t.Control)
	}
	r := trapRecord{f.BP, amd64.TrapMark, VectorSignal, uintptr(sig), f.RIP, f.CS, f.RFLAGS, f.RSP, f.SS}
	info := &image.info
	info.signo, info.errno, info.code, info.addr = int32(sig), 0, siTkill, pid
	switch bit := uint64(1) << (sig - 1); {
	case t.ByTimer&bit != 0:
		info.code, info.addr = siTimer, 0
	case t.ByKernel&bit != 0:
		info.code, info.addr = siKernel, 0
	}
	t.ByTimer &^= 1 << (sig - 1)
	t.ByKernel &^= 1 << (sig - 1)
	uc := &image.uc
	uc.err, uc.trap, uc.cr2 = 0, 0, 0
	t.Delivered = sched.Fault{}
	if int(t.Fault.Signal) == sig {
		info.code, info.addr = t.Fault.Code, t.Fault.Addr
		r.vector, r.err = t.Fault.Vector, t.Fault.Error
		uc.err, uc.trap, uc.cr2 = t.Fault.Error, t.Fault.Vector, t.Fault.Addr
		t.Delivered, t.Fault.Signal = t.Fault, 0
	}
	uc.r8, uc.r9, uc.r10, uc.r11 = f.R8, f.R9, f.R10, f.R11
	uc.r12, uc.r13, uc.r14, uc.r15 = f.R12, f.R13, f.R14, f.R15
	uc.di, uc.si, uc.bp, uc.bx = f.DI, f.SI, f.BP, f.BX
	uc.dx, uc.ax, uc.cx, uc.sp, uc.ip = f.DX, f.AX, f.CX, f.RSP, f.RIP
	uc.eflags, uc.segments = f.RFLAGS, f.CS|f.SS<<48
	uc.fpu = fpu
	uc.stack[0], uc.stack[2] = uint64(t.AltSP), uint64(t.AltSize)
	mask := t.Mask
	if t.HasSavedMask {
		mask, t.HasSavedMask = t.SavedMask, false
	}
	uc.mask[0], uc.oldmask = mask, uintptr(mask)
	image.ret = a.restorer
	if !copyOut(rec, uintptr(unsafe.Pointer(&r)), unsafe.Sizeof(r)) ||
		!copyOut(fpu, t.FPU(), amd64.FPUSize()) ||
		!copyOut(ret, uintptr(unsafe.Pointer(&image)), unsafe.Sizeof(image)) {
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
	const direction, trap = 1 << 10, 1 << 8
	f.RFLAGS &^= direction | trap
	f.RIP, f.RSP, f.BP = handler, ret, rec
	f.DI, f.SI, f.DX, f.AX = uintptr(sig), ret+unsafe.Offsetof(image.info), ret+unsafe.Offsetof(image.uc), 0
	t.Full, t.Control = false, amd64.InitialControl
	return true
}

// sigreturn goes back to what the signal has interrupted.
func (c *call) sigreturn() int64 {
	t := sched.SaveCall(c.f)
	uc := &image.uc
	if !copyIn(uintptr(unsafe.Pointer(uc)), c.f.RSP, unsafe.Sizeof(*uc)) {
		kill(t, sigSEGV)
	}
	f := &t.Frame
	f.R8, f.R9, f.R10, f.R11 = uc.r8, uc.r9, uc.r10, uc.r11
	f.R12, f.R13, f.R14, f.R15 = uc.r12, uc.r13, uc.r14, uc.r15
	f.DI, f.SI, f.BP, f.BX = uc.di, uc.si, uc.bp, uc.bx
	f.DX, f.AX, f.CX, f.RSP, f.RIP = uc.dx, uc.ax, uc.cx, uc.sp, uc.ip
	f.RFLAGS = uc.eflags&userFlags | amd64.FlagInterrupt | amd64.FlagsFixed
	t.Mask = uc.mask[0] &^ unblockable
	t.Full = uc.fpu != 0
	if t.Full {
		if !copyIn(t.FPU(), uc.fpu, amd64.FPUSize()) {
			kill(t, sigSEGV)
		}
		amd64.CheckFPU(t.FPU())
	}
	if f.RIP >= 1<<47 {
		// IRETQ would fault in the kernel.
		t.Fault = sched.Fault{Signal: sigSEGV, Code: siKernel, Addr: f.RIP, Vector: amd64.VectorGP, PC: f.RIP}
	}
	sched.Resume(t)
	return 0
}
