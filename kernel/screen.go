package kernel

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/dev/port"
	"github.com/zeroframe/zeroframe/kernel/dev/screen"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/option"
)

// The choice of the console, by the option console=com1|vga|both|virtio. Without the option the
// console is the serial port if one answers, and otherwise the screen; a fatal trace is also shown
// on the screen, if there is one, because nobody may be at the other end of the serial line. With
// console=com1 the screen is not used. console=virtio works as without the option, except that
// programs read and write through a virtio console.

// setConsole chooses the console, unless the loader's screen can only be reached later. Early
// context, after the loader's information is read, and while the first page tables are in use.
func setConsole() {
	if _, end := screenMemory(); end <= firstTables {
		chooseConsole()
	}
}

// firstTables is the amount of memory that the first page tables map.
const firstTables = 4 << 30

// framebuffer returns the loader's screen, if it has set one up. A screen in free RAM is rejected,
// whatever the loader says.
func framebuffer() (f boot.Framebuffer, ok bool) {
	f, ok = info.Framebuffer()
	for i := range info.Regions() {
		if r := &info.Regions()[i]; ok && r.Usable && f.Addr < r.Hi &&
			f.Addr+uint64(f.Pitch)*uint64(f.Height) > r.Lo {
			ok = false
		}
	}
	return f, ok
}

// screenMemory returns where that screen is in memory, or zeros.
func screenMemory() (lo, end uint64) {
	f, ok := framebuffer()
	if !ok {
		return 0, 0
	}
	return f.Addr, f.Addr + uint64(f.Pitch)*uint64(f.Height)
}

// chooseConsole reads the option.
func chooseConsole() {
	how, given := option.Value("console")
	serial, onScreen, unknown := console.Present(), false, false
	switch {
	case !given, ascii.Same(how, "virtio"):
	case ascii.Same(how, "com1"):
		return
	case ascii.Same(how, "vga"):
		serial, onScreen = false, true
	case ascii.Same(how, "both"):
		onScreen = true
	default:
		unknown = true
	}
	if !findScreen() {
		if onScreen {
			option.Ignored("console", how,
				"there is no screen: the loader has set up none, and no VGA is in text mode")
		}
		serial, onScreen = true, false
	} else if !serial {
		onScreen = true
	}
	if onScreen {
		screen.Clear()
		console.Use(serial, screen.Byte)
	} else {
		console.Use(serial, nil)
	}
	if unknown {
		option.Ignored("console", how, "want com1, vga, both or virtio")
	}
}

// findScreen starts using the loader's screen, or the board's text screen.
func findScreen() bool {
	f, ok := framebuffer()
	switch {
	case ok && f.Kind == boot.Text:
		return screen.Text(arch.Virtual(uintptr(f.Addr)), uintptr(f.Pitch), int(f.Width), int(f.Height))
	case ok && f.Kind == boot.RGB:
		return screen.Pixels(arch.Virtual(uintptr(f.Addr)), uintptr(f.Pitch), int(f.Width), int(f.Height),
			int(f.BPP),
			screen.Field(f.Red), screen.Field(f.Green), screen.Field(f.Blue))
	case ok || !arch.HasTextScreen():
		return false
	}
	columns, lines := arch.TextScreenSize()
	return screen.Text(arch.Virtual(arch.TextScreen), uintptr(columns)*arch.CellSize, columns, lines)
}

// mapScreen maps the loader's screen in the page tables that are in use then.
func mapScreen() {
	lo, end := screenMemory()
	switch {
	case end <= 1<<20: // the first MiB is mapped as a whole
	case end <= firstTables && !screen.On():
	case mem.MapDevice(uintptr(lo), uintptr(end-lo)) != 0:
		if end > firstTables {
			chooseConsole()
		}
	default:
		screen.Off()
	}
}

// findPort starts using a virtio console for programs' input and output, if the option asks for it.
// Early context, when the page tables are set up and before mem.Release.
func findPort() {
	how, given := option.Value("console")
	switch {
	case !given || !ascii.Same(how, "virtio"):
	case !console.Present():
		option.Ignored("console", how,
			"there is no serial port (COM1), which says where the text goes on")
	case !port.Init():
		option.Ignored("console", how,
			"there is no virtio console; under QEMU add one with zf run -console virtio")
	default:
		port.Keep()
		console.UsePort(port.Send, port.Flush, port.Receive)
	}
}

// printPort prints the boot report's line about the virtio console, if it is in use.
func printPort() {
	if port.Buffers() > 0 {
		console.Printf("\nport    virtio console, %d buffers, for what programs write",
			uint64(port.Buffers()))
		if port.Listens() {
			console.String(" and read")
		}
	}
}
