package linux

import "github.com/zeroframe/zeroframe/kernel/percpu"

// Which socket has which Internet address.

// Ports that are given to sockets that ask for none in particular.
const (
	firstPort = 32768
	lastPort  = 60999
)

var lastGiven uint16 = lastPort // under the kernel lock

// portLists are how many lists there are of the sockets of a port, each with those of other ports,
// too.
const portLists = 512

// ports are the sockets with Internet addresses by their ports: those of bind, which alone can be
// found by others, and those that a listener has made of connections, thousands with one port. They
// are linked by nextOfPort. Under the kernel lock.
var ports [2][portLists]int32

// listPort puts a socket into the lists, when it has its port.
func (s *socket) listPort(accepted int) {
	percpu.AssertLocked()
	head := &ports[accepted][s.local.port%portLists]
	s.accepted, s.bound = accepted == 1, true
	s.nextOfPort, s.beforeOfPort = *head, noSocket
	if t := socketOf(*head); t != nil {
		t.beforeOfPort = s.number
	}
	*head = s.number
}

// unlistPort takes a socket out of the lists.
func (s *socket) unlistPort() {
	if !s.bound || !s.isInet() {
		return
	}
	if t := socketOf(s.nextOfPort); t != nil {
		t.beforeOfPort = s.beforeOfPort
	}
	if t := socketOf(s.beforeOfPort); t != nil {
		t.nextOfPort = s.nextOfPort
	} else if s.accepted {
		ports[1][s.local.port%portLists] = s.nextOfPort
	} else {
		ports[0][s.local.port%portLists] = s.nextOfPort
	}
}

// covers reports whether a socket with address a receives what is sent to b.
//
//go:noinline
func (s *socket) covers(a, b *address) bool {
	switch {
	case a.ip == b.ip:
		return true
	case a.hi != 0:
		return false
	case a.lo == mapped:
		return b.isV4()
	case a.lo == 0:
		return !b.isV4() || s.options[optV6Only] == 0
	}
	return false
}

// portTaken reports whether another socket prevents s from having address a: both would receive the
// same, and they have not agreed to share.
func (s *socket) portTaken(a *address) bool {
	for list := range ports {
		for t := socketOf(ports[list][a.port%portLists]); t != nil; t = socketOf(t.nextOfPort) {
			if t == s || t.protocol != s.protocol || t.local.port != a.port || t.local.isRemote() {
				continue
			}
			if !s.covers(a, &t.local) && !t.covers(&t.local, a) {
				continue
			}
			if s.options[optReusePort] != 0 && t.options[optReusePort] != 0 {
				continue
			}
			if s.options[optReuseAddr] != 0 && t.options[optReuseAddr] != 0 &&
				(s.kind == sockDgram || s.stage != listening && t.stage != listening) {
				continue
			}
			return true
		}
	}
	return false
}

// turn chooses between sockets that share a port (SO_REUSEPORT), by who sends.
type turn struct{ hash, n uint64 }

func sharing(from ip, port uint16) turn {
	return turn{from.hi ^ from.lo ^ uint64(port)<<32, 1}
}

// takes reports whether t takes the place of the best socket before it, which is as good. Each of n
// does for one sender of n.
func (x *turn) takes(best, t *socket) bool {
	if best.options[optReusePort]&t.options[optReusePort] == 0 {
		return false
	}
	x.n++
	x.hash = x.hash*6364136223846793005 + 1442695040888963407 // Knuth's, for MMIX
	return x.hash>>33%x.n == 0
}

// takePort gives a socket its address, with a free port if the address has none.
func (s *socket) takePort(a *address) int64 {
	if a.port != 0 {
		if !a.isRemote() && s.portTaken(a) {
			return -eADDRINUSE
		}
	} else {
		found := false
		for i := firstPort; i <= lastPort && !found; i++ {
			lastGiven++
			if lastGiven > lastPort {
				lastGiven = firstPort
			}
			a.port = lastGiven
			found = !portInUse(s.protocol, a.port)
		}
		if !found {
			return -eADDRINUSE
		}
	}
	s.local.ip, s.local.port = a.ip, a.port
	s.listPort(0)
	return 0
}

// portInUse reports whether any socket has that port.
func portInUse(protocol, port uint16) bool {
	for list := range ports {
		for t := socketOf(ports[list][port%portLists]); t != nil; t = socketOf(t.nextOfPort) {
			if t.protocol == protocol && t.local.port == port && !t.local.isRemote() {
				return true
			}
		}
	}
	return false
}

// bindAny gives a socket a port, if it has none.
func (s *socket) bindAny() int64 {
	if s.bound {
		return 0
	}
	a := address{ip: s.local.ip}
	return s.takePort(&a)
}

func sysBind(c *call, _ *file, s *socket) int64 {
	var a address
	if errno := s.inAddress(&a, c.pointer(1), uintptr(c.uint(2))); errno != 0 {
		return errno
	}
	if s.family != afInet && a.family != s.family || s.family == afInet && a.family == afUnspec &&
		uintptr(c.uint(2)) < sizeInet {
		return -eINVAL
	}
	switch s.family {
	case afUnix:
		return s.bindName(&a)
	case afNetlink:
		return s.bindLink(uint32(a.lo))
	}
	if a.family == afUnspec { // as Linux lets old programs do, for any address
		a = address{ip: ip{lo: mapped}}
	}
	switch {
	case s.bound || s.stage != fresh:
		return -eINVAL
	case a.family == afInet6 && s.options[optV6Only] != 0 && a.isV4():
		return -eINVAL
	case a.isLinkLocal() && s.lacksZone(&a):
		return -eINVAL
	case !a.isAny() && !a.isOwn() && !s.bindsFreely() && !(s.kind == sockDgram &&
		(a.isMulticast() || a.isBroadcast())):
		return -eADDRNOTAVAIL
	}
	errno := s.takePort(&a)
	if errno == 0 && !s.connects() {
		s.becomeGateway()
	}
	return errno
}

// bindsFreely reports whether the socket may have addresses that the machine does not have.
func (s *socket) bindsFreely() bool {
	return s.options[optFreeBind]|s.options[optFreeBind6] != 0
}

// lacksZone reports whether an address means something on one network only, and the program has
// not said on which. (The network's stack has one.)
func (s *socket) lacksZone(a *address) bool {
	return (a.isLinkLocal() || a.hi>>48 == linkGroup && s.options[optGroupIf6] == 0) &&
		a.link == 0 && !s.ofStack()
}

// route completes a destination: the "any" address becomes this machine's. It returns an error if
// there is no way to it.
func (s *socket) route(a *address) int64 {
	if a.isAny() {
		if a.lo == mapped {
			a.lo = loopback4
		} else {
			a.lo = loopback6
		}
	}
	switch {
	case s.family == afInet6 && a.isV4() && s.options[optV6Only] != 0:
		return -eNETUNREACH
	case s.gateway(a) != nil && a.hasRoute():
		if s.bound && s.local.isLoopback() {
			return -eINVAL
		}
	case !a.isOwn() && !(s.kind == sockDgram && (a.isMulticast() || a.isBroadcast())),
		s.kind != sockDgram && a.isBroadcast():
		if numOwn == 0 {
			noRoute.say()
		}
		return -eNETUNREACH
	case a.isBroadcast() && s.options[optBroadcast] == 0 && !s.isGateway():
		return -eACCES
	case s.bound && !s.local.isAny() && s.local.isV4() != a.isV4() && !s.isGateway():
		if s.local.isV4() {
			return -eNETUNREACH
		}
		return -eINVAL
	}
	return 0
}

// source sets from to the source address of what s sends to an address.
func (s *socket) source(from, to *address) {
	from.family, from.port, from.ip = s.family, s.local.port, s.local.ip
	if s.local.isAny() || s.local.isMulticast() {
		from.ip = ip{0, loopback6}
		if to.isOwn() && !to.isLoopback() {
			from.ip = to.ip
		} else if o := sourceFor(&to.ip); o != nil && !to.isLoopback() && (!to.isMulticast() ||
			s.linkTo(to, 0) == ethIndex) {
			from.ip = o.ip
		} else if to.isV4() {
			from.lo = loopback4
			if to.isMulticast() && s.groupFrom != 0 {
				from.lo = mapped | inMemory(s.groupFrom)
			}
		}
	}
}
