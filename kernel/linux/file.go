package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/dev/entropy"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/tty"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Reading and writing.

// Device numbers (Linux: Documentation/admin-guide/devices.txt), major<<8 | minor.
const (
	devNull    = 1<<8 | 3
	devZero    = 1<<8 | 5
	devFull    = 1<<8 | 7
	devRandom  = 1<<8 | 8
	devURandom = 1<<8 | 9
	devTTY     = 5 << 8
	devConsole = 5<<8 | 1
)

func (c *call) read(f *file) int64 {
	if f.flags&oAccess == oWronly {
		return -eBADF
	}
	if !inReach(c.args[1].Pointer(), c.args[2].Size()) {
		return -eFAULT
	}
	n := c.readFile(f, c.args[1].Pointer(), min(c.args[2].Size(), ioMax), f.off)
	if f.kind != counter {
		activity++ // the runtime's own wake-ups are not the program's doing
	}
	if n > 0 && f.kind == node {
		f.off += n
	}
	return n
}

// activity counts what the program has read and written. Under the kernel lock.
var activity uint64

// Activity returns the number of reads and writes that the program has made. Any
// context.
func Activity() uint64 { return activity }

func (c *call) pread(f *file) int64 {
	switch {
	case c.args[3].Int64() < 0:
		return -eINVAL
	case !f.hasPlaces():
		return -eSPIPE
	case f.flags&oAccess == oWronly:
		return -eBADF
	case !inReach(c.args[1].Pointer(), c.args[2].Size()):
		return -eFAULT
	}
	return c.readFile(f, c.args[1].Pointer(), min(c.args[2].Size(), ioMax), c.args[3].Int64())
}

// hasPlaces reports whether a file can be read and written at any place.
func (f *file) hasPlaces() bool {
	return f.kind == node || f.kind == device && f.terminal() == nil
}

func (c *call) write(f *file) int64 {
	if f.flags&oAccess == 0 {
		return -eBADF
	}
	if !inReach(c.args[1].Pointer(), c.args[2].Size()) {
		return -eFAULT
	}
	off := f.off
	if f.kind == node && f.flags&oAppend != 0 {
		off = c.end(f.node, c.args[2].Size())
	}
	n := c.writeFile(f, c.args[1].Pointer(), min(c.args[2].Size(), ioMax), off)
	if f.kind != counter {
		activity++
	}
	if n > 0 && f.kind == node {
		f.off = off + n
	}
	return n
}

func (c *call) pwrite(f *file) int64 {
	switch {
	case c.args[3].Int64() < 0:
		return -eINVAL
	case !f.hasPlaces():
		return -eSPIPE
	case f.flags&oAccess == 0:
		return -eBADF
	case !inReach(c.args[1].Pointer(), c.args[2].Size()):
		return -eFAULT
	}
	off := c.args[3].Int64()
	if f.kind == node && f.flags&oAppend != 0 {
		off = c.end(f.node, c.args[2].Size()) // as Linux does
	}
	return c.writeFile(f, c.args[1].Pointer(), min(c.args[2].Size(), ioMax), off)
}

// Flags of the readv family.
const (
	rwHighPriority = 0x01 // with rwDataSync and rwSync: about a disk
	rwDataSync     = 0x02
	rwSync         = 0x04
	rwNoWait       = 0x08
	rwAppend       = 0x10
	rwNoAppend     = 0x20
	rwFlags        = 0x3f
)

// vector does a call of the readv family: one transfer for each part.
func (c *call) vector(f *file, write, positioned bool, flags uintptr) int64 {
	vec, count := c.args[1].Pointer(), uintptr(c.args[2].Uint())
	switch {
	case positioned && c.args[3].Int64() < 0:
		return -eINVAL
	case positioned && !f.hasPlaces():
		return -eSPIPE
	case write && f.flags&oAccess == 0, !write && f.flags&oAccess == oWronly:
		return -eBADF
	case count > maxParts:
		return -eINVAL
	case flags&^rwFlags != 0 || flags&rwNoWait != 0 && f.kind != socketFile && !f.isPipe():
		return -eOPNOTSUPP
	case flags&(rwAppend|rwNoAppend) != 0 && f.kind == node && vfs.Writable(f.node): // its write waits
		return -eOPNOTSUPP
	case flags&rwAppend != 0 && flags&rwNoAppend != 0:
		return -eINVAL
	}
	if f.kind == socketFile {
		c.args[2] = argument(count)
		return c.socketVector(f, write)
	}
	if errno := checkParts(vec, count); errno != 0 {
		return errno
	}
	total, start := int64(0), f.off
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
		if total > 0 && !f.goesOn(write) {
			break // to wait now would do again what has been done
		}
		p.args[1], p.args[2], p.args[3] = argument(base), argument(min(size, ioMax)), c.args[3]+argument(total)
		n := int64(0)
		switch {
		case write && positioned:
			n = p.pwrite(f)
		case write:
			n = p.write(f)
		case positioned:
			n = p.pread(f)
		default:
			n = p.read(f)
		}
		if n == errMissing { // the host writes this part: then all starts over, behind what is done
			f.off = start
			return n
		}
		if n < 0 {
			if total > 0 {
				break
			}
			return n
		}
		total += n
		p.before += uintptr(n)
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
		if f.isMade() {
			return readMade(f, to, n, off)
		}
		return readNode(f.node, to, n, off)
	case device:
		return c.readDevice(f, to, n)
	case pipeRead, pipeFIFO:
		return c.readPipe(f, to, n)
	case counter:
		return c.readCounter(f, to, n)
	case timerFile:
		return c.readTimer(f, to, n)
	case signalFile:
		return c.readSignals(f, to, n)
	case socketFile:
		return c.readSocket(f, to, n)
	case watcher:
		return c.readEvents(f, to, n)
	}
	return -eINVAL
}

// writeFile writes n bytes of the program's memory at from.
func (c *call) writeFile(f *file, from, n uintptr, off int64) int64 {
	switch f.kind {
	case terminal:
		return writeTerminal(from, n)
	case node:
		if f.isMade() {
			return -eIO
		}
		return c.writeNode(f.node, from, n, off, false)
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

func readNode(id vfs.ID, to, n uintptr, off int64) int64 {
	if vfs.Mode(id)&vfs.S_IFMT == vfs.S_IFDIR {
		return -eISDIR
	}
	left := n
	for left > 0 {
		addr, have := vfs.Page(id, off)
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
	if left < n {
		vfs.Notify(id, vfs.IN_ACCESS)
	}
	return int64(n - left)
}

// end returns where n bytes go that are appended to a file.
func (c *call) end(id vfs.ID, n uintptr) int64 {
	off := vfs.Size(id)
	if vfs.Writable(id) {
		off -= int64(c.doneHere(min(n, ioMax)))
	}
	return off
}

// writeNode writes n bytes at from, which is the program's or (own) the kernel's, at off.
// To a file of the host's only the program's go: who has them elsewhere is told to write.
func (c *call) writeNode(id vfs.ID, from, n uintptr, off int64, own bool) int64 {
	seals := vfs.Seals(id)
	if seals&(sealWrite|sealFutureWrite) != 0 && n > 0 {
		return -ePERM
	}
	if l := limits[limitSize].soft; n > 0 && l != unlimited {
		if uint64(off) >= l {
			return tooLong()
		}
		n = min(n, uintptr(l-uint64(off)))
	}
	if n > 0 && vfs.Writable(id) {
		if own {
			return -eINVAL
		}
		return c.writeHost(id, from, n, off)
	}
	left, start := n, off
	for left > 0 {
		addr, room, e := vfs.PageForWrite(id, off)
		if e != 0 {
			if left == n {
				return -int64(e)
			}
			break
		}
		part := min(left, uintptr(room))
		if seals&sealGrow != 0 && off+int64(part) > vfs.Size(id) {
			if left == n {
				return -ePERM
			}
			break
		}
		if !copyFrom(addr, from, part, own) {
			if left == n {
				return -eFAULT
			}
			break
		}
		from += part
		left -= part
		off += int64(part)
		vfs.Wrote(id, off-int64(part), off, clock.Wall())
	}
	if n == 0 {
		vfs.Wrote(id, start, start, clock.Wall())
	}
	if left < n {
		vfs.Notify(id, vfs.IN_MODIFY)
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
	if f.pair() != nil {
		return c.readPair(f, to, n)
	}
	return c.readTerminal(f, to, n)
}

func (c *call) writeDevice(f *file, from, n uintptr) int64 {
	switch f.rdev {
	case devNull, devZero, devRandom, devURandom:
		return int64(n)
	case devFull:
		return -eNOSPC
	case DevNIC:
		return writeCard(from, n)
	case DevRecord:
		return writeRecord(f, from, n)
	}
	if f.pair() != nil {
		return c.writePair(f, from, n)
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

// block is a buffer for what passes through the kernel in pieces. Under the kernel lock.
var block [4096]byte

func blockAddr() uintptr {
	percpu.AssertLocked()
	return uintptr(unsafe.Pointer(&block))
}

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
		tty.Serial.Write(block[:part])
		done += part
	}
	noteOutput(n)
	return int64(n)
}

func outByte(a uintptr, v uint8) bool { return copyOut(a, uintptr(unsafe.Pointer(&v)), 1) }

func outShort(a uintptr, v uint16) bool { return copyOut(a, uintptr(unsafe.Pointer(&v)), 2) }

// vectorWith is vector for the calls that have flags, for which position -1 is the file's own.
func (c *call) vectorWith(f *file, write bool) int64 {
	flags, was := c.args[5].Flags(), f.flags
	// A call that waits has none of these: f is as it was before another call sees it.
	switch {
	case flags&rwNoWait != 0:
		f.flags |= oNonblock
	case flags&rwAppend != 0:
		f.flags |= oAppend
	case flags&rwNoAppend != 0:
		f.flags &^= oAppend
	}
	n := c.vector(f, write, c.args[3].Int64() != -1, flags)
	f.flags = was
	return n
}

func (c *call) readv(f *file) int64    { return c.vector(f, false, false, 0) }
func (c *call) writev(f *file) int64   { return c.vector(f, true, false, 0) }
func (c *call) preadv(f *file) int64   { return c.vector(f, false, true, 0) }
func (c *call) pwritev(f *file) int64  { return c.vector(f, true, true, 0) }
func (c *call) preadv2(f *file) int64  { return c.vectorWith(f, false) }
func (c *call) pwritev2(f *file) int64 { return c.vectorWith(f, true) }
