package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// sendfile sends what a file holds by a stream socket, without a way through the
// program. For other descriptors it is not there: programs then read and write.
func (c *call) sendfile() int64 {
	out, in := get(c.args[0].FD()), get(c.args[1].FD())
	off := int64(0)
	switch {
	case c.args[2] != 0:
		v, ok := in64(c.args[2].Pointer())
		if !ok {
			return -eFAULT
		}
		off = int64(v)
	case in != nil:
		off = in.off
	}
	switch {
	case in == nil || in.flags&(oAccess|oPath)&^oRdwr != 0:
		return -eBADF
	case c.args[2] != 0 && !in.hasPlaces():
		return -eSPIPE
	case off < 0 || c.args[3].Int64() < 0:
		return -eINVAL
	case out == nil || out.flags&oPath != 0 || out.flags&oAccess == 0:
		return -eBADF
	case out.kind != socketFile || in.kind != node || vfs.Mode(in.node)&vfs.S_IFMT != vfs.S_IFREG:
		return -eINVAL
	}
	s := socketOf(out.obj)
	if s.kind != sockStream {
		return -eINVAL
	}
	activity++
	left := min(c.args[3].Size(), ioMax)
	done := int64(0)
	// It may wait for the first part, and sends as much after that as there is room for.
	for flags := uintptr(0); left > 0; flags = msgDontWait | msgNoSignal {
		addr, have := vfs.Page(in.node, off)
		if have == 0 {
			break
		}
		if addr == 0 { // a hole
			addr, have = blockAddr(), min(have, len(block))
			arch.FillUser(addr, uintptr(have), 0)
		}
		part := min(left, uintptr(have))
		if p := socketOf(s.peer); p != nil {
			// No more than there is room for: sending must not wait in the middle, which
			// this call would not know when it starts over.
			part = min(part, max(1, p.in.room()))
		}
		x := transfer{base: addr, left: part, total: part, own: true, flags: flags}
		n := c.sendOn(out, s, &x)
		if n < 0 {
			if done == 0 {
				return n
			}
			break
		}
		done += n
		off += n
		left -= uintptr(n)
		if s.stage != connected || s.err != 0 {
			break // the next call learns why
		}
	}
	if c.args[2] == 0 {
		in.off = off
	} else if !out64(c.args[2].Pointer(), uint64(off)) {
		return -eFAULT
	}
	return done
}
