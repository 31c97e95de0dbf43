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
// then on the screen, in the typed form (tracer/typed.go), with the function's name beside
// it. If drawing faults, the screen is given up.

// typed makes the lines. Panic path only.
var typed tracer.Typed

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
	if !screen.On() || toCrashLog {
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
		screen.Title("zeroframe died: ")
		screen.Title(d.Kind.String())
		screen.Title(" in ")
		screen.Title(d.Context.String())
		screen.Title(" context")
	}
	screen.Wrap(d.Reason.b[:d.Reason.N], 4)
	typed.TextLo, typed.TextHi = image.TextLo, image.TextHi
	typed.Begin(d.Kind, d.Context, image.BuildID())
	screenLines()
	drawing, showing = false, true
}

// screenLines shows the lines that typed has made.
func screenLines() {
	for i := range typed.Lines() {
		screen.Line(typed.Line(i))
	}
}

// screenFrame shows frame i of a trace, with the name of its function on the first stage, which
// alone trusts the pc tables.
func screenFrame(i int, f *tracer.Frame) {
	if !showing {
		return
	}
	drawing = true
	typed.Frame(f)
	screenLines()
	if stage() == StageFull && typed.Lines() > 0 {
		screenName(f)
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
	typed.LeftOut(n)
	screenLines()
	screen.Tab(nameColumn)
	screenText("... frames left out")
	drawing = false
}

// screenName adds the function's name to the line of a frame, without the path of its
// package.
func screenName(f *tracer.Frame) {
	if f.Kind == tracer.Trap {
		screen.Tab(nameColumn)
		screenText("trap ")
		screenText(tracer.VectorName(f.Vector))
		return
	}
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
	screen.Tab(nameColumn)
	screen.More(name)
}

// screenText adds s to the line.
func screenText(s string) { screen.More(ascii.Bytes(s)) }

// nameColumn is where names begin, beside the lines that are to be typed.
const nameColumn = tracer.TypedWidth + 3

// screenStop shows how a walk has ended.
func screenStop(end tracer.End, value uintptr) {
	if !showing {
		return
	}
	drawing = true
	typed.Stop(end, value)
	screenLines()
	screen.Tab(nameColumn)
	screenText("the end: ")
	screenText(end.String())
	if !end.Complete() {
		var b [tracer.MaxDigits]byte
		screenText(" 0x")
		screen.More(b[tracer.Digits(&b, uint64(value), 16):])
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
	screen.Wrap(d.Reason.b[:d.Reason.N], 4)
	drawing = false
}

// How long a page stays without a key, in ns. The first one is to be seen by who comes by.
const (
	firstTime = 60e9
	pageTime  = 20e9
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
		screen.Turn()
	}
}

// holdPage leaves a crash on the screen for a while, if nothing else has told of it.
func holdPage() {
	if screen.Crashed() && console.OnScreen() && clock.TSCHz() != 0 {
		waitPage(pageTime)
	}
}
