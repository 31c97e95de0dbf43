package inet

import (
	"bytes"
	"net/netip"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"github.com/zeroframe/zeroframe/kernel/linux"
)

// tooBig is a router's message that the packet of a frame was too big, of that size at most.
func tooBig(sent []byte, six bool, mtu uint16) []byte {
	router := address(netip.MustParseAddr("10.0.2.2"))
	own := address(netip.MustParseAddr("10.0.2.15"))
	ip, protocol := header.IPv4MinimumSize, header.IPv4ProtocolNumber
	if six {
		router, own = address(netip.MustParseAddr("fec0::2")), address(netip.MustParseAddr("fec0::15"))
		ip, protocol = header.IPv6MinimumSize, header.IPv6ProtocolNumber
	}
	of := sent[header.EthernetMinimumSize:][:ip+header.TCPMinimumSize]
	b := make([]byte, header.EthernetMinimumSize+ip+header.ICMPv4MinimumSize+len(of))
	header.Ethernet(b).Encode(&header.EthernetFields{SrcAddr: "\x52\x55\x0a\x00\x02\x02",
		DstAddr: "\x52\x54\x00\x12\x34\x56", Type: protocol})
	packet := b[header.EthernetMinimumSize:]
	copy(packet[ip+header.ICMPv4MinimumSize:], of)
	if six {
		header.IPv6(packet).Encode(&header.IPv6Fields{PayloadLength: uint16(len(packet) - ip),
			TransportProtocol: header.ICMPv6ProtocolNumber, HopLimit: 64, SrcAddr: router, DstAddr: own})
		m := header.ICMPv6(packet[ip:])
		m.SetType(header.ICMPv6PacketTooBig)
		m.SetMTU(uint32(mtu))
		m.SetChecksum(header.ICMPv6Checksum(header.ICMPv6ChecksumParams{Header: m, Src: router,
			Dst: own}))
		return b
	}
	four := header.IPv4(packet)
	four.Encode(&header.IPv4Fields{TotalLength: uint16(len(four)), TTL: 64,
		Protocol: uint8(header.ICMPv4ProtocolNumber), SrcAddr: router, DstAddr: own})
	four.SetChecksum(^four.CalculateChecksum())
	m := header.ICMPv4(four.Payload())
	m.SetType(header.ICMPv4DstUnreachable)
	m.SetCode(header.ICMPv4FragmentationNeeded)
	m.SetMTU(mtu)
	m.SetChecksum(header.ICMPv4Checksum(m, 0))
	return b
}

// TestTooBig: after a router has said what is too big, segments are as long as that allows, and not
// shorter than on any network.
func TestTooBig(t *testing.T) {
	for _, tt := range []struct {
		six       bool
		mtu, want int // the data of a segment
	}{
		{false, 1000, 960}, {false, 552, 512}, {false, 551, 512}, {false, 68, 512}, {false, 0, 512},
		{true, 1300, 1240}, {true, 1280, 1220}, {true, 1279, 1220}, {true, 0, 1220},
	} {
		accepted := make(chan *tcp.Endpoint, 1)
		n := accepting(t, func(_ *network, e *tcp.Endpoint) { accepted <- e })
		options := []byte{2, 4, 0x05, 0xa0, 1, 3, 3, 4} // an MSS of 1440, and a scaled window
		p := packet{six: tt.six, flags: header.TCPFlagSyn, options: options}
		s := n.sends(t, p, header.TCPFlagSyn|header.TCPFlagAck)
		p = packet{six: tt.six, sequence: 1, ack: s.SequenceNumber() + 1, flags: header.TCPFlagAck}
		n.card.inject([]linux.CardFrame{frameOf(p.bytes(false))})
		e := <-accepted
		if _, err := e.Write(bytes.NewReader(pattern(1400)), tcpip.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		next := func() (frame []byte, data int) {
			frame = n.next(t)
			_, s := check(t, frame)
			return frame, len(s.Payload())
		}
		frame, data := next()
		if data != 1400 {
			t.Fatalf("a segment of %d bytes", data)
		}
		damaged := tooBig(frame, tt.six, uint16(tt.mtu))
		damaged[len(damaged)-1] ^= 1
		n.card.inject([]linux.CardFrame{frameOf(damaged)})
		n.card.inject([]linux.CardFrame{frameOf(tooBig(frame, tt.six, uint16(tt.mtu)))})
		if _, data := next(); data != tt.want {
			t.Errorf("version 6: %v, an MTU of %d: a segment of %d bytes; want %d", tt.six, tt.mtu, data,
				tt.want)
		}
	}
}
