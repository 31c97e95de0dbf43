package inet

import (
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
	lastInAll = time.Minute     // for those that do, and take nothing
	lastLook  = time.Millisecond
)

// finish closes the program's connections, and waits until all that was sent has arrived.
func (n *network) finish() {
	done, silent := make(chan struct{}), time.NewTimer(lastLimit)
	go n.guard(func() { // the stack may hang
		defer close(done)
		for before := uint64(0); !n.over.Load() && !n.finished(); {
			if now := n.answers(); now != before {
				before = now
				silent.Reset(lastLimit)
			}
			time.Sleep(lastLook) // a timer of the runtime's: the program is not asleep
		}
	})
	select {
	case <-done:
	case <-silent.C:
	case <-time.After(lastInAll):
	}
}

// answers changes when another machine has sent something by a connection, or one has ended, or a
// datagram has been sent.
func (n *network) answers() uint64 {
	sum := n.datagrams.Load()
	for _, e := range n.RegisteredEndpoints() {
		if e, ok := e.(*tcp.Endpoint); ok {
			sum += 1 + e.Stats().(*tcp.Stats).SegmentsReceived.Value()
		}
	}
	return sum
}

// finished reports whether nothing is on its way: from the program to the stack, from there to
// another machine that has not confirmed it or is being looked for, or to the card.
func (n *network) finished() bool {
	var left linux.GatewayLeft
	n.gate.Control(func(fd uintptr) {
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
