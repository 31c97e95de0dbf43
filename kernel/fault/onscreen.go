package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/dev/screen"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/tracer"
)

// A trace on the screen: a fatal one has pages of its own, any other is added to the text. Each
// piece goes to the serial port first, as soon as it is known, and then to the screen, as an
// address and the function's name. A fatal trace has a code beside it with all of it (codes.go). If
// drawing faults, the screen is given up.

// showing says that a trace is being shown; drawing says that the panic path is drawing. If drawing
// is set when a trace begins, drawing has faulted. Panic path only.
var showing, drawing bool

// checkScreen gives up the screen if drawing on it is what died. It runs before a stage writes
// anything, because the stage may continue an unfinished line there.
func checkScreen(d *Details) {
	if drawing || screen.Busy() && d.Kind == tracer.KindFault {
		screen.Off()
		drawing, showing = false, false
	}
}

// screenBegin shows what a trace is about.
func screenBegin(d *Details) {
	showing = false
	if !screen.On() || toCrashLog || toCodes {
		return
	}
	fatal := d.Kind != tracer.KindNMI && d.Kind != tracer.KindTrace
	if !fatal && !screen.Crashed() && !console.OnScreen() {
		return
	}
	drawing = true
	if screen.Crashed() {
		screen.Line(nil)
	} else if fatal {
		screen.Crash()
		screen.Title("zeroframe died")
		screenLine(d.Kind.String(), " in ", d.Context.String(), " context")
	}
	screen.Wrap(d.Reason.b[:d.Reason.N], 6)
	if fatal {
		screenBuild()
	}
	drawing, showing = false, true
}

// screenLine adds a line of these words.
func screenLine(words ...string) {
	screen.Line(nil)
	for _, s := range words {
		screenText(s)
	}
}

// shownBuild is the number of bytes of the build ID that are shown, enough to tell builds apart.
const shownBuild = 8

// screenBuild adds a line with the build ID's first digits.
func screenBuild() {
	screenLine("build ")
	id := image.BuildID()
	for _, b := range id[:min(len(id), shownBuild)] {
		const digits = "0123456789abcdef"
		screenText(digits[b>>4 : b>>4+1])
		screenText(digits[b&15 : b&15+1])
	}
}

// screenFrame shows frame i of a trace. The first stage, which alone trusts the pc tables, adds the
// name of its function.
func screenFrame(i int, f *tracer.Frame) {
	if !showing {
		return
	}
	drawing = true
	if f.Kind == tracer.Trap {
		screenLine("trap ", tracer.VectorName(f.Vector))
	} else {
		screen.Line(nil)
		screenNumber("0x", uint64(f.Addr), 16)
		if stage() == StageFull {
			screenName(f)
		}
	}
	if f.Repeat > 0 {
		screen.Line(nil)
		screenNumber("  and ", uint64(f.Repeat), 10)
		screenText(" times more")
	}
	if i == 0 {
		screen.Hold()
	}
	drawing = false
}

// screenLeftOut says that n frames are left out.
func screenLeftOut(n uint64) {
	if !showing {
		return
	}
	drawing = true
	screen.Line(nil)
	screenNumber("... ", n, 10)
	screenText(" frames left out")
	drawing = false
}

// screenName adds the function's name to the line of a frame, without the path of its
// package.
func screenName(f *tracer.Frame) {
	pc := f.Addr
	if f.Kind != tracer.PC {
		pc--
	}
	t, ok := image.PCTable()
	if !ok {
		return
	}
	fn, ok := t.Find(pc)
	if !ok {
		return
	}
	name := fn.Name()
	for i := len(name) - 1; i > 0; i-- {
		if name[i-1] == '/' {
			name = name[i:]
			break
		}
	}
	screenText(" ")
	screen.More(name)
}

// screenNumber adds s and a number to the line.
func screenNumber(s string, v, base uint64) {
	screenText(s)
	var b [tracer.MaxDigits]byte
	screen.More(b[tracer.Digits(&b, v, base):])
}

// screenText adds s to the line.
func screenText(s string) { screen.More(ascii.Bytes(s)) }

// screenStop shows how a walk ended.
func screenStop(end tracer.End, value uintptr) {
	if !showing {
		return
	}
	drawing = true
	screenLine("the end: ", end.String())
	if !end.Complete() {
		screenNumber(" 0x", uint64(value), 16)
	}
	if !screen.Crashed() {
		screen.Byte('\r')
		screen.Byte('\n')
	}
	drawing, showing = false, false
}

// screenLast shows the last stage's report of a crash.
func screenLast(d *Details) {
	if !screen.On() {
		return
	}
	drawing = true
	screen.Crash()
	screen.Line(nil)
	screen.Wrap(d.Reason.b[:d.Reason.N], 6)
	drawing = false
}

// How long a page stays when no key is pressed, in ns. The first page is for whoever passes by, so
// it stays longer.
const (
	firstTime = 60e9
	pageTime  = 10e9
)

// waitPage waits for a key, for the given time at most.
func waitPage(time uint64) {
	limit := clock.Now() + time
	for !arch.KeyPressed() && (clock.TSCHz() == 0 || clock.Now() < limit) {
		arch.Pause()
	}
}

// turnPages shows the pages of a crash in turn for ever, if there is a screen and more than one
// page.
func turnPages() {
	for screen.Crashed() && screen.Pages() > 1 {
		if screen.Page() == 0 {
			waitPage(firstTime)
		} else {
			waitPage(pageTime)
		}
		drawing = true
		screen.Turn()
		drawing = false
		showCode()
	}
}

// holdPage leaves a crash on the screen for a while, if it was reported nowhere else.
func holdPage() {
	if screen.Crashed() && console.OnScreen() && clock.TSCHz() != 0 {
		waitPage(2 * pageTime)
	}
}
