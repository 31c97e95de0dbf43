package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/dev/entropy"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// The bytes of the files in /proc, in the form that proc(5) has. What the kernel does not count,
// such as page faults, is 0.

// text is what is being made: it gathers in buf, and goes from there into a file without a name.
// Under the kernel lock.
var text struct {
	id   vfs.ID // 0: buf is all that there is
	off  int64  // of the file, where buf goes next
	n    int    // bytes of buf
	line int    // bytes since the last line feed
	buf  [4096]byte
}

// makeText makes the bytes of a file that is made up, as a file without a name, which is held.
func makeText(made uint16, of int32) (vfs.ID, vfs.Errno) {
	text.id, text.off, text.n, text.line = vfs.Snapshot(clock.Wall()), 0, 0, 0
	if text.id == 0 {
		return 0, vfs.ENOSPC
	}
	switch made {
	case madeFDInfo:
		putFDInfo(of)
	case madeArguments:
		putStrings(false)
	case madeEnvironment:
		putStrings(true)
	case madeName:
		putName(of)
		put("\n")
	case madeStat:
		putStat(of)
	case madeStatus:
		putStatus(of)
	case madeSizes:
		putSizes()
	case madeMaps:
		putMaps(false)
	case madeSmaps:
		putMaps(true)
	case madeLimits:
		putLimits()
	case madeMounts:
		putMounts(false)
	case madeMountInfo:
		putMounts(true)
	case madeCPU:
		putCPUs()
	case madeCPUList:
		putCPUList()
		put("\n")
	case madeMemory:
		putMemory()
	case madeTimes:
		putTimes()
	case madeUptime:
		putHundredths(clock.Now())
		put(" ")
		all := clock.Now() * numCPUs()
		putHundredths(all - min(thread.CPUTime(), all))
		put("\n")
	case madeLoad: // nobody counts it
		putLine("0.00 0.00 0.00 1/", uint64(thread.Count()), " ")
		putLine("", uint64(thread.MaxTID()), "\n")
	case madeCommandLine:
		putBytes(unsafe.Slice((*byte)(arch.Pointer(commandLine.at)), commandLine.n))
		put("\n")
	case madeTCP, madeTCP6, madeUDP, madeUDP6:
		putInetSockets(made)
	case madeUnix:
		putLocalSockets()
	case madeUUID:
		putUUID(entropy.Word(), entropy.Word())
	case madeBootID:
		if bootID[0] == 0 {
			bootID = [2]uint64{entropy.Word() | 1, entropy.Word()}
		}
		putUUID(bootID[0], bootID[1])
	case madeFiles:
		n := uint64(0)
		for i := range files {
			if files[i].kind != closed {
				n++
			}
		}
		putNumber(n)
		put("\t0\t2048\n")
	}
	flushText()
	return text.id, 0
}

// flushText moves what has gathered into the file. Without memory for it, the end is missing.
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

func put(s string) {
	for i := range len(s) {
		putByte(s[i])
	}
}

func putBytes(b []byte) {
	for _, c := range b {
		putByte(c)
	}
}

// putTo fills the line with blanks up to a column.
func putTo(column int) {
	for text.line < column {
		putByte(' ')
	}
}

func putNumber(v uint64) {
	var digits [maxDigits]byte
	putBytes(digits[decimal(&digits, v):])
}

// putHex puts at least so many digits.
func putHex(v uint64, least int) {
	for i := 15; i >= 0; i-- {
		if d := v >> (4 * uint(i)); d != 0 || i < least {
			const digits = "0123456789abcdef"
			putByte(digits[d&15])
		}
	}
}

// putOctal puts a number as fdinfo has it, with a 0 in front.
func putOctal(v uint64) {
	putByte('0')
	for i := 21; i >= 0; i-- {
		if d := v >> (3 * uint(i)); d != 0 {
			putByte('0' + byte(d&7))
		}
	}
}

// putLine puts a name, a number and what is behind it.
func putLine(name string, v uint64, unit string) {
	put(name)
	putNumber(v)
	put(unit)
}

// putHundredths puts nanoseconds as seconds with two digits behind the point.
func putHundredths(ns uint64) {
	putNumber(ns / 1e9)
	putByte('.')
	putByte('0' + byte(ns/1e8%10))
	putByte('0' + byte(ns/1e7%10))
}

// putPath puts a path; what separates fields where paths are in a line goes in octal.
func putPath(path []byte, escape bool) {
	for _, c := range path {
		if escape && (c == ' ' || c == '\t' || c == '\n' || c == '\\') {
			putByte('\\')
			putByte('0' + c>>6)
			putByte('0' + c>>3&7)
			putByte('0' + c&7)
			continue
		}
		putByte(c)
	}
}

// putNode puts the path of a node.
func putNode(id vfs.ID, escape bool) {
	path, e := vfs.Path(id, block[:])
	if e != 0 { // it has lost its name
		put("/#")
		putNumber(uint64(id))
		put(" (deleted)")
		return
	}
	putPath(path, escape)
}

// blockIsRoomForLinks: what text gathers fits into block.
const _ = uint(unsafe.Sizeof(block) - unsafe.Sizeof(text.buf))
