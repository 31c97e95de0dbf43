package qemu

import (
	"testing"
	"time"

	"github.com/google/gopacket"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
)

// TestInetLate: of many frames that come while the CPUs compete for the kernel lock, none waits for
// another one. A host that is busy may hold up a few.
func TestInetLate(t *testing.T) {
	t.Parallel()
	const frames, few, late = 3000, 5, 2 * time.Second
	p := newNeighbor(t, newEther(t, "virtio-net-pci"), 0, func([]byte) {}, func(gopacket.Packet) {})
	p.serve(Config{CPUs: 4})
	to := p.at(7)
	c, err := gonet.DialUDP(p.stack, nil, &to, ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, waited := make([]byte, 1), 0
	for range frames {
		c.Write(b)
		c.SetReadDeadline(time.Now().Add(late))
		if _, err := c.Read(b); err == nil {
			continue
		}
		if waited++; waited > few {
			t.Fatalf("%d answers are late", waited)
		}
		c.Write(b)
		c.SetReadDeadline(time.Now().Add(limit))
		for range 2 {
			if _, err := c.Read(b); err != nil {
				t.Fatal(err)
			}
		}
	}
}
