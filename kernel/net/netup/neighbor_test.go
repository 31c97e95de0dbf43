package netup

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
)

var (
	ours   = netconsole.Hardware{0x52, 0x54, 0, 0x12, 0x34, 0x56}
	theirs = net.HardwareAddr{0x02, 0, 0, 0, 0, 9}
	self   = netconsole.Address{10, 0, 2, 15}
	router = netconsole.Address{10, 0, 2, 2}
)

func newNeighbor() *neighbor { return &neighbor{own: self, hardware: ours, hop: router, echo: true} }

// frame makes a frame of layers.
func frame(t testing.TB, l ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := serialize(l...)
	if b == nil {
		t.Fatal("cannot be serialized")
	}
	return b
}

func toUs() *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: theirs, DstMAC: ours[:], EthernetType: layers.EthernetTypeIPv4}
}

func packet(p layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 9, Protocol: p, SrcIP: net.IP{10, 0, 2, 9}, DstIP: text(self)}
}

func ping(payload string) []gopacket.SerializableLayer {
	return []gopacket.SerializableLayer{
		&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0), Id: 77, Seq: 3}, gopacket.Payload(payload),
	}
}

func arp(operation uint16, from, to netconsole.Address) []gopacket.SerializableLayer {
	return []gopacket.SerializableLayer{
		&layers.Ethernet{SrcMAC: theirs, DstMAC: netconsole.Broadcast[:], EthernetType: layers.EthernetTypeARP},
		&layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
			Operation: operation, SourceHwAddress: theirs, SourceProtAddress: from[:], DstHwAddress: make([]byte, 6), DstProtAddress: to[:]},
	}
}

// read decodes an answer, and compares its lengths and checksums with gopacket's.
func read(t *testing.T, b []byte) gopacket.Packet {
	t.Helper()
	p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
	if e := p.ErrorLayer(); e != nil {
		t.Fatalf("%x: %v", b, e.Error())
	}
	eth := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
	if !bytes.Equal(eth.SrcMAC, ours[:]) || !bytes.Equal(eth.DstMAC, theirs) {
		t.Errorf("from %v to %v; want from %v to %v", eth.SrcMAC, eth.DstMAC, net.HardwareAddr(ours[:]), theirs)
	}
	return p
}

func TestPing(t *testing.T) {
	for _, payload := range []string{"", "x", "abcdefgh", string(make([]byte, 1472))} {
		answer, hop := newNeighbor().handle(frame(t, append([]gopacket.SerializableLayer{toUs(), packet(layers.IPProtocolICMPv4)}, ping(payload)...)...))
		if hop != nil || answer == nil {
			t.Fatalf("%d bytes: %x, %v", len(payload), answer, hop)
		}
		p := read(t, answer)
		ip, icmp := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4), p.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
		if !ip.SrcIP.Equal(text(self)) || ip.DstIP.String() != "10.0.2.9" || icmp.TypeCode.Type() != layers.ICMPv4TypeEchoReply ||
			icmp.Id != 77 || icmp.Seq != 3 || string(icmp.Payload) != payload {
			t.Errorf("%d bytes: answered by %v", len(payload), p)
		}
		if fold(icmp.Contents, icmp.Payload) != 0xffff || fold(ip.Contents) != 0xffff {
			t.Errorf("%d bytes: wrong checksums", len(payload))
		}
	}
}

// fold returns the ones' complement sum, which is 0xffff if the parts include their checksum.
func fold(parts ...[]byte) (s uint32) {
	b := bytes.Join(parts, nil)
	for i, v := range b {
		s += uint32(v) << (8 * uint(1-i%2))
	}
	return s&0xffff + s>>16
}

func TestEcho(t *testing.T) {
	n := newNeighbor()
	n.echo = false
	echo := func(from layers.UDPPort) []byte {
		u := &layers.UDP{SrcPort: from, DstPort: 7}
		u.SetNetworkLayerForChecksum(packet(layers.IPProtocolUDP))
		answer, _ := n.handle(frame(t, toUs(), packet(layers.IPProtocolUDP), u, gopacket.Payload("hello")))
		return answer
	}
	if echo(5000) != nil {
		t.Error("it answers without the option echo=on")
	}
	n.echo = true
	for _, from := range []layers.UDPPort{0, 7, 13, 19, 53, 1023} {
		if echo(from) != nil {
			t.Errorf("it answers the service at port %d", from)
		}
	}
	answer := echo(5000)
	if answer == nil {
		t.Fatal("no answer")
	}
	udp := read(t, answer).Layer(layers.LayerTypeUDP).(*layers.UDP)
	if udp.SrcPort != 7 || udp.DstPort != 5000 || string(udp.Payload) != "hello" || udp.Checksum == 0 {
		t.Errorf("answered by %+v", udp)
	}
}

func TestARP(t *testing.T) {
	other := netconsole.Address{10, 0, 2, 9}
	n := newNeighbor()
	answer, hop := n.handle(frame(t, arp(layers.ARPRequest, other, self)...))
	if answer == nil || hop != nil {
		t.Fatalf("a request: %x, %v", answer, hop)
	}
	a := read(t, answer).Layer(layers.LayerTypeARP).(*layers.ARP)
	if a.Operation != layers.ARPReply || !bytes.Equal(a.SourceHwAddress, ours[:]) || !bytes.Equal(a.SourceProtAddress, self[:]) ||
		!bytes.Equal(a.DstHwAddress, theirs) || !bytes.Equal(a.DstProtAddress, other[:]) {
		t.Errorf("answered by %+v", a)
	}
	for _, tt := range []struct {
		name         string
		frame        []gopacket.SerializableLayer
		answer, hops bool
	}{
		{"a reply of the router", arp(layers.ARPReply, router, self), false, true},
		{"a request of the router", arp(layers.ARPRequest, router, self), true, true},
		{"the router asks for another", arp(layers.ARPRequest, router, other), false, true},
		{"a reply of another", arp(layers.ARPReply, other, self), false, false},
		{"a request for another", arp(layers.ARPRequest, other, router), false, false},
	} {
		answer, hop := n.handle(frame(t, tt.frame...))
		if (answer != nil) != tt.answer || (hop != nil) != tt.hops {
			t.Errorf("%s: answered: %v, learned: %v; want %v, %v", tt.name, answer != nil, hop, tt.answer, tt.hops)
		}
		if hop != nil && !bytes.Equal(hop[:], theirs) {
			t.Errorf("%s: learned %v; want %v", tt.name, *hop, theirs)
		}
	}
	// Another machine of this kind answers this machine's question.
	peer := &neighbor{own: router, hardware: netconsole.Hardware{2, 0, 0, 0, 0, 1}}
	if answer, _ = peer.handle(n.request(router)); answer == nil {
		t.Fatal("the request is not answered")
	}
	if _, hop = n.handle(answer); hop == nil || *hop != peer.hardware {
		t.Errorf("learned %v; want %v", hop, peer.hardware)
	}
}

// TestSilence: requests for nobody, or for another machine, get no answer.
func TestSilence(t *testing.T) {
	with := func(change func(eth *layers.Ethernet, ip *layers.IPv4)) []gopacket.SerializableLayer {
		eth, ip := toUs(), packet(layers.IPProtocolICMPv4)
		change(eth, ip)
		return append([]gopacket.SerializableLayer{eth, ip}, ping("x")...)
	}
	for name, f := range map[string][]gopacket.SerializableLayer{
		"another machine's hardware address": with(func(eth *layers.Ethernet, _ *layers.IPv4) { eth.DstMAC = theirs }),
		"all machines":                       with(func(eth *layers.Ethernet, _ *layers.IPv4) { eth.DstMAC = netconsole.Broadcast[:] }),
		"from all machines":                  with(func(eth *layers.Ethernet, _ *layers.IPv4) { eth.SrcMAC = netconsole.Broadcast[:] }),
		"from itself":                        with(func(eth *layers.Ethernet, _ *layers.IPv4) { eth.SrcMAC = ours[:] }),
		"another address":                    with(func(_ *layers.Ethernet, ip *layers.IPv4) { ip.DstIP = net.IP{10, 0, 2, 16} }),
		"from the same address":              with(func(_ *layers.Ethernet, ip *layers.IPv4) { ip.SrcIP = text(self) }),
		"from a group":                       with(func(_ *layers.Ethernet, ip *layers.IPv4) { ip.SrcIP = net.IP{224, 0, 0, 1} }),
		"from no address":                    with(func(_ *layers.Ethernet, ip *layers.IPv4) { ip.SrcIP = net.IP{0, 0, 0, 0} }),
		"a first fragment":                   with(func(_ *layers.Ethernet, ip *layers.IPv4) { ip.Flags = layers.IPv4MoreFragments }),
		"a later fragment":                   with(func(_ *layers.Ethernet, ip *layers.IPv4) { ip.FragOffset = 5 }),
		"an echo reply": {toUs(), packet(layers.IPProtocolICMPv4),
			&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoReply, 0)}},
		"an echo of an echo": {toUs(), packet(layers.IPProtocolUDP), func() gopacket.SerializableLayer {
			u := &layers.UDP{SrcPort: 7, DstPort: 7}
			u.SetNetworkLayerForChecksum(packet(layers.IPProtocolUDP))
			return u
		}()},
		"TCP": {toUs(), packet(layers.IPProtocolTCP), gopacket.Payload(make([]byte, 40))},
		"IPv6": {&layers.Ethernet{SrcMAC: theirs, DstMAC: ours[:], EthernetType: layers.EthernetTypeIPv6},
			gopacket.Payload(make([]byte, 60))},
	} {
		if answer, hop := newNeighbor().handle(frame(t, f...)); answer != nil || hop != nil {
			t.Errorf("%s: answered %x, learned %v", name, answer, hop)
		}
	}
}

// TestDamaged: a packet that was damaged on the way gets no answer.
func TestDamaged(t *testing.T) {
	udp := &layers.UDP{SrcPort: 5000, DstPort: 7}
	udp.SetNetworkLayerForChecksum(packet(layers.IPProtocolUDP))
	echo := frame(t, toUs(), packet(layers.IPProtocolUDP), udp, gopacket.Payload("odd"))
	pinged := frame(t, append([]gopacket.SerializableLayer{toUs(), packet(layers.IPProtocolICMPv4)}, ping("even")...)...)
	const ip, above = 14, 34 // where the headers begin
	for _, tt := range []struct {
		name     string
		frame    []byte
		change   map[int]byte // by XOR
		answered bool
	}{
		{"ping", pinged, nil, true},
		{"ping, a bit of the text", pinged, map[int]byte{above + 9: 1}, false},
		{"ping, its checksum", pinged, map[int]byte{above + 2: 1}, false},
		{"ping, the IP header's checksum", pinged, map[int]byte{ip + 10: 1}, false},
		{"ping, the time to live", pinged, map[int]byte{ip + 8: 1}, false},
		{"ping, IP of another version", pinged, map[int]byte{ip: 0x20}, false},
		{"ping, IP of length 0", pinged, map[int]byte{ip + 2: pinged[ip+2], ip + 3: pinged[ip+3]}, false},
		{"UDP", echo, nil, true},
		{"UDP, a bit of the last, odd byte", echo, map[int]byte{above + 10: 1}, false},
		{"UDP without a checksum", echo, map[int]byte{above + 6: echo[above+6], above + 7: echo[above+7]}, true},
		{"UDP of length 0", echo, map[int]byte{above + 5: echo[above+5], above + 6: echo[above+6], above + 7: echo[above+7]}, false},
		{"UDP, longer than the packet", echo, map[int]byte{above + 4: 1, above + 6: echo[above+6], above + 7: echo[above+7]}, false},
	} {
		b := bytes.Clone(tt.frame)
		for at, bits := range tt.change {
			b[at] ^= bits
		}
		if strings.HasPrefix(tt.name, "ping, IP of") {
			mend(b)
		}
		if answer, _ := newNeighbor().handle(b); (answer != nil) != tt.answered {
			t.Errorf("%s: answered: %v; want %v", tt.name, answer != nil, tt.answered)
		}
	}
	// The end of the packet is missing.
	if answer, _ := newNeighbor().handle(pinged[:above+8+len("even")-1]); answer != nil {
		t.Errorf("a part of a ping is answered by %x", answer)
	}
}

// mend corrects the checksum of an IP header without options.
func mend(b []byte) {
	b[24], b[25] = 0, 0
	s := ^fold(b[14:34])
	b[24], b[25] = byte(s>>8), byte(s)
}

// FuzzHandle: whatever arrives, an answer is no larger than a frame, comes from this machine, and
// goes to the sender.
func FuzzHandle(f *testing.F) {
	f.Add(frame(f, append([]gopacket.SerializableLayer{toUs(), packet(layers.IPProtocolICMPv4)}, ping("hello")...)...))
	f.Add(frame(f, arp(layers.ARPRequest, router, self)...))
	f.Add(frame(f, toUs(), packet(layers.IPProtocolTCP), gopacket.Payload(make([]byte, 40))))
	f.Add([]byte{})
	f.Add(make([]byte, 14))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1518 {
			return
		}
		if len(b) >= 34 {
			mend(b) // so that the rest of the packet is read
		}
		answer, _ := newNeighbor().handle(b)
		if answer == nil {
			return
		}
		if len(answer) > 1518 || !bytes.Equal(answer[6:12], ours[:]) || answer[0]&1 != 0 {
			t.Errorf("%x is answered by %x", b, answer)
		}
		if len(answer) > max(len(b), 60) {
			t.Errorf("%d bytes are answered by %d", len(b), len(answer))
		}
	})
}
