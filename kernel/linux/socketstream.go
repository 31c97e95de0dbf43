package linux

import (
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// Connections. Each end has a buffer for what it receives. connect makes the connection, which then
// waits in the listener's backlog, as a socket without a file, until it is accepted. A connect that
// finds the backlog full waits for room in it.

func sysConnect(c *call, f *file, s *socket) int64 {
	var a address
	if errno := s.inAddress(&a, c.pointer(1), uintptr(c.uint(2))); errno != 0 {
		return errno
	}
	switch {
	case s.family == afNetlink:
		return 0
	case !s.connects():
		return s.connectDatagrams(&a)
	case a.family == afUnspec:
		return -eINVAL
	case s.isInet() && a.family != s.family: // only datagrams can go from version 6 to a sockaddr_in
		return -eAFNOSUPPORT
	case s.stage == connecting:
		if !c.again {
			return -eALREADY
		}
		return c.socketWaits(f, s, 1, 0)
	case s.stage == connected && c.again:
		return 0
	case c.again && s.err != 0:
		return s.takeError()
	case s.stage == listening && s.isLocal(), a.isLinkLocal() && s.lacksZone(&a):
		return -eINVAL
	case s.stage != fresh:
		return -eISCONN
	}
	if s.isLocal() {
		l, errno := s.findName(&a)
		if errno != 0 {
			return errno
		}
		if l.stage != listening || l.shutRead {
			return -eCONNREFUSED
		}
		if l.waiting > l.backlog {
			if f.flags&oNonblock != 0 {
				return -eAGAIN
			}
			s.listener, s.stage, l.crowded = l.number, connecting, true
			return c.socketWaits(f, s, 1, 0)
		}
		return s.join(l)
	}
	return c.connectInet(f, s, &a)
}

// connectInet is connect for a fresh Internet socket.
func (c *call) connectInet(f *file, s *socket, a *address) int64 {
	if errno := s.route(a); errno != 0 {
		return errno
	}
	l := s.gateway(a)
	if l == nil {
		l = s.findListener(a)
	}
	if l == nil {
		return -eCONNREFUSED
	}
	if !s.bound {
		if errno := s.bindAny(); errno != 0 {
			return -eADDRNOTAVAIL
		}
	}
	var from address
	s.source(&from, a)
	s.local.ip = from.ip
	s.remote.ip, s.remote.port = a.ip, a.port
	if l.waiting > l.backlog {
		s.listener, s.stage, l.crowded = l.number, connecting, true
	} else if errno := s.join(l); errno != 0 || s.stage == connected {
		return errno
	}
	if f.flags&oNonblock != 0 {
		return -eINPROGRESS
	}
	return c.socketWaits(f, s, 1, 0)
}

// findListener returns the listener for what s sends to an address, or nil: the one bound to that
// address, or else one for all addresses of its version, or of both; of several that share the port
// one for each s.
func (s *socket) findListener(a *address) (best *socket) {
	most, turn := 0, sharing(s.local.ip, s.local.port)
	if !s.bound {
		turn = sharing(s.local.ip, lastGiven)
	}
	for t := socketOf(ports[0][a.port%portLists]); t != nil; t = socketOf(t.nextOfPort) {
		if t.stage != listening || t.protocol != s.protocol || t.local.port != a.port ||
			!t.covers(&t.local, a) {
			continue
		}
		score := 1
		if !t.local.isAny() {
			score = 3
		} else if t.family == afInet {
			score = 2
		}
		if score > most || score == most && turn.takes(best, t) {
			best, most = t, score
		}
	}
	return best
}

// join connects s to listener l, which has room.
func (s *socket) join(l *socket) int64 {
	t := newSocket(l.socketKind)
	if t == nil {
		return -eNOBUFS
	}
	t.options = l.options
	t.linger = l.linger
	t.local = l.local
	if s.isInet() {
		t.local.ip, t.local.port = s.remote.ip, s.remote.port
		t.listPort(1)
		t.remote = s.local
	} else {
		s.remote = l.local
		t.remote = s.local
	}
	s.stage, s.peer = connected, t.number
	t.stage, t.peer = connected, s.number
	switch {
	case l.isInet() && l.isGateway():
		s.stage = connecting // until the stack has reached the other machine
		s.passOptions(t)
	case s.ofStack():
		t.passOptions(s)
	}
	if l.first == 0 {
		l.first = t.number
	} else {
		socketOf(l.last).next = t.number
	}
	l.last = t.number
	l.waiting++
	l.changed()
	s.changed()
	return 0
}

// admit connects sockets that wait for room in a listener's backlog. It looks for them only if
// there may be any: each accept comes here.
func (l *socket) admit() {
	for s := nextSocket(0); l.crowded && l.waiting <= l.backlog; s = nextSocket(s.number) {
		if s == nil {
			l.crowded = false
			return
		}
		if s.stage != connecting || s.listener != l.number ||
			s.peer != noSocket {
			continue
		}
		s.stage = fresh
		if errno := s.join(l); errno != 0 {
			s.err = int32(-errno)
			s.changed()
		}
	}
}

func sysListen(c *call, _ *file, s *socket) int64 {
	switch {
	case !s.connects():
		return -eOPNOTSUPP
	case s.stage != fresh && s.stage != listening || s.isLocal() && !s.bound:
		return -eINVAL
	}
	const most = 4096
	was := s.stage
	s.stage = listening
	if s.isInet() {
		if errno := s.bindAny(); errno != 0 || s.portTaken(&s.local) {
			s.stage = was
			return -eADDRINUSE
		}
	}
	s.backlog = int32(min(uintptr(c.uint(1)), most))
	if s.isInet() {
		s.becomeGateway()
	}
	s.changed()
	s.admit()
	return 0
}

// unlisten ends connections that have not been accepted, and those that still wait.
func (s *socket) unlisten() {
	for n := s.first; n != 0; {
		t := socketOf(n)
		n = t.next
		if p := socketOf(t.peer); p != nil {
			p.reset(eCONNRESET)
		}
		t.free()
	}
	s.first, s.last, s.waiting = 0, 0, 0
	for t := nextSocket(0); t != nil; t = nextSocket(t.number) {
		if t.stage == connecting && t.listener == s.number {
			t.stage, t.err = fresh, eCONNREFUSED
			t.changed()
		}
	}
}

func (c *call) acceptWith(f *file, s *socket, flags uintptr) int64 {
	switch {
	case !s.connects():
		return -eOPNOTSUPP
	case s.stage != listening:
		return -eINVAL
	}
	if s.first == 0 {
		if s.shutRead {
			return -eINVAL
		}
		return c.socketWaits(f, s, 0, 0)
	}
	t := socketOf(s.first)
	if errno := outAddress(&t.remote, t.family, c.pointer(1), c.pointer(2)); errno != 0 {
		return errno
	}
	fd := openSocket(t, flags)
	if fd < 0 {
		return fd
	}
	s.first = t.next
	t.next = 0
	s.waiting--
	s.admit()
	return fd
}

// reset aborts a connection: the next call of this end fails with errno.
func (s *socket) reset(errno int32) {
	s.peer, s.err = noSocket, errno
	s.shutRead, s.shutWrite = true, true
	if !s.isLocal() {
		s.stage = ended
	}
	s.changed()
}

// hangUp ends this end of a connection, or a listener, that is being closed. If it has not read
// everything that arrived, or was told to by SO_LINGER, it aborts the connection.
func (s *socket) hangUp() {
	if s.stage == listening {
		s.unlisten()
		return
	}
	p := socketOf(s.peer)
	if p == nil {
		return
	}
	if p.stage == connecting { // the stack has closed its end without a word
		p.fail(eCONNREFUSED)
		return
	}
	abort := s.in.n > 0 || s.isInet() && s.linger[0] != 0 && s.linger[1] == 0
	if abort {
		s.tellOptions() // the stack may be waiting for the other machine, and resets the connection
	}
	p.peer = noSocket
	switch {
	case abort && p.finished && s.isInet():
		p.reset(ePIPE)
	case abort:
		p.reset(eCONNRESET)
	default:
		p.finished = true
		p.shutWrite = p.shutWrite || p.isLocal()
		p.changed()
	}
}

// brokenPipe is the result of sending when nobody receives. (The program has no signal of what the
// network's stack sends.)
func (s *socket) brokenPipe(flags uintptr) int64 {
	if flags&msgNoSignal == 0 && !s.ofStack() {
		send(thread.Current(), sigPIPE)
	}
	return -ePIPE
}

// canSend reports whether a connection accepts bytes. If not, errno is the call's result, or gone
// is set: the bytes are lost, which the sender learns with the next call. (Local sockets with
// messages have no SIGPIPE, and those without check SHUT_WR before errors.)
func (c *call) canSend(f *file, s *socket, x *transfer) (to *socket, gone bool, errno int64) {
	switch {
	case s.kind == sockStream && s.isLocal() && s.shutWrite && s.stage == connected:
		return nil, false, s.brokenPipe(x.flags)
	case s.err == ePIPE:
		s.err = 0
		return nil, false, s.brokenPipe(x.flags)
	case s.err != 0:
		return nil, false, s.takeError()
	case s.stage == connecting:
		return nil, false, c.socketWaits(f, s, 1, x.flags)
	case s.stage != connected && s.isLocal():
		return nil, false, -eNOTCONN
	case s.shutWrite && s.kind == sockSeqpacket:
		return nil, false, -ePIPE
	case s.shutWrite:
		return nil, false, s.brokenPipe(x.flags)
	case s.stage != connected:
		return nil, false, s.brokenPipe(x.flags)
	}
	return socketOf(s.peer), s.peer == noSocket, 0
}

func sysAccept4(c *call) int64 {
	flags := c.flags(3)
	if f := usable(c.fd(0)); flags&^(oNonblock|oCloexec) != 0 && f != nil {
		return -eINVAL // Linux checks this before whether it is a socket
	}
	f, s, errno := getSocket(c.fd(0))
	if errno != 0 || !parts.Sockets {
		return errno
	}
	return c.acceptWith(f, s, flags)
}
