package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/tracer"
)

// Threads. There is one process, number 1, and thread 1 is its first.

const (
	pid = 1

	cloneVM           = 0x100
	clonePidFD        = 0x1000
	cloneParentSetTID = 0x100000
	cloneChildClear   = 0x200000
	cloneSetTLS       = 0x80000
	cloneChildSetTID  = 0x1000000

	archSetGS = 0x1001
	archSetFS = 0x1002
	archGetFS = 0x1003
)

// sysClone makes a thread. There are no other processes.
func sysClone(c *call) int64 {
	flags, stack, parentTID, childTID, tls := c.word(0), c.pointer(1), c.pointer(2), c.pointer(3),
		c.pointer(4)
	if flags&cloneVM == 0 || stack == 0 {
		if flags&clonePidFD == 0 { // with it, package os only asks whether the flag exists
			noProgram.say()
		}
		return -eNOSYS
	}
	if flags&cloneSetTLS != 0 && tls >= 1<<47 {
		return -ePERM // as for archSetFS
	}
	t := thread.New()
	if t == nil {
		return -eAGAIN
	}
	arch.CopyFrame(&t.Frame, c.f)
	t.Control = arch.SaveControl()
	t.Frame.SetResult(0)
	t.Frame.SP = stack
	t.Frame.FP = 0 // the parent's frames are not the child's
	if flags&cloneSetTLS != 0 {
		t.Frame.TLS = tls
	}
	t.Mask, t.Name, t.Affinity = thread.Current().Mask, thread.Current().Name,
		thread.Current().Affinity
	entriesChanged(taskDir)
	t.KeepCaps = thread.Current().KeepCaps
	if flags&cloneChildClear != 0 {
		t.ClearTID = childTID
	}
	if flags&cloneParentSetTID != 0 {
		out32(parentTID, uint32(t.TID))
	}
	if flags&cloneChildSetTID != 0 {
		out32(childTID, uint32(t.TID))
	}
	thread.Enqueue(t)
	if !sized {
		// The runtime has just set its own limit, a gigabyte, and starts its second thread. A
		// runaway recursion must end in a stack overflow, which Go reports, while there is memory
		// left: growing needs half as much again.
		sized = true
		goinfo.SetMaxStack(uintptr(mem.AllFrames()) * pageSize / maxStackShare)
	}
	return int64(t.TID)
}

// sized is set when the limit of goroutines' stacks has been set. Under the kernel lock.
var sized bool

// maxStackShare limits a goroutine's stack to the RAM divided by this.
const maxStackShare = 4

// sysExit ends the calling thread, and the program with its last thread.
func sysExit(c *call) int64 {
	t := thread.Current()
	if thread.Count() == 1 {
		exit(c.f, int(c.int(0)&0xff))
	}
	if t.ClearTID != 0 && out32(t.ClearTID, 0) {
		if name, ok := futexName(t.ClearTID, 0); ok {
			wakeFutex(name, 1, anyBits)
		}
	}
	endTimers(t.TID)
	passOn := t.Pending
	thread.End(t)
	entriesChanged(taskDir)
	sendAny(passOn)
	thread.Run()
	return 0
}

func sysExitGroup(c *call) int64 {
	if c.exitCall() {
		return 0
	}
	exit(c.f, int(c.int(0)&0xff))
	return 0
}

func sysArchPrctl(c *call) int64 {
	switch c.op(0) {
	case archSetFS:
		if c.pointer(1) >= 1<<47 {
			return -ePERM
		}
		c.f.SetUserTLS(c.pointer(1))
		return 0
	case archSetGS:
		noSetGS.say()
	case archGetFS:
		return copied(out64(c.pointer(1), uint64(arch.UserTLS())))
	}
	return -eINVAL
}

func sysSchedYield(c *call) int64 {
	c.f.SetResult(0)
	thread.Yield(c.f)
	return 0
}

// sysSchedGetaffinity returns a mask of 64 bits, because there are no more CPUs.
func sysSchedGetaffinity(c *call) int64 {
	if n := c.uint(1); n < 8 || n%8 != 0 {
		return -eINVAL
	}
	t := threadOrSelf(c.int(0))
	if t == nil {
		return -eSRCH
	}
	if !out64(c.pointer(2), t.Affinity&allCPUs()) {
		return -eFAULT
	}
	return 8
}

// numCPUs returns how many CPUs threads run on.
func numCPUs() uint64 {
	if !percpu.Many {
		return 1
	}
	return uint64(percpu.Count())
}

// allCPUs has a bit for each of them.
func allCPUs() uint64 { return 1<<numCPUs() - 1 }

// threadOrSelf returns the thread with that number, or the caller for 0; nil if there is none.
func threadOrSelf(tid int32) *thread.Thread {
	if tid == 0 {
		return thread.Current()
	}
	return thread.Get(tid)
}

func sysSchedSetaffinity(c *call) int64 {
	var set uint64
	if !copyIn(addressOf(&set), c.pointer(2), min(uintptr(c.uint(1)), 8)) {
		return -eFAULT
	}
	t := threadOrSelf(c.int(0))
	switch set &= allCPUs(); {
	case t == nil:
		return -eSRCH
	case set == 0:
		return -eINVAL
	}
	thread.SetAffinity(t, set)
	return 0
}

func sysSetTIDAddress(c *call) int64 {
	t := thread.Current()
	t.ClearTID = c.pointer(0)
	return int64(t.TID)
}

// findStack finds the stack that the Go runtime gave to the thread: its g, in the thread's local
// storage, begins with the stack's bounds (runtime/runtime2.go: known to the linker). The free part
// of the stack is painted, so that its use can be measured.
func findStack(t *thread.Thread, sp, fs uintptr) {
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

// maxThreadStack is the size in bytes above which a stack is not considered a thread's.
const maxThreadStack = 1 << 20

func paint(lo, hi uintptr) {
	lo, hi = (lo+7)&^7, hi&^7
	if hi > lo {
		arch.FillUser(lo, hi-lo, uint64(tracer.Signature))
	}
}

func sysGettid(c *call) int64 { return int64(thread.Current().TID) }
