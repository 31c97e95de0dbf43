package inet

import (
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/faketime"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/zeroframe/zeroframe/kernel/linux"
)

// closer is a network whose program closes each connection at once.
func closer(t *testing.T) (n *network, ended chan *tcp.Endpoint) {
	t.Helper()
	ended = make(chan *tcp.Endpoint, 1)
	n = accepting(t, func(n *network, e *tcp.Endpoint) {
		e.Close()
		n.ended.add(e)
		ended <- e
	})
	return n, ended
}

// accepting is a network whose program does that with each connection.
func accepting(t *testing.T, do func(n *network, e *tcp.Endpoint)) *network {
	t.Helper()
	c := &card{in: channel.New(16, longest, "\x52\x54\x00\x12\x34\x56")}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.file = os.NewFile(uintptr(pair[0]), "frames") // that go
	t.Cleanup(func() { c.file.Close(); syscall.Close(pair[1]) })
	n := &network{card: c}
	c.begins, c.dhcp = n.begins, newDHCPConn(c)
	n.Stack = stack.New(stack.Options{
		Clock:              new(faketime.NullClock), // nothing is sent again, however slow the host is
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	t.Cleanup(n.Destroy)
	if err := n.CreateNIC(nicID, ethernet.New(direct{c, c.in, uintptr(pair[1])})); err != nil {
		t.Fatal(err)
	}
	for peer, own := range map[string]string{"10.0.2.2": "10.0.2.15", "fec0::2": "fec0::15"} {
		from, to := netip.MustParseAddr(peer), netip.MustParseAddr(own)
		n.AddStaticNeighbor(nicID, protocolOf(from), address(from), "\x52\x55\x0a\x00\x02\x02")
		at := tcpip.AddressWithPrefix{Address: address(to), PrefixLen: to.BitLen()}
		n.AddProtocolAddress(nicID, tcpip.ProtocolAddress{Protocol: protocolOf(to),
			AddressWithPrefix: at}, stack.AddressProperties{})
	}
	n.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nicID},
		{Destination: header.IPv6EmptySubnet, NIC: nicID}})
	accept := func(r *tcp.ForwarderRequest) {
		e, err := r.CreateEndpoint(new(waiter.Queue))
		if r.Complete(false); err != nil {
			return
		}
		do(n, e.(*tcp.Endpoint))
	}
	from := tcp.NewForwarder(n.Stack, 0, 16, accept)
	n.SetTransportProtocolHandler(tcp.ProtocolNumber, from.HandlePacket)
	return n
}

// next returns the next frame that goes.
func (n *network) next(t *testing.T) []byte {
	t.Helper()
	b := make([]byte, longest)
	k, err := n.card.file.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:k]
}

// sends has a packet come, and returns the next one with flags that goes.
func (n *network) sends(t *testing.T, p packet, flags header.TCPFlags) header.TCP {
	t.Helper()
	n.card.inject([]linux.CardFrame{frameOf(p.bytes(false))})
	for {
		_, s := check(t, n.next(t))
		if s.Flags() == flags {
			return s
		}
		if s.Flags()&header.TCPFlagRst != 0 {
			t.Errorf("a reset is sent")
		}
	}
}

// end has a connection begin that the program ends first, and returns it when it is over.
func (n *network) end(t *testing.T, six bool, sequence uint32,
	ended chan *tcp.Endpoint) *tcp.Endpoint {
	t.Helper()
	const syn, ack, fin = header.TCPFlagSyn, header.TCPFlagAck, header.TCPFlagFin
	s := n.sends(t, packet{six: six, sequence: sequence, flags: syn}, syn|ack)
	if s.AckNumber() != sequence+1 {
		t.Errorf("%d is acknowledged; want %d", s.AckNumber(), sequence+1)
	}
	p := packet{six: six, sequence: sequence + 1, ack: s.SequenceNumber() + 1, flags: ack}
	n.sends(t, p, ack|fin)
	p.ack, p.flags = p.ack+1, ack|fin
	n.sends(t, p, ack)
	c := <-ended
	for tcp.EndpointState(c.State()) != tcp.StateTimeWait {
		runtime.Gosched()
	}
	return c
}

// TestBeginsAgain: a connection that the program has ended does not keep the other machine from
// beginning the next one with the same ports, but a damaged frame leaves it alone.
func TestBeginsAgain(t *testing.T) {
	for _, six := range []bool{false, true} {
		n, ended := closer(t)
		c := n.end(t, six, 100, ended)
		again := packet{six: six, sequence: 5000, flags: header.TCPFlagSyn}
		answer := again
		answer.flags |= header.TCPFlagAck
		damaged, short := again.bytes(false), again.bytes(false)
		damaged[len(damaged)-1] ^= 1
		for name, b := range map[string][]byte{"damaged": damaged, "short": short[:len(short)-1],
			"an answer": answer.bytes(false)} {
			n.card.inject([]linux.CardFrame{frameOf(b)})
			if s := tcp.EndpointState(c.State()); s != tcp.StateTimeWait {
				t.Fatalf("version 6: %v: a frame that is %s makes it %v", six, name, s)
			}
		}
		n.card.inject([]linux.CardFrame{frameOf(again.bytes(false))})
		if s := tcp.EndpointState(c.State()); s == tcp.StateTimeWait {
			t.Fatalf("version 6: %v: it is still %v after the other machine has begun again", six, s)
		}
		n.end(t, six, 5000, ended)
	}
}

// TestMostEnded: the oldest of too many connections that the program has ended is forgotten.
func TestMostEnded(t *testing.T) {
	n, ended := closer(t)
	c := n.end(t, false, 100, ended)
	for i := range mostEnded {
		if s := tcp.EndpointState(c.State()); s != tcp.StateTimeWait {
			t.Fatalf("it is %v after %d others", s, i)
		}
		e, err := n.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, new(waiter.Queue))
		if err != nil {
			t.Fatal(err)
		}
		n.ended.add(e.(*tcp.Endpoint))
		e.Close()
	}
	if s := tcp.EndpointState(c.State()); s == tcp.StateTimeWait {
		t.Errorf("it is still %v after %d others", s, mostEnded)
	}
}
