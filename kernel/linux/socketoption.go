package linux

// Options of sockets. Most are numbers that are only kept for whoever reads them again. Those of
// connections to other machines reach the network's stack (gateway.go).

const (
	levelIP     = 0
	levelTCP    = 6
	levelUDP    = 17
	levelIPv6   = 41
	levelSocket = solSocket
)

// The options that are kept, as indices of the table below.
const (
	optReuseAddr = iota
	optReusePort
	optBroadcast
	optPassCred
	optSndBuf
	optRcvBuf
	optRcvLowat
	optMaxSeg
	optFastOpen
	optTOS
	optTTL
	optPacketInfo
	optRecvTTL
	optRecvTOS
	optRecvTo
	optFreeBind
	optGroupTTL
	optGroupAll
	optV6Only
	optHops
	optGroupIf6
	optGroupHops
	optGroupAll6
	optPacketInfo6
	optRecvHops
	optRecvClass
	optClass
	optRecvTo6
	optFreeBind6
	optTransparent
	optDiscover
	optDiscover6
	optRest
	numOptions = optRest + 33
)

// How an option accepts a number.
const (
	yesNo   = 1 << iota // it becomes 0 or 1
	resets              // -1 restores the initial value
	notNone             // an empty argument is an error
	anySize             // an argument that is too short is 0
)

// option is an option that is kept. If errno is set, it is the answer to numbers outside lo to hi.
type option struct {
	level, name uint16
	how, errno  uint8
	initial     int32
	lo, hi      int32
}

// optionTable: numbers from include/uapi/asm-generic/socket.h, include/uapi/linux/tcp.h, in.h and
// in6.h, with Linux's initial values and what it accepts from a program without privileges. Never
// written.
var optionTable = [numOptions]option{
	optReuseAddr:  {level: levelSocket, name: 2, how: yesNo},
	optReusePort:  {level: levelSocket, name: 15, how: yesNo},
	optBroadcast:  {level: levelSocket, name: 6, how: yesNo},
	optPassCred:   {level: levelSocket, name: 16, how: yesNo},
	optSndBuf:     {level: levelSocket, name: 7, initial: bufferSize},
	optRcvBuf:     {level: levelSocket, name: 8, initial: bufferSize},
	optRcvLowat:   {level: levelSocket, name: 18, initial: 1},
	optMaxSeg:     {level: levelTCP, name: 2},
	optFastOpen:   {level: levelTCP, name: 23, errno: eINVAL, hi: 1<<31 - 1},
	optTOS:        {level: levelIP, name: 1},
	optTTL:        {level: levelIP, name: 2, how: resets, errno: eINVAL, initial: 64, lo: 1, hi: 255},
	optPacketInfo: {level: levelIP, name: 8, how: yesNo},
	optRecvTTL:    {level: levelIP, name: 12, how: yesNo},
	optRecvTOS:    {level: levelIP, name: 13, how: yesNo},
	optRecvTo:     {level: levelIP, name: 20, how: yesNo},
	optFreeBind:   {level: levelIP, name: 15, how: yesNo | notNone},
	optGroupTTL: {level: levelIP, name: 33, how: resets | notNone, errno: eINVAL, initial: 1,
		hi: 255},
	optGroupAll:    {level: levelIP, name: 49, how: notNone, errno: eINVAL, initial: 1, hi: 1},
	optV6Only:      {level: levelIPv6, name: 26, how: yesNo},
	optHops:        {level: levelIPv6, name: 16, how: resets, errno: eINVAL, initial: 64, hi: 255},
	optGroupIf6:    {level: levelIPv6, name: 17, errno: eNODEV, hi: ethIndex},
	optGroupHops:   {level: levelIPv6, name: 18, how: resets, errno: eINVAL, initial: 1, hi: 255},
	optGroupAll6:   {level: levelIPv6, name: 29, how: yesNo, initial: 1},
	optPacketInfo6: {level: levelIPv6, name: 49, how: yesNo},
	optRecvHops:    {level: levelIPv6, name: 51, how: yesNo},
	optRecvClass:   {level: levelIPv6, name: 66, how: yesNo},
	optClass:       {level: levelIPv6, name: 67, how: resets, errno: eINVAL, hi: 255},
	optRecvTo6:     {level: levelIPv6, name: 74, how: yesNo},
	optFreeBind6:   {level: levelIPv6, name: 78, how: yesNo},
	optTransparent: {level: levelIP, name: 19, how: yesNo | notNone, errno: ePERM},

	optDiscover:  {level: levelIP, name: 10, errno: eINVAL, initial: 1, hi: 5},
	optDiscover6: {level: levelIPv6, name: 23, errno: eINVAL, initial: 1, hi: 5},

	optRest: {level: levelSocket, name: 1, how: yesNo, errno: eACCES}, // SO_DEBUG
	{level: levelSocket, name: 5, how: yesNo},                             // SO_DONTROUTE
	{level: levelSocket, name: 9, how: yesNo},                             // SO_KEEPALIVE
	{level: levelSocket, name: 10, how: yesNo},                            // SO_OOBINLINE
	{level: levelSocket, name: 11, how: yesNo},                            // SO_NO_CHECK
	{level: levelSocket, name: 12, errno: ePERM, hi: 6},                   // SO_PRIORITY
	{level: levelSocket, name: 36, errno: ePERM, lo: 1},                   // SO_MARK
	{level: levelSocket, name: 46, errno: eINVAL, hi: 1<<31 - 1},          // SO_BUSY_POLL
	{level: levelSocket, name: 19, errno: eNOPROTOOPT, initial: 1, lo: 1}, // SO_SNDLOWAT

	{level: levelTCP, name: 1, how: yesNo},                                     // TCP_NODELAY
	{level: levelTCP, name: 3, how: yesNo},                                     // TCP_CORK
	{level: levelTCP, name: 4, errno: eINVAL, initial: 7200, lo: 1, hi: 32767}, // TCP_KEEPIDLE
	{level: levelTCP, name: 5, errno: eINVAL, initial: 75, lo: 1, hi: 32767},   // TCP_KEEPINTVL
	{level: levelTCP, name: 6, errno: eINVAL, initial: 9, lo: 1, hi: 127},      // TCP_KEEPCNT
	{level: levelTCP, name: 7, errno: eINVAL, initial: 6, lo: 1, hi: 127},      // TCP_SYNCNT
	{level: levelTCP, name: 9},                                                 // TCP_DEFER_ACCEPT
	{level: levelTCP, name: 12, how: yesNo, initial: 1},                        // TCP_QUICKACK
	{level: levelTCP, name: 18, errno: eINVAL, hi: 1<<31 - 1},                  // TCP_USER_TIMEOUT
	{level: levelTCP, name: 25},                                                // TCP_NOTSENT_LOWAT
	// TCP_THIN_LINEAR_TIMEOUTS.
	{level: levelTCP, name: 16, errno: eINVAL, hi: 1},

	{level: levelIP, name: 11, how: yesNo},                           // IP_RECVERR
	{level: levelIP, name: 21, how: notNone, errno: eINVAL, hi: 255}, // IP_MINTTL
	{level: levelIP, name: 24, how: yesNo},                           // IP_BIND_ADDRESS_NO_PORT
	{level: levelIP, name: 34, how: yesNo | notNone, initial: 1},     // IP_MULTICAST_LOOP
	{level: levelIP, name: 3, errno: eNOPROTOOPT, lo: 1},             // IP_HDRINCL

	{level: levelIPv6, name: 19, errno: eINVAL, initial: 1, hi: 1}, // IPV6_MULTICAST_LOOP
	{level: levelIPv6, name: 25, how: yesNo},                       // IPV6_RECVERR
	{level: levelIPv6, name: 60, how: yesNo},                       // IPV6_RECVPATHMTU
	{level: levelIPv6, name: 62, how: yesNo | anySize},             // IPV6_DONTFRAG
	{level: levelIPv6, name: 70, how: yesNo | anySize, initial: 1}, // IPV6_AUTOFLOWLABEL
	{level: levelIPv6, name: 75, how: yesNo, errno: ePERM},         // IPV6_TRANSPARENT
	{level: levelIPv6, name: 73, errno: eINVAL, hi: 255},           // IPV6_MINHOPCOUNT
	{level: levelIPv6, name: 33, how: yesNo},                       // IPV6_FLOWINFO_SEND
}

// bufferSize is the initial value of SO_SNDBUF and SO_RCVBUF, and the largest that can be set,
// before it is doubled for Linux's own bookkeeping.
const bufferSize = 212992

// Options that have an effect.
const (
	soType         = 3
	soError        = 4
	soLinger       = 13
	soPeerCred     = 17
	soRcvTimeo     = 20
	soSndTimeo     = 21
	soDetachFilter = 27
	soAcceptConn   = 30
	soSndBufForce  = 32
	soRcvBufForce  = 33
	soProtocol     = 38
	soDomain       = 39
	ipMTU          = 14
	ipv6MTU        = 24
	ipv6PathMTU    = 61
)

func (s *socket) setDefaults() {
	for i := range optionTable {
		s.options[i] = optionTable[i].initial
	}
	if s.family == afInet6 {
		s.options[optGroupAll] = 0
	}
	if s.kind == sockStream && s.isInet() {
		s.options[optSndBuf], s.options[optRcvBuf] = 16384, 131072
	}
}

// hasLevel reports whether a level of options applies to a socket.
func (s *socket) hasLevel(level uintptr) bool {
	switch level {
	case levelSocket:
		return true
	case levelTCP:
		return s.protocol == protoTCP && s.isInet()
	case levelUDP:
		return s.protocol == protoUDP && s.isInet()
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

func sysSetsockopt(c *call, _ *file, s *socket) int64 {
	level, name, at, size := c.op(1), c.op(2), c.pointer(3), uintptr(c.int(4))
	switch {
	case int32(size) < 0:
		return -eINVAL
	case s.hasLevel(level):
	case s.isLocal():
		return -eOPNOTSUPP
	default:
		return -eNOPROTOOPT
	}
	switch level {
	case levelSocket:
		if size < 4 {
			return -eINVAL
		}
		switch name {
		case soLinger:
			return s.setLinger(at, size)
		case soRcvTimeo, soSndTimeo:
			return s.setTimeout(name, at, size)
		case soAttachFilter:
			if s.isInet() && s.kind == sockDgram {
				return s.attachFilter(at, size)
			}
		case soDetachFilter:
			return s.detachFilter()
		case soSndBufForce, soRcvBufForce:
			return -ePERM
		}
	case levelTCP, levelUDP:
		if size < 4 {
			return -eINVAL
		}
	case levelIP, levelIPv6:
		if join, ok := ofGroup(level, name); ok {
			return s.setGroup(level, name, join, at, size)
		}
		if level == levelIP && name == ipMulticastIF {
			return s.setGroupInterface(at, size)
		}
	}
	i := s.findOption(level, name)
	if i < 0 {
		return -eNOPROTOOPT
	}
	return s.setOption(i, at, size)
}

// fits returns what a number for option i of a socket becomes.
func (s *socket) fits(i int, v uint32) (uint32, int64) {
	switch i {
	case optReusePort:
		if s.isLocal() && v != 0 {
			return 0, -eOPNOTSUPP
		}
	case optPassCred:
		if !s.isLocal() {
			return 0, -eOPNOTSUPP
		}
	case optGroupIf6:
		if v > lastLink() {
			return 0, -eNODEV
		}
	case optV6Only:
		if s.bound {
			return 0, -eINVAL
		}
	case optSndBuf:
		v = max(min(v, bufferSize)*2, 4608)
	case optRcvBuf:
		v = max(min(v, bufferSize)*2, 2304)
	case optRcvLowat:
		if int32(v) < 0 {
			v = 1<<31 - 1
		}
		v = max(v, 1)
	case optMaxSeg:
		if v != 0 && (v < 88 || v > 32767) {
			return 0, -eINVAL
		}
	case optFastOpen:
		v = min(v, 4096)
	case optTOS, optClass:
		v &= 0xff
		if s.protocol == protoTCP { // the two lowest bits belong to the protocol
			v &^= 3
		}
	}
	return v, 0
}

// setOption sets a kept option to the number of size bytes at an address.
func (s *socket) setOption(i int, at, size uintptr) int64 {
	o := &optionTable[i]
	v, ok := uint32(0), true
	switch {
	case s.kind == sockStream && (i == optGroupIf6 || i == optGroupHops):
		return -eNOPROTOOPT
	case s.kind == sockStream && i == optGroupTTL:
		return -eINVAL
	case size >= 4:
		v, ok = in32(at)
	case o.how&anySize != 0:
	case o.level != levelIP || size == 0 && o.how&notNone != 0:
		return -eINVAL
	case size > 0: // IP options accept a single byte
		v, ok = in32(at)
		v &= 0xff
	}
	if !ok {
		return -eFAULT
	}
	if o.how&yesNo != 0 {
		v = min(v, 1)
	}
	if o.how&resets != 0 && int32(v) == -1 {
		v = uint32(o.initial)
	}
	if n := int32(v); o.errno != 0 && (n < o.lo || n > o.hi) &&
		!(i == optTransparent && s.mayBeGateway()) {
		return -int64(o.errno)
	}
	v, errno := s.fits(i, v)
	if errno != 0 {
		return errno
	}
	s.options[i] = int32(v)
	s.tellOptions()
	return 0
}

func (s *socket) setLinger(at, size uintptr) int64 {
	v, ok := in64(at)
	switch {
	case size < 8:
		return -eINVAL
	case !ok:
		return -eFAULT
	}
	s.linger = [2]int32{int32(min(1, uint32(v))), int32(v >> 32)}
	return 0
}

func (s *socket) setTimeout(name, at, size uintptr) int64 {
	sec, usec, ok := inPair(at)
	switch {
	case size < 16:
		return -eINVAL
	case !ok:
		return -eFAULT
	case usec >= 1e6:
		return -33 // EDOM
	}
	s.timeout[name-soRcvTimeo] = min(sec, 1<<32)*1e9 + usec*1e3
	return 0
}

func sysGetsockopt(c *call, _ *file, s *socket) int64 {
	room, ok := in32(c.pointer(4))
	if !ok {
		return -eFAULT
	}
	if int32(room) < 0 {
		return -eINVAL
	}
	level, name := c.op(1), c.op(2)
	var words [8]uint32
	size, errno := uintptr(0), int64(0)
	switch {
	case !s.hasLevel(level) && s.family == afInet6:
		return -eNOPROTOOPT
	case !s.hasLevel(level):
		return -eOPNOTSUPP
	case level == levelSocket:
		size, errno = s.getSocketOption(name, &words)
	case level == levelIP && name == ipMulticastIF:
		words[0], size = s.groupFrom, 4
	case (level == levelIP && name == ipMTU || level == levelIPv6 && name == ipv6MTU) &&
		s.stage != connected,
		level == levelIPv6 && name == ipv6PathMTU && room >= 32 && s.stage != connected:
		return -eNOTCONN
	case level == levelIP && name == ipMTU, level == levelIPv6 && name == ipv6MTU:
		words[0], size = s.mtu(), 4
	case level == levelIPv6 && name == ipv6PathMTU:
		if room < 32 {
			return -eINVAL
		}
		// The address is left out, as on Linux.
		words[7], size = s.mtu(), 32
	}
	if errno != 0 {
		return errno
	}
	if size == 0 {
		i := s.findOption(level, name)
		switch {
		case i < 0:
			return -eNOPROTOOPT
		case i == optPassCred && !s.isLocal():
			return -eOPNOTSUPP
		}
		words[0], size = uint32(s.options[i]), 4
		if i == optMaxSeg {
			words[0] = s.segment()
		}
		if level == levelIP && room > 0 && room < 4 && words[0] <= 255 {
			size = 1
		}
	}
	size = min(size, uintptr(room))
	return copied(copyOut(c.pointer(3), addressOf(&words), size) && out32(c.pointer(4), uint32(size)))
}

// getSocketOption is getsockopt for options of SOL_SOCKET that are not just kept: it returns the
// value and its size.
func (s *socket) getSocketOption(name uintptr, words *[8]uint32) (size uintptr, errno int64) {
	switch name {
	case soType:
		words[0] = uint32(s.kind)
	case soError:
		words[0] = uint32(-s.takeError())
	case soLinger:
		words[0], words[1] = uint32(s.linger[0]), uint32(s.linger[1])
		return 8, 0
	case soPeerCred:
		words[0] = pid
		if !s.isLocal() || s.stage != connected && s.stage != listening {
			words[0], words[1], words[2] = 0, ^uint32(0), ^uint32(0)
		}
		return 12, 0
	case soRcvTimeo, soSndTimeo:
		ns := s.timeout[name-soRcvTimeo]
		words[0], words[2] = uint32(ns/1e9), uint32(ns%1e9/1e3)
		return 16, 0
	case soAcceptConn:
		if s.stage == listening {
			words[0] = 1
		}
	case soProtocol:
		words[0] = uint32(s.protocol)
	case soDomain:
		words[0] = uint32(s.family)
	default:
		return 0, 0
	}
	return 4, 0
}

// mtu is the size of the largest packet to where a socket is connected.
func (s *socket) mtu() uint32 {
	switch {
	case !s.remote.isOwn():
		return ethMTU
	case s.remote.isV4():
		return loMTU - 1 // a packet can hold no more
	}
	return loMTU
}

// segment is the largest segment that TCP sends.
func (s *socket) segment() uint32 {
	switch {
	case s.stage == connected && s.remote.isV4():
		return s.mtu() - 52 // two headers of 20 bytes, and options of 12
	case s.stage == connected:
		return s.mtu() - 72
	}
	if n := s.options[optMaxSeg]; n != 0 {
		return uint32(n)
	}
	return 536
}
