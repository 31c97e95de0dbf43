package netup

import (
	"bytes"
	"encoding/binary"
	"net"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
)

// neighbor is the machine as others on its wire see it. Of their frames, only the requests are
// believed, and the hardware address of the next hop, for which ARP has no proof.
type neighbor struct {
	own      netconsole.Address
	hardware netconsole.Hardware
	hop      netconsole.Address // whose hardware address is wanted; 0: nobody's
	echo     bool               // option echo=
}

// echoPort is the UDP port of the echo service (RFC 862).
const echoPort = 7

// ownPorts is the first port that belongs to no service. A datagram with a forged source must not
// make two services answer each other (CA-1996-01).
const ownPorts = 1024

func text(a netconsole.Address) net.IP { return net.IP(a[:]) }

// request returns an ARP request for an address. A request for the own address is an announcement
// (RFC 5227).
func (n *neighbor) request(a netconsole.Address) []byte {
	return serialize(
		&layers.Ethernet{SrcMAC: n.hardware[:], DstMAC: netconsole.Broadcast[:],
			EthernetType: layers.EthernetTypeARP},
		n.arp(layers.ARPRequest, make([]byte, len(n.hardware)), a[:]))
}

// arp returns an ARP packet of this machine.
func (n *neighbor) arp(operation uint16, hardware, address []byte) *layers.ARP {
	return &layers.ARP{
		AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4,
		HwAddressSize: uint8(len(n.hardware)), ProtAddressSize: uint8(len(n.own)),
		Operation:       operation,
		SourceHwAddress: n.hardware[:], SourceProtAddress: n.own[:],
		DstHwAddress: hardware, DstProtAddress: address,
	}
}

// handle returns the answer to a frame, or nil, and the hardware address of the next hop if the
// frame tells it. The card has checked the frame's own checksum; those inside are checked here, as
// on Linux, because an answer would turn damaged data into valid data.
func (n *neighbor) handle(frame []byte) (answer []byte, hop *netconsole.Hardware) {
	var eth layers.Ethernet
	var arp layers.ARP
	var ip layers.IPv4
	var icmp layers.ICMPv4
	var udp layers.UDP
	var data gopacket.Payload
	var found []gopacket.LayerType
	parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &eth, &arp, &ip, &icmp, &udp,
		&data)
	parser.IgnoreUnsupported = true
	if err := parser.DecodeLayers(frame, &found); err != nil || parser.Truncated || len(found) < 2 {
		return nil, nil
	}
	if bytes.Equal(eth.SrcMAC, n.hardware[:]) || eth.SrcMAC[0]&1 != 0 {
		return nil, nil // our own, or from no machine
	}
	switch found[1] {
	case layers.LayerTypeARP:
		return n.handleARP(&arp)
	case layers.LayerTypeIPv4:
		if !bytes.Equal(eth.DstMAC, n.hardware[:]) || !n.forUs(&ip) || len(found) < 3 {
			return nil, nil
		}
	default:
		return nil, nil
	}
	back := &layers.Ethernet{SrcMAC: n.hardware[:], DstMAC: eth.SrcMAC,
		EthernetType: layers.EthernetTypeIPv4}
	reply := &layers.IPv4{Version: 4, TTL: 64, Protocol: ip.Protocol, SrcIP: ip.DstIP, DstIP: ip.SrcIP,
		Flags: layers.IPv4DontFragment}
	switch {
	case found[2] == layers.LayerTypeICMPv4 && intact(icmp.Contents, icmp.Payload) &&
		icmp.TypeCode == layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0):
		return serialize(back, reply,
			&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoReply, 0), Id: icmp.Id,
				Seq: icmp.Seq},
			gopacket.Payload(icmp.Payload)), nil
	case found[2] == layers.LayerTypeUDP && intactUDP(&ip, &udp) && n.echo &&
		udp.DstPort == echoPort && udp.SrcPort >= ownPorts:
		u := &layers.UDP{SrcPort: udp.DstPort, DstPort: udp.SrcPort}
		u.SetNetworkLayerForChecksum(reply)
		return serialize(back, reply, u, gopacket.Payload(udp.Payload)), nil
	}
	return nil, nil
}

// forUs reports whether a packet is intact, and from one machine to this one alone.
func (n *neighbor) forUs(ip *layers.IPv4) bool {
	from := ip.SrcIP.To4()
	// The parser corrects a length of 0.
	return ip.Version == 4 && binary.BigEndian.Uint16(ip.Contents[2:]) != 0 &&
		intact(ip.Contents) && bytes.Equal(ip.DstIP.To4(), n.own[:]) && from != nil && from[0] != 0 &&
		from[0] < 224 && !bytes.Equal(from, n.own[:]) &&
		ip.FragOffset == 0 && ip.Flags&layers.IPv4MoreFragments == 0
}

// intact reports whether the Internet checksum (RFC 1071) over all parts is right; only the last
// may have an odd length.
func intact(parts ...[]byte) bool {
	sum := uint32(0)
	for _, b := range parts {
		for ; len(b) > 1; b = b[2:] {
			sum += uint32(binary.BigEndian.Uint16(b))
		}
		if len(b) > 0 {
			sum += uint32(b[0]) << 8
		}
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return sum == 0xffff
}

// intactUDP reports whether a datagram has its length, and the right checksum or none (RFC 768).
func intactUDP(ip *layers.IPv4, udp *layers.UDP) bool {
	if udp.Length == 0 {
		return false // the parser takes it for a jumbogram of IPv6
	}
	pseudo := append(bytes.Clone(ip.Contents[12:20]), 0, byte(ip.Protocol), byte(udp.Length>>8),
		byte(udp.Length))
	return udp.Checksum == 0 || intact(pseudo, udp.Contents, udp.Payload)
}

// handleARP answers a request for the own address, and learns the next hop's hardware address.
func (n *neighbor) handleARP(arp *layers.ARP) (answer []byte, hop *netconsole.Hardware) {
	if arp.AddrType != layers.LinkTypeEthernet || arp.Protocol != layers.EthernetTypeIPv4 ||
		len(arp.SourceHwAddress) != len(n.hardware) || len(arp.SourceProtAddress) != len(n.own) ||
		arp.SourceHwAddress[0]&1 != 0 {
		return nil, nil
	}
	if !n.hop.IsZero() && bytes.Equal(arp.SourceProtAddress, n.hop[:]) {
		hop = (*netconsole.Hardware)(bytes.Clone(arp.SourceHwAddress))
	}
	if arp.Operation == layers.ARPRequest && bytes.Equal(arp.DstProtAddress, n.own[:]) {
		answer = serialize(
			&layers.Ethernet{SrcMAC: n.hardware[:], DstMAC: arp.SourceHwAddress,
				EthernetType: layers.EthernetTypeARP},
			n.arp(layers.ARPReply, arp.SourceHwAddress, arp.SourceProtAddress))
	}
	return answer, hop
}

// serialize makes a frame of layers, with lengths and checksums.
func serialize(l ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b,
		gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
		return nil // an address of another length, which no packet can have
	}
	return b.Bytes()
}
