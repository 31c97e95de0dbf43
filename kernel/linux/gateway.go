package linux

import (
	"unsafe" // also for linkname

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/dev/nic"
	kernelimage "github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// The way to other machines. The kernel has no TCP/IP: package kernel/net/inet runs a stack in
// goroutines, and two of its sockets are the gateways. They use what Linux has for transparent
// proxies (Documentation/networking/tproxy.rst).
//
//	a program connects   the stack's listener (IP_TRANSPARENT) accepts. The address of its end is
//	                     the destination. The program's end stays "connecting" until the stack
//	                     says what has come of it (GatewayResult)
//	a program sends      the stack's socket for datagrams (IP_TRANSPARENT) receives. The control
//	                     message IPV6_ORIGDSTADDR has the destination
//	a program joins      the stack's socket for datagrams gets an empty one to the group, with no
//	                     hops to go, and asks whether some socket is in the group (GatewayMember)
//	the program exits    arch.ExitCall has the stack send what is left (GatewayExits)
//	the stack panics     the program goes on without a network (GatewayFails)
//	another machine      the stack connects from the other machine's address (IP_FREEBIND), or
//	                     sends a datagram with that address in IPV6_ORIGDSTADDR
//
// The stack also says which addresses the machine has. A program's own socket gets EPERM for
// IP_TRANSPARENT.

// stackLinked is set by package kernel/net/inet, if the image has it. Never written.
//
//go:linkname stackLinked
var stackLinked bool

// ofStack reports whether a socket is one of the network's stack.
func (s *socket) ofStack() bool {
	return stackLinked && s.isInet() &&
		s.options[optTransparent]|s.options[optFreeBind]|s.options[optFreeBind6] != 0
}

// HasStack reports whether the image contains that package. Any context.
func HasStack() bool { return stackLinked }

// Calls of ioctl for the stack's sockets, in Linux's range for those of a protocol
// (SIOCPROTOPRIVATE). Context: goroutine.
const (
	// GatewayResult takes an errno: that of a program's connect, or, of a connection that is made, of
	// what the program does next. 0 makes the connection.
	GatewayResult = 0x89e0 + iota
	// GatewayClosed returns 1 if the program has closed its end, or else 0.
	GatewayClosed
	// GatewayAddress takes the address of 24 bytes: an address of the machine, as of version 6, the
	// bits that it has in common with its neighbours', 1 to add it, 0 to remove it, 2 bytes that mean
	// nothing, and with one of version 4 the router's, or 0.
	GatewayAddress
	// GatewayListens takes the address of 18 bytes, an address of version 6 and a port. It returns 1
	// if there is a listener for it, 2 if its backlog is full, or else 0.
	GatewayListens
	// GatewayOptions takes the address of a word for each of wireOptions, which become those that the
	// program has set, and returns 1 if the stack was to look at them. Until that has been done, what
	// the program sends after it has set one cannot be read: GatewayChanged. Once the program has
	// reset the connection the error is ECONNRESET.
	GatewayOptions
	// GatewayRefused takes the address of 36 bytes, the addresses and ports of a datagram's sender and
	// of its destination, where nobody takes it: a socket that is connected so has that error.
	GatewayRefused
	// GatewayMember takes the address of 16 bytes, a group as of version 6. It returns 1 if a socket
	// is in the group on the network, or else 0.
	GatewayMember
	// GatewayExits closes the program's ends of all connections, because the program exits, and fills
	// in the GatewayLeft at an address.
	GatewayExits
	// GatewayFails ends the program's connections with other machines (ENETDOWN), because the stack
	// has failed. From then on there is no way to other machines (ENETUNREACH).
	GatewayFails
)

// GatewayChanged is the errno of a read before which the stack must look at the options.
const GatewayChanged = 85 // ERESTART, which no program gets

// GatewayLeft is what the stack has not got yet.
type GatewayLeft struct {
	Waiting   uint64 // bytes that wait for it
	Datagrams uint64 // bytes of datagrams that it has ever got, DatagramHeader of each among them
	Card      uint64 // frames that the card has not read
}

// DatagramHeader is how many bytes a datagram has in GatewayLeft besides its data.
const DatagramHeader = uint64(unsafe.Sizeof(datagram{}))

// wireOptions are the options of a connection that its packets show, as level and name. Never
// written.
var wireOptions = [...][2]uintptr{
	{levelTCP, 1}, {levelSocket, 9}, {levelTCP, 4}, {levelTCP, 5}, {levelTCP, 6}, {levelTCP, 18},
	{levelSocket, 7}, {levelSocket, 8}, {levelIP, 1}, {levelIP, 2}, {levelIPv6, 67}, {levelIPv6, 16},
}

const failed = -1

// ownAddress is an address that the machine has on its network.
type ownAddress struct {
	ip
	prefix uint8 // bits; of one of version 4, without the 96 before them
}

// isLinkLocal reports whether an address of version 6 means something on one network only
// (fe80::/10).
func (a *ip) isLinkLocal() bool { return a.hi>>54 == 0xfe80>>6 }

// linkGroup begins the groups of version 6 that mean something on one network only (ff02::/16).
const linkGroup = 0xff02

// Under the kernel lock.
var (
	// The stack's sockets, for connections and for datagrams; 0: there is none yet, failed: none any
	// more.
	gateways  [2]int32
	addresses [8]ownAddress
	numOwn    int // of addresses
)

// maxOwn6 is how many addresses of version 6 there can be: any machine of the network may say that
// it is a router and which ones begin here, and the server's of version 4 must still have room.
const maxOwn6 = len(addresses) - 2

// isGateway reports whether s is one of the stack's sockets by which programs reach other machines.
func (s *socket) isGateway() bool { return s.options[optTransparent] != 0 }

// mayBeGateway reports whether s may become one: the stack's are the first, before main begins.
func (s *socket) mayBeGateway() bool {
	return stackLinked && gateways[s.gatewayOf()] == noSocket
}

// becomeGateway has what goes to other machines come to s, if that is what it is for.
func (s *socket) becomeGateway() {
	percpu.AssertLocked()
	if s.isGateway() {
		gateways[s.gatewayOf()] = s.number
	}
}

// endGateway forgets s, which is being closed.
func (s *socket) endGateway() {
	if s.isInet() && gateways[s.gatewayOf()] == s.number {
		gateways[s.gatewayOf()] = noSocket
	}
}

func (s *socket) gatewayOf() int {
	if s.connects() {
		return 0
	}
	return 1
}

// gateway returns the socket that has what s sends to an address, or nil: the address is this
// machine's, or there is no stack.
func (s *socket) gateway(to *address) *socket {
	if to.isOwn() || to.isMulticast() || to.isBroadcast() || s.isGateway() || numOwn == 0 {
		return nil
	}
	return socketOf(gateways[s.gatewayOf()])
}

// isOwn reports whether it is an address of this machine.
func (a *ip) isOwn() bool {
	for _, o := range addresses[:numOwn] {
		if *a == o.ip {
			return true
		}
	}
	return a.isLoopback()
}

// isRemote reports whether it is an address of another machine. The stack's sockets have them,
// whose ports nobody here takes from anybody.
func (a *ip) isRemote() bool { return !a.isAny() && !a.isOwn() && !a.isMulticast() }

// sourceFor returns the machine's address from which it sends to another machine, nil if it has
// none of that kind.
func sourceFor(to *ip) (best *ownAddress) {
	for i := range addresses[:numOwn] {
		o := &addresses[i]
		if o.isV4() != to.isV4() {
			continue
		}
		if best == nil || o.isLinkLocal() == (to.isLinkLocal() || to.hi>>48 == linkGroup) {
			best = o
		}
	}
	return best
}

// hasRoute reports whether the machine has an address for talking to another machine.
func (a *ip) hasRoute() bool {
	from := sourceFor(a)
	return from != nil && (a.isLinkLocal() || !from.isLinkLocal())
}

// gatewayIoctl is ioctl for sockets of the stack.
func (s *socket) gatewayIoctl(op, argument uintptr) int64 {
	p := socketOf(s.peer)
	switch {
	case !s.isInet() || !s.isGateway() && s.options[optFreeBind] == 0 || !stackLinked:
	case op == GatewayResult && p != nil && p.stage == connecting && argument == 0:
		p.stage = connected
		p.changed()
		return 0
	case op == GatewayResult && p != nil && argument != 0:
		s.failPeer(p, int32(argument))
		return 0
	case op == GatewayResult:
		return -eNOTCONN
	case op == GatewayClosed:
		if p == nil {
			return 1
		}
		return 0
	case op == GatewayAddress:
		return setAddress(argument)
	case op == GatewayOptions:
		told := int64(0)
		if s.told {
			told, s.told = 1, false
		}
		if p == nil && s.err != 0 {
			return -eCONNRESET
		}
		var words [len(wireOptions)]uint32
		for i, o := range wireOptions {
			if at := s.findOption(o[0], o[1]); at >= 0 {
				words[i] = uint32(s.options[at])
			}
		}
		if !copyOut(argument, addressOf(&words), unsafe.Sizeof(words)) {
			return -eFAULT
		}
		return told
	case op == GatewayExits:
		left := exits()
		return copied(copyOut(argument, addressOf(&left), unsafe.Sizeof(left)))
	case op == GatewayFails:
		fails()
		return 0
	case op == GatewayRefused, op == GatewayListens, op == GatewayMember:
		return s.gatewayOfAddress(op, argument)
	}
	return -eNOTTY
}

// exitCalled is set once a goroutine has been sent to arch.ExitCall. Under the kernel lock.
var exitCalled bool

// exitCall has a goroutine that exits make arch.ExitCall first, in which the stack sends what is
// left, and reports whether it does. A runtime that dies exits by other functions.
func (c *call) exitCall() bool {
	percpu.AssertLocked()
	ra, ok := arch.LoadUser64(c.f.SP)
	t, known := kernelimage.PCTable()
	if !ok || !known || exitCalled || !stackLinked || *arch.ExitCall() == nil {
		return false
	}
	f, ok := t.Find(uintptr(ra) - 1)
	if !ok || !ascii.Same(f.Name(), "runtime.main") && !ascii.Same(f.Name(), "syscall.Exit") {
		return false
	}
	exitCalled = c.f.MakeExitCall()
	return exitCalled
}

// exits closes the program's ends of connections with other machines.
func exits() (left GatewayLeft) {
	for t := nextSocket(0); t != nil; t = nextSocket(t.number) {
		if !t.ofStack() {
			continue
		}
		if p := socketOf(t.peer); p != nil && p.stage != connecting {
			t.told = true // the stack does not hurry: what was sent may still arrive
			p.hangUp()
			p.peer = noSocket
		}
		left.Waiting += uint64(t.in.n)
	}
	if d := socketOf(gateways[1]); d != nil {
		left.Datagrams = d.taken
	}
	left.Card = uint64(nic.Waiting())
	return left
}

// fails ends all connections with other machines.
func fails() {
	gateways = [...]int32{failed, failed}
	for t := nextSocket(0); t != nil; t = nextSocket(t.number) {
		if p := socketOf(t.peer); p != nil && t.ofStack() {
			t.failPeer(p, eNETDOWN)
		}
	}
}

// failPeer ends the connection of s, a socket of the stack, with p, the program's, by an error.
func (s *socket) failPeer(p *socket, errno int32) {
	p.fail(errno)
	s.peer, s.finished = noSocket, true
	s.changed()
}

// gatewayOfAddress is gatewayIoctl for a call with an address of version 6, which a port and
// another address may follow.
func (s *socket) gatewayOfAddress(op, argument uintptr) int64 {
	size := uintptr(16)
	switch op {
	case GatewayListens:
		size = 18
	case GatewayRefused:
		size = 36
	}
	var raw rawAddress
	if !copyIn(addressOf(&raw), argument, size) {
		return -eFAULT
	}
	a, yes := address{ip: raw.ip(0), port: raw.big16(16)}, false
	switch op {
	case GatewayRefused:
		refused(&a, &address{ip: raw.ip(18), port: raw.big16(34)})
	case GatewayListens:
		l := s.findListener(&a)
		if l != nil && l.waiting > l.backlog && l.options[optReusePort] == 0 {
			return 2
		}
		yes = l != nil
	case GatewayMember:
		yes = isMember(&a.ip)
	}
	if yes {
		return 1
	}
	return 0
}

// refused gives the sockets with these addresses the error of a datagram that nobody takes.
func refused(local, remote *address) {
	for t := nextSocket(0); t != nil; t = nextSocket(t.number) {
		if t.protocol == protoUDP && t.stage == connected && t.isInet() &&
			t.local.same(local) && t.remote.same(remote) {
			t.err = eCONNREFUSED
			t.changed()
		}
	}
}

// tellOptions gives the stack's end of a connection the options that the program has set, and has
// the stack look at them, by an empty datagram with the connection's addresses that has no hops to
// go. Until it looks, it is told once.
func (s *socket) tellOptions() {
	p := socketOf(s.peer)
	if p == nil || s.kind != sockStream || !p.ofStack() {
		return
	}
	s.passOptions(p)
	if !p.told {
		p.told = true
		sendEmpty(&datagram{from: s.local.ip, port: s.local.port,
			to: s.remote.ip, toPort: s.remote.port})
	}
}

// passOptions sets the options of t that packets show to those of s.
func (s *socket) passOptions(t *socket) {
	for _, o := range wireOptions {
		from, to := s.findOption(o[0], o[1]), t.findOption(o[0], o[1])
		if from >= 0 && to >= 0 {
			t.options[to] = s.options[from]
		}
	}
}

// sendEmpty sends a datagram without data to the stack. It returns false if there is no room.
func sendEmpty(h *datagram) bool {
	to := socketOf(gateways[1])
	if to == nil || to.in.room() < unsafe.Sizeof(*h) {
		return false
	}
	to.in.add(addressOf(h), unsafe.Sizeof(*h), true)
	to.changed()
	return true
}

// fail ends a connection with an error of the network's. One that is not made yet may be tried
// again.
func (s *socket) fail(errno int32) {
	if s.stage == connecting {
		s.stage, s.peer, s.err = fresh, noSocket, errno
		s.changed()
		return
	}
	s.reset(errno)
}

// setAddress adds or removes an address of the machine.
func setAddress(at uintptr) int64 {
	var raw rawAddress
	if !copyIn(addressOf(&raw), at, 24) {
		return -eFAULT
	}
	o := ownAddress{raw.ip(0), raw[16]}
	for i := range addresses[:numOwn] {
		if addresses[i].ip == o.ip {
			numOwn--
			addresses[i] = addresses[numOwn]
			break
		}
	}
	if o.isV4() {
		gateway4 = 0
	}
	if raw[17] == 0 {
		return 0
	}
	own6 := 0
	for i := range addresses[:numOwn] {
		if !addresses[i].isV4() {
			own6++
		}
	}
	if numOwn == len(addresses) || !o.isV4() && own6 >= maxOwn6 {
		return -eNOBUFS
	}
	addresses[numOwn] = o
	numOwn++
	if o.isV4() {
		gateway4 = uint32(raw.big64(16))
	}
	return 0
}
