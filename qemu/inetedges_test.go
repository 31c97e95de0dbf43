package qemu

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// TestInetEdges: what clients seldom do ends as with Linux.
func TestInetEdges(t *testing.T) {
	t.Parallel()
	var reset atomic.Bool
	var told atomic.Value
	p := newNeighbor(t, newEther(t, "virtio-net-pci"), 0, func([]byte) {}, func(packet gopacket.Packet) {
		if s, ok := packet.TransportLayer().(*layers.TCP); ok && s.SrcPort == 22 && s.RST {
			reset.Store(true)
		}
		if u, ok := packet.TransportLayer().(*layers.UDP); ok && u.SrcPort == 23 {
			told.Store(string(u.Payload))
		}
	})
	p.serve(Config{MemoryMiB: 96})
	p.get("/edges")
	dial := func(port uint16, limit time.Duration) (net.Conn, error) {
		ctx, stop := context.WithTimeout(t.Context(), limit)
		defer stop()
		return gonet.DialContextTCP(ctx, p.stack, p.at(port), ipv4.ProtocolNumber)
	}

	// A backlog of one has room for two, and the stack may be at work on some more. Who comes later is
	// not heard until the program accepts.
	for n := 0; ; n++ {
		c, err := dial(21, time.Second)
		if err != nil {
			break
		}
		defer c.Close()
		if n == 20 {
			t.Fatal("the backlog is never full")
		}
	}
	p.get("/accept")
	c, err := dial(21, limit)
	if err != nil {
		t.Fatalf("when the program accepts: %v", err)
	}
	defer c.Close()
	c.Write([]byte("x"))
	if n, err := c.Read(make([]byte, 1)); n != 1 {
		t.Errorf("no echo: %v", err)
	}

	// A connection is reset at once, though nobody takes what was sent before.
	if c, err = dial(22, limit); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	await.Poll(t, "a reset", reset.Load)

	await.Poll(t, "an answer", func() bool { // which may be lost, as the question may
		if told.Load() != nil {
			return true
		}
		p.ether.send(&layers.Ethernet{SrcMAC: routerMAC, DstMAC: guestMAC, EthernetType: layers.EthernetTypeIPv4},
			&layers.IPv4{Version: 4, IHL: 5, TOS: 0x28, TTL: 44, Protocol: layers.IPProtocolUDP, SrcIP: routerIP, DstIP: guestIP},
			unsummed{&layers.UDP{SrcPort: 9999, DstPort: 23}}, gopacket.Payload("x"))
		return false
	})
	if want := "it came with <nil> 2:44 1:40"; told.Load() != want { // IP_TTL and IP_TOS
		t.Errorf("%q; want %q", told.Load(), want)
	}
}

// unsummed is a datagram's header without a sum (RFC 768).
type unsummed struct{ *layers.UDP }

func (u unsummed) SerializeTo(b gopacket.SerializeBuffer, o gopacket.SerializeOptions) error {
	return u.UDP.SerializeTo(b, gopacket.SerializeOptions{FixLengths: o.FixLengths})
}
