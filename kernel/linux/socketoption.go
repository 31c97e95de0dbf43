package linux

import "unsafe"

// Options of sockets. Most are numbers that are kept for who asks again: there is no
// network that they could matter to.

const (
	levelIP     = 0
	levelTCP    = 6
	levelIPv6   = 41
	levelSocket = solSocket
)

// The options that are kept, as indices of the table below.
const (
	optReuseAddr = iota
	optReusePort
	optV6Only
	optPassCred
	optSndBuf
	optRcvBuf
	optKeepIdle
	optRest
	numOptions = optRest + 33
)

type option struct {
	level, name uint16
	yesNo       bool // it is 0 or 1
	initial     int32
}

// optionTable: numbers from include/uapi/asm-generic/socket.h, include/uapi/linux/tcp.h,
// in.h and in6.h, and what Linux has at first. Never written.
var optionTable = [numOptions]option{
	optReuseAddr: {levelSocket, 2, true, 0},
	optReusePort: {levelSocket, 15, true, 0},
	optV6Only:    {levelIPv6, 26, true, 0},
	optPassCred:  {levelSocket, 16, true, 0},
	optSndBuf:    {levelSocket, 7, false, bufferSize},
	optRcvBuf:    {levelSocket, 8, false, bufferSize},
	optKeepIdle:  {levelTCP, 4, false, 7200},

	optRest + 0: {levelSocket, 1, true, 0},   // SO_DEBUG
	optRest + 1: {levelSocket, 5, true, 0},   // SO_DONTROUTE
	optRest + 2: {levelSocket, 6, true, 0},   // SO_BROADCAST
	optRest + 3: {levelSocket, 9, true, 0},   // SO_KEEPALIVE
	optRest + 4: {levelSocket, 10, true, 0},  // SO_OOBINLINE
	optRest + 5: {levelSocket, 12, false, 0}, // SO_PRIORITY
	optRest + 6: {levelSocket, 18, false, 1}, // SO_RCVLOWAT
	optRest + 7: {levelSocket, 29, true, 0},  // SO_TIMESTAMP
	optRest + 8: {levelSocket, 36, false, 0}, // SO_MARK

	optRest + 9:  {levelTCP, 1, true, 0},      // TCP_NODELAY
	optRest + 10: {levelTCP, 2, false, 65483}, // TCP_MAXSEG
	optRest + 11: {levelTCP, 3, true, 0},      // TCP_CORK
	optRest + 12: {levelTCP, 5, false, 75},    // TCP_KEEPINTVL
	optRest + 13: {levelTCP, 6, false, 9},     // TCP_KEEPCNT
	optRest + 14: {levelTCP, 7, false, 6},     // TCP_SYNCNT
	optRest + 15: {levelTCP, 9, false, 0},     // TCP_DEFER_ACCEPT
	optRest + 16: {levelTCP, 12, true, 1},     // TCP_QUICKACK
	optRest + 17: {levelTCP, 18, false, 0},    // TCP_USER_TIMEOUT
	optRest + 18: {levelTCP, 23, false, 0},    // TCP_FASTOPEN
	optRest + 19: {levelIP, 1, false, 0},      // IP_TOS
	optRest + 20: {levelIP, 2, false, 64},     // IP_TTL
	optRest + 21: {levelIP, 10, false, 1},     // IP_MTU_DISCOVER
	optRest + 22: {levelIP, 11, true, 0},      // IP_RECVERR
	optRest + 23: {levelIP, 33, false, 1},     // IP_MULTICAST_TTL
	optRest + 24: {levelIP, 34, true, 1},      // IP_MULTICAST_LOOP
	optRest + 25: {levelIP, 24, true, 0},      // IP_BIND_ADDRESS_NO_PORT
	optRest + 26: {levelIPv6, 16, false, 64},  // IPV6_UNICAST_HOPS
	optRest + 27: {levelIPv6, 17, false, 0},   // IPV6_MULTICAST_IF
	optRest + 28: {levelIPv6, 18, false, 1},   // IPV6_MULTICAST_HOPS
	optRest + 29: {levelIPv6, 19, true, 1},    // IPV6_MULTICAST_LOOP
	optRest + 30: {levelIPv6, 67, false, 0},   // IPV6_TCLASS
	optRest + 31: {levelIPv6, 25, true, 0},    // IPV6_RECVERR
	optRest + 32: {levelIPv6, 23, false, 1},   // IPV6_MTU_DISCOVER
}

// bufferSize is what SO_SNDBUF and SO_RCVBUF are at first; it is also the most that can
// be asked for, before it is doubled for Linux's own bookkeeping.
const bufferSize = 212992

// Options that are not just kept.
const (
	soType         = 3
	soError        = 4
	soLinger       = 13
	soPeerCred     = 17
	soRcvTimeo     = 20
	soSndTimeo     = 21
	soAcceptConn   = 30
	soProtocol     = 38
	soDomain       = 39
	ipMulticastIF  = 32
	ipAddMember    = 35
	ipDropMember   = 36
	ipv6JoinGroup  = 20
	ipv6LeaveGroup = 21
)

func (s *socket) setDefaults() {
	for i := range optionTable {
		s.options[i] = optionTable[i].initial
	}
	if s.kind == sockStream && s.isInet() {
		s.options[optSndBuf], s.options[optRcvBuf] = 16384, 131072
	}
}

// hasLevel reports whether a socket has the options of a level.
func (s *socket) hasLevel(level uintptr) bool {
	switch level {
	case levelSocket:
		return true
	case levelTCP:
		return s.protocol == protoTCP && s.isInet()
	case levelIP:
		return s.isInet()
	case levelIPv6:
		return s.family == afInet6
	}
	return false
}

// findOption returns the index of a kept option of the socket, or -1.
func (s *socket) findOption(level, name uintptr) int {
	if !s.hasLevel(level) {
		return -1
	}
	for i := range optionTable {
		if o := &optionTable[i]; uintptr(o.level) == level && uintptr(o.name) == name {
			return i
		}
	}
	return -1
}

func (c *call) setsockopt(_ *file, s *socket) int64 {
	switch {
	case c.args[4].Int() < 0:
		return -eINVAL
	case s.hasLevel(c.args[1].Op()):
	case s.isLocal():
		return -eOPNOTSUPP
	default:
		return -eNOPROTOOPT
	}
	if c.args[1].Op() == levelSocket && c.args[4].Int() < 4 {
		return -eINVAL
	}
	switch {
	case c.args[1].Op() == levelSocket && c.args[2].Op() == soLinger:
		v, ok := in64(c.args[3].Pointer())
		switch {
		case c.args[4].Int() < 8:
			return -eINVAL
		case !ok:
			return -eFAULT
		}
		s.linger = [2]int32{int32(min(1, uint32(v))), int32(v >> 32)}
		return 0
	case c.args[1].Op() == levelSocket && (c.args[2].Op() == soRcvTimeo || c.args[2].Op() == soSndTimeo):
		sec, ok1 := in64(c.args[3].Pointer())
		usec, ok2 := in64(c.args[3].Pointer() + 8)
		switch {
		case c.args[4].Int() < 16:
			return -eINVAL
		case !ok1 || !ok2:
			return -eFAULT
		case usec >= 1e6:
			return -33 // EDOM
		}
		s.timeout[c.args[2].Op()-soRcvTimeo] = min(sec, 1<<32)*1e9 + usec*1e3
		return 0
	case c.args[1].Op() == levelIP && (c.args[2].Op() == ipAddMember || c.args[2].Op() == ipDropMember || c.args[2].Op() == ipMulticastIF),
		c.args[1].Op() == levelIPv6 && (c.args[2].Op() == ipv6JoinGroup || c.args[2].Op() == ipv6LeaveGroup):
		// Groups have no members but those on this machine, and nothing is sent to them.
		return 0
	}
	i := s.findOption(c.args[1].Op(), c.args[2].Op())
	if i < 0 {
		return -eNOPROTOOPT
	}
	v, ok := in32(c.args[3].Pointer())
	if c.args[4].Int() < 4 { // a byte will do for the options of IP
		if c.args[1].Op() != levelIP || c.args[4].Int() <= 0 {
			return -eINVAL
		}
		v &= 0xff
	}
	if !ok {
		return -eFAULT
	}
	switch {
	case i == optV6Only && s.bound:
		return -eINVAL
	case i == optSndBuf:
		v = max(min(v, bufferSize)*2, 4608)
	case i == optRcvBuf:
		v = max(min(v, bufferSize)*2, 2304)
	case optionTable[i].yesNo:
		v = min(v, 1)
	}
	s.options[i] = int32(v)
	return 0
}

func (c *call) getsockopt(_ *file, s *socket) int64 {
	room, ok := in32(c.args[4].Pointer())
	if !ok {
		return -eFAULT
	}
	if int32(room) < 0 {
		return -eINVAL
	}
	if !s.hasLevel(c.args[1].Op()) {
		return -eOPNOTSUPP
	}
	var words [4]int32
	size := uintptr(4)
	if c.args[1].Op() == levelSocket {
		switch c.args[2].Op() {
		case soType:
			words[0] = int32(s.kind)
		case soError:
			words[0] = int32(-s.takeError())
		case soLinger:
			words[0], words[1], size = s.linger[0], s.linger[1], 8
		case soPeerCred:
			words[0], size = pid, 12
			if !s.isLocal() || s.stage != connected && s.stage != listening {
				words[0], words[1], words[2] = 0, -1, -1
			}
		case soRcvTimeo, soSndTimeo:
			ns := s.timeout[c.args[2].Op()-soRcvTimeo]
			words[0], words[2], size = int32(ns/1e9), int32(ns%1e9/1e3), 16
		case soAcceptConn:
			if s.stage == listening {
				words[0] = 1
			}
		case soProtocol:
			words[0] = int32(s.protocol)
		case soDomain:
			words[0] = int32(s.family)
		default:
			size = 0
		}
	} else {
		size = 0
	}
	if size == 0 {
		i := s.findOption(c.args[1].Op(), c.args[2].Op())
		if i < 0 {
			return -eNOPROTOOPT
		}
		words[0], size = s.options[i], 4
	}
	size = min(size, uintptr(room))
	return copied(copyOut(c.args[3].Pointer(), uintptr(unsafe.Pointer(&words)), size) && out32(c.args[4].Pointer(), uint32(size)))
}
