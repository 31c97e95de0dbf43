package inet

import (
	"slices"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// mostOpening is how many connections may wait for the other machine's last word. One more takes
// the place of the oldest: who begins many and goes on with none (a SYN flood) keeps nobody else
// out.
const mostOpening = 256

// opening is the connections of which the stack has not had that word.
type opening struct {
	mu  sync.Mutex
	all []stack.TransportEndpointID // the oldest first
}

// opens notes a connection, until done is called.
func (n *network) opens(id stack.TransportEndpointID) (done func()) {
	o := &n.opening
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, id)
	if len(o.all) > mostOpening {
		oldest := o.all[0]
		go n.guard(func() { n.giveUp(oldest) })
		o.all = slices.Delete(o.all, 0, 1)
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if i := slices.Index(o.all, id); i >= 0 {
			o.all = slices.Delete(o.all, i, i+1)
		}
	}
}

// giveUp ends a connection that is still being made.
func (n *network) giveUp(id stack.TransportEndpointID) {
	e := n.FindTransportEndpoint(protocolOf(addr(id.LocalAddress)), tcp.ProtocolNumber, id, nicID)
	if s, ok := e.(tcpip.Endpoint); ok && tcp.EndpointState(s.State()) == tcp.StateSynRecv {
		s.Abort()
	}
}
