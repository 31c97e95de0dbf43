package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/parts"
)

// The events of sockets for poll, select and epoll.

// socketState returns a socket's present events, as Linux's tcp_poll, datagram_poll and unix_poll
// do.
func socketState(f *file) (events uint32) {
	if !parts.Sockets {
		return 0
	}
	s := socketOf(f.obj)
	if s.err != 0 {
		events |= epollErr
	}
	over := s.shutRead || s.finished
	switch {
	case s.stage == listening:
		if s.first != 0 || s.shutRead {
			events |= epollIn
		}
		return events
	case s.stage == connecting:
		return events
	case s.connects() && s.stage == fresh:
		return events | epollOut | epollHup
	}
	if s.in.n > 0 || over {
		events |= epollIn
	}
	if over {
		events |= epollRdhup
		if s.shutWrite {
			events |= epollHup
		}
	}
	if s.shutWrite || s.hasRoom() {
		events |= epollOut
	}
	return events
}

// enoughRoom is the number of bytes that makes sending worth while, a good part of a buffer.
const enoughRoom = ringSize / 4

// hasRoom reports whether sending is worth while.
func (s *socket) hasRoom() bool {
	if !s.connects() {
		return s.full == noSocket
	}
	p := socketOf(s.peer)
	return p == nil || p.in.room() >= enoughRoom
}

// unread is the number of bytes that the next receiving call can get (FIONREAD).
func (s *socket) unread() uintptr {
	if s.kind == sockStream || s.in.n == 0 {
		return s.in.n
	}
	var h datagram
	s.in.peek(addressOf(&h), 0, unsafe.Sizeof(h), true)
	return uintptr(h.size)
}
