package kernel

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/screen"
	"github.com/zeroframe/zeroframe/tracer"
)

// The screen: what the console has on it, by the option console=com1|vga|both, and a death.
// Without the option the console is COM1 if a UART answers, and otherwise the screen; and a
// death is on the screen as well, if there is one, since nobody may be at the other end of
// the serial line. With console=com1 the screen is left alone.
//
// A death goes out by the serial port first, piece by piece as it becomes known, and each
// piece is then on the screen, in the typed form (tracer/typed.go), with the function's
// name beside it. If drawing faults, the screen is given up.

// typed makes the lines.
var typed tracer.Typed

// setConsole chooses, unless the loader's screen can only be reached later. Early context,
// when the loader's information is read, and while the first page tables are in use.
func setConsole() {
	if _, end := screenMemory(); end <= firstTables {
		chooseConsole()
	}
}

// firstTables is how much memory the first page tables map.
const firstTables = 4 << 30

// framebuffer returns the loader's screen, if it has set up one. What lies in RAM that is free
// for use is none, whatever the loader says.
func framebuffer() (f boot.Framebuffer, ok bool) {
	f, ok = info.Framebuffer()
	for i := range info.Regions() {
		if r := &info.Regions()[i]; ok && r.Usable && f.Addr < r.Hi && f.Addr+uint64(f.Pitch)*uint64(f.Height) > r.Lo {
			ok = false
		}
	}
	return f, ok
}

// screenMemory returns where that is in memory, or zeros.
func screenMemory() (lo, end uint64) {
	f, ok := framebuffer()
	if !ok {
		return 0, 0
	}
	return f.Addr, f.Addr + uint64(f.Pitch)*uint64(f.Height)
}

// chooseConsole reads the option.
func chooseConsole() {
	how, given := Option("console")
	serial, onScreen, unknown := console.Present(), false, false
	switch {
	case !given:
	case Same(how, "com1"):
		return
	case Same(how, "vga"):
		serial, onScreen = false, true
	case Same(how, "both"):
		onScreen = true
	default:
		unknown = true
	}
	if !findScreen() {
		if onScreen {
			complain("console", how, "there is no screen: the loader has set up none, and no VGA is in text mode")
		}
		serial, onScreen = true, false
	} else if !serial {
		onScreen = true
	}
	if onScreen {
		screen.Clear()
	}
	console.Use(serial, onScreen)
	if unknown {
		complain("console", how, "want com1, vga or both")
	}
}

// findScreen takes the loader's screen into use, or a VGA in a text mode.
func findScreen() bool {
	f, ok := framebuffer()
	switch {
	case ok && f.Kind == boot.Text:
		return screen.Text(uintptr(f.Addr), uintptr(f.Pitch), int(f.Width), int(f.Height))
	case ok && f.Kind == boot.RGB:
		return screen.Pixels(uintptr(f.Addr), uintptr(f.Pitch), int(f.Width), int(f.Height), int(f.BPP),
			screen.Field(f.Red), screen.Field(f.Green), screen.Field(f.Blue))
	case ok || !screen.HasVGA():
		return false
	}
	columns, lines := vgaSize()
	return screen.Text(screen.TextAddr, uintptr(columns)*2, columns, lines)
}

// vgaSize returns the size that a BIOS has left in its data area (IBM PS/2 and PC BIOS
// reference, 40:4A and 40:84), if it can be one.
func vgaSize() (columns, lines int) {
	columns, lines = int(load16(0x44a)), int(*(*byte)(amd64.Pointer(0x484)))+1
	if columns != 40 && columns != 80 && columns != 132 || lines < 25 || lines > 60 {
		return 80, 25
	}
	return columns, lines
}

// mapScreen maps the loader's screen in the page tables that are then in use.
func mapScreen() {
	lo, end := screenMemory()
	switch {
	case end <= 1<<20: // the first MiB is mapped as a whole
	case end <= firstTables && !screen.On():
	case mm.MapDevice(uintptr(lo), uintptr(end-lo)):
		if end > firstTables {
			chooseConsole()
		}
	default:
		screen.Off()
	}
}

// showing says that a trace is being shown; drawing, that the panic path is at it. When it
// is found so where a trace begins, it has faulted there.
var showing, drawing bool

// checkScreen gives the screen up if drawing on it is what has died. Before a rung says anything,
// since it may go on there in a line that was begun.
func checkScreen(d *death) {
	if drawing || screen.Busy() && d.kind == tracer.KindFault {
		screen.Off()
		drawing, showing = false, false
	}
}

// screenBegin shows what a trace is about: a death on pages of its own, another trace as
// more of the text.
func screenBegin(d *death) {
	showing = false
	if !screen.On() || recording {
		return
	}
	fatal := d.kind != tracer.KindNMI && d.kind != tracer.KindTrace
	if !fatal && !screen.Dying() && !console.OnScreen() {
		return
	}
	drawing = true
	if screen.Dying() {
		screen.Line(nil)
	} else if fatal {
		screen.Die()
		screen.Title("zeroframe died: ")
		screen.Title(d.kind.String())
		screen.Title(" in ")
		screen.Title(d.context.String())
		screen.Title(" context")
	}
	screen.Wrap(d.reason.b[:d.reason.n], 4)
	typed.TextLo, typed.TextHi = image.textLo, image.textHi
	typed.Begin(d.kind, d.context, buildID())
	screenLines()
	drawing, showing = false, true
}

// screenLines shows the lines that typed has made.
func screenLines() {
	for i := range typed.Lines() {
		screen.Line(typed.Line(i))
	}
}

// screenFrame shows frame i of a trace, with the name of its function on the first rung, which
// alone trusts the pc tables.
func screenFrame(i int, f *tracer.Frame) {
	if !showing {
		return
	}
	drawing = true
	typed.Frame(f)
	screenLines()
	if rung == 1 && typed.Lines() > 0 {
		screenName(f)
	}
	if i == 0 {
		screen.Hold()
	}
	drawing = false
}

// screenName adds the function's name to the line of a frame, without the path of its
// package.
func screenName(f *tracer.Frame) {
	if f.Kind == tracer.Trap {
		screen.Tab(nameColumn)
		screen.More(path("trap "))
		screen.More(path(tracer.VectorName(f.Vector)))
		return
	}
	pc := f.Addr
	if f.Kind != tracer.PC {
		pc--
	}
	t, ok := pcTable()
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
	screen.More(path("the end: "))
	screen.More(path(end.String()))
	if !end.Complete() {
		var b [tracer.MaxDigits]byte
		screen.More(path(" 0x"))
		screen.More(b[tracer.Digits(&b, uint64(value), 16):])
	}
	if !screen.Dying() {
		screen.Byte('\r')
		screen.Byte('\n')
	}
	drawing, showing = false, false
}

// screenLast shows what the last rung has to say of a death.
func screenLast(d *death) {
	if !screen.On() {
		return
	}
	drawing = true
	screen.Die()
	screen.Line(nil)
	screen.Wrap(d.reason.b[:d.reason.n], 4)
	drawing = false
}

// The keyboard controller, as far as it is needed to see that a key goes down.
const (
	keyData   = 0x60
	keyStatus = 0x64
	keyFull   = 0x01 // there is data
	keyMouse  = 0x20 // and it is of the mouse
	keyUp     = 0x80 // in the data
)

// keyPressed reports whether a key has gone down since it was last called.
func keyPressed() bool {
	status := amd64.In8(keyStatus)
	if status == 0xff || status&keyFull == 0 {
		return false
	}
	data := amd64.In8(keyData)
	return status&keyMouse == 0 && data&keyUp == 0
}

// How long a page stays without a key, in ns. The first one is to be seen by who comes by.
const (
	firstTime = 60e9
	pageTime  = 20e9
)

// waitPage waits for a key, or until the page's time is over.
func waitPage(time uint64) {
	limit := clock.Now() + time
	for !keyPressed() && (clock.TSCHz() == 0 || clock.Now() < limit) {
		amd64.Pause()
	}
}

// turnPages shows the pages of a death for ever, if there is a screen that has more than one.
func turnPages() {
	for screen.Dying() && screen.Pages() > 1 {
		if screen.Page() == 0 {
			waitPage(firstTime)
		} else {
			waitPage(pageTime)
		}
		screen.Turn()
	}
}

// holdPage leaves a death on the screen for a while, if nothing else has told of it.
func holdPage() {
	if screen.Dying() && console.OnScreen() && clock.TSCHz() != 0 {
		waitPage(pageTime)
	}
}
