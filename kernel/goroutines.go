package kernel

import (
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/tracer"
)

// The goroutines of a program that hangs: what each waits for, as a trace of its own
// with the kind "trace". They are read from the runtime's list where they are; nothing
// of the runtime is called.

// maxGoroutines is the largest number of goroutines that are traced.
const maxGoroutines = 100

// sleeper makes the death start in the first goroutine of the program that waits: the
// main goroutine if it is there. It returns its number, or 0 if there is none.
func (d *death) sleeper() uint64 {
	for i := 0; i < goinfo.NumG(); i++ {
		g, ok := goinfo.GAt(i)
		if !ok || !g.Waiting() || !d.from(&g) {
			continue
		}
		d.reason.str(": ")
		d.describeG(&g)
		return g.ID
	}
	return 0
}

// from makes the death start where a goroutine was left.
func (d *death) from(g *goinfo.G) bool {
	pc, sp, fp, ok := goinfo.SavedState(g)
	if !ok || g.Dead() || pc < image.textLo || pc >= image.textHi {
		return false
	}
	d.have = 0
	d.g = g.Addr
	d.goroutine = g.ID
	d.context = tracer.ContextGoroutine
	if pc == g.StartPC {
		// It has never run: that is no return address.
		d.call = false
		d.pc, d.sp, d.fp = pc, sp, fp
		d.reg(regRIP, pc)
		d.reg(regRSP, sp)
		d.reg(regRBP, fp)
		return true
	}
	d.callerAt(pc, sp, fp)
	return true
}

// describeG says what a goroutine does, in the words of Go's own traceback.
func (d *death) describeG(g *goinfo.G) {
	r := &d.reason
	r.str("goroutine ")
	r.dec(g.ID)
	r.str(" [")
	if b := g.WaitReason(); len(b) > 0 {
		r.bytes(b)
	} else {
		r.str(g.State())
	}
	r.byte(']')
}

// listGoroutines traces all goroutines but the one that runs, and but number skip.
// Those that only the runtime has started are left out, as in Go's own traceback,
// unless all is set. The trace before it may have been fatal or not.
func listGoroutines(skip uint64, all bool) {
	keepRecord() // of a death: should a goroutine's trace fault, there is one
	if !goinfo.Known() {
		console.FreshLine()
		console.String("the goroutines cannot be listed: the image was built without DWARF (-ldflags=-w)\n")
		return
	}
	listed, left := 0, 0
	for i := 0; i < goinfo.NumG(); i++ {
		g, ok := goinfo.GAt(i)
		if !ok || g.Dead() || g.Running() || g.ID == skip || !all && systemGoroutine(&g) {
			continue
		}
		if listed == maxGoroutines {
			left++
			continue
		}
		listed++
		traceGoroutine(&g)
	}
	if left > 0 {
		console.FreshLine()
		console.Dec(uint64(left))
		console.String(" more goroutines are not shown\n")
	}
}

// traceGoroutine writes a trace of a goroutine that does not run. Behind a fatal trace it
// does so on that one's rung, and then puts the death back there: the
// monitor asks about that one.
func traceGoroutine(g *goinfo.G) {
	fatal := rung > 0
	d := &deaths[0]
	if fatal {
		died = *d
		d.begin(tracer.KindTrace)
	} else {
		climb(tracer.KindTrace)
	}
	if d.from(g) {
		d.describeG(g)
		perform()
	}
	if fatal {
		*d = died
	} else {
		descend()
	}
}

// died is the death behind whose trace goroutines are traced.
var died death

// systemGoroutine reports whether a goroutine is one of the runtime's own, by the rules
// of its traceback: it began in a function of the runtime that is not the one that calls
// main.main or a coroutine, and does not work for the program.
func systemGoroutine(g *goinfo.G) bool {
	t, ok := pcTable()
	if !ok {
		return false
	}
	f, ok := t.Find(g.StartPC)
	if !ok || !runtimeName(f.Name()) || Same(f.Name(), "runtime.main") || Same(f.Name(), "runtime.corostart") {
		return false
	}
	// Those that call finalizers and cleanups are in the program's hands when they wait
	// for something else than work.
	if Same(f.Name(), "runtime.runFinalizers") || Same(f.Name(), "runtime.runCleanups") {
		return !g.Waiting() || Same(g.WaitReason(), "finalizer wait") || Same(g.WaitReason(), "cleanup wait")
	}
	return true
}
