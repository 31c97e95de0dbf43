package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/tracer"
)

// The goroutines of a program that hangs: what each waits for, as a trace of its own
// with the kind "trace", one for those that wait alike. They are read from the runtime's list where they are; nothing
// of the runtime is called.

// fromStopped makes the crash start in the first goroutine of the program, which does not run
// now: the main goroutine if it is there. It returns its number, or 0 if there is none.
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

// from makes the crash start where a goroutine was left.
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
		// It has never run: that is no return address.
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

// describeG says what a goroutine does, in the words of Go's own traceback.
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

// ListGoroutines traces all goroutines but the one that runs, and but number skip, one of
// each [Group].
// Those that only the runtime has started are left out, as in Go's own traceback,
// unless all is set. The trace before it may have been fatal or not.
func ListGoroutines(skip uint64, all bool) {
	writeCrashLog() // of a crash: should a goroutine's trace fault, there is one
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

// SystemGoroutine reports whether a goroutine is one of the runtime's own, by the rules
// of its traceback: it began in a function of the runtime that is not the one that calls
// main.main or a coroutine, and does not work for the program.
func SystemGoroutine(g *goinfo.G) bool {
	t, ok := image.PCTable()
	if !ok {
		return false
	}
	f, ok := t.Find(g.StartPC)
	if !ok || !runtimeName(f.Name()) || ascii.Same(f.Name(), "runtime.main") || ascii.Same(f.Name(), "runtime.corostart") {
		return false
	}
	// Those that call finalizers and cleanups are in the program's hands when they wait
	// for something else than work.
	if ascii.Same(f.Name(), "runtime.runFinalizers") || ascii.Same(f.Name(), "runtime.runCleanups") {
		return !g.Waiting() || ascii.Same(g.WaitReason(), "finalizer wait") || ascii.Same(g.WaitReason(), "cleanup wait")
	}
	return true
}
