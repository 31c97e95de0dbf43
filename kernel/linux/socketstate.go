package linux

import "unsafe"

// What poll, select and epoll see of a socket.

// socketState returns the events that hold for a socket now, as Linux's tcp_poll,
// datagram_poll and unix_poll tell them.
func socketState(f *file) (events uint32) {
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

// enoughRoom is how many bytes make it worth to send, a good part of what a buffer holds.
const enoughRoom = ringSize / 4

// hasRoom reports whether it is worth to send.
func (s *socket) hasRoom() bool {
	if !s.connects() {
		return s.full == noSocket
	}
	p := socketOf(s.peer)
	return p == nil || p.in.room() >= enoughRoom
}

// unread is the number of bytes that the next receiving call can have (FIONREAD).
func (s *socket) unread() uintptr {
	if s.kind == sockStream || s.in.n == 0 {
		return s.in.n
	}
	var h datagram
	s.in.peek(addressOf(&h), 0, unsafe.Sizeof(h), true)
	return uintptr(h.size)
}
