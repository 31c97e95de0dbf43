package linuxabi

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/sched"
	"github.com/zeroframe/zeroframe/tracer"
)

// Threads. There is one process, number 1, and thread 1 is its first.

const (
	pid = 1

	cloneVM           = 0x100
	cloneParentSetTID = 0x100000
	cloneChildClear   = 0x200000
	cloneSetTLS       = 0x80000
	cloneChildSetTID  = 0x1000000

	archSetFS = 0x1002
	archGetFS = 0x1003
)

// clone makes a thread. Processes there are none.
func (c *call) clone() int64 {
	flags, stack, parentTID, childTID, tls := c.a, c.b, c.c, c.d, c.e
	if flags&cloneVM == 0 || stack == 0 {
		return -eNOSYS
	}
	if flags&cloneSetTLS != 0 && tls >= 1<<47 {
		return -ePERM // as for archSetFS
	}
	t := sched.New()
	if t == nil {
		return -eAGAIN
	}
	amd64.CopyFrame(&t.Frame, c.f)
	t.Control = amd64.SaveControl()
	t.Frame.AX = 0
	t.Frame.RSP = stack
	t.Frame.BP = 0 // no frame of the parent is one of the child's
	if flags&cloneSetTLS != 0 {
		t.Frame.FSBase = tls
	}
	t.Mask = sched.Current().Mask
	t.KeepCaps = sched.Current().KeepCaps
	if flags&cloneChildClear != 0 {
		t.ClearTID = childTID
	}
	if flags&cloneParentSetTID != 0 {
		out32(parentTID, uint32(t.TID))
	}
	if flags&cloneChildSetTID != 0 {
		out32(childTID, uint32(t.TID))
	}
	sched.Enqueue(t)
	if !sized {
		// The runtime has just set its own limit, a gigabyte, and starts its second
		// thread. A runaway recursion is to end in a stack overflow, which Go
		// reports, while there is memory left: growing needs half as much again.
		sized = true
		goinfo.SetMaxStack(uintptr(mm.AllFrames()) * pageSize / maxStackShare)
	}
	return int64(t.TID)
}

// sized is set when the limit of goroutines' stacks has been set.
var sized bool

// maxStackShare is the part of the RAM, one in so many, that a goroutine's stack may
// take.
const maxStackShare = 4

// exit ends the calling thread, and with the last one the program.
func (c *call) exit() int64 {
	t := sched.Current()
	if sched.Count() == 1 {
		exit(c.f, int(c.a&0xff))
	}
	if t.ClearTID != 0 && out32(t.ClearTID, 0) {
		wakeFutex(t.ClearTID, 1)
	}
	endTimers(t.TID)
	passOn := t.Pending
	sched.End(t)
	sendAny(passOn)
	sched.Run()
	return 0
}

func (c *call) exitGroup() int64 {
	exit(c.f, int(c.a&0xff))
	return 0
}

func (c *call) archPrctl() int64 {
	switch c.a {
	case archSetFS:
		if c.b >= 1<<47 {
			return -ePERM
		}
		c.f.SetUserFS(c.b)
		return 0
	case archGetFS:
		if !out64(c.b, uint64(amd64.UserFS())) {
			return -eFAULT
		}
		return 0
	}
	return -eINVAL
}

func (c *call) schedYield() int64 {
	c.f.AX = 0
	sched.Yield(c.f)
	return 0
}

func (c *call) schedGetaffinity() int64 {
	if c.b < 8 {
		return -eINVAL
	}
	if !out64(c.c, 1) {
		return -eFAULT
	}
	return 8
}

// schedSetaffinity: there is but one CPU to run on.
func (c *call) schedSetaffinity() int64 {
	if !mm.Allowed(c.c, min(c.b, 8), false) {
		return -eFAULT
	}
	return 0
}

func (c *call) setTIDAddress() int64 {
	t := sched.Current()
	t.ClearTID = c.a
	return int64(t.TID)
}

// findStack looks for the stack that the Go runtime has given to the thread: its g,
// in the thread's local storage, begins with the stack's bounds (runtime/runtime2.go:
// known to the linker). What is free of it is painted, so that its use can be seen.
func findStack(t *sched.Thread, sp, fs uintptr) {
	g, ok := tracer.ReadWord(fs - 8)
	if !ok || g == 0 || g%8 != 0 {
		return
	}
	lo, ok1 := tracer.ReadWord(g)
	hi, ok2 := tracer.ReadWord(g + 8)
	if !ok1 || !ok2 || lo == t.StackLo || sp < lo || sp > hi || hi-lo > maxThreadStack {
		return
	}
	const live = 256 // what the running code may be about to use
	if sp-lo > live {
		paint(lo, sp-live)
	}
	t.StackLo, t.StackHi = (lo+7)&^7, hi&^7
}

// maxThreadStack is the size in bytes above which a stack is not taken for a thread's.
const maxThreadStack = 1 << 20

func paint(lo, hi uintptr) {
	lo, hi = (lo+7)&^7, hi&^7
	if hi > lo {
		amd64.FillUser(lo, hi-lo, uint64(tracer.Signature))
	}
}

func (c *call) gettid() int64 { return int64(sched.Current().TID) }
