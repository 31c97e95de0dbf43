package linux

import "github.com/zeroframe/zeroframe/kernel/thread"

// Bytes on connections without message boundaries (SOCK_STREAM). A call that waits in the middle of
// its bytes starts over, and skips what it has done.

// sendStream sends as many bytes as there is room for. If it may wait, it sends the others when
// there is room.
func (c *call) sendStream(f *file, s *socket, x *transfer) int64 {
	t := thread.Current()
	done := t.Done
	if done > 0 && (s.err != 0 || s.shutWrite || s.peer == noSocket) {
		return int64(done) // the next call returns the reason
	}
	to, gone, errno := c.canSend(f, s, x)
	switch {
	case errno != 0:
		return errno
	case x.total == 0:
		return 0
	case !gone && s.isInet() && to.shutRead && to.shutWrite:
		// The receiver has shut down reading, and gets data all the same.
		to.reset(eCONNRESET)
		gone = true
	}
	if gone {
		s.reset(ePIPE)
		return int64(min(x.total, ringSize))
	}
	x.skip(done)
	if to.in.room() > 0 {
		if done == 0 {
			if errno := x.sendRights(to); errno != 0 {
				return errno
			}
		}
		part, errno := x.fill(to)
		x.seal(part)
		done += part
		if part > 0 {
			to.changed()
		}
		if errno != 0 {
			return partly(done, errno)
		}
	}
	if done == x.total || done > 0 && !waits(f, x.flags) {
		return int64(done)
	}
	t.Done = done
	return c.socketWaits(f, s, 1, x.flags)
}

// fill puts as many bytes as fit into the buffer of a socket.
func (x *transfer) fill(to *socket) (done uintptr, errno int64) {
	for to.in.room() > 0 {
		at, n, ok := x.next()
		if !ok {
			break
		}
		part, errno := to.in.add(at, n, x.own)
		done += part
		if part < n {
			return done, errno
		}
	}
	return done, 0
}

// receiveStream takes what is there. With MSG_WAITALL it waits for all that was asked for.
func (c *call) receiveStream(f *file, s *socket, x *transfer) int64 {
	if s.stage == listening || s.stage == fresh && s.err == 0 {
		if s.isLocal() {
			return -eINVAL
		}
		return -eNOTCONN
	}
	if x.total == 0 {
		return 0
	}
	if s.told {
		return -GatewayChanged
	}
	t := thread.Current()
	before := t.Done
	if s.in.n == 0 {
		over := s.finished || s.err != 0 || s.shutRead
		switch {
		case over && before > 0:
			return int64(before)
		case s.err != 0 && (s.isLocal() || !s.finished):
			return s.takeError()
		case over:
			return 0
		}
		return c.socketWaits(f, s, 0, x.flags)
	}
	x.skip(before)
	if s.isLocal() {
		x.outName(&s.remote, s)
	}
	have := x.receiveRights(s, s.in.n)
	done := uintptr(0)
	for done < have {
		at, n, ok := x.next()
		if !ok {
			break
		}
		part := min(n, have-done)
		if !s.in.peek(at, done, part, x.own) {
			if done+before == 0 {
				return -eFAULT
			}
			break
		}
		done += part
	}
	if x.flags&msgPeek != 0 {
		return int64(done)
	}
	s.consume(done)
	all := done + before
	if x.flags&msgWaitAll != 0 && s.in.n == 0 && all < x.total && x.parcel == 0 && waits(f, x.flags) {
		if !s.finished && s.err == 0 && !s.shutRead {
			t.Done = all
			return c.socketWaits(f, s, 0, x.flags)
		}
	}
	return int64(all)
}

// consume removes n received bytes, and notifies the sender if it may have waited for that.
func (s *socket) consume(n uintptr) {
	room := s.in.room()
	s.in.take(n)
	s.taken += uint64(n)
	if p := socketOf(s.peer); p != nil && s.connects() && (room < enoughRoom ||
		s.kind == sockSeqpacket) {
		p.changed()
	}
}
