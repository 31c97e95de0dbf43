package linux

import "unsafe"

// Multicast and broadcast (Linux: net/ipv4/igmp.c, net/ipv6/mcast.c). lo brings them to all sockets
// of this machine that listen; as on Linux, IP_MULTICAST_LOOP makes no difference there. With a
// network, what a program sends goes to the gateway, too, and the stack is told which groups some
// socket is in. A socket receives from all sources of a group; it cannot choose them.

// membership is a group that a socket is in, on an interface; 0: the row is free.
type membership struct {
	ip
	link uint32
}

const (
	maxGroups  = 60 // rows of a socket
	maxGroups4 = 20 // groups of version 4 (net.ipv4.igmp_max_memberships)

	// Options (include/uapi/linux/in.h, in6.h).
	mcastJoinGroup  = 42
	mcastLeaveGroup = 45
	ipMulticastIF   = 32

	ipMulticastLoop   = 34
	ipv6MulticastLoop = 19

	ipAddMember    = 35
	ipDropMember   = 36
	ipv6JoinGroup  = 20
	ipv6LeaveGroup = 21
)

// ofGroup reports whether an option joins or leaves a group.
func ofGroup(level, name uintptr) (join, ok bool) {
	switch {
	case name == mcastJoinGroup, level == levelIPv6 && name == ipv6JoinGroup, level == levelIP &&
		name == ipAddMember:
		return true, true
	case name == mcastLeaveGroup, level == levelIPv6 && name == ipv6LeaveGroup, level == levelIP &&
		name == ipDropMember:
		return false, true
	}
	return false, false
}

// setGroup is setsockopt for options of groups; the argument of size bytes is at an address.
func (s *socket) setGroup(level, name uintptr, join bool, at, size uintptr) int64 {
	var b rawAddress
	old := name < mcastJoinGroup
	want := uintptr(136) // struct group_req
	switch {
	case level == levelIPv6 && old:
		want = 20 // struct ipv6_mreq
	case old && s.kind == sockStream:
		return -eProto
	case old && size >= 12:
		want = 12 // struct ip_mreqn
	case old:
		want = 8 // struct ip_mreq
	}
	switch {
	case size < want:
		return -eINVAL
	case !copyIn(addressOf(&b), at, want):
		return -eFAULT
	case s.kind == sockStream:
		return -eProto
	}
	var group ip
	index, from, family := b.little32(0), uint64(0), b.little32(8)&0xffff
	switch {
	case old && level == levelIPv6:
		group, index = b.ip(0), b.little32(16)
	case old:
		group.lo, from, index = mapped|b.big64(0)>>32, b.big64(4)>>32, b.little32(8)
	case level == levelIP && family == afInet:
		group.lo = mapped | b.big64(12)>>32
	case level == levelIPv6 && family == afInet6:
		group = b.ip(16)
	case level == levelIP:
		return -eINVAL
	default:
		return -eADDRNOTAVAIL
	}
	switch {
	case !group.isMulticast() && join:
		return -eINVAL
	case index == 0 && from != 0:
		index = linkOf(from)
	case index == 0:
		index = defaultLink(&group)
	}
	if index == 0 || index > lastLink() {
		return -eNODEV
	}
	return s.changeGroup(join, membership{group, index})
}

// lastLink is the number of the last interface: eth0's, if the stack has an address there.
func lastLink() uint32 {
	if numOwn == 0 {
		return loIndex
	}
	return ethIndex
}

// linkOf returns the interface that has an address of version 4, 0 if none has it.
func linkOf(v4 uint64) uint32 {
	a := ip{0, mapped | v4}
	switch {
	case a.isLoopback():
		return loIndex
	case a.isOwn():
		return ethIndex
	}
	return 0
}

// defaultLink returns the interface by which a group is reached if a program names none.
func defaultLink(to *ip) uint32 {
	if sourceFor(to) != nil {
		return ethIndex
	}
	return loIndex
}

// linkTo returns the interface by which s sends to all of a group, or to all machines; named is the
// one that the program has named for this datagram, or 0.
func (s *socket) linkTo(to *address, named uint32) uint32 {
	switch {
	case s.isGateway():
		return ethIndex
	case to.isLoopback(), s.bound && s.local.isLoopback():
		return loIndex
	case named == 0 && to.link != 0:
		named = to.link
	case named != 0 || !to.isMulticast():
	case !to.isV4():
		named = uint32(s.options[optGroupIf6])
	default:
		named = s.groupLink
	}
	if named == 0 || named > lastLink() {
		return defaultLink(&to.ip)
	}
	return named
}

const eProto = 71 // EPROTO

// changeGroup joins or leaves a group.
func (s *socket) changeGroup(join bool, group membership) int64 {
	free, n := -1, 0
	for i, m := range s.groups {
		switch {
		case m == group && join:
			return -eADDRINUSE
		case m == group:
			s.groups[i] = membership{}
			group.tell()
			return 0
		case m == membership{}:
			free = i
		case m.hi == 0:
			n++
		}
	}
	switch {
	case !join:
		return -eADDRNOTAVAIL
	case free < 0 || group.hi == 0 && n >= maxGroups4:
		return -eNOBUFS
	}
	if !group.tell() {
		return -eNOBUFS
	}
	s.groups[free] = group
	return 0
}

// tell has the stack find out whether some socket is in a group of eth0's, by an empty datagram to
// the group that has no hops to go. It returns false if the stack is too busy to listen.
func (m membership) tell() bool {
	if m.link != ethIndex {
		return true
	}
	return sendEmpty(&datagram{to: m.ip})
}

// leaveGroups has the stack find out which groups s, which is being closed, was the last in.
func (s *socket) leaveGroups() {
	for i, m := range s.groups {
		s.groups[i] = membership{}
		m.tell()
	}
}

// isMember reports whether some socket is in a group of eth0's.
func isMember(group *ip) bool {
	for t := nextSocket(0); t != nil; t = nextSocket(t.number) {
		if _, member := t.wants(group, ethIndex); member {
			return true
		}
	}
	return false
}

// wants reports whether a socket receives what comes for a group by an interface, and whether it is
// a member of the group there.
func (s *socket) wants(group *ip, link uint32) (wants, member bool) {
	if link == 0 {
		link = loIndex
	}
	for _, m := range s.groups {
		if m.ip == *group && m.link == link {
			return true, true
		}
	}
	i := optGroupAll6
	if group.isV4() {
		i = optGroupAll
	}
	return s.options[i] != 0, false
}

// everyMachine reports whether every machine is in the group.
func (a *ip) everyMachine() bool {
	const allHosts = mapped | 224<<24 | 1
	return a.hi == 0 && a.lo == allHosts || (a.hi == 0xff01<<48 || a.hi == 0xff02<<48) && a.lo == 1
}

// isBroadcast reports whether an address stands for all machines: at lo, or on the network.
func (a *ip) isBroadcast() bool {
	if a.hi != 0 || a.lo == mapped|0x7fffffff {
		return a.hi == 0
	}
	for i := range addresses[:numOwn] {
		if o := &addresses[i]; o.isV4() && o.prefix < 31 {
			hosts := uint64(1)<<(32-o.prefix) - 1
			if a.lo == o.lo|hosts || a.lo == mapped|0xffffffff {
				return true
			}
		}
	}
	return false
}

// sendAll sends a datagram to all that listen to a group, or to all machines.
func (x *transfer) sendAll(s *socket, from, to *address) int64 {
	if x.head.link == ethIndex && !s.isGateway() {
		g := socketOf(gateways[1])
		if group := to.isMulticast(); g != nil && (!group || x.head.ttl > 0) &&
			g.in.room() >= unsafe.Sizeof(datagram{})+x.total {
			again := *x
			if errno := again.deliver(g, from); errno != 0 {
				return errno
			}
		}
		loop := s.findOption(levelIP, ipMulticastLoop)
		if !to.isV4() {
			loop = s.findOption(levelIPv6, ipv6MulticastLoop)
		}
		if to.isMulticast() && s.options[loop] == 0 {
			return 0
		}
	}
	return x.deliverAll(from, to)
}

// deliverAll brings a datagram to all sockets that should receive it.
func (x *transfer) deliverAll(from, to *address) int64 {
	link := uint32(x.head.link)
	heard := !to.isMulticast() || to.everyMachine()
	for t := nextSocket(0); t != nil && !heard; t = nextSocket(t.number) {
		_, heard = t.wants(&to.ip, link)
	}
	for t := nextSocket(0); t != nil && heard; t = nextSocket(t.number) {
		if !t.hearsInet(from, to) || t.in.room() < unsafe.Sizeof(datagram{})+x.total {
			continue
		}
		if wants, _ := t.wants(&to.ip, link); to.isMulticast() && !wants {
			continue
		}
		again := *x
		if errno := again.deliver(t, from); errno != 0 {
			return errno
		}
	}
	return 0
}

// setGroupInterface is IP_MULTICAST_IF.
func (s *socket) setGroupInterface(at, size uintptr) int64 {
	var words [3]uint32 // struct ip_mreqn: group, address, index
	switch {
	case s.kind == sockStream || size < 4:
		return -eINVAL
	case size < 8: // only the address
		if v, ok := in32(at); ok {
			words[1] = v
			break
		}
		return -eFAULT
	default:
		if size = min(size, 12); size < 12 {
			size = 8
		}
		if !copyIn(addressOf(&words), at, size) {
			return -eFAULT
		}
	}
	link := words[2]
	if link == 0 && words[1] != 0 {
		if link = linkOf(inMemory(words[1])); link == 0 {
			return -eADDRNOTAVAIL
		}
	}
	if link > lastLink() {
		return -eADDRNOTAVAIL
	}
	s.groupFrom, s.groupLink = words[1], link
	return 0
}
