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
	n, start int
	seq      uint32
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
	r.put32(0)
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
func (r *linkReply) link() {
	r.begin(newLink, flagMulti)
	r.put16(0)
	r.put16(772) // ARPHRD_LOOPBACK
	r.put32(loIndex)
	r.put32(loFlags)
	r.put32(0)
	r.attribute(3, nameLo, 3) // IFLA_IFNAME
	r.attribute(4, loMTU, 4)  // IFLA_MTU
	r.attribute(1, 0, 6)      // IFLA_ADDRESS
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

// askLink answers a request: the answer lies in the socket's own buffer at once.
func (s *socket) askLink(x *transfer) int64 {
	var request [linkHeader + 4]byte
	at, n, ok := x.next()
	if !ok || n < linkHeader+1 || !copyIn(uintptr(unsafe.Pointer(&request)), at, min(n, uintptr(len(request)))) {
		return -eINVAL
	}
	kind := uint16(request[4]) | uint16(request[5])<<8
	flags := uint16(request[6]) | uint16(request[7])<<8
	r := linkReply{}
	for i := 11; i >= 8; i-- {
		r.seq = r.seq<<8 | uint32(request[i])
	}
	family := request[linkHeader]
	switch {
	case kind == getLink && flags&flagDump != 0:
		r.link()
	case kind == getAddr && flags&flagDump != 0:
		if family == 0 || family == afInet {
			r.addr(afInet, 8)
		}
		if family == 0 || family == afInet6 {
			r.addr(afInet6, 128)
		}
	default:
		r.begin(linkError, 0)
		v := int32(-eOPNOTSUPP)
		r.put32(uint32(v))
		for _, b := range request[:linkHeader] {
			r.put8(b)
		}
		r.end()
	}
	if kind == getLink || kind == getAddr {
		r.begin(linkDone, flagMulti)
		r.put32(0)
		r.end()
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
