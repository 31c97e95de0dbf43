package eventstream

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer/stream"
)

// A file is a record that a program writes.
type file struct {
	w       stream.Writer
	open    bool
	begun   bool // the kind is known
	kind    [stream.MaxKind]byte
	kindLen int
}

// Open returns the number of a file for a new record; false if all are in use. Kernel context.
func Open() (n int, ok bool) {
	for i := range files {
		if f := &files[i]; !f.open {
			f.open, f.begun, f.kindLen = true, false, 0
			return i, true
		}
	}
	return 0, false
}

// Write takes the next bytes of a file, first the kind followed by a line feed. It returns false if
// the kind is invalid. Kernel context.
func Write(n int, b []byte) bool {
	f := &files[n]
	for i, c := range b {
		switch {
		case f.begun:
			f.w.Bytes(b[i:])
			return true
		case c == '\n' && f.kindLen > 0:
			f.begun = true
			begin(&f.w, unsafe.String(&f.kind[0], f.kindLen))
		case f.kindLen == len(f.kind) || !inKind(c):
			return false
		default:
			f.kind[f.kindLen] = c
			f.kindLen++
		}
	}
	return true
}

// inKind reports whether a kind may contain the byte.
func inKind(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' ||
		c == '-' || c == '_'
}

// Close ends a file and the record in it. Kernel context.
func Close(n int) {
	if files[n].begun {
		files[n].w.End()
	}
	files[n].open = false
}

// CloseAll closes the open files when the program has ended, as Linux does. Kernel context.
func CloseAll() {
	for n := range files {
		if files[n].open {
			Close(n)
		}
	}
}
