package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/sched"
	"github.com/zeroframe/zeroframe/tracer"
)

// Where a death was: in which context, in which thread and goroutine; and the stacks
// that those have.

// place is for a death in the kernel's own code.
func (d *death) place() {
	d.context, d.thread, d.goroutine, d.fs, d.g = tracer.ContextEarly, 0, 0, 0, 0
	if !running {
		return
	}
	d.context = tracer.ContextKernel
	// While it changes threads, the kernel has no current one; the one that has entered
	// it is still at the bottom of its stack. What tells may be what is broken: a fault here
	// would be one on each rung.
	d.fs = amd64.UserFS()
	current := *(*int32)(amd64.Pointer(sched.CurrentAt()))
	for tid := int32(1); current == 0 && tid <= min(sched.MaxTID(), sched.MaxThreads); tid++ {
		if o := sched.Get(tid); o != nil {
			if fs, ok := tracer.ReadWord(uintptr(unsafe.Pointer(&o.Frame.FSBase))); ok && fs == d.fs {
				current = tid
			}
		}
	}
	d.thread = uint32(current)
}

// placeTrap is for a death that a trap or a system call has brought.
func (d *death) placeTrap(f *amd64.TrapFrame) {
	if running && !f.InKernel() {
		d.context = tracer.ContextGoroutine
		d.fs = f.FSBase
	}
}

// threadStacks fills in the rows of the stack table for the program's stacks as they
// are now: that of the goroutine, and those of the threads. What is read may be
// damaged: a stack that cannot be one is left out.
func threadStacks(d *death) {
	if !running {
		return
	}
	for tid := int32(1); tid <= sched.MaxTID() && stackThread+2*int(tid) <= maxRows; tid++ {
		g0, sig := &stacks[stackThread+2*(tid-1)], &stacks[stackThread+2*(tid-1)+1]
		g0.Lo, g0.Hi, sig.Lo, sig.Hi = 0, 0, 0, 0
		if t := sched.Get(tid); t != nil {
			readRow(g0, &t.StackLo, &t.StackHi)
			readRow(sig, &t.SigLo, &t.SigHi)
		}
	}
	row := &stacks[stackG]
	row.Lo, row.Hi = 0, 0
	traced = d.fs
	var info goinfo.G
	var ok bool
	if d.g != 0 {
		info, ok = goinfo.ReadG(d.g)
	} else {
		info, ok = goroutineOf(d.fs)
	}
	if ok && info.ID != 0 {
		setRow(row, info.StackLo, info.StackHi)
		row.Limit = 0
		d.goroutine = info.ID
	}
}

// goroutineOf returns the goroutine of the thread with that FS base. On the stack of g0 or
// of a signal it is the M's current one that counts.
func goroutineOf(fs uintptr) (info goinfo.G, ok bool) {
	g, ok := goinfo.GofFS(fs)
	if !ok {
		return info, false
	}
	if m, ok := mOf(g); ok {
		if cur, ok := goinfo.Curg(m); ok && cur != 0 {
			g = cur
		}
	}
	return goinfo.ReadG(g)
}

// mOf returns the M of a goroutine.
func mOf(g uintptr) (m uintptr, ok bool) {
	info, ok := goinfo.ReadG(g)
	return info.M, ok && info.M != 0
}

// readRow is setRow for bounds in memory that may be gone.
func readRow(s *tracer.Stack, lo, hi *uintptr) {
	l, ok := tracer.ReadWord(uintptr(unsafe.Pointer(lo)))
	h, ok2 := tracer.ReadWord(uintptr(unsafe.Pointer(hi)))
	if ok && ok2 {
		setRow(s, l, h)
	}
}

// maxStack is the size in bytes above which bounds are not taken for a stack's.
const maxStack = 1 << 32

func setRow(s *tracer.Stack, lo, hi uintptr) {
	if lo == 0 || lo%8 != 0 || hi%8 != 0 || hi <= lo || hi-lo > maxStack || hi > 1<<47 {
		return
	}
	s.Lo, s.Hi = lo, hi
	s.Limit = s.Size()
}
