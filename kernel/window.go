package kernel

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Windows: RAM that is also a file. A host that has mapped the machine's RAM sees at once what a
// program writes there, even after the program has died. The options window=ADDRESS,SIZE,PATH say
// where; zf test -fuzz talks to a test binary in this way.

// window is the RAM lo <= physical address < lo+size, which is the file path.
type window struct {
	lo   uintptr
	size uint64
	path []byte // in the command line
}

// readWindow reads an option's value. It returns "", or what is wrong with it.
func readWindow(value []byte) (w window, wrong string) {
	address, rest := untilComma(value)
	size, path := untilComma(rest)
	lo, ok := ascii.Uint(address)
	w.size, w.path = 0, path
	if ok {
		w.size, ok = ascii.Uint(size)
	}
	w.lo = uintptr(lo)
	if !ok || lo%arch.PageSize != 0 || w.size == 0 || len(path) == 0 || path[0] != '/' {
		return w, "want ADDRESS,SIZE,PATH in bytes, the address being that of a page"
	}
	hi := lo + w.size
	if lo < uint64(image.End) || hi < lo {
		return w, "the kernel's image lies there"
	}
	for i := range info.Modules() {
		if m := &info.Modules()[i]; lo < m.Hi && hi > m.Lo {
			return w, "what the loader has loaded lies there"
		}
	}
	for i := range info.Regions() {
		if r := &info.Regions()[i]; r.Usable && lo >= r.Lo && hi <= r.Hi {
			return w, ""
		}
	}
	return w, "there is no RAM"
}

// keepWindows reserves the RAM for them. Early context, before mem.Init.
func keepWindows() {
	for value, line, ok := option.Next(option.Line(), "window"); ok; value, line, ok = option.Next(line, "window") {
		if w, wrong := readWindow(value); wrong == "" && !mem.Keep(w.lo, w.lo+uintptr(w.size)) {
			fault.Panic("the windows and the loader's modules are too many")
		}
	}
}

// openWindows makes the files. Early context, when there is a file tree.
func openWindows() {
	for value, line, ok := option.Next(option.Line(), "window"); ok; value, line, ok = option.Next(line, "window") {
		w, wrong := readWindow(value)
		if wrong == "" {
			wrong = "the file cannot be made"
			id, e := vfs.Open(vfs.Root, w.path, vfs.O_CREAT|vfs.O_EXCL, 0o600, clock.Wall())
			if e == 0 && vfs.Place(id, arch.Virtual(w.lo), int64(w.size)) == 0 {
				wrong = ""
			}
		}
		if wrong != "" {
			option.Ignored("window", value, wrong)
		}
	}
}
