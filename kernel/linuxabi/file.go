package linuxabi

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/entropy"
	"github.com/zeroframe/zeroframe/kernel/fs"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/resource"
	"github.com/zeroframe/zeroframe/kernel/tty"
)

// Reading, writing, and the other calls on descriptors.

// Device numbers (Linux: Documentation/admin-guide/devices.txt), major<<8 | minor.
const (
	devNull    = 1<<8 | 3
	devZero    = 1<<8 | 5
	devFull    = 1<<8 | 7
	devRandom  = 1<<8 | 8
	devURandom = 1<<8 | 9
	devTTY     = 5 << 8
)

func (c *call) read() int64 {
	f := get(c.a)
	if f == nil || f.flags&oAccess == oWronly || f.flags&oPath != 0 {
		return -eBADF
	}
	if !inReach(c.b, c.c) {
		return -eFAULT
	}
	n := c.readFile(f, c.b, min(c.c, ioMax), f.off)
	if f.kind != counter {
		activity++ // the runtime's own wake-ups are not the program's doing
	}
	if n > 0 && f.kind == node {
		f.off += n
	}
	return n
}

// activity counts what the program has read and written.
var activity uint64

// Activity returns the number of reads and writes that the program has made. Any
// context.
func Activity() uint64 { return activity }

func (c *call) pread() int64 {
	f := get(c.a)
	switch {
	case f == nil || f.flags&oAccess == oWronly || f.flags&oPath != 0:
		return -eBADF
	case f.kind != node && f.kind != device:
		return -eSPIPE
	case int64(c.d) < 0:
		return -eINVAL
	case !inReach(c.b, c.c):
		return -eFAULT
	}
	return c.readFile(f, c.b, min(c.c, ioMax), int64(c.d))
}

func (c *call) write() int64 {
	f := get(c.a)
	if f == nil || f.flags&oAccess == 0 || f.flags&oPath != 0 {
		return -eBADF
	}
	if !inReach(c.b, c.c) {
		return -eFAULT
	}
	off := f.off
	if f.kind == node && f.flags&oAppend != 0 {
		off = fs.Size(f.node)
	}
	n := c.writeFile(f, c.b, min(c.c, ioMax), off)
	if f.kind != counter {
		activity++
	}
	if n > 0 && f.kind == node {
		f.off = off + n
	}
	return n
}

func (c *call) pwrite() int64 {
	f := get(c.a)
	switch {
	case f == nil || f.flags&oAccess == 0 || f.flags&oPath != 0:
		return -eBADF
	case f.kind != node && f.kind != device:
		return -eSPIPE
	case int64(c.d) < 0:
		return -eINVAL
	case !inReach(c.b, c.c):
		return -eFAULT
	}
	off := int64(c.d)
	if f.kind == node && f.flags&oAppend != 0 {
		off = fs.Size(f.node) // as Linux does
	}
	return c.writeFile(f, c.b, min(c.c, ioMax), off)
}

// vector does a call of the readv family: one transfer for each part.
func (c *call) vector(write, positioned bool) int64 {
	f := get(c.a)
	vec, count := c.b, uintptr(uint32(c.c))
	if count > maxParts {
		return -eINVAL
	}
	if f != nil && f.kind == socketFile && !positioned {
		c.c = count
		return c.socketVector(f, write)
	}
	if f != nil && (write && f.flags&oAccess == 0 || !write && f.flags&oAccess == oWronly) {
		return -eBADF
	}
	if errno := checkParts(vec, count); errno != 0 {
		return errno
	}
	total := int64(0)
	p := *c
	p.part = true
	for i := uintptr(0); i < count; i++ {
		base, ok1 := in64(vec + i*16)
		size, ok2 := in64(vec + i*16 + 8)
		if !ok1 || !ok2 {
			break // it was there before the reading changed it
		}
		if size == 0 {
			continue
		}
		if total > 0 && f != nil && !f.goesOn(write) {
			break // to wait now would do again what has been done
		}
		p.b, p.c, p.d = uintptr(base), min(uintptr(size), ioMax), c.d+uintptr(total)
		n := int64(0)
		switch {
		case write && positioned:
			n = p.pwrite()
		case write:
			n = p.write()
		case positioned:
			n = p.pread()
		default:
			n = p.read()
		}
		if n < 0 {
			if total > 0 {
				break
			}
			return n
		}
		total += n
		if uint64(n) < size {
			break
		}
	}
	return total
}

// checkParts looks at count parts of struct iovec at vec before anything is moved.
func checkParts(vec, count uintptr) int64 {
	for i := uintptr(0); i < count; i++ {
		base, ok1 := in64(vec + i*16)
		size, ok2 := in64(vec + i*16 + 8)
		switch {
		case !ok1 || !ok2:
			return -eFAULT
		case int64(size) < 0:
			return -eINVAL
		case !inReach(uintptr(base), min(uintptr(size), ioMax)):
			return -eFAULT
		}
	}
	return 0
}

// goesOn reports whether a read or a write of the file would not wait.
func (f *file) goesOn(write bool) bool {
	if write {
		return state(f)&(epollOut|epollErr) != 0
	}
	return ready(f)
}

// readFile reads n bytes at off into the program's memory at to.
func (c *call) readFile(f *file, to, n uintptr, off int64) int64 {
	switch f.kind {
	case terminal:
		return c.readTerminal(f, to, n)
	case node:
		return readNode(f.node, to, n, off)
	case device:
		return c.readDevice(f, to, n)
	case pipeRead, pipeFIFO:
		return c.readPipe(f, to, n)
	case counter:
		return c.readCounter(f, to, n)
	case socketFile:
		return c.readSocket(f, to, n)
	}
	return -eINVAL
}

// writeFile writes n bytes of the program's memory at from.
func (c *call) writeFile(f *file, from, n uintptr, off int64) int64 {
	switch f.kind {
	case terminal:
		return writeTerminal(from, n)
	case node:
		return writeNode(f.node, from, n, off)
	case device:
		return c.writeDevice(f, from, n)
	case pipeWrite, pipeFIFO:
		return c.writePipe(f, from, n)
	case counter:
		return c.writeCounter(f, from, n)
	case socketFile:
		return c.writeSocket(f, from, n)
	}
	return -eINVAL
}

func readNode(id fs.ID, to, n uintptr, off int64) int64 {
	if fs.Mode(id)&fs.S_IFMT == fs.S_IFDIR {
		return -eISDIR
	}
	left := n
	for left > 0 {
		addr, have := fs.Page(id, off)
		if have == 0 {
			break
		}
		part := min(left, uintptr(have))
		if addr == 0 && !zeroOut(to, part) || addr != 0 && !copyOut(to, addr, part) {
			if left == n {
				return -eFAULT
			}
			break
		}
		to += part
		left -= part
		off += int64(part)
	}
	return int64(n - left)
}

func writeNode(id fs.ID, from, n uintptr, off int64) int64 {
	left, start := n, off
	for left > 0 {
		addr, room, e := fs.PageForWrite(id, off)
		if e != 0 {
			if left == n {
				return -int64(e)
			}
			break
		}
		part := min(left, uintptr(room))
		if !copyIn(addr, from, part) {
			if left == n {
				return -eFAULT
			}
			break
		}
		from += part
		left -= part
		off += int64(part)
		fs.Wrote(id, off-int64(part), off, clock.Wall())
	}
	if n == 0 {
		fs.Wrote(id, start, start, clock.Wall())
	}
	return int64(n - left)
}

func (c *call) readDevice(f *file, to, n uintptr) int64 {
	switch f.rdev {
	case devNull:
		return 0
	case devZero, devFull:
		if !zeroOut(to, n) {
			return -eFAULT
		}
		return int64(n)
	case devRandom, devURandom:
		return randomOut(to, n)
	case DevNIC:
		return c.readCard(f, to, n)
	case DevRecord:
		return 0
	}
	return c.readTerminal(f, to, n)
}

func (c *call) writeDevice(f *file, from, n uintptr) int64 {
	switch f.rdev {
	case devNull, devZero, devRandom, devURandom:
		return int64(n)
	case devFull:
		return -28 // ENOSPC
	case DevNIC:
		return writeCard(from, n)
	case DevRecord:
		return writeRecord(f, from, n)
	}
	return writeTerminal(from, n)
}

// randomOut fills the program's memory with random bytes.
func randomOut(to, n uintptr) int64 {
	for done := uintptr(0); done < n; {
		word := entropy.Word()
		part := min(8, n-done)
		if !copyOut(to+done, uintptr(unsafe.Pointer(&word)), part) {
			if done > 0 {
				return int64(done)
			}
			return -eFAULT
		}
		done += part
	}
	return int64(n)
}

// block is a buffer for what passes through the kernel in pieces.
var block [4096]byte

func blockAddr() uintptr { return uintptr(unsafe.Pointer(&block)) }

func writeTerminal(from, n uintptr) int64 {
	done := uintptr(0)
	for done < n {
		part := min(n-done, uintptr(len(block)))
		if !copyIn(blockAddr(), from+done, part) {
			if done > 0 {
				return int64(done)
			}
			return -eFAULT
		}
		for _, b := range block[:part] {
			tty.Out(b)
		}
		done += part
	}
	noteOutput(n)
	return int64(n)
}

func (c *call) lseek() int64 {
	f := get(c.a)
	if f == nil {
		return -eBADF
	}
	if f.kind == device {
		return 0
	}
	if f.kind != node {
		return -eSPIPE
	}
	off := int64(c.b)
	size := fs.Size(f.node)
	switch c.c {
	case 0:
	case 1:
		off += f.off
	case 2:
		off += size
	case 3, 4: // SEEK_DATA, SEEK_HOLE: all is data
		if off < 0 || off >= size {
			return -6 // ENXIO
		}
		if c.c == 4 {
			off = size
		}
	default:
		return -eINVAL
	}
	if off < 0 {
		return -eINVAL
	}
	f.off = off
	return off
}

func (c *call) ftruncate() int64 {
	f := get(c.a)
	if f == nil {
		return -eBADF
	}
	if f.kind != node || f.flags&oAccess == 0 || int64(c.b) < 0 {
		return -eINVAL
	}
	return -int64(fs.SetSize(f.node, int64(c.b), clock.Wall()))
}

// fallocate makes a file longer: its pages come when they are written.
func (c *call) fallocate() int64 {
	f := get(c.a)
	if f == nil || f.kind != node || f.flags&oAccess == 0 {
		return -eBADF
	}
	if c.b != 0 {
		return -eOPNOTSUPP
	}
	if end := int64(c.c + c.d); end > fs.Size(f.node) {
		return -int64(fs.SetSize(f.node, end, clock.Wall()))
	}
	return 0
}

// fsync and its like have nothing to do: there is no disk.
func (c *call) fsync() int64 {
	if get(c.a) == nil {
		return -eBADF
	}
	return 0
}

func (c *call) flock() int64 {
	if get(c.a) == nil {
		return -eBADF
	}
	return 0
}

// mmapFile maps a file: a copy of it, since nothing is ever written back.
func (c *call) mmapFile() int64 {
	f := get(c.e)
	if f == nil {
		return -eBADF
	}
	if f.kind != node {
		return -eNODEV
	}
	if c.b >= 1<<47 {
		return -eNOMEM
	}
	if end := c.g + c.b; int64(end) < 0 || end < c.b {
		return -eOVERFLOW
	}
	const shared = 1
	prot := mm.Prot(c.c & protMask)
	if c.d&shared != 0 && prot&mm.ProtWrite != 0 {
		return -eNODEV
	}
	size := c.b
	at, e := mm.Map(c.a, size, mm.ProtRead|mm.ProtWrite, c.d&mapFixed != 0, false)
	if e != 0 {
		return -int64(e)
	}
	off, have := int64(c.g), fs.Size(f.node)
	if off < have {
		if n := readNode(f.node, at, min(size, uintptr(have-off)), off); n < 0 {
			mm.Discard(at, size)
			return n
		}
	}
	mm.Protect(at, size, prot)
	logMap(resource.Open, at, size)
	return int64(at)
}

func outByte(a uintptr, v uint8) bool { return copyOut(a, uintptr(unsafe.Pointer(&v)), 1) }

func outShort(a uintptr, v uint16) bool { return copyOut(a, uintptr(unsafe.Pointer(&v)), 2) }

func mmAllowedWord(a uintptr) bool { return mm.Allowed(a, 8, true) }
