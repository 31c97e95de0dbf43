package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// Signals: the program's action for each, and sending them.

const (
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
	sigXCPU   = 24
	sigXFSZ   = 25
	sigVTALRM = 26
	sigPROF   = 27
	sigWINCH  = 28

	sigDefault = 0
	sigIgnore  = 1

	saRestorer  = 0x04000000
	saOnStack   = 0x08000000
	saRestart   = 0x10000000
	saNoDefer   = 0x40000000
	saResetHand = 0x80000000
	saKnown     = 0x807 | saRestorer | saOnStack | saRestart | saNoDefer | saResetHand

	ssOnStack = 1
	ssDisable = 2
)

// action is struct kernel_sigaction.
type action struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

var actions [numSignals + 1]action // under the kernel lock

func sysSigaction(c *call) int64 {
	if c.size(3) != sigsetSize {
		return -eINVAL
	}
	sig := c.signal(0)
	if sig == 0 || sig > numSignals {
		return -eINVAL
	}
	old := actions[sig]
	if c.args[1] != 0 {
		if sig == sigKILL || sig == sigSTOP {
			return -eINVAL
		}
		var a action
		if !load(&a, c.pointer(1)) {
			return -eFAULT
		}
		a.mask &^= unblockable
		a.flags &= saKnown
		actions[sig] = a
		if ignored(int(sig)) {
			dropPending(1 << (sig - 1))
		}
	}
	return copied(c.args[2] == 0 || store(c.pointer(2), &old))
}

func sysSigprocmask(c *call) int64 {
	if c.size(3) != sigsetSize {
		return -eINVAL
	}
	t := thread.Current()
	old := t.Mask
	if c.args[1] != 0 {
		set, ok := in64(c.pointer(1))
		if !ok {
			return -eFAULT
		}
		switch c.op(0) {
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
	return copied(c.args[2] == 0 || out64(c.pointer(2), old))
}

func sysSigpending(c *call) int64 {
	set, n := thread.Current().Pending&thread.Current().Mask, c.size(1)
	if n > sigsetSize {
		return -eINVAL
	}
	return copied(copyOut(c.pointer(0), addressOf(&set), n))
}

func sysSigsuspend(c *call) int64 {
	if c.size(1) != sigsetSize {
		return -eINVAL
	}
	set, ok := in64(c.pointer(0))
	if !ok {
		return -eFAULT
	}
	t := thread.Current()
	t.SavedMask, t.HasSavedMask = t.Mask, true
	t.Mask = set &^ unblockable
	c.f.SetResult(errnoWord(eINTR))
	if t.Pending&^t.Mask != 0 {
		return -eINTR
	}
	thread.Block(c.f, thread.ForSignal, 0, never, 0)
	return 0
}

func sysSigtimedwait(c *call) int64 {
	if c.size(3) != sigsetSize {
		return -eINVAL
	}
	set, ok := in64(c.pointer(0))
	if !ok {
		return -eFAULT
	}
	deadline, e := inDeadline(c.pointer(2))
	if e != 0 {
		return e
	}
	t := thread.Current()
	if got := t.Pending & set; got != 0 {
		sig := 1
		for got&(1<<(sig-1)) == 0 {
			sig++
		}
		return take(t, sig, c.pointer(1))
	}
	if !c.again {
		t.Until = deadline
	}
	if clock.Now() >= t.Until {
		return -eAGAIN
	}
	thread.Block(c.f, thread.ForSignal, uintptr(set), t.Until, -eAGAIN)
	return 0
}

// take takes a pending signal for sigtimedwait and returns that call's result. If to is not 0, it
// writes the signal's siginfo there.
func take(t *thread.Thread, sig int, to uintptr) int64 {
	code, sender := takePending(t, sig)
	info := siginfo{signo: int32(sig), code: code, addr: sender}
	if to != 0 && !store(to, &info) {
		return -eFAULT
	}
	return int64(sig)
}

// takePending takes a pending signal of thread t, and returns its si_code and si_pid.
func takePending(t *thread.Thread, sig int) (code int32, sender uintptr) {
	bit := uint64(1) << (sig - 1)
	code, sender = siTkill, pid
	switch {
	case t.ByTimer&bit != 0:
		code, sender = siTimer, 0
	case t.ByKernel&bit != 0:
		code, sender = siKernel, 0
	case t.Shared&bit != 0:
		code = siUser
	}
	t.Pending &^= bit
	t.ByTimer &^= bit
	t.ByKernel &^= bit
	t.Shared &^= bit
	return code, sender
}

// sysSigaltstack sets the signal stack of a thread. The Go runtime gives each thread one early on,
// so this is also where the kernel learns of the thread's own stack.
func sysSigaltstack(c *call) int64 {
	t := thread.Current()
	on := onAltStack(t, c.f.SP)
	if c.args[1] != 0 {
		flags := uint64(0)
		switch {
		case t.AltSize == 0:
			flags = ssDisable
		case on:
			flags = ssOnStack
		}
		if !store(c.pointer(1), &[3]uint64{uint64(t.AltSP), flags, uint64(t.AltSize)}) {
			return -eFAULT
		}
	}
	if c.args[0] == 0 {
		return 0
	}
	var stack [3]uintptr // its address, flags in the lower half of a word, its size
	if !load(&stack, c.pointer(0)) {
		return -eFAULT
	}
	sp, flags, size := stack[0], uint32(stack[1]), stack[2]
	switch {
	case on:
		return -ePERM
	case flags > ssDisable: // also SS_AUTODISARM
		return -eINVAL
	}
	if flags&ssDisable != 0 {
		t.AltSP, t.AltSize, t.SigLo, t.SigHi = 0, 0, 0, 0
		return 0
	}
	if size < 2048 {
		return -eNOMEM
	}
	t.AltSP, t.AltSize = sp, size
	t.SigLo, t.SigHi = 0, 0
	if t.AltSize <= maxThreadStack && t.AltSP >= mem.SpaceLo() &&
		mem.Allowed(t.AltSP, t.AltSize, true) {
		paint(t.AltSP, t.AltSP+t.AltSize)
		t.SigLo, t.SigHi = (t.AltSP+7)&^7, (t.AltSP+t.AltSize)&^7
	}
	findStack(t, c.f.SP, arch.UserTLS())
	return 0
}

// onAltStack reports whether a thread with stack pointer sp runs on its signal stack.
func onAltStack(t *thread.Thread, sp uintptr) bool {
	return t.AltSize != 0 && sp > t.AltSP && sp-t.AltSP <= t.AltSize
}

func sysKill(c *call) int64 {
	sig := c.signal(1)
	switch p := c.int(0); p {
	case pid, 0, -pid: // -pid is -1: everyone
		if sig > numSignals {
			return -eINVAL
		}
		if sig != 0 {
			send(nil, int(sig))
		}
		return 0
	}
	return -eSRCH
}

func sysTgkill(c *call) int64 {
	switch p := c.int(0); {
	case p <= 0 || c.int(1) <= 0:
		return -eINVAL
	case p != pid:
		return -eSRCH
	}
	return sendTo(c.int(1), c.signal(2))
}

func sysTkill(c *call) int64 { return sendTo(c.int(0), c.signal(1)) }

func sendTo(tid int32, sig uintptr) int64 {
	t := thread.Get(tid)
	switch {
	case tid <= 0:
		return -eINVAL
	case t == nil:
		return -eSRCH
	case sig > numSignals:
		return -eINVAL
	case sig != 0:
		send(t, int(sig))
	}
	return 0
}

// Send sends the program a signal from outside. Kernel context.
func Send(sig int) { send(nil, sig) }

// send makes a signal pending for a thread, or, with nil, for any thread that can take it.
func send(t *thread.Thread, sig int) {
	bit := uint64(1) << (sig - 1)
	if t == nil {
		t = taker(bit)
		t.Shared |= bit
	}
	t.Pending |= bit
	if t.WaitsFor(thread.ForSignal) && uint64(t.Key)&bit != 0 {
		// At once: otherwise a handler would get the signal, if it is not blocked.
		_, info, _, _, _, _ := t.Frame.CallArgs()
		thread.WakeNow(t, take(t, sig, info))
		return
	}
	if t.Mask&bit != 0 {
		return
	}
	if t.State != thread.Waiting {
		thread.Poke(t)
		return
	}
	if ignored(sig) {
		t.Pending &^= bit
		return
	}
	if t.Why == thread.ForShare {
		return // as on Linux, file system calls are not interrupted; the signal is taken afterwards
	}
	result := int64(-eINTR)
	switch {
	case t.Why == thread.ForTime, t.Why == thread.ForFutex && t.Until != never:
		result = -eRESTARTTIMED
	case t.Why == thread.ForFile, t.Why == thread.ForFutex, t.Why == thread.ForLock:
		result = -eRESTART
		if t.Done > 0 {
			result = int64(t.Done) // part of the call is done: it ends with that
		}
	}
	thread.WakeNow(t, result)
}

// taker chooses the thread for a signal to the program: one that waits for it in rt_sigtimedwait,
// the running one, one that waits for something else, one that is ready; if all block it, any.
func taker(bit uint64) *thread.Thread {
	var found *thread.Thread
	best := 0
	for t := thread.Next(0); t != nil; t = thread.Next(t.TID) {
		fit := 1
		switch {
		case t.WaitsFor(thread.ForSignal) && uint64(t.Key)&bit != 0:
			return t
		case t.Mask&bit != 0:
		case t == thread.Current():
			fit = 4
		case t.State == thread.Waiting:
			fit = 3
		default:
			fit = 2
		}
		if fit > best {
			found, best = t, fit
		}
	}
	return found
}

// sendAny passes on an ending thread's pending signals.
func sendAny(pending uint64) {
	for sig := 1; sig <= numSignals; sig++ {
		if pending&(1<<(sig-1)) != 0 && thread.Count() > 0 {
			send(nil, sig)
		}
	}
}

// dropPending removes a pending signal from all threads.
func dropPending(bit uint64) {
	for t := thread.Next(0); t != nil; t = thread.Next(t.TID) {
		t.Pending &^= bit
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

// Fault makes the running thread, which the trap f interrupted, take a signal for its fault. It
// does not return. Kernel context.
func Fault(f *arch.TrapFrame, sig int, code int32, addr uintptr) {
	t := thread.SaveTrap(f)
	t.Fault = thread.Fault{Signal: uint8(sig), Code: code, Addr: addr, Vector: f.Trap,
		Error: f.Error, PC: f.PC}
	thread.Resume(t)
}

// Handles reports whether the program has a handler for a signal that the running thread can take
// now. Kernel context.
func Handles(sig int) bool {
	h := actions[sig].handler
	return h != sigDefault && h != sigIgnore && thread.Current().Mask&(1<<(sig-1)) == 0
}

func errnoWord(e int64) uintptr { return uintptr(-e) }
