package linux

import "unsafe"

// Multicast (Linux: net/ipv4/igmp.c, net/ipv6/mcast.c). There is one interface, lo, which
// brings what is sent to a group to all sockets of this machine that are in it. As on Linux,
// IP_MULTICAST_LOOP makes no difference there.

// membership is a row of who a socket wants to hear: a group, or a source of a group that
// has a row.
type membership struct {
	hi, lo       uint64 // the group; 0: the row is free
	srcHi, srcLo uint64
	source       bool
	include      bool // of a group: only its sources are heard, and else all but them
}

const (
	maxGroups  = 60 // rows of a socket
	maxGroups4 = 20 // groups of version 4 (net.ipv4.igmp_max_memberships)
	maxSources = 10 // sources of a group (net.ipv4.igmp_max_msf)
)

// groupOp is what is done to a socket's groups.
type groupOp uint8

// The operations, by the numbers of their newer options less 41 (include/uapi/linux/in.h).
const (
	joinGroup groupOp = 1 + iota
	blockSource
	unblockSource
	leaveGroup
	joinSource
	leaveSource

	mcastJoinGroup   = 42
	mcastLeaveSource = 47
	ipMulticastIF    = 32
	ipAddMember      = 35
	ipDropMember     = 36
	ipUnblock        = 37
	ipBlock          = 38
	ipAddSource      = 39
	ipDropSource     = 40
	ipv6JoinGroup    = 20
	ipv6LeaveGroup   = 21
)

// groupOf returns what an option does to groups, or 0.
func groupOf(level, name uintptr) groupOp {
	switch {
	case name >= mcastJoinGroup && name <= mcastLeaveSource:
		return groupOp(name - mcastJoinGroup + 1)
	case level == levelIPv6 && name == ipv6JoinGroup, level == levelIP && name == ipAddMember:
		return joinGroup
	case level == levelIPv6 && name == ipv6LeaveGroup, level == levelIP && name == ipDropMember:
		return leaveGroup
	case level != levelIP:
		return 0
	}
	switch name {
	case ipUnblock:
		return unblockSource
	case ipBlock:
		return blockSource
	case ipAddSource:
		return joinSource
	case ipDropSource:
		return leaveSource
	}
	return 0
}

// setGroup is setsockopt for options of groups, whose argument of size bytes is at an address.
func (s *socket) setGroup(level, name uintptr, op groupOp, at, size uintptr) int64 {
	const groupRequest, sourceRequest = 136, 264 // struct group_req and group_source_req
	var b [sourceRequest]byte
	old := name < mcastJoinGroup
	want := uintptr(groupRequest)
	switch {
	case op != joinGroup && op != leaveGroup:
		want = sourceRequest
		if old {
			want = 12 // struct ip_mreq_source
		}
	case level == levelIPv6 && old:
		want = 20 // struct ipv6_mreq
	case old && s.kind == sockStream:
		return -eProto
	case old:
		want = 8 // struct ip_mreq
	}
	if size < want {
		return -eINVAL
	}
	if old && want == 8 && size >= 12 {
		want = 12 // struct ip_mreqn
	}
	if !copyIn(uintptr(unsafe.Pointer(&b)), at, want) {
		return -eFAULT
	}
	if s.kind == sockStream {
		return -eProto
	}
	word := func(i int) uint64 { return uint64(b[i])<<24 | uint64(b[i+1])<<16 | uint64(b[i+2])<<8 | uint64(b[i+3]) }
	double := func(i int) uint64 { return word(i)<<32 | word(i+4) }
	var group, source address
	index, from := uint32(0), uint64(0)
	switch {
	case old && level == levelIPv6:
		group.hi, group.lo = double(0), double(8)
		index = uint32(b[16]) | uint32(b[17])<<8 | uint32(b[18])<<16 | uint32(b[19])<<24
	case old:
		group.lo, from, source.lo = mapped|word(0), word(4), mapped|word(8)
		if op == joinGroup || op == leaveGroup {
			index = uint32(b[8]) | uint32(b[9])<<8 | uint32(b[10])<<16 | uint32(b[11])<<24
		}
	default:
		index = uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		const storage = 128
		for i, a := range [2]*address{&group, &source} {
			at := 8 + i*storage
			family := uint16(b[at]) | uint16(b[at+1])<<8
			switch {
			case i == 1 && want == groupRequest:
			case level == levelIP && family == afInet:
				a.lo = mapped | word(at+4)
			case level == levelIPv6 && family == afInet6:
				a.hi, a.lo = double(at+8), double(at+16)
			case level == levelIP && want == groupRequest:
				return -eINVAL
			default:
				return -eADDRNOTAVAIL
			}
		}
	}
	switch {
	case !group.isMulticast() && op != leaveGroup:
		return -eINVAL
	case index > loIndex, index == 0 && from != 0 && !isLoopback4(from):
		return -eNODEV
	}
	return s.changeGroup(op, &group, &source)
}

const eProto = 71 // EPROTO

func isLoopback4(a uint64) bool { return a>>24 == 127 }

// changeGroup joins or leaves a group, or changes whom of it is heard.
func (s *socket) changeGroup(op groupOp, group, source *address) int64 {
	g := s.findMembership(group, nil)
	switch {
	case op == joinGroup && g != nil:
		return -eADDRINUSE
	case op == joinGroup || op == joinSource && g == nil:
		if g = s.newMembership(group); g == nil {
			return -eNOBUFS
		}
		if op == joinGroup {
			return 0
		}
		g.include = true
	case g == nil && op == leaveGroup:
		return -eADDRNOTAVAIL
	case g == nil:
		return -eINVAL
	case op == leaveGroup:
		for i := range s.groups {
			if m := &s.groups[i]; m.hi == group.hi && m.lo == group.lo {
				*m = membership{}
			}
		}
		return 0
	}
	sources := s.countSources(group)
	include := op == joinSource || op == leaveSource
	if sources > 0 && g.include != include {
		return -eINVAL
	}
	g.include = include
	m := s.findMembership(group, source)
	if op == unblockSource || op == leaveSource {
		if m == nil {
			return -eADDRNOTAVAIL
		}
		*m = membership{}
		if include && sources == 1 {
			*g = membership{}
		}
		return 0
	}
	if m != nil {
		return -eADDRNOTAVAIL
	}
	if sources == maxSources {
		return -eNOBUFS
	}
	if m = s.newMembership(group); m == nil {
		return -eNOBUFS
	}
	m.source, m.srcHi, m.srcLo = true, source.hi, source.lo
	return 0
}

// findMembership returns the row of a group, or of a source of it, or nil.
func (s *socket) findMembership(group, source *address) *membership {
	for i := range s.groups {
		m := &s.groups[i]
		if m.hi == group.hi && m.lo == group.lo && m.source == (source != nil) &&
			(source == nil || m.srcHi == source.hi && m.srcLo == source.lo) {
			return m
		}
	}
	return nil
}

// newMembership returns a new row for a group, or nil.
func (s *socket) newMembership(group *address) (row *membership) {
	n := 0
	for i := range s.groups {
		m := &s.groups[i]
		switch {
		case m.lo == 0 && m.hi == 0:
			row = m
		case !m.source && m.hi == 0:
			n++
		}
	}
	if row == nil || group.isV4() && n >= maxGroups4 && s.findMembership(group, nil) == nil {
		return nil
	}
	*row = membership{hi: group.hi, lo: group.lo}
	return row
}

func (s *socket) countSources(group *address) (n int) {
	for i := range s.groups {
		if m := &s.groups[i]; m.source && m.hi == group.hi && m.lo == group.lo {
			n++
		}
	}
	return n
}

// wants reports whether a socket wants to hear a source of a group. member is false if it is
// not in the group.
func (s *socket) wants(group, source *address) (wants, member bool) {
	g := s.findMembership(group, nil)
	if g == nil {
		i := optGroupAll6
		if group.isV4() {
			i = optGroupAll
		}
		return s.options[i] != 0, false
	}
	return (s.findMembership(group, source) != nil) == g.include, true
}

// everyMachine reports whether a group is one that every machine is in.
func (a *address) everyMachine() bool {
	const allHosts = mapped | 224<<24 | 1
	return a.hi == 0 && a.lo == allHosts || (a.hi == 0xff01<<48 || a.hi == 0xff02<<48) && a.lo == 1
}

// isBroadcast reports whether an address stands for all machines at lo.
func (a *address) isBroadcast() bool { return a.hi == 0 && a.lo == mapped|0x7fffffff }

// deliverAll brings a datagram to all sockets that are to have it.
func (x *transfer) deliverAll(from, to *address) int64 {
	heard := !to.isMulticast() || to.everyMachine()
	for n := int32(1); n <= highSocket && !heard; n++ {
		if t := socketOf(n); t != nil {
			wants, member := t.wants(to, from)
			heard = wants && member
		}
	}
	for n := int32(1); n <= highSocket && heard; n++ {
		t := socketOf(n)
		if t == nil || !t.hearsInet(from, to) || t.in.room() < unsafe.Sizeof(datagram{})+x.total {
			continue
		}
		if wants, _ := t.wants(to, from); to.isMulticast() && !wants {
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
	case size < 8: // the address alone
		if v, ok := in32(at); ok {
			words[1] = v
			break
		}
		return -eFAULT
	default:
		if size = min(size, 12); size < 12 {
			size = 8
		}
		if !copyIn(uintptr(unsafe.Pointer(&words)), at, size) {
			return -eFAULT
		}
	}
	if words[2] > loIndex || words[2] == 0 && words[1] != 0 && uint8(words[1]) != 127 {
		return -eADDRNOTAVAIL
	}
	s.groupFrom = words[1]
	return 0
}
