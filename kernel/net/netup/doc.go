// Package netup makes the machine a neighbour on its network, for programs that import it and
// images of zf build -net:
//
//	import _ "github.com/zeroframe/zeroframe/kernel/net/netup"
//
// It asks for the hardware address of netconsole='s receiver, or of the gateway on the way there,
// and tells package netconsole, which sends to all machines of the wire until then. It asks again
// from time to time, and learns from the frames it sees. It answers ARP requests for the machine's
// own address, pings and, with the option echo=on, datagrams to UDP port 7 (RFC 862). The own
// address is that of the option ip= or, without one, of netconsole=.
//
// It does not give the program a network: there are no sockets to other machines.
//
// Everything here runs in goroutine context, in two goroutines that live as long as the program.
// One of them waits for frames, so the runtime does not notice when all others wait for each other
// ("all goroutines are asleep"), as in any program with an open connection; the option watchdog=
// does.
//
//	netup.go    the two goroutines
//	neighbor.go the answers, and learning the next hop's hardware address
package netup
