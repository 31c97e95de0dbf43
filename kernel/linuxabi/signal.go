package linuxabi

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/sched"
)

// Signals: what the program wants done with each, and sending them.

const (
	sigINT    = 2
	sigQUIT   = 3
	sigILL    = 4
	sigTRAP   = 5
	sigBUS    = 7
	sigFPE    = 8
	sigKILL   = 9
	sigSEGV   = 11
	sigPIPE   = 13
	sigALRM   = 14
	sigCHLD   = 17
	sigCONT   = 18
	sigSTOP   = 19
	sigURG    = 23
	sigVTALRM = 26
	sigPROF   = 27
	sigWINCH  = 28

	sigDefault = 0
	sigIgnore  = 1

	saSigInfo   = 4
	saRestorer  = 0x04000000
	saOnStack   = 0x08000000
	saRestart   = 0x10000000
	saNoDefer   = 0x40000000
	saResetHand = 0x80000000

	ssOnStack = 1
	ssDisable = 2
)

// action is struct kernel_sigaction.
type action struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

var actions [numSignals + 1]action

func (c *call) sigaction() int64 {
	sig := c.a
	if sig == 0 || sig > numSignals {
		return -eINVAL
	}
	old := actions[sig]
	if c.b != 0 {
		if sig == sigKILL || sig == sigSTOP {
			return -eINVAL
		}
		var a action
		if !copyIn(uintptr(unsafe.Pointer(&a)), c.b, unsafe.Sizeof(a)) {
			return -eFAULT
		}
		actions[sig] = a
	}
	if c.c != 0 && !copyOut(c.c, uintptr(unsafe.Pointer(&old)), unsafe.Sizeof(old)) {
		return -eFAULT
	}
	return 0
}

func (c *call) sigprocmask() int64 {
	t := sched.Current()
	old := t.Mask
	if c.b != 0 {
		set, ok := in64(c.b)
		if !ok {
			return -eFAULT
		}
		switch c.a {
		case 0:
			t.Mask |= set
		case 1:
			t.Mask &^= set
		case 2:
			t.Mask = set
		default:
			return -eINVAL
		}
		t.Mask &^= unblockable
	}
	if c.c != 0 && !out64(c.c, old) {
		return -eFAULT
	}
	return 0
}

func (c *call) sigpending() int64 {
	if !out64(c.a, sched.Current().Pending) {
		return -eFAULT
	}
	return 0
}

func (c *call) sigsuspend() int64 {
	set, ok := in64(c.a)
	if !ok {
		return -eFAULT
	}
	t := sched.Current()
	t.SavedMask, t.HasSavedMask = t.Mask, true
	t.Mask = set &^ unblockable
	c.f.AX = errnoWord(eINTR)
	if t.Pending&^t.Mask != 0 {
		return -eINTR
	}
	sched.Block(c.f, sched.ForSignal, 0, never, 0)
	return 0
}

func (c *call) sigtimedwait() int64 {
	set, ok := in64(c.a)
	if !ok {
		return -eFAULT
	}
	deadline := uint64(never)
	if c.c != 0 {
		ns, e := inTimespec(c.c)
		if e != 0 {
			return e
		}
		deadline = clock.Now() + ns
	}
	t := sched.Current()
	if got := t.Pending & set; got != 0 {
		sig := 1
		for got&(1<<(sig-1)) == 0 {
			sig++
		}
		info := siginfo{signo: int32(sig), code: siTkill, addr: pid}
		if c.b != 0 && !copyOut(c.b, uintptr(unsafe.Pointer(&info)), unsafe.Sizeof(info)) {
			return -eFAULT
		}
		t.Pending &^= 1 << (sig - 1)
		return int64(sig)
	}
	if !c.again {
		t.Until = deadline
	}
	if clock.Now() >= t.Until {
		return -eAGAIN
	}
	sched.Block(c.f, sched.ForSignal, uintptr(set), t.Until, -eAGAIN)
	return 0
}

// sigaltstack sets the signal stack of a thread. The Go runtime gives every thread
// one, and does it early, so here the kernel also gets to know the thread's own stack.
func (c *call) sigaltstack() int64 {
	t := sched.Current()
	on := onAltStack(t, c.f.RSP)
	if c.b != 0 {
		flags := uint64(0)
		switch {
		case t.AltSize == 0:
			flags = ssDisable
		case on:
			flags = ssOnStack
		}
		if !out64(c.b, uint64(t.AltSP)) || !out64(c.b+8, flags) || !out64(c.b+16, uint64(t.AltSize)) {
			return -eFAULT
		}
	}
	if c.a == 0 {
		return 0
	}
	sp, ok1 := in64(c.a)
	flags, ok2 := in32(c.a + 8)
	size, ok3 := in64(c.a + 16)
	if !ok1 || !ok2 || !ok3 {
		return -eFAULT
	}
	if on {
		return -ePERM
	}
	if flags&ssDisable != 0 {
		t.AltSP, t.AltSize, t.SigLo, t.SigHi = 0, 0, 0, 0
		return 0
	}
	if size < 2048 {
		return -eNOMEM
	}
	t.AltSP, t.AltSize = uintptr(sp), uintptr(size)
	t.SigLo, t.SigHi = 0, 0
	if t.AltSize <= maxThreadStack && t.AltSP >= mm.SpaceLo() && mm.Allowed(t.AltSP, t.AltSize, true) {
		paint(t.AltSP, t.AltSP+t.AltSize)
		t.SigLo, t.SigHi = (t.AltSP+7)&^7, (t.AltSP+t.AltSize)&^7
	}
	findStack(t, c.f.RSP, amd64.UserFS())
	return 0
}

// onAltStack reports whether a thread whose stack pointer is sp runs on its signal stack.
func onAltStack(t *sched.Thread, sp uintptr) bool {
	return t.AltSize != 0 && sp > t.AltSP && sp-t.AltSP <= t.AltSize
}

func (c *call) kill() int64 {
	sig := c.b
	if sig > numSignals {
		return -eINVAL
	}
	switch p := int32(c.a); p {
	case pid, 0, -pid: // -pid is -1: everyone
		if sig != 0 {
			send(nil, int(sig))
		}
		return 0
	}
	return -eSRCH
}

func (c *call) tgkill() int64 {
	if c.a != pid {
		return -eSRCH
	}
	return sendTo(int32(c.b), c.c)
}

func (c *call) tkill() int64 { return sendTo(int32(c.a), c.b) }

func sendTo(tid int32, sig uintptr) int64 {
	t := sched.Get(tid)
	if sig > numSignals {
		return -eINVAL
	}
	if t == nil {
		return -eSRCH
	}
	if sig != 0 {
		send(t, int(sig))
	}
	return 0
}

// Send sends the program a signal from outside. Kernel context.
func Send(sig int) { send(nil, sig) }

// send makes a signal pending for a thread, or, with nil, for one that takes it: the
// running one, one that waits, or any.
func send(t *sched.Thread, sig int) {
	bit := uint64(1) << (sig - 1)
	if t == nil {
		t = taker(bit)
	}
	t.Pending |= bit
	if t.State == sched.Waiting && t.Why == sched.ForSignal && uint64(t.Key)&bit != 0 {
		sched.Retry(t) // rt_sigtimedwait takes it, masked or not
		return
	}
	if t.Mask&bit != 0 || t.State != sched.Waiting {
		return
	}
	if ignored(sig) {
		t.Pending &^= bit
		return
	}
	result := int64(-eINTR)
	if t.Why == sched.ForFile || t.Why == sched.ForFutex {
		result = -eRESTART
		if t.Done > 0 {
			result = int64(t.Done) // a part has been done: the call ends with that
		}
	}
	sched.WakeNow(t, result)
}

// taker chooses the thread for a signal of the program.
func taker(bit uint64) *sched.Thread {
	var any, ready *sched.Thread
	if t := sched.Current(); t != nil {
		if t.Mask&bit == 0 {
			return t
		}
		any = t
	}
	for tid := int32(1); tid <= sched.MaxTID(); tid++ {
		t := sched.Get(tid)
		if t == nil {
			continue
		}
		if any == nil {
			any = t
		}
		if t.Mask&bit != 0 {
			continue
		}
		if t.State == sched.Waiting {
			return t
		}
		ready = t
	}
	if ready != nil {
		return ready
	}
	return any
}

// sendAny passes on what an ending thread had pending.
func sendAny(pending uint64) {
	for sig := 1; sig <= numSignals; sig++ {
		if pending&(1<<(sig-1)) != 0 && sched.Count() > 0 {
			send(nil, sig)
		}
	}
}

// ignored reports whether a signal does nothing.
func ignored(sig int) bool {
	switch actions[sig].handler {
	case sigIgnore:
		return true
	case sigDefault:
		switch sig {
		case sigCHLD, sigCONT, sigURG, sigWINCH, sigSTOP, 20, 21, 22:
			return true
		}
	}
	return false
}

// Fault makes the running thread, which the trap f has interrupted, take a signal
// for what it has done. It does not return. Kernel context.
func Fault(f *amd64.TrapFrame, sig int, code int32, addr uintptr) {
	t := sched.SaveTrap(f)
	t.Fault = sched.Fault{Signal: uint8(sig), Code: code, Addr: addr, Vector: f.Vector, Error: f.Error, PC: f.RIP}
	sched.Resume(t)
}

// Handles reports whether the program has a handler for a signal which the running
// thread can take now. Kernel context.
func Handles(sig int) bool {
	h := actions[sig].handler
	return h != sigDefault && h != sigIgnore && sched.Current().Mask&(1<<(sig-1)) == 0
}

func errnoWord(e int64) uintptr { return uintptr(-e) }
