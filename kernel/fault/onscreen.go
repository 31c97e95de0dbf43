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

// A trace on the screen: a fatal one on pages of its own, another as more of the text. It
// goes out by the serial port first, piece by piece as it becomes known, and each piece is
// then on the screen, as an address and the function's name. Beside a fatal one is a code with all
// of it (codes.go). If drawing faults, the screen is given up.

// showing says that a trace is being shown; drawing, that the panic path is at it. When it
// is found so where a trace begins, it has faulted there. Panic path only.
var showing, drawing bool

// checkScreen gives the screen up if drawing on it is what has died. Before a stage says anything,
// since it may go on there in a line that was begun.
func checkScreen(d *Details) {
	if drawing || screen.Busy() && d.Kind == tracer.KindFault {
		screen.Off()
		drawing, showing = false, false
	}
}

// screenBegin shows what a trace is about: a crash on pages of its own, another trace as
// more of the text.
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

// shownBuild is how many bytes of the build ID are shown: enough to tell one build from another.
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

// screenFrame shows frame i of a trace, with the name of its function on the first stage, which
// alone trusts the pc tables.
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

// screenLeftOut shows that n frames are left out.
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

// screenStop shows how a walk has ended.
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

// screenLast shows what the last stage has to say of a crash.
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

// How long a page stays without a key, in ns. The first one is to be seen by who comes by.
const (
	firstTime = 60e9
	pageTime  = 10e9
)

// waitPage waits for a key, or until the page's time is over.
func waitPage(time uint64) {
	limit := clock.Now() + time
	for !arch.KeyPressed() && (clock.TSCHz() == 0 || clock.Now() < limit) {
		arch.Pause()
	}
}

// turnPages shows the pages of a crash for ever, if there is a screen that has more than one.
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

// holdPage leaves a crash on the screen for a while, if nothing else has told of it.
func holdPage() {
	if screen.Crashed() && console.OnScreen() && clock.TSCHz() != 0 {
		waitPage(2 * pageTime)
	}
}
