package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/tracer"
)

// The goroutines of a program that hangs: each gets a trace of the kind "trace" that tells what it
// waits for, or one trace for all that wait alike. They are read in place from the runtime's list;
// nothing of the runtime is called.

// fromStopped makes the crash start in the first goroutine of the program that does not run now:
// the main goroutine if it is there. It returns the goroutine's number, or 0 if there is none.
func (d *Details) fromStopped() uint64 {
	for i := 0; i < goinfo.NumG(); i++ {
		g, ok := goinfo.GAt(i)
		if !ok || !d.fromLeft(&g) {
			continue
		}
		d.Reason.Str(": ")
		d.describeG(&g)
		return g.ID
	}
	return 0
}

// ThreadOf returns the thread that runs a goroutine's Go code, or nil if it is not known. Kernel
// context.
func ThreadOf(g *goinfo.G) *thread.Thread {
	tid, ok := goinfo.ProcID(g.M)
	if !ok || tid > thread.MaxThreads {
		return nil
	}
	return thread.Get(int32(tid))
}

// hasCPU reports whether a CPU is at a goroutine's code, so that the trace of that CPU tells where
// the goroutine is. The runtime calls a goroutine running also while the kernel has its thread
// wait, for a CPU or for a futex.
func hasCPU(g *goinfo.G) bool {
	if !g.Running() {
		return false
	}
	t := ThreadOf(g)
	return t == nil || t.State == thread.Running && !between[t.On]
}

// between says of which CPUs the latest trace shows the kernel as it gives them to a thread, whose
// registers are then still those with which it was left. Under the kernel lock; the panic path
// takes none.
var between [arch.MaxCPUs]bool

// noteBetween notes it of a CPU whose trace has just been written, and reports it.
func noteBetween(cpu uint32) bool {
	between[cpu] = false
	for i := range stack.Walker.N {
		between[cpu] = between[cpu] || stack.Switch.Holds(stack.Walker.Frames[i].Addr)
	}
	return between[cpu]
}

// fromLeft makes the crash start where a goroutine was left, by its thread or with its thread. It
// returns false if a CPU is at its code.
func (d *Details) fromLeft(g *goinfo.G) bool {
	switch {
	case hasCPU(g):
		return false
	case g.Running():
		d.FromThread(ThreadOf(g))
		d.Goroutine = g.ID
		return true
	}
	return d.FromGoroutine(g)
}

// FromGoroutine makes the crash start where a goroutine was left.
func (d *Details) FromGoroutine(g *goinfo.G) bool {
	pc, sp, fp, ok := goinfo.SavedState(g)
	if !ok || g.Dead() || pc < image.TextLo || pc >= image.TextHi {
		return false
	}
	d.Have = 0
	d.g = g.Addr
	d.Goroutine = g.ID
	d.Context = tracer.ContextGoroutine
	if pc == g.StartPC {
		d.callerAt(pc, sp, fp)
		d.Call = false // it has never run: this is no return address
		return true
	}
	d.callerAt(pc, sp, fp)
	return true
}

// describeG describes a goroutine's state in the words of Go's own traceback.
func (d *Details) describeG(g *goinfo.G) {
	r := &d.Reason
	r.Str("goroutine ")
	r.Dec(g.ID)
	r.Str(" [")
	if b := g.WaitReason(); len(b) > 0 {
		r.bytes(b)
	} else {
		r.Str(g.State())
	}
	r.byte(']')
}

// ListGoroutines traces one goroutine of each [Group], without those that a CPU is at and without
// number skip. As in Go's own traceback, goroutines that only the runtime started are left out
// unless all is set. It may follow a fatal trace or another one.
func ListGoroutines(skip uint64, all bool) {
	writeCrashLog() // of a crash, so that there is a log if a goroutine's trace faults
	if !goinfo.Known() {
		console.FreshLine()
		console.String(
			"the goroutines cannot be listed: the image was built without DWARF (-ldflags=-w)\n")
		return
	}
	found, left, _ := GroupGoroutines(skip, all, false)
	for i := range found {
		found[i].trace()
	}
	if left > 0 {
		console.FreshLine()
		console.Printf("%d more goroutines are not shown\n", left)
	}
	endGoroutines()
}

// SystemGoroutine reports whether a goroutine is one of the runtime's own, by the rules of its
// traceback: it began in a function of the runtime, other than those that call main.main or a
// coroutine, and does not work for the program.
func SystemGoroutine(g *goinfo.G) bool {
	t, ok := image.PCTable()
	if !ok {
		return false
	}
	f, ok := t.Find(g.StartPC)
	if !ok || !runtimeName(f.Name()) || ascii.Same(f.Name(), "runtime.main") ||
		ascii.Same(f.Name(), "runtime.corostart") {
		return false
	}
	// Goroutines that call finalizers and cleanups run the program's code when they wait for
	// anything but work.
	if ascii.Same(f.Name(), "runtime.runFinalizers") || ascii.Same(f.Name(), "runtime.runCleanups") {
		return !g.Waiting() || ascii.Same(g.WaitReason(), "finalizer wait") ||
			ascii.Same(g.WaitReason(), "cleanup wait")
	}
	return true
}
