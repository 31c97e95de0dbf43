package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// The contents of the files in /proc, in the format of proc(5). Anything that the kernel does not
// count, such as page faults, is 0.

// text is the text that is being made: it collects in buf, and goes from there into a file without
// a name. Under the kernel lock.
var text struct {
	id   vfs.ID // 0: buf is the whole text
	off  int64  // offset in the file at which buf goes
	n    int    // bytes of buf
	line int    // bytes since the last line feed
	buf  [4096]byte
}

// makeText makes the contents of a made-up file in a file without a name, which is held.
func makeText(put func(of int32), of int32) (vfs.ID, vfs.Errno) {
	text.id, text.off, text.n, text.line = vfs.Snapshot(clock.Wall()), 0, 0, 0
	if text.id == 0 {
		return 0, vfs.ENOSPC
	}
	put(of)
	flushText()
	return text.id, 0
}

// flushText moves the collected text into the file. If there is no memory for it, the end is
// missing.
func flushText() {
	if n, e := vfs.WriteAt(text.id, text.buf[:text.n], text.off, clock.Wall()); e == 0 {
		text.off += int64(n)
	}
	text.n = 0
}

func putByte(b byte) {
	if text.n == len(text.buf) {
		if text.id == 0 {
			return
		}
		flushText()
	}
	text.buf[text.n] = b
	text.n++
	if text.line++; b == '\n' {
		text.line = 0
	}
}

func put(parts ...string) {
	for _, s := range parts {
		for i := range len(s) {
			putByte(s[i])
		}
	}
}

func putBytes(b []byte) { put(unsafe.String(unsafe.SliceData(b), len(b))) }

// putTo fills the line with blanks up to a column.
func putTo(column int) {
	for text.line < column {
		putByte(' ')
	}
}

// putf writes a text with numbers in it: %Nd is decimal in at least N columns, %Nx hexadecimal
// with at least N digits, %NX the last N ones, in capitals, %o octal after a 0, %c a byte, and %k a
// number of KiB that ends in column 24, with the unit and a line feed. %N| fills the line up to
// column N.
func putf(format string, args ...uint64) {
	next := 0
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			putByte(format[i])
			continue
		}
		n := 0
		for i++; format[i] <= '9'; i++ {
			n = 10*n + int(format[i]-'0')
		}
		if format[i] == '|' {
			putTo(n)
			continue
		}
		v := args[next]
		next++
		switch format[i] {
		case 'c':
			putByte(byte(v))
		case 'x':
			putDigits(v, 16, n, '0')
		case 'X':
			for shift := 4 * n; shift > 0; {
				shift -= 4
				putByte("0123456789ABCDEF"[v>>shift&15])
			}
		case 'o':
			putByte('0')
			putDigits(v, 8, 0, 0)
		case 'k':
			putDigits(v, 10, 24-text.line, ' ')
			put(" kB\n")
		default:
			putDigits(v, 10, n, ' ')
		}
	}
}

// putDigits writes a number in a base, padded on the left with pad to columns columns.
func putDigits(v, base uint64, columns int, pad byte) {
	var b [maxDigits]byte
	i := digits(&b, v, base)
	for n := len(b) - i; n < columns; n++ {
		putByte(pad)
	}
	putBytes(b[i:])
}

// putPath writes a path; with escape, bytes that separate fields are written in octal.
func putPath(path []byte, escape bool) {
	for _, c := range path {
		if escape && (c == ' ' || c == '\t' || c == '\n' || c == '\\') {
			putf("\\%c%c%c", uint64('0'+c>>6), uint64('0'+c>>3&7), uint64('0'+c&7))
			continue
		}
		putByte(c)
	}
}

// putNode writes the path of a node.
func putNode(id vfs.ID) {
	path, e := vfs.Path(id, block[:])
	if e != 0 { // it has no name any more
		putf("/#%d (deleted)", uint64(id))
		return
	}
	putPath(path, false)
}

// The text buffer fits into block, as readMadeLink requires.
const _ = uint(unsafe.Sizeof(block) - unsafe.Sizeof(text.buf))

// commandLine is where the machine's command line is, as the loader passed it. Set once at boot.
var commandLine struct{ at, n uintptr }

// SetCommandLine sets the machine's command line. It keeps line. Early context.
func SetCommandLine(line []byte) {
	commandLine.at, commandLine.n = addressOf(unsafe.SliceData(line)), uintptr(len(line))
}

func putCommandLine(int32) {
	putBytes(unsafe.Slice((*byte)(arch.Pointer(commandLine.at)), commandLine.n))
	put("\n")
}
