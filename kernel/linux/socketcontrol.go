package linux

// Control messages of Internet datagrams: the address, hop limit and traffic class with which they
// are sent, or with which they arrived.

// Kinds of control messages (include/uapi/linux/in.h, in6.h, include/uapi/asm-generic/socket.h).
const (
	ipTOS        = 1
	ipTTL        = 2
	ipPacketInfo = 8
	ipTo         = 20
	ipv6Info     = 50
	ipv6HopLimit = 52
	ipv6Class    = 67
	ipv6To       = 74
	sizeInfo     = 12 // struct in_pktinfo: index, address that it came to, address in the header
	sizeInfo6    = 20 // struct in6_pktinfo: address, index
	notGiven     = -1
)

// control is a control message: n bytes at an address.
type control struct {
	level, kind uint32
	at, n       uintptr
}

// nextControl reads the control message at *off, and advances *off. ok is false at the end.
func (x *transfer) nextControl(off *uintptr, m *control) (ok bool, errno int64) {
	if x.control == 0 || *off+controlStart > x.controlSize {
		return false, 0
	}
	at := x.control + *off
	size, what, ok := inPair(at)
	switch {
	case !ok:
		return false, -eFAULT
	case size < controlStart || uintptr(size) > x.controlSize-*off:
		return false, -eINVAL
	}
	m.level, m.kind = uint32(what), uint32(what>>32)
	m.at, m.n = at+controlStart, uintptr(size)-controlStart
	*off += (uintptr(size) + 7) &^ 7
	return true, 0
}

// inetSend is what control messages say about how to send a datagram.
type inetSend struct {
	source   address // given if it has a family
	link     uint32  // number of the interface, 0: not given
	tos, ttl int32   // or notGiven
}

// inControl reads the control messages that a program passes with a datagram to an address.
func (x *transfer) inControl(s *socket, to *address, how *inetSend) int64 {
	how.tos, how.ttl = notGiven, notGiven
	if x.controlSize > maxControl {
		return -eNOBUFS
	}
	v4 := to.isV4()
	var m control
	for off := uintptr(0); ; {
		ok, errno := x.nextControl(&off, &m)
		if !ok {
			return errno
		}
		number := int32(0)
		if m.n >= 4 {
			v, ok := in32(m.at)
			if !ok {
				return -eFAULT
			}
			number = int32(v)
		}
		switch {
		case m.level == levelSocket:
			if m.kind != scmRights && m.kind != scmCredentials {
				return -eINVAL
			}
		case m.level == levelIPv6 && m.kind == ipv6To && s.isGateway():
			errno = s.inAddress(&how.source, m.at, m.n)
		case m.level == levelIPv6 && m.kind == ipv6Info && s.family == afInet6:
			errno = how.inInfo6(s, &m, v4)
		case m.level == levelIP && v4:
			errno = how.inControl4(s, &m, number)
		case m.level != levelIPv6 || v4 && !s.isGateway():
		case m.n != 4 || m.kind != ipv6HopLimit && m.kind != ipv6Class || number < -1 || number > 255:
			errno = -eINVAL
		case m.kind == ipv6HopLimit:
			how.ttl = number
		default:
			how.tos = number
		}
		if errno != 0 {
			return errno
		}
	}
}

// inControl4 reads a version 4 control message, which begins with a number.
func (how *inetSend) inControl4(s *socket, m *control, number int32) int64 {
	switch m.kind {
	case ipPacketInfo:
		if m.n != sizeInfo {
			return -eINVAL
		}
		var b [sizeInfo]byte
		if !copyIn(addressOf(&b), m.at, sizeInfo) {
			return -eFAULT
		}
		a := uint64(b[4])<<24 | uint64(b[5])<<16 | uint64(b[6])<<8 | uint64(b[7])
		return how.from(s, ip{0, mapped | a}, number)
	case ipTTL:
		if m.n != 4 || number < 1 || number > 255 {
			return -eINVAL
		}
		how.ttl = number
	case ipTOS:
		if m.n == 1 {
			v, ok := in32(m.at &^ 3) // the word that contains the byte is within the message
			if !ok {
				return -eFAULT
			}
			number = int32(uint8(v >> (m.at % 4 * 8)))
		} else if m.n != 4 || number < 0 || number > 255 {
			return -eINVAL
		}
		how.tos = number
	default:
		return -eINVAL
	}
	return 0
}

// inInfo6 reads an IPV6_PKTINFO, for a destination of version 4 or 6.
func (how *inetSend) inInfo6(s *socket, m *control, v4 bool) int64 {
	if m.n < sizeInfo6 {
		return -eINVAL
	}
	var b rawAddress
	if !copyIn(addressOf(&b), m.at, sizeInfo6) {
		return -eFAULT
	}
	a := b.ip(0)
	if v4 != a.isV4() {
		return -eINVAL
	}
	return how.from(s, a, int32(b.little32(16)))
}

// from sets the address, unless it is the one that stands for all, and the interface, unless it is
// 0.
func (how *inetSend) from(s *socket, a ip, index int32) int64 {
	if uint32(index) > lastLink() {
		return -eNODEV
	}
	how.link = uint32(index)
	switch {
	case a.isAny():
		return 0
	case !a.isOwn() && a.isV4():
		return -eNETUNREACH
	case !a.isOwn() && !s.bindsFreely():
		return -eINVAL
	}
	how.source.family, how.source.ip = afInet6, a
	return 0
}

// setHead fills in the part of a datagram's header that says how it is sent to an address.
func (x *transfer) setHead(s *socket, to *address, how *inetSend) {
	h := &x.head
	h.to, h.toPort = to.ip, to.port
	tos, ttl, groupTTL := optClass, optHops, optGroupHops
	if to.isV4() {
		tos, ttl, groupTTL = optTOS, optTTL, optGroupTTL
	}
	if to.isMulticast() {
		ttl = groupTTL
	}
	h.link = 0
	if s.isGateway() || (to.isMulticast() || to.isBroadcast()) && s.linkTo(to, how.link) == ethIndex {
		h.link = ethIndex
	}
	h.tos, h.ttl = uint8(s.options[tos]), uint8(s.options[ttl])
	if how.tos != notGiven {
		h.tos = uint8(how.tos)
	}
	if how.ttl != notGiven {
		h.ttl = uint8(how.ttl)
	}
}

// outInet tells how a datagram arrived, as far as a socket has asked for that.
func (x *transfer) outInet(s *socket, h *datagram) {
	to := address{ip: h.to, port: h.toPort}
	link := max(h.link, loIndex)
	if to.isOwn() && !to.isLoopback() {
		link = ethIndex
	}
	if s.options[optPacketInfo6] != 0 && s.family == afInet6 {
		var b rawAddress
		b.putIP(0, h.to)
		b[16] = link
		x.outControl(levelIPv6, ipv6Info, addressOf(&b), sizeInfo6)
	}
	if !to.isV4() || s.isGateway() {
		x.outNumber(s, optRecvHops, levelIPv6, ipv6HopLimit, h.ttl, 4)
		x.outNumber(s, optRecvClass, levelIPv6, ipv6Class, h.tos, 4)
		x.outTo(s, &to, optRecvTo6, levelIPv6, ipv6To, afInet6)
		return
	}
	if s.options[optPacketInfo] != 0 {
		var b rawAddress
		local := h.to.lo
		if to.isMulticast() || to.isBroadcast() {
			local = loopback4
			if o := sourceFor(&to.ip); o != nil && link == ethIndex {
				local = o.lo
			}
		}
		b[0] = link
		b.putBig64(4, local<<32|h.to.lo&0xffffffff)
		x.outControl(levelIP, ipPacketInfo, addressOf(&b), sizeInfo)
	}
	x.outNumber(s, optRecvTTL, levelIP, ipTTL, h.ttl, 4)
	x.outNumber(s, optRecvTOS, levelIP, ipTOS, h.tos, 1)
	x.outTo(s, &to, optRecvTo, levelIP, ipTo, afInet)
}

// outTo writes a control message with the datagram's destination address, if option i is set.
func (x *transfer) outTo(s *socket, to *address, i int, level, kind uint32, family uint16) {
	if s.options[i] != 0 {
		var b rawAddress
		n := to.raw(&b, family)
		x.outControl(level, kind, addressOf(&b), n)
	}
}

// outNumber writes a control message with a number of size bytes, if option i is set.
func (x *transfer) outNumber(s *socket, i int, level, kind uint32, v uint8, size uintptr) {
	if s.options[i] != 0 {
		word := uint32(v)
		x.outControl(level, kind, addressOf(&word), size)
	}
}
