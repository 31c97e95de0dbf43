// Package netup makes the machine a neighbour on its network, for programs that import
// it and images of zf build -net:
//
//	import _ "github.com/zeroframe/zeroframe/kernel/net/netup"
//
// It asks for the hardware address of the machine that netconsole= sends to, or of the
// gateway on the way there, and tells package netconsole, which addresses all machines of
// the wire until then. It asks again from time to time, and learns from what it sees. And
// it answers: ARP requests for the machine's own address, ping and, with the option echo=on,
// what is sent to the UDP port 7 (RFC 862). The own address is that of the option ip= or, without
// one, of netconsole=.
//
// It is no network for the program: there are no sockets to other machines.
//
// Everything here runs in goroutine context, in two goroutines that are there as long as
// the program is. One of them waits for frames, so the runtime does not see that all
// others wait for each other ("all goroutines are asleep"), as in any program with an
// open connection; the option watchdog= does.
//
//	netup.go    the two goroutines
//	neighbor.go what to answer, and whose hardware address is learned
package netup
