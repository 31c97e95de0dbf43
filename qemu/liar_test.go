package qemu

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// A liar makes frames that nobody should send: what is true in them makes them pass one check, so
// that the next one is tried. With the same seed, and the same frames of others, it makes the same.
type liar struct {
	*rand.Rand
	h *hostile
}

func newLiar(h *hostile, seed uint64) *liar { return &liar{rand.New(rand.NewPCG(seed, 34)), h} }

// one returns one of a list.
func one[T any](l *liar, all ...T) T { return all[l.IntN(len(all))] }

// bytes returns up to n bytes, random ones or all alike.
func (l *liar) bytes(n int) []byte {
	b := make([]byte, l.IntN(n+1))
	if l.IntN(4) == 0 {
		return bytes.Repeat([]byte{byte(l.Uint32())}, len(b))
	}
	for i := range b {
		b[i] = byte(l.Uint32())
	}
	return b
}

// ip and ip6 return somebody's address, hardware a hardware address.
func (l *liar) ip() net.IP {
	return one(l, net.IP{10, 9, 0, byte(l.Uint32())}, routerIP, guestIP, net.IP{127, 0, 0, 1}, net.IP{0, 0, 0, 0},
		net.IP{255, 255, 255, 255}, net.IP{10, 9, 0, 255}, net.IP{224, 0, 0, 1}, net.IP{192, 0, byte(l.Uint32()), byte(l.Uint32())})
}

func (l *liar) ip6() net.IP {
	random := net.ParseIP("2001:db8::")
	binary.BigEndian.PutUint64(random[8:], l.Uint64())
	return one(l, net.ParseIP("fe80::1"), guestIP6, net.IPv6loopback, net.IPv6zero, net.ParseIP("ff02::1"), random,
		net.ParseIP("ff02::1:ff12:3456"), net.ParseIP("::ffff:127.0.0.1"), net.ParseIP("fe80::5"))
}

// guestIP6 is the machine's address on its network.
var guestIP6 = net.ParseIP("fe80::5054:ff:fe12:3456")

func (l *liar) hardware() net.HardwareAddr {
	return one(l, routerMAC, guestMAC, everyone, net.HardwareAddr{2, 0, 0, 0, 9, byte(l.Uint32())}, net.HardwareAddr{0, 0, 0, 0, 0, 0},
		net.HardwareAddr{1, 0, 0x5e, 0, 0, 1})
}

// frame returns the next frame.
func (l *liar) frame() []byte {
	kinds := []func() []byte{l.noise, l.changed, l.changed, l.changed, l.fragment, l.segment, l.segment, l.reset, l.arp, l.neighbor,
		l.router, l.dhcp, l.icmp, l.datagram, l.extension, l.group}
	b := kinds[l.IntN(len(kinds))]()
	if len(b) == 0 || l.IntN(8) == 0 {
		b = l.damage(append(b, 0))
	}
	return b[:min(len(b), 1600)]
}

func (l *liar) noise() []byte {
	b := append(bytes.Clone(one(l, guestMAC, everyone)), routerMAC...)
	return append(binary.BigEndian.AppendUint16(b, one[uint16](l, 0x800, 0x86dd, 0x806, 0x8100, 0x88b5, uint16(l.IntN(1600)))), l.bytes(1500)...)
}

// damage changes some bytes, or the length.
func (l *liar) damage(b []byte) []byte {
	b = bytes.Clone(b)
	switch l.IntN(4) {
	case 0:
		return b[:1+l.IntN(len(b))] // QEMU takes a datagram of no bytes for the wire's end
	case 1:
		return append(b, l.bytes(100)...)
	}
	for range 1 + l.IntN(4) {
		if len(b) > 12 {
			b[12+l.IntN(min(len(b)-12, 60))] = one(l, byte(l.Uint32()), 0, 0xff, 1, 0x80)
		}
	}
	return b
}

// changed is one of the last frames of either side, damaged, mostly with checksums that are right.
func (l *liar) changed() []byte {
	l.h.mu.Lock()
	b := bytes.Clone(l.h.seen[l.IntN(len(l.h.seen))])
	l.h.mu.Unlock()
	b = l.damage(b)
	if len(b) > 14 && l.IntN(3) > 0 {
		copy(b, guestMAC)
		sum(b)
	}
	return b
}

// sum makes the checksums right of a packet of version 4, as far as its lengths are.
func sum(b []byte) {
	if binary.BigEndian.Uint16(b[12:]) != 0x800 || len(b) < 34 {
		return
	}
	ip := b[14:]
	head := int(ip[0]&15) * 4
	if head < 20 || head > len(ip) {
		return
	}
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], ^ones(0, ip[:head]))
	at := map[byte]int{1: 2, 6: 16, 17: 6}[ip[9]]
	end := min(int(binary.BigEndian.Uint16(ip[2:])), len(ip))
	if at == 0 || end < head+at+2 {
		return
	}
	data, start := ip[head:end], uint32(0)
	data[at], data[at+1] = 0, 0
	if ip[9] != 1 {
		start = uint32(ones(uint32(ip[9])+uint32(len(data)), ip[12:20]))
	}
	binary.BigEndian.PutUint16(data[at:], ^ones(start, data))
}

// ones is the sum of 16-bit words in ones' complement, RFC 1071.
func ones(s uint32, b []byte) uint16 {
	for ; len(b) > 1; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) > 0 {
		s += uint32(b[0]) << 8
	}
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}

// build makes a frame of layers, mostly with right lengths and checksums.
func (l *liar) build(all ...gopacket.SerializableLayer) (frame []byte) {
	defer func() {
		if recover() != nil { // gopacket does not take each length of an option
			frame = l.noise()
		}
	}()
	b := gopacket.NewSerializeBuffer()
	right := gopacket.SerializeOptions{FixLengths: l.IntN(12) > 0, ComputeChecksums: l.IntN(12) > 0}
	if err := gopacket.SerializeLayers(b, right, all...); err != nil {
		return l.noise()
	}
	return b.Bytes()
}

func (l *liar) eth(kind layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: one(l, routerMAC, routerMAC, l.hardware()), DstMAC: one(l, guestMAC, guestMAC, guestMAC, everyone), EthernetType: kind}
}

// v4 and v6 are the headers of a packet, mostly for the machine.
func (l *liar) v4(protocol layers.IPProtocol) (*layers.Ethernet, *layers.IPv4) {
	ip := &layers.IPv4{Version: 4, TTL: one[uint8](l, 64, 64, 1, 0, 255), Protocol: protocol, SrcIP: l.ip(), DstIP: one(l, guestIP, guestIP, guestIP, l.ip()),
		Id: uint16(l.IntN(4)), TOS: uint8(l.Uint32())}
	if l.IntN(8) == 0 {
		ip.Options = []layers.IPv4Option{{OptionType: one[uint8](l, 7, 68, 131, 137, 148, uint8(l.Uint32())), OptionLength: uint8(l.IntN(40)), OptionData: l.bytes(34)}}
	}
	return l.eth(layers.EthernetTypeIPv4), ip
}

func (l *liar) v6(protocol layers.IPProtocol) (*layers.Ethernet, *layers.IPv6) {
	return l.eth(layers.EthernetTypeIPv6), &layers.IPv6{Version: 6, HopLimit: one[uint8](l, 255, 255, 64, 1, 0), NextHeader: protocol,
		SrcIP: l.ip6(), DstIP: one(l, guestIP6, guestIP6, l.ip6()), TrafficClass: uint8(l.Uint32()), FlowLabel: uint32(l.IntN(1 << 20))}
}

// fragment is a part of a packet that never comes whole, or of several that overlap.
func (l *liar) fragment() []byte {
	if l.IntN(3) == 0 {
		eth, ip := l.v6(layers.IPProtocolIPv6Fragment)
		f := make([]byte, 8)
		f[0] = one[byte](l, 17, 6, 58, 44, 0, 59)
		binary.BigEndian.PutUint16(f[2:], uint16(l.IntN(1<<16))&one[uint16](l, 0xffff, 0x3f, 0xfff9))
		f[7] = byte(l.IntN(4))
		return l.build(eth, ip, gopacket.Payload(append(f, l.bytes(1400)...)))
	}
	eth, ip := l.v4(one(l, layers.IPProtocolUDP, layers.IPProtocolTCP, layers.IPProtocolICMPv4))
	ip.FragOffset = one(l, 0, 1, uint16(l.IntN(200)), uint16(l.IntN(1<<13)), 8191)
	if l.IntN(3) > 0 {
		ip.Flags = layers.IPv4MoreFragments
	}
	return l.build(eth, ip, gopacket.Payload(l.bytes(1480)))
}

// known returns the last segment that has been seen, as the machine's peer would go on with it.
func (l *liar) known() (*layers.IPv4, *layers.TCP) {
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: l.ip(), DstIP: guestIP}
	s := &layers.TCP{SrcPort: layers.TCPPort(l.Uint32()), DstPort: layers.TCPPort(one[uint16](l, 80, 7, 22, uint16(l.Uint32()))), Seq: l.Uint32(), Ack: l.Uint32()}
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	for _, b := range l.h.seen {
		p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
		old, _ := p.Layer(layers.LayerTypeTCP).(*layers.TCP)
		from, _ := p.NetworkLayer().(*layers.IPv4)
		if old == nil || from == nil || !from.SrcIP.Equal(guestIP) || l.IntN(4) == 0 {
			continue
		}
		ip.SrcIP, s.SrcPort, s.DstPort = from.DstIP, old.DstPort, old.SrcPort
		s.Seq, s.Ack = old.Ack, old.Seq+uint32(len(old.Payload))
	}
	return ip, s
}

// segment is one of a connection, or of none, with options.
func (l *liar) segment() []byte {
	ip, s := l.known()
	s.Seq += one(l, 0, 0, 1, uint32(l.IntN(1<<16)), -uint32(l.IntN(1<<16)))
	s.Ack += one(l, 0, 0, 1, uint32(l.IntN(1<<16)), -uint32(l.IntN(1<<16)))
	flags := l.Uint32()
	s.SYN, s.ACK, s.FIN, s.PSH, s.URG, s.ECE = flags&7 == 0, flags&8 != 0 || flags&16 != 0, flags&0xe0 == 0, flags&256 != 0, flags&0xe00 == 0, flags&0x1000 != 0
	s.Window, s.Urgent = one[uint16](l, 0, 1, 0xffff, uint16(flags>>16)), uint16(l.Uint32())
	for range l.IntN(4) {
		data := l.bytes(9)
		s.Options = append(s.Options, layers.TCPOption{OptionType: layers.TCPOptionKind(one(l, 2, 3, 4, 5, 8, l.IntN(256))),
			OptionLength: one(l, uint8(len(data)+2), uint8(l.IntN(256))), OptionData: data})
	}
	s.SetNetworkLayerForChecksum(ip)
	return l.build(l.eth(layers.EthernetTypeIPv4), ip, s, gopacket.Payload(l.bytes(one(l, 0, 10, 1400))))
}

// reset is one of a connection's ends.
func (l *liar) reset() []byte {
	ip, s := l.known()
	s.RST, s.ACK, s.SYN = true, l.IntN(2) == 0, l.IntN(8) == 0
	s.Seq += one(l, 0, 1, uint32(l.IntN(1<<16)))
	s.SetNetworkLayerForChecksum(ip)
	return l.build(l.eth(layers.EthernetTypeIPv4), ip, s)
}

func (l *liar) arp() []byte {
	return l.build(l.eth(layers.EthernetTypeARP), &layers.ARP{AddrType: one(l, layers.LinkTypeEthernet, layers.LinkTypeEthernet, layers.LinkType(l.Uint32())),
		Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: one(l, 1, 2, uint16(l.IntN(9))),
		SourceHwAddress: l.hardware(), SourceProtAddress: l.ip().To4(), DstHwAddress: l.hardware(), DstProtAddress: one(l, guestIP, l.ip().To4())})
}

// icmp6 is a message of version 6 with a body.
func (l *liar) icmp6(kind uint8, body []byte) []byte {
	eth, ip := l.v6(layers.IPProtocolICMPv6)
	m := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(kind, one[uint8](l, 0, 0, 0, uint8(l.IntN(8))))}
	m.SetNetworkLayerForChecksum(ip)
	return l.build(eth, ip, m, gopacket.Payload(body))
}

// option is one of neighbour discovery.
func (l *liar) option() []byte {
	kind := one[byte](l, 1, 2, 3, 5, 24, 25, 31, byte(l.Uint32()))
	n := one(l, 1, 2, 3, 4, 0, l.IntN(32))
	b := make([]byte, 8*max(n, 1))
	for i := range b {
		b[i] = byte(l.Uint32())
	}
	b[0], b[1] = kind, byte(n)
	if kind == 3 && n == 4 {
		b[2], b[3] = one[byte](l, 64, 64, 0, 128), one[byte](l, 0xc0, 0xff)
		copy(b[4:12], one(l, "\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x05\x00\x00\x00\x05"))
		copy(b[16:], one(l, l.ip6(), net.IP{0x20, 1, 0xd, 0xb8, byte(l.Uint32()), byte(l.Uint32()), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}))
	}
	return b
}

// router is what one of version 6 says, or a redirect.
func (l *liar) router() []byte {
	b := []byte{one[byte](l, 64, 0, 255), byte(l.Uint32()), byte(l.Uint32()), byte(l.Uint32()), 0, 0, 0, 0, byte(l.Uint32()), 0, 0, 0}
	kind := uint8(134)
	if l.IntN(4) == 0 {
		kind, b = 137, append(append([]byte{0, 0, 0, 0}, l.ip6()...), l.ip6()...)
	}
	for range l.IntN(5) {
		b = append(b, l.option()...)
	}
	return l.icmp6(kind, b)
}

// neighbor asks for a neighbour of version 6, or answers.
func (l *liar) neighbor() []byte {
	b := append([]byte{byte(l.Uint32()), 0, 0, 0}, one(l, guestIP6, l.ip6())...)
	for range l.IntN(3) {
		b = append(b, l.option()...)
	}
	return l.icmp6(one[uint8](l, 135, 136, 133), b)
}

// dhcp is an answer of a server that nobody has asked.
func (l *liar) dhcp() []byte {
	eth, ip := l.v4(layers.IPProtocolUDP)
	u := &layers.UDP{SrcPort: 67, DstPort: 68}
	u.SetNetworkLayerForChecksum(ip)
	d := &layers.DHCPv4{Operation: layers.DHCPOpReply, HardwareType: layers.LinkTypeEthernet, HardwareLen: uint8(one(l, 6, l.IntN(256))), Xid: l.Uint32(),
		ClientIP: l.ip(), YourClientIP: l.ip(), NextServerIP: l.ip(), RelayAgentIP: l.ip(), ClientHWAddr: guestMAC}
	for range l.IntN(9) {
		data := l.bytes(one(l, 4, 60))
		d.Options = append(d.Options, layers.DHCPOption{Type: layers.DHCPOpt(one(l, 53, 1, 3, 6, 51, 54, 12, 15, 119, l.IntN(256))), Length: uint8(len(data)), Data: data})
	}
	return l.build(eth, ip, u, d)
}

// icmp is an error about a packet of the machine's, or anything else.
func (l *liar) icmp() []byte {
	if l.IntN(3) == 0 {
		return l.icmp6(one(l, 1, 2, 3, 4, 128, 129, uint8(l.Uint32())), l.bytes(200))
	}
	eth, ip := l.v4(layers.IPProtocolICMPv4)
	m := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(one[uint8](l, 3, 3, 5, 8, 11, 12, 13, uint8(l.Uint32())), uint8(l.IntN(16))), Id: uint16(l.Uint32()),
		Seq: one(l, 0, 68, 1, uint16(l.Uint32()))}
	body := l.bytes(200)
	l.h.mu.Lock()
	if b := l.h.seen[l.IntN(len(l.h.seen))]; l.IntN(3) > 0 && len(b) > 14 {
		body = bytes.Clone(b[14:min(len(b), 14+28+l.IntN(30))])
	}
	l.h.mu.Unlock()
	return l.build(eth, ip, m, gopacket.Payload(body))
}

func (l *liar) datagram() []byte {
	u := &layers.UDP{SrcPort: layers.UDPPort(one[uint16](l, 7, 0, 53, uint16(l.Uint32()))), DstPort: layers.UDPPort(one[uint16](l, 7, 7, 0, 53, uint16(l.Uint32()))),
		Length: uint16(l.Uint32())}
	if l.IntN(3) == 0 {
		eth, ip := l.v6(layers.IPProtocolUDP)
		u.SetNetworkLayerForChecksum(ip)
		return l.build(eth, ip, u, gopacket.Payload(l.bytes(1400)))
	}
	eth, ip := l.v4(layers.IPProtocolUDP)
	u.SetNetworkLayerForChecksum(ip)
	return l.build(eth, ip, u, gopacket.Payload(l.bytes(1400)))
}

// extension is a chain of headers of version 6.
func (l *liar) extension() []byte {
	kinds := []byte{0, 43, 44, 60, 51, 59, 6, 17, 58, 135}
	first := kinds[l.IntN(4)]
	var b []byte
	for range 1 + l.IntN(12) {
		n := one(l, 0, 0, 1, l.IntN(10), 255)
		h := make([]byte, 8+8*min(n, 20))
		for i := range h {
			h[i] = one(l, byte(l.Uint32()), 0, 1, 5, 0xc2)
		}
		h[0], h[1] = kinds[l.IntN(len(kinds))], byte(n)
		b = append(b, h...)
	}
	eth, ip := l.v6(layers.IPProtocol(first))
	return l.build(eth, ip, gopacket.Payload(append(b, l.bytes(100)...)))
}

// group is a message about groups: IGMP, or its like of version 6.
func (l *liar) group() []byte {
	if l.IntN(2) == 0 {
		return l.icmp6(one[uint8](l, 130, 131, 132, 143), append(append([]byte{byte(l.Uint32()), byte(l.Uint32()), 0, 0}, l.ip6()...), l.bytes(40)...))
	}
	eth, ip := l.v4(layers.IPProtocolIGMP)
	ip.TTL, ip.DstIP = one[uint8](l, 1, 64), one(l, net.IP{224, 0, 0, 1}, guestIP, l.ip())
	body := append(append([]byte{one[byte](l, 0x11, 0x12, 0x16, 0x17, 0x22), byte(l.Uint32()), 0, 0}, l.ip().To4()...), l.bytes(40)...)
	binary.BigEndian.PutUint16(body[2:], ^ones(0, body))
	return l.build(eth, ip, gopacket.Payload(body))
}
