package linux

// Addresses of sockets as programs write them: struct sockaddr_in, sockaddr_in6,
// sockaddr_un and sockaddr_nl.

// ip is an Internet address, kept as one of version 6, in two halves; those of version 4 are the
// mapped ones.
type ip struct{ hi, lo uint64 }

// address is the address of a socket.
type address struct {
	family uint16
	port   uint16
	ip
	link uint32 // number of the interface that a program has named with it, or 0
	// A local socket's name: a path, an abstract name after a zero byte, or none.
	n    uint8
	name [nameMax]byte
}

const (
	nameMax = 108

	sizeInet  = 16
	sizeInet6 = 28
	sizeLink  = 12

	mapped    = 0xffff << 32
	loopback4 = mapped | 127<<24 | 1
	loopback6 = 1
)

// isV4 reports whether an Internet address is of version 4.
func (a *ip) isV4() bool { return a.hi == 0 && a.lo>>32 == mapped>>32 }

// isAny reports whether the address stands for all addresses.
func (a *ip) isAny() bool { return a.hi == 0 && (a.lo == 0 || a.lo == mapped) }

// isLoopback reports whether it is an address of this machine alone.
func (a *ip) isLoopback() bool {
	return a.hi == 0 && (a.lo == loopback6 || a.isV4() && uint8(a.lo>>24) == 127)
}

// isMulticast reports whether the address is a group's.
func (a *ip) isMulticast() bool {
	return a.hi>>56 == 0xff || a.isV4() && uint8(a.lo>>28)&0xf == 0xe
}

// same reports whether two Internet addresses are the same, including the port.
func (a *address) same(b *address) bool {
	return a.ip == b.ip && a.port == b.port
}

// rawAddress has room for any address in the program's form, and for structures that contain one.
type rawAddress [136]byte

const maxAddress = 128 // bytes of an address

func (r *rawAddress) big16(i int) uint16 { return uint16(r[i])<<8 | uint16(r[i+1]) }

func (r *rawAddress) little32(i int) uint32 {
	return uint32(r[i]) | uint32(r[i+1])<<8 | uint32(r[i+2])<<16 | uint32(r[i+3])<<24
}

func (r *rawAddress) big64(i int) (v uint64) {
	for _, b := range r[i : i+8] {
		v = v<<8 | uint64(b)
	}
	return v
}

// ip and putIP read and write an address of version 6.
func (r *rawAddress) ip(i int) ip { return ip{r.big64(i), r.big64(i + 8)} }

func (r *rawAddress) putIP(i int, a ip) {
	r.putBig64(i, a.hi)
	r.putBig64(i+8, a.lo)
}

func (r *rawAddress) putBig64(i int, v uint64) {
	for j := i + 7; j >= i; j-- {
		r[j] = uint8(v)
		v >>= 8
	}
}

// inAddress reads the n-byte address that a call gives to socket s.
func (s *socket) inAddress(to *address, from, n uintptr) int64 {
	var raw rawAddress
	if n > maxAddress || int64(n) < 0 {
		return -eINVAL
	}
	if !copyIn(addressOf(&raw), from, n) {
		return -eFAULT
	}
	if n < 2 {
		return -eINVAL
	}
	to.family = uint16(raw[0]) | uint16(raw[1])<<8
	if to.family == afUnspec {
		return 0
	}
	switch s.family {
	case afUnix:
		if to.family != afUnix || n > 2+nameMax {
			return -eINVAL
		}
		to.n = 0
		for i := uintptr(2); i < n; i++ {
			if raw[i] == 0 && i > 2 && raw[2] != 0 {
				break // the end of a path
			}
			to.name[i-2] = raw[i]
			to.n++
		}
		return 0
	case afNetlink:
		if to.family != afNetlink || n < sizeLink {
			return -eINVAL
		}
		to.lo = uint64(raw.little32(4))
		return 0
	}
	to.port = raw.big16(2)
	switch {
	case to.family == afInet && n >= sizeInet:
		to.ip = ip{0, mapped | raw.big64(4)>>32}
	case to.family == afInet6 && s.family == afInet6 && n >= sizeInet6-4: // RFC 2133's form
		to.ip = raw.ip(8)
		if n >= sizeInet6 && (to.hi>>48 == linkGroup || to.isLinkLocal()) {
			to.link = raw.little32(24)
		}
	case to.family == afInet || to.family == afInet6 && s.family == afInet6:
		return -eINVAL
	default:
		return -eAFNOSUPPORT
	}
	return 0
}

// outAddress writes an address for a program that uses family, cut to the length in the word at
// size, and writes the whole length into that word. at may be 0.
func outAddress(a *address, family uint16, at, size uintptr) int64 {
	if at == 0 {
		return 0
	}
	room, ok := in32(size)
	if !ok {
		return -eFAULT
	}
	if int32(room) < 0 {
		return -eINVAL
	}
	var raw rawAddress
	n := a.raw(&raw, family)
	return copied(copyOut(at, addressOf(&raw), min(n, uintptr(room))) && out32(size, uint32(n)))
}

// raw writes the address in the program's form and returns its length.
func (a *address) raw(r *rawAddress, family uint16) uintptr {
	r[0], r[1] = uint8(family), uint8(family>>8)
	switch family {
	case afInet:
		r[2], r[3] = uint8(a.port>>8), uint8(a.port)
		r.putBig64(4, a.lo<<32)
		return sizeInet
	case afInet6:
		r[2], r[3] = uint8(a.port>>8), uint8(a.port)
		r.putIP(8, a.ip)
		switch {
		case a.isLinkLocal():
			r[24] = ethIndex
		case a.hi>>48 == linkGroup:
			r[24] = uint8(a.link)
		}
		return sizeInet6
	case afNetlink:
		r[4], r[5], r[6], r[7] = uint8(a.lo), uint8(a.lo>>8), uint8(a.lo>>16), uint8(a.lo>>24)
		return sizeLink
	}
	for i := 0; i < int(a.n); i++ {
		r[2+i] = a.name[i]
	}
	n := 2 + uintptr(a.n)
	if a.n > 0 && a.name[0] != 0 {
		n++ // a path ends in a zero byte
	}
	return n
}

func sysGetsockname(c *call, _ *file, s *socket) int64 {
	if c.args[1] == 0 {
		return -eFAULT
	}
	return outAddress(&s.local, s.family, c.pointer(1), c.pointer(2))
}

func sysGetpeername(c *call, _ *file, s *socket) int64 {
	if s.stage != connected {
		return -eNOTCONN
	}
	if c.args[1] == 0 {
		return -eFAULT
	}
	return outAddress(&s.remote, s.family, c.pointer(1), c.pointer(2))
}
