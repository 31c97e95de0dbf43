package linux

import "unsafe"

// Multicast (Linux: net/ipv4/igmp.c, net/ipv6/mcast.c). There is one interface, lo, which brings
// multicast to all sockets of this machine that are in the group. As on Linux, IP_MULTICAST_LOOP
// makes no difference there. A socket receives from all sources of a group; it cannot choose them.

// membership is a group that a socket is in; 0: the row is free.
type membership struct{ hi, lo uint64 }

const (
	maxGroups  = 60 // rows of a socket
	maxGroups4 = 20 // groups of version 4 (net.ipv4.igmp_max_memberships)

	// Options (include/uapi/linux/in.h, in6.h).
	mcastJoinGroup  = 42
	mcastLeaveGroup = 45
	ipMulticastIF   = 32
	ipAddMember     = 35
	ipDropMember    = 36
	ipv6JoinGroup   = 20
	ipv6LeaveGroup  = 21
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
	var group address
	index, from, family := b.little32(0), uint64(0), b.little32(8)&0xffff
	switch {
	case old && level == levelIPv6:
		group.hi, group.lo, index = b.big64(0), b.big64(8), b.little32(16)
	case old:
		group.lo, from, index = mapped|b.big64(0)>>32, b.big64(4)>>32, b.little32(8)
	case level == levelIP && family == afInet:
		group.lo = mapped | b.big64(12)>>32
	case level == levelIPv6 && family == afInet6:
		group.hi, group.lo = b.big64(16), b.big64(24)
	case level == levelIP:
		return -eINVAL
	default:
		return -eADDRNOTAVAIL
	}
	switch {
	case !group.isMulticast() && join:
		return -eINVAL
	case index > loIndex, index == 0 && from != 0 && from>>24 != 127:
		return -eNODEV
	}
	return s.changeGroup(join, membership{group.hi, group.lo})
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
	s.groups[free] = group
	return 0
}

// wants reports whether a socket receives a group's datagrams, and whether it is a member of the
// group.
func (s *socket) wants(group *address) (wants, member bool) {
	for _, m := range s.groups {
		if m.hi == group.hi && m.lo == group.lo {
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
func (a *address) everyMachine() bool {
	const allHosts = mapped | 224<<24 | 1
	return a.hi == 0 && a.lo == allHosts || (a.hi == 0xff01<<48 || a.hi == 0xff02<<48) && a.lo == 1
}

// isBroadcast reports whether an address stands for all machines at lo.
func (a *address) isBroadcast() bool { return a.hi == 0 && a.lo == mapped|0x7fffffff }

// deliverAll brings a datagram to all sockets that should receive it.
func (x *transfer) deliverAll(from, to *address) int64 {
	heard := !to.isMulticast() || to.everyMachine()
	for n := int32(1); n <= highSocket && !heard; n++ {
		if t := socketOf(n); t != nil {
			_, heard = t.wants(to)
		}
	}
	for n := int32(1); n <= highSocket && heard; n++ {
		t := socketOf(n)
		if t == nil || !t.hearsInet(from, to) || t.in.room() < unsafe.Sizeof(datagram{})+x.total {
			continue
		}
		if wants, _ := t.wants(to); to.isMulticast() && !wants {
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
	if words[2] > loIndex || words[2] == 0 && words[1] != 0 && uint8(words[1]) != 127 {
		return -eADDRNOTAVAIL
	}
	s.groupFrom = words[1]
	return 0
}
