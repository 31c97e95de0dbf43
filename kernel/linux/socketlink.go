package linux

import "unsafe"

// Netlink (Linux: include/uapi/linux/netlink.h, rtnetlink.h): which interfaces there
// are, and their addresses. There is one, lo.

const (
	linkError = 2 // NLMSG_ERROR
	linkDone  = 3 // NLMSG_DONE
	newLink   = 16
	getLink   = 18
	newAddr   = 20
	getAddr   = 22

	linkHeader = 16 // struct nlmsghdr
	flagMulti  = 2
	flagDump   = 0x300

	loIndex = 1
	loMTU   = 65536
	loFlags = 0x10049 // IFF_UP, IFF_LOOPBACK, IFF_RUNNING, IFF_LOWER_UP
)

// linkReply is an answer in the making, in block.
type linkReply struct {
	n, start  int
	seq, port uint32
}

//go:noinline
func (r *linkReply) put8(v uint8) {
	block[r.n] = v
	r.n++
}

func (r *linkReply) put16(v uint16) {
	r.put8(uint8(v))
	r.put8(uint8(v >> 8))
}

func (r *linkReply) put32(v uint32) {
	r.put16(uint16(v))
	r.put16(uint16(v >> 16))
}

// begin begins a message, and end puts its length in.
func (r *linkReply) begin(kind, flags uint16) {
	r.start = r.n
	r.put32(0)
	r.put16(kind)
	r.put16(flags)
	r.put32(r.seq)
	r.put32(r.port)
}

func (r *linkReply) end() {
	n := r.n - r.start
	block[r.start], block[r.start+1] = uint8(n), uint8(n>>8)
}

// attribute adds a struct rtattr with the n lowest bytes of v, the lowest first.
func (r *linkReply) attribute(kind uint16, v uint64, n int) {
	r.put16(uint16(4 + n))
	r.put16(kind)
	for i := 0; i < (n+3)&^3; i++ {
		r.put8(uint8(v))
		v >>= 8
	}
}

const nameLo = 'l' | 'o'<<8 // "lo" and a zero byte, in three bytes

// link tells of lo: struct ifinfomsg and what belongs to it.
func (r *linkReply) link(flags uint16) {
	r.begin(newLink, flags)
	r.put16(0)
	r.put16(hardwareLo)
	r.put32(loIndex)
	r.put32(loFlags)
	r.put32(0)
	r.attribute(3, nameLo, 3)   // IFLA_IFNAME
	r.attribute(4, loMTU, 4)    // IFLA_MTU
	r.attribute(13, queueLo, 4) // IFLA_TXQLEN
	r.attribute(16, 0, 1)       // IFLA_OPERSTATE: nobody knows
	r.attribute(1, 0, 6)        // IFLA_ADDRESS
	r.attribute(2, 0, 6)        // IFLA_BROADCAST
	r.end()
}

// addr tells of an address of lo: struct ifaddrmsg and what belongs to it.
func (r *linkReply) addr(family uint8, bits uint8) {
	const permanent, host = 0x80, 254
	r.begin(newAddr, flagMulti)
	r.put8(family)
	r.put8(bits)
	r.put8(permanent)
	r.put8(host)
	r.put32(loIndex)
	if family == afInet {
		r.attribute(1, 127|1<<24, 4) // IFA_ADDRESS
		r.attribute(2, 127|1<<24, 4) // IFA_LOCAL
		r.attribute(3, nameLo, 3)    // IFA_LABEL
	} else {
		r.put16(20)
		r.put16(1)
		for i := 0; i < 15; i++ {
			r.put8(0)
		}
		r.put8(1)
	}
	r.end()
}

// bindLink gives a netlink socket a port: the one that is wanted, if it is not 0, and else the
// process's number, or, if that is taken, one above all processes' numbers.
func (s *socket) bindLink(port uint32) int64 {
	if s.bound {
		if port != 0 && uint64(port) != s.local.lo {
			return -eINVAL
		}
		return 0
	}
	want := port
	if want == 0 {
		want = pid
	}
	for n := int32(1); n <= highSocket; n++ {
		t := socketOf(n)
		if t == nil || t.family != afNetlink || !t.bound || t.local.lo != uint64(want) {
			continue
		}
		if port != 0 {
			return -eADDRINUSE
		}
		want = 1<<32 - 4096 - uint32(s.number)
		break
	}
	s.local.lo, s.bound = uint64(want), true
	return 0
}

// linkRequest is the beginning of a request: struct nlmsghdr, struct ifinfomsg and an attribute.
type linkRequest [64]byte

func (q *linkRequest) word(i int) uint32 {
	return uint32(q[i]) | uint32(q[i+1])<<8 | uint32(q[i+2])<<16 | uint32(q[i+3])<<24
}

// namesLo reports whether a request of n bytes is about lo: by its number, or by the name in the
// first attribute.
func (q *linkRequest) namesLo(n uintptr) bool {
	const index, attribute, ifName = linkHeader + 4, linkHeader + 16, 3 // IFLA_IFNAME
	if n < attribute {
		return false
	}
	if i := q.word(index); i != 0 {
		return i == loIndex
	}
	return n >= attribute+7 && q.word(attribute)>>16 == ifName && q.word(attribute+4)&0xffffff == nameLo
}

// askLink answers a request: the answer lies in the socket's own buffer at once.
func (s *socket) askLink(x *transfer) int64 {
	const (
		minKind = 16 // NLMSG_MIN_TYPE: those below are the protocol's own
		maxKind = 131
		flagAck = 4
		capped  = 0x100 // NLM_F_CAPPED: without the request
	)
	var request linkRequest
	at, n, ok := x.next()
	n = min(n, uintptr(len(request)))
	if !ok || n < linkHeader || !copyIn(uintptr(unsafe.Pointer(&request)), at, n) {
		return -eINVAL
	}
	if errno := s.bindLink(0); errno != 0 {
		return errno
	}
	kind, flags := uint16(request.word(4)), uint16(request.word(4)>>16)
	n = min(n, uintptr(request.word(0)))
	r := linkReply{seq: request.word(8), port: uint32(s.local.lo)}
	family := request[linkHeader]
	errno, over := int64(0), false
	switch {
	case kind < minKind:
	case kind > maxKind:
		errno = -eOPNOTSUPP
	case kind&3 != 2:
		errno = -ePERM // to change something takes a privilege
	case flags&flagDump == flagDump && kind == getLink:
		r.link(flagMulti)
		over = true
	case flags&flagDump == flagDump && kind == getAddr:
		if family == 0 || family == afInet {
			r.addr(afInet, 8)
		}
		if family == 0 || family == afInet6 {
			r.addr(afInet6, 128)
		}
		over = true
	case kind == getLink && request.namesLo(n):
		r.link(0)
	case kind == getLink:
		errno = -eNODEV
	default:
		errno = -eOPNOTSUPP
	}
	switch {
	case over:
		r.begin(linkDone, flagMulti)
		r.put32(0)
		r.end()
	case errno != 0:
		r.begin(linkError, 0)
		r.put32(uint32(errno))
		for _, b := range request[:max(n, linkHeader)] {
			r.put8(b)
		}
		r.end()
	case flags&flagAck != 0:
		r.begin(linkError, capped)
		r.put32(0)
		for _, b := range request[:linkHeader] {
			r.put8(b)
		}
		r.end()
	}
	if r.n == 0 {
		return int64(x.total)
	}
	if s.in.room() < unsafe.Sizeof(datagram{})+uintptr(r.n) {
		return -eNOBUFS
	}
	var kernel address
	answer := transfer{base: blockAddr(), left: uintptr(r.n), total: uintptr(r.n), own: true}
	if errno := answer.deliver(s, &kernel); errno != 0 {
		return errno
	}
	return int64(x.total)
}
