package qemu

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	netwaiter "gvisor.dev/gvisor/pkg/waiter"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// TestInetEnds: a program learns how a connection ends, and of another machine, as on Linux, and a
// listener without room keeps clients waiting.
func TestInetEnds(t *testing.T) {
	t.Parallel()
	var begun atomic.Int32 // segments that begin a connection to the listener without room
	p := newNeighbor(t, newEther(t, "virtio-net-pci"), 0, func(b []byte) {
		packet := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
		if s, ok := packet.Layer(layers.LayerTypeTCP).(*layers.TCP); ok && s.SYN && s.DstPort == 4 {
			begun.Add(1)
		}
	}, func(gopacket.Packet) {})
	p.vm, p.out = start(t, Config{Kernel: built(t, image.BuildOptions{Package: "./testdata/inetends", Inet: true}),
		CPUs: 2, Timeout: 20 * limit, Extra: p.ether.args,
		Append: fmt.Sprintf("report=off net=on ip=%v::%v:255.255.255.0 -- %v", guestIP, routerIP, routerIP)}, "")
	for _, want := range []string{"mtu 1500 <nil>", "1473 bytes: message too long", "1472 bytes: <nil>",
		"[fe80::1]:9 dial udp6 [fe80::1]:9: connect: invalid argument", "[fe80::1%eth0]:9 <nil>",
		"[2001:db8::1]:9 dial udp6 [2001:db8::1]:9: connect: network is unreachable",
		fmt.Sprintf("own %v/24", guestIP), "own fe80::5054:ff:fe12:3456/64",
		"shared: true true", "ready"} {
		p.out.For(t, want+"\r\n")
	}
	finished := p.connect(1)
	finished.Shutdown(tcpip.ShutdownWrite)
	p.out.For(t, "end <nil>")
	finished.Abort()
	p.out.For(t, "after it: write: broken pipe")

	full := p.connect(2)
	p.out.For(t, "full <nil>")
	await.Poll(t, "the connection is reset", func() bool { return full.State() == uint32(tcp.StateError) })

	blocked := p.connect(3)
	p.out.For(t, "writes")
	blocked.Abort()
	p.out.For(t, "reset: write: connection reset by peer")

	answers := p.crowd(&begun)
	p.datagram(9, 19, 0xb9)
	for _, want := range []string{"datagram <nil>", "control 2 19", "control 1 185"} {
		p.out.For(t, want)
	}
	for range cap(answers) {
		if got := <-answers; got != "hello<nil>" {
			t.Errorf("a client has %q", got)
		}
	}
}

// connect makes a connection to a port of the machine, of which nobody reads.
func (p *neighbor) connect(port uint16) tcpip.Endpoint {
	p.t.Helper()
	var queue netwaiter.Queue
	e, err := p.stack.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &queue)
	if err != nil {
		p.t.Fatal(err)
	}
	e.Connect(p.at(port))
	await.Poll(p.t, "a connection", func() bool { return e.State() == uint32(tcp.StateEstablished) })
	return e
}

// crowd has clients connect to the listener without room, one after the other, until one has had to
// begin three times, which takes three seconds. It returns what each will have been told.
func (p *neighbor) crowd(begun *atomic.Int32) chan string {
	p.t.Helper()
	told := make(chan string)
	clients := int32(0)
	for again := int32(0); again < 2; again = begun.Load() - clients {
		clients++
		made := make(chan bool)
		go func() {
			c, err := gonet.DialContextTCP(context.Background(), p.stack, p.at(4), ipv4.ProtocolNumber)
			close(made)
			if err != nil {
				told <- err.Error()
				return
			}
			defer c.Close()
			b, err := io.ReadAll(c)
			told <- fmt.Sprint(string(b), err)
		}()
		await.Poll(p.t, "a client connects, or tries again", func() bool {
			select {
			case <-made:
				return true
			default:
				return begun.Load() >= clients+2
			}
		})
	}
	answers := make(chan string, clients)
	go func() {
		for range clients {
			answers <- <-told
		}
	}()
	return answers
}

// datagram sends one to a port of the machine.
func (p *neighbor) datagram(port uint16, hops, service int) {
	p.t.Helper()
	e, err := p.stack.NewEndpoint(udp.ProtocolNumber, ipv4.ProtocolNumber, new(netwaiter.Queue))
	if err != nil {
		p.t.Fatal(err)
	}
	defer e.Close()
	e.SetSockOptInt(tcpip.IPv4TTLOption, hops)
	e.SetSockOptInt(tcpip.IPv4TOSOption, service)
	if err := e.Connect(p.at(port)); err != nil {
		p.t.Fatal(err)
	}
	if _, err := e.Write(new(empty), tcpip.WriteOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// empty is the data of a datagram without any.
type empty struct{}

func (*empty) Read([]byte) (int, error) { return 0, io.EOF }
func (*empty) Len() int                 { return 0 }
