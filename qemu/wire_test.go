package qemu

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/gopacket"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	netstack "gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/qemu/lossy"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// neighbor is the other machine on the wire, with a TCP/IP of its own, gVisor's: QEMU's network, which
// takes one connection at a time, and loses nothing, is not between the two.
type neighbor struct {
	t      *testing.T
	ether  *ether
	vm     *VM
	out    *log
	client http.Client // with a connection for each request
	asker  http.Client // with one for all of memory's
	stack  *netstack.Stack
	lines  [2]*lossy.Line // from the machine, and to it
}

const nicOfNeighbor = 1

// newNeighbor starts the other machine, by a wire that loses the share loss of the frames. It calls
// sent for each frame before it goes to the wire, and heard for each that comes from it, both from
// goroutines of their own.
func newNeighbor(t *testing.T, e *ether, loss float64, sent func([]byte), heard func(gopacket.Packet)) *neighbor {
	t.Helper()
	link := channel.New(4096, 1514, tcpip.LinkAddress(routerMAC))
	p := neighborAt(t, e, link)
	for way := range p.lines {
		p.lines[way] = lossy.NewLine(loss, uint64(way))
	}
	go func() {
		for {
			packet := link.ReadContext(t.Context())
			if packet == nil {
				return
			}
			v := packet.ToView()
			b := bytes.Clone(v.AsSlice())
			v.Release()
			packet.DecRef()
			sent(b)
			p.lines[1].Pass(b, func(b []byte) { e.conn.WriteTo(b, e.qemu) })
		}
	}()
	go func() {
		for packet := range e.frames {
			heard(packet)
			p.lines[0].Pass(packet.Data(), func(b []byte) {
				in := netstack.NewPacketBuffer(netstack.PacketBufferOptions{Payload: buffer.MakeWithData(b)})
				link.InjectInbound(0, in)
				in.DecRef()
			})
		}
	}()
	return p
}

// neighborAt is newNeighbor with a link of its own.
func neighborAt(t *testing.T, e *ether, link netstack.LinkEndpoint) *neighbor {
	t.Helper()
	p := &neighbor{t: t, ether: e, stack: netstack.New(netstack.Options{
		NetworkProtocols:   []netstack.NetworkProtocolFactory{arp.NewProtocol, ipv4.NewProtocol},
		TransportProtocols: []netstack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol},
	})}
	t.Cleanup(p.stack.Destroy)
	recovery := tcpip.TCPRecovery(0) // as package inet has it
	p.stack.SetTransportProtocolOption(tcp.ProtocolNumber, &recovery)
	if err := p.stack.CreateNIC(nicOfNeighbor, ethernet.New(link)); err != nil {
		t.Fatal(err)
	}
	// Three questions for a hardware address, one a second, may be lost, or come to a machine that is
	// busy. Then there would be no way to it.
	asks, _ := p.stack.NUDConfigurations(nicOfNeighbor, ipv4.ProtocolNumber)
	asks.MaxMulticastProbes, asks.MaxUnicastProbes = 60, 60
	if err := p.stack.SetNUDConfigurations(nicOfNeighbor, ipv4.ProtocolNumber, asks); err != nil {
		t.Fatal(err)
	}
	at := tcpip.AddressWithPrefix{Address: tcpip.AddrFrom4Slice(routerIP), PrefixLen: 24}
	p.stack.AddProtocolAddress(nicOfNeighbor,
		tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: at}, netstack.AddressProperties{})
	p.stack.SetRouteTable([]tcpip.Route{{Destination: at.Subnet(), NIC: nicOfNeighbor}})
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return gonet.DialContextTCP(ctx, p.stack, p.at(80), ipv4.ProtocolNumber)
	}
	p.client = http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	p.asker = http.Client{Timeout: limit, Transport: &http.Transport{DialContext: dial}}
	return p
}

// serve boots testdata/inet as a server on the wire.
func (p *neighbor) serve(c Config) {
	p.t.Helper()
	c.Kernel = built(p.t, image.BuildOptions{Package: "./testdata/inet", Inet: true})
	c.Extra, c.Timeout = p.ether.args, 20*limit
	c.Append = fmt.Sprintf("report=off net=on ip=%v::%v:255.255.255.0 -- serve", guestIP, routerIP)
	p.vm, p.out = start(p.t, c, "")
	p.out.For(p.t, "serving")
}

// at is a port of the machine.
func (p *neighbor) at(port uint16) tcpip.FullAddress {
	return tcpip.FullAddress{NIC: nicOfNeighbor, Addr: tcpip.AddrFrom4Slice(guestIP), Port: port}
}

// get asks the machine's server, again if the connection fails.
func (p *neighbor) get(path string) string { return p.ask(&p.client, path) }

func (p *neighbor) ask(client *http.Client, path string) (body string) {
	p.t.Helper()
	await.Poll(p.t, "an answer", func() bool {
		r, err := client.Get("http://machine" + path)
		if err != nil {
			return false
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		body = string(b)
		return err == nil
	})
	return body
}

// use is what the machine uses.
type use struct{ Heap, Goroutines, Memory int }

// memory asks what the machine uses. A connection that the server closes uses some for a minute, so
// the questions have one for all.
func (p *neighbor) memory() (u use) {
	p.t.Helper()
	if s := p.ask(&p.asker, "/memory"); json.Unmarshal([]byte(s), &u) != nil {
		p.t.Fatalf("the machine says %q", s)
	}
	return u
}

// answers sends the machine a datagram, and reports whether it comes back.
func (p *neighbor) answers() bool {
	p.t.Helper()
	to := p.at(7)
	c, err := gonet.DialUDP(p.stack, nil, &to, ipv4.ProtocolNumber)
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	c.Write([]byte("right"))
	c.SetReadDeadline(time.Now().Add(time.Second))
	b := make([]byte, 100)
	n, _ := c.Read(b)
	return string(b[:n]) == "right"
}
