package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Bytes that go from one open file to another without passing through the program: sendfile,
// copy_file_range and splice. A call waits, if it may, for the first bytes and for
// room for them, and then moves what it can. It cannot wait in the middle, because a call that has
// waited starts over and would repeat what it has done.

const (
	spliceNonblock = 2
	spliceFlags    = 0xf
)

// pump moves up to n bytes from one file to another. It returns how many, or an error if there were
// none. The files' own offsets do not change.
func (c *call) pump(in, out *file, inOff, outOff int64, n uintptr, wait bool) int64 {
	activity++
	done := int64(0)
	for n = min(n, ioMax); uintptr(done) < n; {
		first := wait && done == 0
		addr, have, moved := c.bytesOf(in, inOff+done, first)
		if have > 0 {
			moved = c.give(out, outOff+done, addr, min(have, n-uintptr(done)), first)
		}
		if moved <= 0 {
			if done == 0 {
				done = moved
			}
			break
		}
		if in.isPipe() {
			pipes[in.obj].take(uintptr(moved))
		}
		done += moved
	}
	if done > 0 && in.isPipe() {
		pipeChanged(in.obj)
	}
	if done > 0 && out.isPipe() {
		pipeChanged(out.obj)
	}
	return done
}

// bytesOf returns where the next bytes of a file lie in the kernel's memory, and how many lie
// together: none at the end of the file.
func (c *call) bytesOf(f *file, off int64, wait bool) (addr, n uintptr, errno int64) {
	switch f.kind {
	case node:
		if !f.isRegular() || f.isMade() {
			return 0, 0, -eINVAL
		}
		at, have := vfs.Page(f.node, off)
		addr, n = at, uintptr(have)
	case pipeRead, pipeFIFO:
		p := &pipes[f.obj]
		switch {
		case p.n > 0:
			addr, n = p.at(0)
			return addr, n, 0
		case p.writers == 0:
			return 0, 0, 0
		case !wait:
			return 0, 0, -eAGAIN
		}
		c.wait(f)
	case zeroDevice, fullDevice:
		n = uintptr(len(block))
	default:
		return 0, 0, -eINVAL
	}
	if addr == 0 && n > 0 {
		addr, n = blockAddr(), min(n, uintptr(len(block)))
		arch.FillUser(addr, n, 0)
	}
	return addr, n, 0
}

// give writes n bytes of the kernel's memory to a file, or as many as fit.
func (c *call) give(f *file, off int64, from, n uintptr, wait bool) int64 {
	switch f.kind {
	case node:
		if f.isMade() {
			return -eINVAL
		}
		return c.writeNode(f.node, from, n, off, true)
	case terminal:
		f.put(unsafe.Slice((*byte)(arch.Pointer(from)), n))
		noteOutput(n)
		return int64(n)
	case device, zeroDevice:
		return int64(n)
	case pipeWrite, pipeFIFO:
		if errno := c.pipeRoom(f, wait); errno != 0 {
			return errno
		}
		done, errno := pipes[f.obj].add(from, n, true)
		return partly(done, errno)
	case socketFile:
		if !parts.Sockets {
			break
		}
		s := socketOf(f.obj)
		if p := socketOf(s.peer); p != nil && s.kind == sockStream {
			n = min(n, max(1, p.in.room()))
		}
		x := transfer{base: from, left: n, total: n, own: true}
		if !wait {
			x.flags = msgDontWait | msgNoSignal
		}
		return c.sendOn(f, s, &x)
	}
	return -eINVAL
}

// pipeRoom waits for room in a pipe, if there is none, and then returns 0.
func (c *call) pipeRoom(f *file, wait bool) int64 {
	switch p := &pipes[f.obj]; {
	case p.readers == 0:
		send(thread.Current(), sigPIPE)
		return -ePIPE
	case p.n < pipeSize:
		return 0
	case !wait:
		return -eAGAIN
	}
	c.wait(f)
	return 0
}

// offsetAt returns the offset that the program has at an address, or the file's own if that is 0.
func offsetAt(f *file, addr uintptr) (off, errno int64) {
	if addr == 0 {
		if f != nil {
			off = f.off
		}
		return off, 0
	}
	v, ok := in64(addr)
	if !ok {
		return 0, -eFAULT
	}
	return int64(v), 0
}

// passed adds the n bytes that were moved to an offset and writes it where offsetAt read it; it
// returns n.
func passed(f *file, addr uintptr, off, n int64) int64 {
	switch {
	case n <= 0:
	case addr == 0:
		f.off = off + n
	case !out64(addr, uint64(off+n)):
		return -eFAULT
	}
	return n
}

func sysSendfile(c *call) int64 {
	out, in := usable(c.fd(0)), usable(c.fd(1))
	at, n := c.pointer(2), c.size(3)
	off, errno := offsetAt(in, at)
	switch {
	case errno != 0:
		return errno
	case in == nil || in.flags&oAccess&^oRdwr != 0:
		return -eBADF
	case at != 0 && !in.hasPlaces():
		return -eSPIPE
	case off < 0 || int64(n) < 0:
		return -eINVAL
	case out == nil || out.flags&oAccess == 0:
		return -eBADF
	case out.kind == node && out.flags&oAppend != 0 || !out.isPipe() && !in.hasPlaces():
		return -eINVAL
	case n == 0:
		return 0
	case in.isSocket(): // and out is a pipe
		return c.spliceSocket(in, out, n, out.flags&oNonblock == 0)
	case in.isPipe():
		return -eINVAL
	}
	to := out.off
	moved := c.pump(in, out, off, to, n, out.flags&oNonblock == 0)
	if moved > 0 && out.kind == node {
		out.off = to + moved
	}
	return passed(in, at, off, moved)
}

func sysCopyFileRange(c *call) int64 {
	in, out := usable(c.fd(0)), usable(c.fd(2))
	if in == nil || out == nil {
		return -eBADF
	}
	atIn, atOut, n := c.pointer(1), c.pointer(3), c.size(4)
	from, errno := offsetAt(in, atIn)
	if errno != 0 {
		return errno
	}
	to, errno := offsetAt(out, atOut)
	switch {
	case errno != 0:
		return errno
	case c.flags(5) != 0:
		return -eINVAL
	case in.isFolder() || out.isFolder():
		return -eISDIR
	case !in.isRegular() || !out.isRegular():
		return -eINVAL
	case in.flags&oAccess == oWronly || out.flags&oAccess == 0 || out.flags&oAppend != 0:
		return -eBADF
	case uint64(from)+uint64(n) < uint64(from) || uint64(to)+uint64(n) < uint64(to):
		return -eOVERFLOW
	}
	n = min(n, uintptr(max(vfs.Size(in.node)-from, 0)))
	switch end := int64(n); {
	case in.node == out.node && to+end > from && to < from+end:
		return -eINVAL
	case from < 0 || to < 0:
		return -eINVAL
	}
	moved := c.pump(in, out, from, to, n, false)
	if r := passed(in, atIn, from, moved); r < 0 {
		return r
	}
	return passed(out, atOut, to, moved)
}

func sysSplice(c *call) int64 {
	atIn, atOut, n, flags := c.pointer(1), c.pointer(3), c.size(4), c.flags(5)
	in, out := usable(c.fd(0)), usable(c.fd(2))
	switch {
	case n == 0:
		return 0
	case flags&^spliceFlags != 0:
		return -eINVAL
	case in == nil || out == nil:
		return -eBADF
	case in.isPipe() && atIn != 0, out.isPipe() && atOut != 0:
		return -eSPIPE
	}
	from, e1 := offsetAt(in, atIn)
	to, e2 := offsetAt(out, atOut)
	wait := flags&spliceNonblock == 0
	switch {
	case e1 != 0:
		return e1
	case e2 != 0:
		return e2
	case in.flags&oAccess == oWronly || out.flags&oAccess == 0:
		return -eBADF
	case in.isPipe() && out.isPipe() && in.obj == out.obj:
		return -eINVAL
	case in.isPipe():
		if !out.isPipe() && (atOut != 0 && !out.hasPlaces() || out.kind == node &&
			out.flags&oAppend != 0) || to < 0 {
			return -eINVAL
		}
		wait = wait && in.flags&oNonblock == 0 && (!out.isPipe() || out.flags&oNonblock == 0)
	case out.isPipe():
		if atIn != 0 && !in.hasPlaces() || from < 0 {
			return -eINVAL
		}
		wait = wait && out.flags&oNonblock == 0
		if in.isSocket() {
			return c.spliceSocket(in, out, n, wait)
		}
	default:
		return -eINVAL
	}
	moved := c.pump(in, out, from, to, n, wait)
	if in.kind == node {
		moved = passed(in, atIn, from, moved)
	}
	if out.kind == node {
		moved = passed(out, atOut, to, moved)
	}
	return moved
}

// spliceSocket moves bytes that have arrived on a connection to a pipe.
func (c *call) spliceSocket(in, out *file, n uintptr, wait bool) int64 {
	s, p := socketOf(in.obj), &pipes[out.obj]
	if s.kind != sockStream {
		return -eINVAL
	}
	activity++
	done := int64(0)
	for n = min(n, ioMax); uintptr(done) < n; {
		first := wait && done == 0
		moved := c.pipeRoom(out, first)
		if moved == 0 {
			to, room := p.space()
			if to == 0 {
				moved = -eNOMEM
			} else {
				room = min(room, pipeSize-p.n, n-uintptr(done))
				x := transfer{base: to, left: room, total: room, own: true}
				if !first {
					x.flags = msgDontWait
				}
				moved = c.receiveStream(in, s, &x)
			}
		}
		if moved <= 0 {
			if done == 0 {
				return moved
			}
			break
		}
		p.n += uintptr(moved)
		done += moved
	}
	pipeChanged(out.obj)
	return done
}
