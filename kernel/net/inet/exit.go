package inet

import (
	"syscall"
	"time"
	"unsafe"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"github.com/zeroframe/zeroframe/kernel/linux"
)

// On Linux, what a program has sent leaves the machine also after the program has exited, and its
// connections are closed then. Here the stack ends with the program: so os.Exit, and the return of
// main, wait until that has been done.

const (
	lastLimit = 3 * time.Second // for machines that do not answer any more
	lastLook  = time.Millisecond
)

// finish closes the program's connections, and waits until all that was sent has arrived.
func (n *network) finish(gate syscall.RawConn) {
	for began := time.Now(); !n.finished(gate) && time.Since(began) < lastLimit; {
		time.Sleep(lastLook) // a timer of the runtime's: the program is not asleep
	}
}

// finished reports whether nothing is on its way: from the program to the stack, from there to
// another machine that has not confirmed it or is being looked for, or to the card.
func (n *network) finished(gate syscall.RawConn) bool {
	var left linux.GatewayLeft
	gate.Control(func(fd uintptr) {
		ioctl(fd, linux.GatewayExits, uintptr(unsafe.Pointer(&left)))
	})
	if left.Waiting > 0 || left.Datagrams != n.datagrams.Load() || n.sending.Load() > 0 ||
		left.Card != 0 {
		return false
	}
	for _, e := range n.RegisteredEndpoints() {
		if e, ok := e.(tcpip.Endpoint); ok {
			switch tcp.EndpointState(e.State()) {
			case tcp.StateEstablished, tcp.StateCloseWait, tcp.StateFinWait1, tcp.StateClosing,
				tcp.StateLastAck:
				return false
			}
		}
	}
	for _, p := range []tcpip.NetworkProtocolNumber{ipv4.ProtocolNumber, ipv6.ProtocolNumber} {
		all, _ := n.Neighbors(nicID, p)
		for _, neighbor := range all {
			if neighbor.State == stack.Incomplete {
				return false
			}
		}
	}
	return true
}
