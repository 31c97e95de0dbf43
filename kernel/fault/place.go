package fault

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/tracer"
)

// Where a crash happened: in which context, thread and goroutine.

// locate finds the place of a crash in the kernel's own code.
func (d *Details) locate() {
	d.Context, d.Thread, d.Goroutine, d.fs, d.g = tracer.ContextEarly, 0, 0, 0, 0
	if !stack.Running {
		return
	}
	d.Context = tracer.ContextKernel
	// While the kernel switches threads it has no current one; the thread that entered it is still
	// at the bottom of its stack. The data that tells may be what is broken, and a fault here would
	// repeat in each stage.
	d.fs = arch.UserTLS()
	r := percpu.This()
	current := r.Thread
	for tid := int32(1); current == 0 && r.Number == 0 &&
		tid <= min(thread.MaxTID(), thread.MaxThreads); tid++ {
		if o := thread.Get(tid); o != nil {
			if fs, ok := tracer.ReadWord(uintptr(unsafe.Pointer(&o.Frame.TLS))); ok && fs == d.fs {
				current = tid
			}
		}
	}
	d.Thread = uint32(current)
}

// atTrap makes the crash begin with a trap or a system call.
func (d *Details) atTrap(f *arch.TrapFrame) {
	d.fromTrap(f)
	d.locateTrap(f)
}

// locateTrap finds the place of a crash that began with a trap or a system call.
//
//go:noinline
func (d *Details) locateTrap(f *arch.TrapFrame) {
	if stack.Running && !f.InKernel() {
		d.Context = tracer.ContextGoroutine
		d.fs = f.TLS
	}
}

// FindStacks fills in the program's rows of the stack table, and the number of the goroutine that
// crashed.
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

// OfThread is FromThread for any thread, also the one that the monitor interrupted.
func (d *Details) OfThread(t *thread.Thread) {
	if t == thread.Current() && StopWhy == StopKey {
		*d = Stop
		return
	}
	*d = Details{}
	d.FromThread(t)
}
