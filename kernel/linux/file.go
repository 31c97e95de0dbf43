package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/dev/entropy"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/tty"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Reading and writing.

// activity counts the program's reads and writes. Under the kernel lock.
var activity uint64

// Activity returns the number of reads and writes that the program has made. Any context.
func Activity() uint64 { return activity }

// hasPlaces reports whether a file can be read and written at any offset.
func (f *file) hasPlaces() bool {
	return f.is(placed)
}

// move does read, write, pread or pwrite.
func (c *call) move(f *file, write, positioned bool) int64 {
	at, n, off := c.pointer(1), min(c.size(2), ioMax), f.off
	switch access := f.flags & oAccess; {
	case positioned && c.int64(3) < 0:
		return -eINVAL
	case positioned && !f.hasPlaces():
		return -eSPIPE
	case write && access == 0, !write && access == oWronly:
		return -eBADF
	case !inReach(at, c.size(2)):
		return -eFAULT
	case write && f.kind == node && f.flags&oAppend != 0:
		off = c.end(f.node, c.size(2)) // also for pwrite, as on Linux
	case positioned:
		off = c.int64(3)
	}
	op := reads[f.kind]
	if write {
		op = writes[f.kind]
	}
	moved := c.transfer(op, f, at, n, off)
	if positioned {
		return moved
	}
	if f.kind != counter {
		activity++ // the runtime's own wake-ups are not the program's activity
	}
	if moved > 0 && f.kind == node {
		f.off = off + moved
	}
	return moved
}

func sysRead(c *call, f *file) int64   { return c.move(f, false, false) }
func sysWrite(c *call, f *file) int64  { return c.move(f, true, false) }
func sysPread(c *call, f *file) int64  { return c.move(f, false, true) }
func sysPwrite(c *call, f *file) int64 { return c.move(f, true, true) }

// vector makes a call of the readv family, with one transfer for each part.
func (c *call) vector(f *file, write, positioned bool) int64 {
	vec, count := c.pointer(1), uintptr(c.uint(2))
	switch {
	case positioned && c.int64(3) < 0:
		return -eINVAL
	case positioned && !f.hasPlaces():
		return -eSPIPE
	case write && f.flags&oAccess == 0, !write && f.flags&oAccess == oWronly:
		return -eBADF
	case count > maxParts:
		return -eINVAL
	}
	if f.isSocket() {
		c.args[2] = count
		return c.socketVector(f, write)
	}
	if _, errno := checkParts(vec, count, ioMax); errno != 0 {
		return errno
	}
	total, start := int64(0), f.off
	copied := *c
	p := &copied
	p.part = true
	for i := range count {
		base, size, ok := inPair(vec + i*16)
		if !ok {
			break // it was there before the read changed it
		}
		if size == 0 {
			continue
		}
		if total > 0 && !f.goesOn(write) {
			break // waiting now would repeat what has been done
		}
		p.args[1], p.args[2], p.args[3] = uintptr(base), uintptr(min(size, ioMax)),
			c.args[3]+uintptr(total)
		n := p.move(f, write, positioned)
		if n == errMissing { // the host writes this part: then the call starts over, after what is done
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

// checkParts checks count parts of struct iovec at vec before anything is moved, at most most bytes
// of each. It returns the number of bytes, up to what one call moves.
func checkParts(vec, count, most uintptr) (total uintptr, errno int64) {
	for i := range count {
		base, size, ok := inPair(vec + i*16)
		switch {
		case !ok:
			return 0, -eFAULT
		case int64(size) < 0:
			return 0, -eINVAL
		case !inReach(uintptr(base), min(uintptr(size), most)):
			return 0, -eFAULT
		}
		total += min(uintptr(size), ioMax-total)
	}
	return total, 0
}

// goesOn reports whether a read or a write of the file would not wait.
func (f *file) goesOn(write bool) bool {
	if write {
		return state(f)&(epollOut|epollErr) != 0
	}
	return ready(f)
}

// transfer makes one of the operations at an offset of a file. It is not inlined, so that
// tools/symbol/stacks can see what runs on the kernel stack.
//
//go:noinline
func (c *call) transfer(op transferOp, f *file, at, n uintptr, off int64) int64 {
	if op == nil {
		return -eINVAL
	}
	c.off = off
	// Without the detour c would escape to the heap, as in do.
	return op((*call)(arch.Pointer(addressOf(c))), f, at, n)
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

// end returns the offset for n bytes that are appended to a file.
func (c *call) end(id vfs.ID, n uintptr) int64 {
	off := vfs.Size(id)
	if vfs.Writable(id) {
		off -= int64(c.doneHere(min(n, ioMax)))
	}
	return off
}

// writeNode writes n bytes at from, in the program's memory or (own) in the kernel's, to offset
// off. A file of the host takes only the program's bytes: other callers get an error that tells
// them to write those.
func (c *call) writeNode(id vfs.ID, from, n uintptr, off int64, own bool) int64 {
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

// randomOut fills the program's memory with random bytes.
func randomOut(to, n uintptr) int64 {
	for done := uintptr(0); done < n; {
		word := entropy.Word()
		part := min(8, n-done)
		if !copyOut(to+done, addressOf(&word), part) {
			return partly(done, -eFAULT)
		}
		done += part
	}
	return int64(n)
}

// block is a buffer for data that passes through the kernel in pieces. Under the kernel lock.
var block [4096]byte

func blockAddr() uintptr {
	percpu.AssertLocked()
	return addressOf(&block)
}

func writeTerminal(_ *call, f *file, from, n uintptr) int64 {
	done := uintptr(0)
	for done < n {
		part := min(n-done, uintptr(len(block)))
		if !copyIn(blockAddr(), from+done, part) {
			return partly(done, -eFAULT)
		}
		f.put(block[:part])
		done += part
	}
	noteOutput(n)
	return int64(n)
}

// put sends bytes of the kernel's memory to the terminal.
func (f *file) put(p []byte) {
	console.SetErrors(f.isTerminal() && f.obj == standardError)
	tty.Serial.Write(p)
	console.SetErrors(false) // of what is typed, the echo is output
}

func outByte(a uintptr, v uint8) bool { return copyOut(a, addressOf(&v), 1) }

func outShort(a uintptr, v uint16) bool { return copyOut(a, addressOf(&v), 2) }

func sysReadv(c *call, f *file) int64   { return c.vector(f, false, false) }
func sysWritev(c *call, f *file) int64  { return c.vector(f, true, false) }
func sysPreadv(c *call, f *file) int64  { return c.vector(f, false, true) }
func sysPwritev(c *call, f *file) int64 { return c.vector(f, true, true) }
