// Package inet gives a program's sockets the network: TCP, UDP, IPv4 and IPv6 with other machines.
//
//	import _ "github.com/zeroframe/zeroframe/kernel/net/inet"
//
// The program itself stays as it is. `zf run -net` and `zf run -p` link this package into one that
// uses package net. The stack is gVisor's (gvisor.dev/gvisor/pkg/tcpip). It runs in goroutines on
// the card's frames (/dev/nic0), and takes and gives the program's connections and datagrams by the
// kernel's gateways (gateway.go of package kernel/linux says how).
//
// The address is that of the option ip=, or comes by DHCP; one of IPv6 comes from a router's
// advertisements. main begins when there is one, or after some seconds. The name servers go to
// /etc/resolv.conf.
//
// Everything here runs in goroutine context. The goroutines live as long as the program.
//
//	inet.go     the start
//	link.go     frames of the card
//	join.go     several of a connection that come are one packet
//	split.go    a long packet that goes is several
//	address.go  which addresses and routes there are
//	dhcp.go     the address that a server gives
//	sntp.go     the time of day that a server tells
//	router.go   what IPv6's routers say
//	clock.go    the stack's timers
//	asleep.go   a deadlock of the program's is found as without a network
//	hop.go      the neighbour that netconsole= sends to
//	workers.go  goroutines for connections
//	stream.go   connections
//	dial.go     connections to the program
//	opening.go  connections that are being made
//	ended.go    connections that have been ended
//	datagram.go datagrams
//	options.go  options that a connection's packets show
//	exit.go     what was sent arrives, though the program ends
//	refused.go  datagrams that nobody takes
//	toobig.go   packets that are too big for some network
//	failure.go  the program goes on when the stack does not
//	errno.go    the stack's errors as Linux's
//	gateway.go  calls of the kernel's gateways
package inet
