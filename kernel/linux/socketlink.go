package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/dev/nic"
)

// Netlink, as far as package net uses it to find the interfaces and their addresses: a request for
// all links or all addresses (RTM_GETLINK, RTM_GETADDR; Linux: include/uapi/linux/rtnetlink.h).
// There is the interface lo, and, with a network stack, eth0. All other requests get EOPNOTSUPP.

const (
	linkError = 2 // NLMSG_ERROR
	linkDone  = 3 // NLMSG_DONE
	newLink   = 16
	getLink   = 18
	newAddr   = 20
	getAddr   = 22

	linkHeader = 16 // struct nlmsghdr
	flagMulti  = 2 << 16
	flagDump   = 0x300 << 16

	loIndex    = 1
	loMTU      = 65536
	loFlags    = 0x10049         // IFF_UP, IFF_LOOPBACK, IFF_RUNNING, IFF_LOWER_UP
	nameLo     = 'l' | 'o'<<8    // "lo" and a zero byte, in three bytes
	here4      = 127 | 1<<24     // 127.0.0.1 in memory order
	hardwareLo = 772             // ARPHRD_LOOPBACK
	ofHost     = 254<<24 | 1<<23 // the scope of an address, which is permanent
	ifName     = 3 << 16
	ifMTU      = 4 << 16
	ethIndex   = 2
	ethMTU     = 1500
	ethFlags   = 0x11043   // IFF_UP, IFF_BROADCAST, IFF_RUNNING, IFF_MULTICAST, IFF_LOWER_UP
	permanent  = 1 << 23   // IFA_F_PERMANENT, in a struct ifaddrmsg
	ofLink     = 253 << 24 // the scope of an address of one network
)

// linkMessages are the answers, by request and address family: a struct ifinfomsg or ifaddrmsg with
// its attributes, in words. Never written.
var linkMessages = [...]struct {
	asked, family, kind uint32
	n                   int
	words               [11]uint32
}{
	{getLink, 0, newLink, 11, [11]uint32{hardwareLo << 16, loIndex, loFlags, 0, 7 | ifName, nameLo,
		8 | ifMTU, loMTU, 10 | 1<<16}},
	{getAddr, afInet, newAddr, 6, [11]uint32{afInet | 8<<8 | ofHost, loIndex, 8 | 1<<16, here4,
		8 | 2<<16, here4}},
	{getAddr, afInet6, newAddr, 7, [11]uint32{afInet6 | 128<<8 | ofHost, loIndex, 20 | 1<<16,
		6: 1 << 24}},
}

// linkReply is an answer that is being built.
type linkReply struct {
	words     [160]uint32
	n         int
	seq, port uint32
}

// add adds a message. kind contains the flags, too.
func (r *linkReply) add(kind uint32, body []uint32) {
	for _, w := range [...]uint32{linkHeader + 4*uint32(len(body)), kind, r.seq, r.port} {
		r.words[r.n] = w
		r.n++
	}
	for _, w := range body {
		r.words[r.n] = w
		r.n++
	}
}

// addAll adds all links, or all addresses of a family: of any other than those two all, first those
// of version 4.
func (r *linkReply) addAll(kind, family uint32) {
	for i := range linkMessages {
		m := &linkMessages[i]
		if m.asked != kind || m.family != 0 && m.family != family &&
			(family == afInet || family == afInet6) {
			continue
		}
		r.add(m.kind|flagMulti, m.words[:m.n])
		if hasEth0() {
			r.addCard(kind, m.family)
		}
	}
}

// addCard adds what there is to say about the network card, or its addresses of a family.
func (r *linkReply) addCard(kind, family uint32) {
	if kind == getLink {
		a := nic.Address()
		body := [12]uint32{1 << 16, ethIndex, ethFlags, 0,
			9 | ifName, 'e' | 't'<<8 | 'h'<<16 | '0'<<24, 0, 8 | ifMTU, ethMTU, 10 | 1<<16}
		body[10] = uint32(a[0]) | uint32(a[1])<<8 | uint32(a[2])<<16 | uint32(a[3])<<24
		body[11] = uint32(a[4]) | uint32(a[5])<<8
		r.add(newLink|flagMulti, body[:])
		return
	}
	for i := range 2 * numOwn { // those that mean something on one network only come last
		o := &addresses[i%numOwn]
		if o.isV4() != (family == afInet) || o.isLinkLocal() != (i >= numOwn) {
			continue
		}
		var raw rawAddress
		raw.putIP(0, o.ip)
		body := [7]uint32{afInet6 | uint32(o.prefix)<<8 | permanent, ethIndex, 20 | 1<<16,
			raw.little32(0), raw.little32(4), raw.little32(8), raw.little32(12)}
		n := 7
		if o.isV4() {
			n = 6
			body = [7]uint32{afInet | uint32(o.prefix)<<8 | permanent, ethIndex, 8 | 1<<16,
				raw.little32(12), 8 | 2<<16, raw.little32(12)}
		} else if o.isLinkLocal() {
			body[0] |= ofLink
		}
		r.add(newAddr|flagMulti, body[:n])
	}
}

// bindLink gives a netlink socket the wanted port, or, for 0, the process's number.
func (s *socket) bindLink(port uint32) int64 {
	switch {
	case s.bound && port != 0 && uint64(port) != s.local.lo:
		return -eINVAL
	case s.bound:
		return 0
	case port == 0:
		port = pid
	}
	s.local.lo, s.bound = uint64(port), true
	return 0
}

// askLink answers a request: the answer is at once in the socket's own buffer.
func (s *socket) askLink(x *transfer) int64 {
	var request [5]uint32 // struct nlmsghdr, and the family
	at, n, ok := x.next()
	if n = min(n, unsafe.Sizeof(request)); !ok || n < linkHeader ||
		!copyIn(addressOf(&request), at, n) {
		return -eINVAL
	}
	s.bindLink(0)
	r := linkReply{seq: request[2], port: uint32(s.local.lo)}
	kind, family := request[1]&0xffff, request[4]&0xff
	if request[1]&flagDump == flagDump && (kind == getLink || kind == getAddr) {
		r.addAll(kind, family)
		request[4] = 0
		r.add(linkDone|flagMulti, request[4:])
	} else {
		body := [5]uint32{1<<32 - eOPNOTSUPP, request[0], request[1], request[2], request[3]}
		r.add(linkError, body[:])
	}
	size := uintptr(r.n) * 4
	if s.in.room() < unsafe.Sizeof(datagram{})+size {
		return -eNOBUFS
	}
	var kernel address
	answer := transfer{base: addressOf(&r.words), left: size, total: size, own: true}
	if errno := answer.deliver(s, &kernel); errno != 0 {
		return errno
	}
	return int64(x.total)
}
