package linux

import "github.com/zeroframe/zeroframe/kernel/dev/nic"

// What /proc/net says of interfaces, groups and sockets (proc_pid_net(5); Linux:
// net/ipv4/tcp_ipv4.c, net/ipv4/udp.c, net/ipv4/igmp.c, net/ipv6/mcast.c). What the stack alone
// knows is not there: its neighbours, and its connections' timers.

// traffic counts what went through the card for the network stack. Under the kernel lock.
var traffic struct{ inBytes, inFrames, outBytes, outFrames uint64 }

// hasEth0 reports whether the network card is an interface for sockets.
func hasEth0() bool { return stackLinked && nic.Up() }

func putDev(int32) {
	put(`Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
`)
	const row = " %7d %7d    0    0    0     0          0         0 %8d %7d    0    0    0     0       0          0\n"
	put("    lo:")
	putf(row, 0, 0, 0, 0)
	if hasEth0() {
		put("  eth0:")
		putf(row, traffic.inBytes, traffic.inFrames, traffic.outBytes, traffic.outFrames)
	}
}

func putInet6Addresses(int32) {
	put("00000000000000000000000000000001 01 80 10 80       lo\n")
	for i := range addresses[:numOwn] {
		o := &addresses[i]
		if o.isV4() {
			continue
		}
		scope := uint64(0)
		switch {
		case o.isLinkLocal():
			scope = 0x20
		case o.hi>>54 == 0xfec0>>6: // of a site, which RFC 3879 has given up
			scope = 0x40
		}
		putf("%16x%16x %2x %2x %2x 80     eth0\n", o.hi, o.lo, ethIndex, uint64(o.prefix), scope)
	}
}

// gateway4 is the router of version 4, as the stack has told it; 0 if there is none. Under the
// kernel lock.
var gateway4 uint32

func putRoutes(int32) {
	put("Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n")
	if gateway4 != 0 {
		putf("eth0\t00000000\t%8X\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", inMemory(gateway4))
	}
	for i := range addresses[:numOwn] {
		if o := &addresses[i]; o.isV4() {
			mask := ^uint32(0) << (32 - o.prefix)
			putf("eth0\t%8X\t00000000\t0001\t0\t0\t0\t%8X\t0\t0\t0\n",
				inMemory(uint32(o.lo)&mask), inMemory(mask))
		}
	}
}

// inMemory returns an address of version 4 as it lies in memory, which is how these files have it.
func inMemory(v uint32) uint64 {
	return uint64(v>>24 | v>>8&0xff00 | v<<8&0xff0000 | v<<24)
}

// putSockets writes the sockets of a family, in the upper byte, and a protocol.
func putSockets(of int32) {
	protocol, family := uint16(of&0xff), uint16(of>>8)
	switch {
	case family == afInet6:
		put("  sl  local_address                         remote_address                       ")
	case protocol == protoUDP:
		put("   sl  local_address rem_address  ")
	default:
		put("  sl  local_address rem_address  ")
	}
	put(" st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode")
	if protocol == protoUDP {
		put(" ref pointer drops")
	}
	put("\n")
	row := uint64(0)
	for s := nextSocket(0); s != nil; s = nextSocket(s.number) {
		if s.protocol != protocol || s.family != family || !s.bound || s.ofStack() {
			continue
		}
		if protocol == protoUDP {
			put(" ")
		}
		putf("%4d: ", row)
		putAddress(&s.local, family)
		putAddress(&s.remote, family)
		inode := uint64(0)
		if s.file > 0 {
			inode = 1<<32 + uint64(s.file-1)
		}
		putf("%2X 00000000:%8X 00:00000000 00000000     0        0 %d 1 0000000000000000",
			s.stateNumber(), uint64(s.in.n), inode)
		if protocol == protoUDP {
			put(" 0\n")
		} else {
			put(" 20 4 30 10 -1\n")
		}
		row++
	}
}

// stateNumber is the state's in enum tcp_states (include/net/tcp_states.h).
func (s *socket) stateNumber() uint64 {
	const established, synSent, finWait2, closed, closeWait, lastAck, listen = 1, 2, 5, 7, 8, 9, 10
	switch {
	case s.stage == listening:
		return listen
	case s.stage == connecting:
		return synSent
	case s.stage != connected:
		return closed
	case !s.connects() || !s.shutWrite && !s.finished:
		return established
	case !s.shutWrite:
		return closeWait
	case !s.finished:
		return finWait2
	}
	return lastAck
}

func putAddress(a *address, family uint16) {
	words := [...]uint32{uint32(a.hi >> 32), uint32(a.hi), uint32(a.lo >> 32), uint32(a.lo)}
	if family == afInet {
		words[0] = words[3]
		putf("%8X", inMemory(words[0]))
	} else {
		for _, w := range words {
			putf("%8X", inMemory(w))
		}
	}
	putf(":%4X ", uint64(a.port))
}

// putGroups returns how many groups of one version sockets are in on an interface, and with write
// writes them, each once.
func putGroups(link uint32, v4, write bool) (count uint64) {
	for s := nextSocket(0); s != nil; s = nextSocket(s.number) {
		for i := range s.groups {
			m := &s.groups[i]
			if m.link != link || (m.hi == 0) != v4 {
				continue
			}
			users, before := uint64(0), false
			for t := nextSocket(0); t != nil; t = nextSocket(t.number) {
				if t.isIn(m) {
					users++
					before = before || t.number < s.number
				}
			}
			if before {
				continue
			}
			if count++; write {
				putGroup(m, users)
			}
		}
	}
	return count
}

func putGroup(m *membership, users uint64) {
	if m.hi == 0 {
		putf("\t\t\t\t%8X %5d 0:00000000\t\t0\n", inMemory(uint32(m.lo)), users)
		return
	}
	putf("%d    ", uint64(m.link))
	put(linkNames[m.link])
	putTo(21)
	putf("%16x%16x %5d 00000004 0\n", m.hi, m.lo, users)
}

// isIn reports whether a socket has a membership.
func (s *socket) isIn(m *membership) bool {
	for i := range s.groups {
		if s.groups[i] == *m {
			return true
		}
	}
	return false
}

// linkNames are the names of interfaces, by their numbers. Never written.
var linkNames = [...]string{loIndex: "lo", ethIndex: "eth0"}

func putGroups4(int32) {
	put("Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n")
	for link := uint32(loIndex); link <= lastLink(); link++ {
		putf("%d\t", uint64(link))
		put(linkNames[link])
		putTo(12)
		putf(": %5d      V3\n", putGroups(link, true, false)+1)
		putGroups(link, true, true)
		putGroup(&membership{ip: ip{0, mapped | 224<<24 | 1}}, 1)
	}
}

func putGroups6(int32) {
	for link := uint32(loIndex); link <= lastLink(); link++ {
		putGroups(link, false, true)
		putGroup(&membership{ip{linkGroup << 48, 1}, link}, 1)
	}
}
