package linux

import (
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/parts"
)

// Making sockets.

// socketKind is what a socket is made as.
type socketKind struct {
	family, protocol uint16
	kind             uint8 // sockStream and so on
}

// kindOf checks the arguments of socket and socketpair, and sets what to what they name.
func (c *call) kindOf(what *socketKind) int64 {
	const (
		typeMask    = 0xf
		maxFamily   = 45
		maxProtocol = 262
	)
	a, b, p := c.uint(0), c.uint(1), c.uint(2)
	switch {
	case b&^(typeMask|oNonblock|oCloexec) != 0:
		return -eINVAL
	case a > maxFamily:
		return -eAFNOSUPPORT
	case b&typeMask > 10: // SOCK_PACKET
		return -eINVAL
	case a == afPacket:
		return -ePERM
	case p > maxProtocol && (a == afInet || a == afInet6):
		return -eINVAL
	case p > maxProtocol:
		return -ePROTONOSUPPORT
	}
	family, kind, protocol := uint16(a), uint8(b&typeMask), uint16(p)
	switch family {
	case afUnix:
		switch {
		case protocol != 0 && protocol != afUnix:
			return -ePROTONOSUPPORT
		case kind == sockRaw:
			kind = sockDgram
		case kind != sockStream && kind != sockDgram && kind != sockSeqpacket:
			return -eSOCKTNOSUPPORT
		}
		protocol = 0
	case afInet, afInet6:
		want := uint16(protoTCP)
		switch kind {
		case sockRaw:
			if protocol == 0 {
				return -ePROTONOSUPPORT
			}
			return -ePERM // it requires a privilege
		case sockStream:
		case sockDgram:
			want = protoUDP
			if family == afInet && protocol == protoICMP || family == afInet6 && protocol == protoICMP6 {
				return -eACCES // no group may (net.ipv4.ping_group_range)
			}
		default:
			return -eSOCKTNOSUPPORT
		}
		if protocol != 0 && protocol != want {
			return -ePROTONOSUPPORT
		}
		protocol = want
	case afNetlink:
		if kind != sockRaw && kind != sockDgram {
			return -eSOCKTNOSUPPORT
		}
		if protocol != 0 { // NETLINK_ROUTE
			return -ePROTONOSUPPORT
		}
	default:
		return -eAFNOSUPPORT
	}
	*what = socketKind{family, protocol, kind}
	return 0
}

func sysSocket(c *call) int64 {
	if !parts.Sockets {
		return withoutSockets()
	}
	var kind socketKind
	if errno := c.kindOf(&kind); errno != 0 {
		return errno
	}
	s := newSocket(kind)
	if s == nil {
		return -eNFILE
	}
	fd := openSocket(s, c.flags(1))
	if fd < 0 {
		s.free()
	}
	return fd
}

func sysSocketpair(c *call) int64 {
	if !parts.Sockets {
		return withoutSockets()
	}
	var kind socketKind
	if errno := c.kindOf(&kind); errno != 0 {
		return errno
	}
	if kind.family != afUnix {
		return -eOPNOTSUPP
	}
	if !mem.Allowed(c.pointer(3), 8, true) {
		return -eFAULT
	}
	var made [2]*socket
	var got [2]int64
	for i := range made {
		s := newSocket(kind)
		got[i] = -eNFILE
		if s != nil {
			if got[i] = openSocket(s, c.flags(1)); got[i] < 0 {
				s.free()
			}
		}
		if got[i] < 0 {
			if i == 1 {
				closeFD(uintptr(got[0]))
			}
			return got[i]
		}
		made[i] = s
	}
	for i, s := range made {
		s.stage, s.peer = connected, made[1-i].number
	}
	return openedTwo(c.pointer(3), got[0], got[1])
}

// withoutSockets refuses a socket in an image without the part sockets, and says so, once.
func withoutSockets() int64 {
	noSockets.say()
	return -eAFNOSUPPORT
}
