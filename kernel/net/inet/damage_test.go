package inet

import (
	"bytes"
	"net"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// frameFrom returns a frame, as gopacket makes it.
func frameFrom(t *testing.T, all ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(b, options, all...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func ethernetOf(kind layers.EthernetType) *layers.Ethernet {
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	return &layers.Ethernet{SrcMAC: mac, DstMAC: mac, EthernetType: kind}
}

func ip4(protocol layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, Protocol: protocol, SrcIP: net.IP{10, 0, 2, 2},
		DstIP: net.IP{10, 0, 2, 15}}
}

func ip6(protocol layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: protocol,
		SrcIP: net.ParseIP("fec0::2"), DstIP: net.ParseIP("fec0::15")}
}

// TestDamaged: what we read without the stack is not believed when a bit of it is wrong, but for
// those bits that no checksum holds.
func TestDamaged(t *testing.T) {
	four, six := ip4(layers.IPProtocolUDP), ip6(layers.IPProtocolUDP)
	dhcp := &layers.UDP{SrcPort: dhcpServer, DstPort: dhcpClient}
	u4, u6 := &layers.UDP{SrcPort: 7, DstPort: 9}, &layers.UDP{SrcPort: 7, DstPort: 9}
	for _, u := range []*layers.UDP{dhcp, u4} {
		u.SetNetworkLayerForChecksum(four)
	}
	u6.SetNetworkLayerForChecksum(six)
	data := gopacket.Payload("some bytes of data")
	asked4, asked6 := frameFrom(t, four, u4, data), frameFrom(t, six, u6, data)
	icmp6 := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeDestinationUnreachable, layers.ICMPv6CodePortUnreachable)}
	icmp6.SetNetworkLayerForChecksum(ip6(layers.IPProtocolICMPv6))
	unread := gopacket.Payload(make([]byte, 4)) // of ICMP's header

	read := func(frame []byte) (string, bool) {
		ip := header.IPv4(frame[header.EthernetMinimumSize:])
		if !ip.IsValid(len(ip)) || !ip.IsChecksumValid() { // the stack looks at it
			return "", false
		}
		b, ok := undamaged(header.UDP(ip.Payload()), ip.Payload()[header.UDPMinimumSize:], ip, header.IPv4ProtocolNumber)
		return string(b), ok
	}
	read6 := func(frame []byte) (string, bool) {
		ip := header.IPv6(frame[header.EthernetMinimumSize:])
		if !ip.IsValid(len(ip)) || ip.NextHeader() != uint8(header.UDPProtocolNumber) || len(ip.Payload()) < header.UDPMinimumSize {
			return "", false
		}
		b, ok := undamaged(header.UDP(ip.Payload()), ip.Payload()[header.UDPMinimumSize:], ip, header.IPv6ProtocolNumber)
		return string(b), ok
	}
	lease := func(frame []byte) (string, bool) {
		c := &dhcpConn{in: make(chan []byte, 1)}
		if !c.takes(frame) {
			return "", false
		}
		return string(<-c.in), true
	}
	refused := func(frame []byte) (string, bool) {
		from, to, ok := refusedDatagram(frame)
		return from.String() + " " + to.String(), ok
	}
	for _, tt := range []struct {
		name  string
		frame []byte
		read  func([]byte) (string, bool)
		want  string
	}{
		{"datagram", frameFrom(t, ethernetOf(layers.EthernetTypeIPv4), four, u4, data), read, string(data)},
		{"datagram of version 6", frameFrom(t, ethernetOf(layers.EthernetTypeIPv6), six, u6, data), read6, string(data)},
		{"lease", frameFrom(t, ethernetOf(layers.EthernetTypeIPv4), four, dhcp, data), lease, string(data)},
		{"refused", frameFrom(t, ethernetOf(layers.EthernetTypeIPv4), ip4(layers.IPProtocolICMPv4),
			&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodePort)},
			gopacket.Payload(asked4)), refused, "10.0.2.2:7 10.0.2.15:9"},
		{"refused of version 6", frameFrom(t, ethernetOf(layers.EthernetTypeIPv6), ip6(layers.IPProtocolICMPv6), icmp6, unread,
			gopacket.Payload(asked6)), refused, "[fec0::2]:7 [fec0::15]:9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := tt.read(tt.frame); !ok || got != tt.want {
				t.Fatalf("%q, %v; want %q", got, ok, tt.want)
			}
			for bit := 8 * header.EthernetMinimumSize; bit < 8*len(tt.frame); bit++ {
				b := bytes.Clone(tt.frame)
				b[bit/8] ^= 1 << (bit % 8)
				if got, ok := tt.read(b); ok && got != tt.want {
					t.Errorf("bit %d is wrong, and we read %q", bit, got)
				}
			}
		})
	}
}

// TestPadded: what a packet has after its datagram is not the datagram's.
func TestPadded(t *testing.T) {
	four, u := ip4(layers.IPProtocolUDP), &layers.UDP{SrcPort: 7, DstPort: 9}
	u.SetNetworkLayerForChecksum(four)
	ip := header.IPv4(frameFrom(t, four, u, gopacket.Payload("data")))
	after := append(bytes.Clone(ip.Payload()[header.UDPMinimumSize:]), "more"...)
	if b, ok := undamaged(header.UDP(ip.Payload()), after, ip, header.IPv4ProtocolNumber); !ok || string(b) != "data" {
		t.Errorf("%q, %v", b, ok)
	}
}
