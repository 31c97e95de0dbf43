package fault

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/tracer"
)

// Where a crash was: in which context, in which thread and goroutine.

// place is for a crash in the kernel's own code.
func (d *Details) locate() {
	d.Context, d.Thread, d.Goroutine, d.fs, d.g = tracer.ContextEarly, 0, 0, 0, 0
	if !stack.Running {
		return
	}
	d.Context = tracer.ContextKernel
	// While it changes threads, the kernel has no current one; the one that has entered
	// it is still at the bottom of its stack. What tells may be what is broken: a fault here
	// would be one on each stage.
	d.fs = arch.UserTLS()
	r := percpu.This()
	current := r.Thread
	for tid := int32(1); current == 0 && r.Number == 0 && tid <= min(thread.MaxTID(), thread.MaxThreads); tid++ {
		if o := thread.Get(tid); o != nil {
			if fs, ok := tracer.ReadWord(uintptr(unsafe.Pointer(&o.Frame.TLS))); ok && fs == d.fs {
				current = tid
			}
		}
	}
	d.Thread = uint32(current)
}

// locateTrap is for a crash that a trap or a system call has brought.
//
//go:noinline
func (d *Details) locateTrap(f *arch.TrapFrame) {
	if stack.Running && !f.InKernel() {
		d.Context = tracer.ContextGoroutine
		d.fs = f.TLS
	}
}

// FindStacks fills in the rows of the stack table for the program, and whose goroutine it was.
func (d *Details) FindStacks() {
	if id := stack.ProgramRows(d.fs, d.g); id != 0 {
		d.Goroutine = id
	}
}

// FromThread makes the crash start where a thread that does not run was left.
func (d *Details) FromThread(t *thread.Thread) {
	d.fromTrap(&t.Frame)
	d.Cause = false
	d.Context = tracer.ContextGoroutine
	d.Thread = uint32(t.TID)
	d.fs = t.Frame.TLS
}

// OfThread is FromThread for any thread.
func (d *Details) OfThread(t *thread.Thread) {
	if t == thread.Current() && StopWhy == StopKey {
		*d = Stop
		return
	}
	*d = Details{}
	d.FromThread(t)
}
