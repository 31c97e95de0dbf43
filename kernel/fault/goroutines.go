package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/image"
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
		if !ok || g.Running() || !d.FromGoroutine(&g) {
			continue
		}
		d.Reason.Str(": ")
		d.describeG(&g)
		return g.ID
	}
	return 0
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
		// It has never run: this is no return address.
		d.Call = false
		d.PC, d.sp, d.fp = pc, sp, fp
		d.reg(arch.RegisterPC, pc)
		d.reg(arch.RegisterSP, sp)
		d.reg(arch.RegisterFP, fp)
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

// ListGoroutines traces one goroutine of each [Group], without the one that runs and without number
// skip. As in Go's own traceback, goroutines that only the runtime started are left out unless all
// is set. It may follow a fatal trace or another one.
func ListGoroutines(skip uint64, all bool) {
	writeCrashLog() // of a crash, so that there is a log if a goroutine's trace faults
	if !goinfo.Known() {
		console.FreshLine()
		console.String("the goroutines cannot be listed: the image was built without DWARF (-ldflags=-w)\n")
		return
	}
	found, left, _ := GroupGoroutines(skip, all, false)
	for i := range found {
		found[i].trace()
	}
	if left > 0 {
		console.FreshLine()
		console.Dec(left)
		console.String(" more goroutines are not shown\n")
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
