package linux

import (
	"unsafe"
)

// Datagrams: UDP, those of local sockets, and the messages of connections that keep their
// boundaries (SOCK_SEQPACKET). In a receiver's buffer each has a header, the name of the local
// sender, and the bytes.

// datagram is the header of a datagram.
type datagram struct {
	size     uint32 // bytes of data
	port     uint16 // of the sender
	toPort   uint16
	named    uint8 // bytes of the local sender's name
	tos, ttl uint8
	link     uint8 // interface by which it came, or 0: lo
	from, to ip    // to is where it was sent
}

const maxUDP = 65507 // bytes in a datagram of version 4; version 6 allows 20 more

// connectDatagrams sets where datagrams are sent, and from where they may arrive.
func (s *socket) connectDatagrams(a *address) int64 {
	if a.family == afUnspec {
		s.leavePeer()
		return 0
	}
	if s.isLocal() {
		t, errno := s.findName(a)
		if errno != 0 {
			return errno
		}
		if !t.hears(s) {
			return -1 // EPERM
		}
		if s.stage == connected && s.peer != t.number {
			s.leavePeer()
		}
		s.stage, s.peer, s.remote = connected, t.number, t.local
		s.changed()
		return 0
	}
	switch {
	case a.family == afInet && s.family == afInet6 && s.options[optV6Only] != 0:
		return -eNETUNREACH
	case s.lacksZone(a):
		return -eINVAL
	}
	if errno := s.route(a); errno != 0 {
		return errno
	}
	if errno := s.bindAny(); errno != 0 {
		return -eAGAIN
	}
	var from address
	s.source(&from, a)
	s.local.ip = from.ip
	s.remote.ip, s.remote.port, s.remote.link = a.ip, a.port, a.link
	s.stage = connected
	s.changed()
	return 0
}

// leavePeer removes the destination of datagrams. A local socket also loses what it has received,
// and its peer, if the two were each other's peers, is notified.
func (s *socket) leavePeer() {
	p := socketOf(s.peer)
	was := s.stage
	s.stage, s.peer = fresh, noSocket
	if !s.isLocal() || was != connected {
		return
	}
	s.in.take(s.in.n)
	dropRights(s.number)
	s.letSend()
	if p != nil && p.peer == s.number {
		p.err = eCONNRESET
		p.changed()
	}
}

// hears reports whether a local socket accepts datagrams from s: a connected one accepts only its
// peer's.
func (t *socket) hears(s *socket) bool {
	return t.stage != connected || t.peer == s.number
}

// leaveDatagrams tells all that send to local socket n that it is gone, or that they may try again
// if it was full.
func leaveDatagrams(n int32) {
	for t := nextSocket(0); t != nil; t = nextSocket(t.number) {
		if t.number == n || t.connects() {
			continue
		}
		if t.full == n {
			t.full = noSocket
			t.changed()
		}
		if t.peer == n {
			t.peer = noSocket
			t.changed()
		}
	}
}

// hearsInet reports whether a socket receives datagrams that go from one Internet address to
// another.
func (t *socket) hearsInet(from, to *address) bool {
	return t.bound && t.protocol == protoUDP && t.isInet() && t.local.port == to.port &&
		t.covers(&t.local, to) &&
		(t.stage != connected || t.remote.same(from))
}

// findReceiver returns the socket that receives datagrams between the two addresses, or nil: of
// several that are as good the newest, or, if they share the port, one for each sender.
func (s *socket) findReceiver(from, to *address) (best *socket) {
	most, turn := 0, sharing(from.ip, from.port)
	for t := socketOf(ports[0][to.port%portLists]); t != nil; t = socketOf(t.nextOfPort) {
		if !t.hearsInet(from, to) {
			continue
		}
		score := 1
		if !t.local.isAny() {
			score++
		}
		if t.family == afInet {
			score++
		}
		if t.stage == connected {
			score += 4
		}
		if score > most || score == most && turn.takes(best, t) {
			best, most = t, score
		}
	}
	return best
}

// sendDatagram sends one datagram.
func (c *call) sendDatagram(f *file, s *socket, x *transfer) int64 {
	var a address
	named := x.name != 0 && x.nameSize != 0
	if named {
		if errno := s.inAddress(&a, x.name, x.nameSize); errno != 0 {
			return errno
		}
		if a.family == afUnspec {
			if s.family != afInet {
				return -eINVAL
			}
			a.lo |= mapped
		}
	}
	switch {
	case s.err != 0:
		return s.takeError()
	case s.shutWrite:
		return -ePIPE
	case s.isLocal():
		return c.sendLocal(f, s, x, &a, named)
	case x.total > maxUDP && s.family == afInet || x.total > maxUDP+20:
		return -eMSGSIZE
	case !named && s.stage != connected:
		return -eDESTADDRREQ
	case !named:
		a.ip, a.port, a.link = s.remote.ip, s.remote.port, s.remote.link
	case a.port == 0:
		return -eINVAL
	}
	var how inetSend
	if errno := x.inControl(s, &a, &how); errno != 0 {
		return errno
	}
	if errno := s.leaves(&a, &how, x.total); errno != 0 {
		return errno
	}
	if errno := s.bindAny(); errno != 0 {
		return -eAGAIN
	}
	var from address
	s.source(&from, &a)
	if how.source.family != 0 {
		from.ip = how.source.ip
		if s.isGateway() {
			from.port = how.source.port
		}
	}
	x.setHead(s, &a, &how)
	var errno int64
	if a.isMulticast() || a.isBroadcast() {
		errno = x.sendAll(s, &from, &a)
	} else {
		errno = x.sendOne(s, &from, &a)
	}
	if errno != 0 {
		return errno
	}
	return int64(x.total)
}

// sendOne sends a datagram to the one socket that an address is of, if there is one.
func (x *transfer) sendOne(s *socket, from, a *address) int64 {
	to := s.gateway(a)
	if to == nil {
		to = s.findReceiver(from, a)
	}
	switch {
	case to == nil && s.isGateway():
		return -eCONNREFUSED // the stack says so to the sender
	case to == nil:
		if s.stage == connected {
			s.err = eCONNREFUSED
			s.changed()
		}
		if a.port == 53 && numOwn == 0 {
			noNames.say()
		}
	case to.in.room() < unsafe.Sizeof(datagram{})+x.total:
		// It is lost, as a UDP datagram may be.
	default:
		return x.deliver(to, from)
	}
	return 0
}

// leaves finds the way of a datagram to an address. It returns an error if there is none, or if the
// datagram cannot go there as it is.
func (s *socket) leaves(a *address, how *inetSend, size uintptr) int64 {
	errno := s.route(a)
	if errno != 0 || s.gateway(a) == nil {
		return errno
	}
	discover, headers := optDiscover6, uintptr(48)
	if a.isV4() {
		discover, headers = optDiscover, 28
		if how.source.family != 0 && how.source.isLoopback() {
			return -eINVAL
		}
	}
	const do, probe = 2, 3 // IP_PMTUDISC_DO, IP_PMTUDISC_PROBE: no fragments
	if mode := s.options[discover]; (mode == do || mode == probe) && size > ethMTU-headers {
		return -eMSGSIZE
	}
	return 0
}

// sendLocal sends a datagram to a local socket, or waits until it has room.
func (c *call) sendLocal(f *file, s *socket, x *transfer, a *address, named bool) int64 {
	to := socketOf(s.peer)
	switch {
	case named:
		var errno int64
		if to, errno = s.findName(a); errno != 0 {
			return errno
		}
	case s.stage != connected:
		return -eNOTCONN
	case to == nil:
		s.leavePeer()
		return -eCONNREFUSED
	}
	switch {
	case !to.hears(s):
		return -ePERM
	case to.shutRead:
		return -ePIPE
	}
	return c.sendWhole(f, s, x, to)
}

// sendWhole sends a message to a local socket, or waits until the socket has room.
func (c *call) sendWhole(f *file, s *socket, x *transfer, to *socket) int64 {
	switch need := unsafe.Sizeof(datagram{}) + uintptr(s.local.n) + x.total; {
	case need > ringSize:
		return -eMSGSIZE
	case to.in.room() < need:
		if !s.connects() {
			s.full = to.number
		}
		return c.socketWaits(f, s, 1, x.flags)
	}
	if errno := x.deliver(to, &s.local); errno != 0 {
		return errno
	}
	return int64(x.total)
}

// sendPacket sends a message on a connection.
func (c *call) sendPacket(f *file, s *socket, x *transfer) int64 {
	to, gone, errno := c.canSend(f, s, x)
	switch {
	case errno != 0:
		return errno
	case gone:
		return -ePIPE
	}
	return c.sendWhole(f, s, x, to)
}

// deliver puts a datagram into the buffer of a socket that has room for it.
func (x *transfer) deliver(to *socket, from *address) int64 {
	h := x.head
	h.size, h.port, h.from, h.named = uint32(x.total), from.port, from.ip, from.n
	if errno := x.sendRights(to); errno != 0 {
		return errno
	}
	before := to.in.n
	_, errno := to.in.add(addressOf(&h), unsafe.Sizeof(h), true)
	if errno == 0 {
		_, errno = to.in.add(addressOf(&from.name), uintptr(from.n), true)
	}
	if errno == 0 {
		_, errno = x.fill(to)
	}
	size := unsafe.Sizeof(h) + uintptr(from.n) + x.total
	if errno == 0 && to.in.n-before != size {
		errno = -eFAULT
	}
	if errno != 0 {
		to.in.cut(to.in.n - before)
		size = 0
	}
	x.seal(size)
	if errno == 0 && to.filter != 0 {
		data := before + size - x.total
		kept, ok := to.passes(&h, data, x.total, to.local.port)
		if !ok {
			to.in.cut(size)
			return 0
		}
		to.in.cut(x.total - kept)
		// The header is written again with the new size.
		h.size = uint32(kept)
		to.in.set(before, addressOf(&h), unsafe.Sizeof(h))
	}
	if errno == 0 {
		to.changed()
	}
	return errno
}

// receiveDatagram takes one datagram: what does not fit is lost.
func (c *call) receiveDatagram(f *file, s *socket, x *transfer) int64 {
	if s.connects() && (s.stage == fresh || s.stage == listening) {
		return -eNOTCONN
	}
	if s.err != 0 {
		return s.takeError()
	}
	if s.in.n == 0 {
		if (s.shutRead || s.finished) && (s.connects() || waits(f, x.flags)) {
			return 0
		}
		return c.socketWaits(f, s, 0, x.flags)
	}
	var h datagram
	var from address
	s.in.peek(addressOf(&h), 0, unsafe.Sizeof(h), true)
	off := unsafe.Sizeof(h)
	s.in.peek(addressOf(&from.name), off, uintptr(h.named), true)
	off += uintptr(h.named)
	from.port, from.ip, from.n = h.port, h.from, h.named

	size := uintptr(h.size)
	done := uintptr(0)
	for done < size {
		at, n, ok := x.next()
		if !ok {
			x.outFlags |= msgTrunc
			break
		}
		part := min(n, size-done)
		if !s.in.peek(at, off+done, part, false) {
			return -eFAULT
		}
		done += part
	}
	x.outName(&from, s)
	if s.isInet() {
		x.outInet(s, &h)
	}
	x.receiveRights(s, s.in.n)
	if x.flags&msgPeek == 0 {
		s.consume(off + size)
		if s.isLocal() && !s.connects() {
			s.letSend()
		}
	}
	if x.flags&msgTrunc != 0 {
		return int64(size)
	}
	return int64(done)
}

// letSend wakes those that found no room in local socket s, as it has room now.
func (s *socket) letSend() {
	for t := nextSocket(0); t != nil; t = nextSocket(t.number) {
		if t.full == s.number {
			t.full = noSocket
			t.changed()
		}
	}
}
