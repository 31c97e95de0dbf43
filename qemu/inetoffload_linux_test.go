package qemu

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	netstack "gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// What a card offers that can do more than pass frames on (Virtual I/O Device 1.2, 5.1.3): checksums
// (CSUM, GUEST_CSUM), and packets of TCP that are not cut into frames (HOST_TSO and GUEST_TSO, for IPv4
// and IPv6), in several buffers (MRG_RXBUF).
const (
	offersCut   = 1<<0 | 1<<11 | 1<<12
	offersWhole = 1<<1 | 1<<7 | 1<<8
	offersMerge = 1 << 15
	version1    = 1 << 32
)

// TestInetOffload: by a card that takes and gives long packets, with checksums left open, all bytes
// arrive, in both directions; what the card says wrongly harms nobody; and a death is heard.
func TestInetOffload(t *testing.T) {
	t.Parallel()
	const all = offersCut | offersWhole | offersMerge
	for _, tt := range []struct {
		name, device string
		offers       uint64
		out, in      bool // are packets long?
	}{
		{"modern", "virtio-net-pci,disable-legacy=on", all, true, true},
		{"legacy", "virtio-net-pci,disable-modern=on", all, true, true},
		{"sending", "virtio-net-pci", offersCut | offersMerge, true, false},
		{"receiving", "virtio-net-pci", offersWhole | offersMerge, false, true},
		{"apart", "virtio-net-pci,disable-modern=on", offersCut | offersWhole, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := newOffload(t, tt.device, tt.offers|version1, tt.in)
			r := rand.New(rand.NewPCG(1, 33))
			o.echo(r, 4<<20)
			o.datagrams(r)
			o.lie(r)
			o.echo(r, 1<<20)
			if got := o.get("/"); got != "hello from here" {
				t.Errorf("the server says %q", got)
			}
			o.die()
			o.mu.Lock()
			defer o.mu.Unlock()
			t.Logf("agreed %v; the longest packets: from the machine %d, to it %d; checksums that were open: %d, %d",
				o.vhost, o.longest[0], o.longest[1], o.open[0], o.open[1])
			if tt.out != (o.longest[0] > 16<<10) || tt.in != (o.longest[1] > 16<<10) || tt.out != (o.open[0] > 0) ||
				tt.in != (o.open[1] > 0) {
				t.Errorf("long packets: %v", o.longest)
			}
		})
	}
}

// offload is the neighbour of a machine, by such a card.
type offload struct {
	*neighbor
	vhost *vhost
	heard chan []byte // what the machine sends to receiverPort, as it dies

	mu            sync.Mutex
	longest, open [2]int // from the machine, and to it
}

const receiverPort = 6666

// newOffload boots the machine; in says whether it agrees to get such packets.
func newOffload(t *testing.T, device string, offers uint64, in bool) *offload {
	t.Helper()
	o := &offload{heard: make(chan []byte, 10_000)}
	link := &offloadLink{Endpoint: channel.New(0, 1514, tcpip.LinkAddress(routerMAC)), o: o}
	if in {
		link.SupportedGSOKind = netstack.HostGSOSupported
	}
	o.vhost = newVhost(t, device, offers, func(header, packet []byte) {
		o.check(header, packet)
		p := netstack.NewPacketBuffer(netstack.PacketBufferOptions{Payload: buffer.MakeWithData(packet)})
		link.InjectInbound(0, p)
		p.DecRef()
	})
	o.neighbor = neighborAt(t, &ether{t: t}, link)
	o.vm, o.out = start(t, Config{CPUs: 2, RAM: o.vhost.ram, Extra: o.vhost.args, Timeout: 10 * limit,
		Kernel: built(t, image.BuildOptions{Package: "./testdata/inet", Inet: true}),
		Append: fmt.Sprintf("report=off net=on ip=%v::%v:255.255.255.0 netconsole=@%[1]v/,%[3]d@%[2]v/%[4]v -- serve",
			guestIP, routerIP, receiverPort, routerMAC)}, "")
	o.out.For(t, "serving")
	return o
}

// note counts a packet: from the machine (0), or to it (1).
func (o *offload) note(way, length int, open bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.longest[way] = max(o.longest[way], length)
	if open {
		o.open[way]++
	}
}

// check completes a packet of the machine's, as a card does, and holds it against gopacket's.
func (o *offload) check(h, packet []byte) {
	le := binary.LittleEndian
	open := h[0] == 1
	o.note(0, len(packet), open)
	if open {
		size, start, offset := int(le.Uint16(h[4:])), int(le.Uint16(h[6:])), int(le.Uint16(h[8:]))
		head := start + int(packet[start+12]>>4*4)
		if start != 34 || offset != 16 || int(le.Uint16(h[2:])) != head || h[1] != 1 || size < 1000 ||
			head+size > 1514 || len(packet) <= 1514 || len(packet) > 1<<16 {
			o.t.Errorf("a packet of %d bytes with the header % x", len(packet), h)
			return
		}
		tcp := header.TCP(packet[start:])
		tcp.SetChecksum(^checksum.Checksum(tcp, 0))
	} else if len(packet) > 1514 || !bytes.Equal(h[:10], make([]byte, 10)) {
		o.t.Errorf("a frame of %d bytes with the header % x", len(packet), h)
	}
	p := gopacket.NewPacket(packet, layers.LayerTypeEthernet, gopacket.Default)
	if p.Layer(layers.LayerTypeIPv4) != nil {
		checkFrame(o.t, p)
	}
	if u, _ := p.Layer(layers.LayerTypeUDP).(*layers.UDP); u != nil && u.DstPort == receiverPort {
		o.heard <- bytes.Clone(u.Payload)
	}
}

// offloadLink is the neighbour's card.
type offloadLink struct {
	*channel.Endpoint
	o *offload
}

func (l *offloadLink) WritePackets(list netstack.PacketBufferList) (int, tcpip.Error) {
	const udp = 17
	for _, p := range list.AsSlice() {
		v := p.ToView()
		b, h := bytes.Clone(v.AsSlice()), make([]byte, vnetHeader)
		v.Release()
		le := binary.LittleEndian
		at := header.EthernetMinimumSize + header.IPv4MinimumSize
		ip := header.IPv4(b[header.EthernetMinimumSize:])
		switch {
		case p.GSOOptions.NeedsCsum:
			h[0] = 1
			le.PutUint16(h[6:], uint16(at))
			le.PutUint16(h[8:], 16)
			if len(b) > 1514 {
				h[1] = 1
				le.PutUint16(h[2:], uint16(p.HeaderSize()))
				le.PutUint16(h[4:], p.GSOOptions.MSS)
			}
		case l.SupportedGSOKind == netstack.HostGSOSupported && p.NetworkProtocolNumber == ipv4.ProtocolNumber &&
			ip.Protocol() == udp:
			h[0] = 1
			le.PutUint16(h[6:], uint16(at))
			le.PutUint16(h[8:], 6)
			u := header.UDP(b[at:])
			u.SetChecksum(header.PseudoHeaderChecksum(udp, ip.SourceAddress(), ip.DestinationAddress(), u.Length()))
		}
		l.o.note(1, len(b), h[0] > 0)
		l.o.vhost.send(h, b)
	}
	return list.Len(), nil
}

// echo sends n bytes to the machine, which sends them back.
func (o *offload) echo(r *rand.Rand, n int) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), limit)
	defer cancel()
	c, err := gonet.DialContextTCP(ctx, o.stack, o.at(7), ipv4.ProtocolNumber)
	if err != nil {
		o.t.Fatal(err)
	}
	defer c.Close()
	sent := noise(r, n)
	go func() {
		c.Write(sent)
		c.CloseWrite()
	}()
	c.SetReadDeadline(time.Now().Add(limit))
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
		o.t.Fatalf("%d of %d bytes came back, or others; %v", len(got), n, err)
	}
}

// datagrams sends some, of which each comes back.
func (o *offload) datagrams(r *rand.Rand) {
	o.t.Helper()
	to := o.at(7)
	c, err := gonet.DialUDP(o.stack, nil, &to, ipv4.ProtocolNumber)
	if err != nil {
		o.t.Fatal(err)
	}
	defer c.Close()
	for _, n := range []int{1, 2, 512, 1471, 1472} {
		sent, got := noise(r, n), make([]byte, 2000)
		c.SetDeadline(time.Now().Add(limit))
		c.Write(sent)
		if k, err := c.Read(got); err != nil || !bytes.Equal(got[:k], sent) {
			o.t.Fatalf("of a datagram of %d bytes %d came back, or others; %v", n, k, err)
		}
	}
}

// lie gives the machine packets with headers that are wrong.
func (o *offload) lie(r *rand.Rand) {
	ip := &layers.IPv4{Version: 4, IHL: 5, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: routerIP, DstIP: guestIP}
	tcp := &layers.TCP{SrcPort: 1, DstPort: 7, ACK: true}
	tcp.SetNetworkLayerForChecksum(ip)
	for i := range 2000 {
		b := gopacket.NewSerializeBuffer()
		gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, &layers.Ethernet{SrcMAC: routerMAC,
			DstMAC: guestMAC, EthernetType: layers.EthernetTypeIPv4}, ip, tcp, gopacket.Payload(noise(r, r.IntN(60_000>>r.IntN(10)))))
		h := noise(r, vnetHeader)
		if i%2 == 0 {
			h[11] = 0 // as many buffers as there might be
		}
		h[0] &= 3
		o.vhost.send(h, b.Bytes())
	}
}

// die has the machine die, which it tells by the same card.
func (o *offload) die() {
	o.t.Helper()
	for len(o.heard) > 0 {
		<-o.heard
	}
	go o.client.Get("http://machine/die")
	o.vm.Wait()
	var text strings.Builder
	await.Poll(o.t, "the trace by the card", func() bool {
		for len(o.heard) > 0 {
			text.Write(<-o.heard)
		}
		return strings.Contains(text.String(), "goroutine")
	})
}
