package inet

import (
	"sync"
	"weak"

	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// The stack keeps a connection that the program has ended first for another minute (TIME_WAIT), so
// that its late segments are not taken for those of the next connection with the same ports. It has
// no listeners to which it could pass a SYN that begins that next one, so it would ignore the SYN
// for the rest of the minute. Linux takes the SYN, and keeps a limited number of connections.

// mostEnded is how many connections are kept that the program has closed (Linux:
// tcp_max_tw_buckets). One more takes the place of the oldest.
const mostEnded = 2048

// ended is the connections that the program has closed.
type ended struct {
	mu   sync.Mutex
	all  [mostEnded]weak.Pointer[tcp.Endpoint]
	next int // the oldest
}

// add adds a connection.
func (e *ended) add(c *tcp.Endpoint) {
	e.mu.Lock()
	oldest := e.all[e.next].Value()
	e.all[e.next] = weak.Make(c)
	e.next = (e.next + 1) % mostEnded
	e.mu.Unlock()
	if oldest != nil {
		switch tcp.EndpointState(oldest.State()) {
		case tcp.StateTimeWait, tcp.StateFinWait2: // all that was sent has arrived
			oldest.Abort()
		}
	}
}

// begins makes room for a connection that another machine begins. What is left of the old one ends
// without a word: a reset would be one of the new connection to a router that translates addresses.
func (n *network) begins(id stack.TransportEndpointID) {
	e := n.FindTransportEndpoint(protocolOf(addr(id.LocalAddress)), tcp.ProtocolNumber, id, nicID)
	if c, ok := e.(*tcp.Endpoint); ok && tcp.EndpointState(c.State()) == tcp.StateTimeWait {
		n.card.mute.Store(true)
		c.Abort()
		n.card.mute.Store(false)
	}
}

// beginning reports whether a frame begins a connection (SYN), and returns which one.
func beginning(frame []byte) (id stack.TransportEndpointID, ok bool) {
	const start = header.EthernetMinimumSize
	if len(frame) < start {
		return id, false
	}
	data := frame[start:]
	var s header.TCP
	switch header.Ethernet(frame).Type() {
	case header.IPv4ProtocolNumber:
		ip := header.IPv4(data)
		if !ip.IsValid(len(data)) || ip.TransportProtocol() != header.TCPProtocolNumber ||
			ip.More() || ip.FragmentOffset() != 0 {
			return id, false
		}
		s, id.RemoteAddress, id.LocalAddress = ip.Payload(), ip.SourceAddress(), ip.DestinationAddress()
	case header.IPv6ProtocolNumber:
		ip := header.IPv6(data)
		if !ip.IsValid(len(data)) || ip.NextHeader() != uint8(header.TCPProtocolNumber) {
			return id, false
		}
		s, id.RemoteAddress, id.LocalAddress = ip.Payload(), ip.SourceAddress(), ip.DestinationAddress()
	}
	const kinds = header.TCPFlagSyn | header.TCPFlagAck | header.TCPFlagRst | header.TCPFlagFin
	if len(s) < header.TCPMinimumSize || s.Flags()&kinds != header.TCPFlagSyn || !intact(&id, s) {
		return id, false
	}
	id.RemotePort, id.LocalPort = s.SourcePort(), s.DestinationPort()
	return id, true
}

// intact reports whether a segment's checksum is right.
func intact(id *stack.TransportEndpointID, s header.TCP) bool {
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, id.RemoteAddress, id.LocalAddress,
		uint16(len(s)))
	return checksum.Checksum(s, sum) == 0xffff
}
