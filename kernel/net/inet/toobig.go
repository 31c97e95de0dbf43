package inet

import (
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// The longest packets that a router can be right to ask for, as Linux has them
// (net.ipv4.route.min_pmtu; RFC 8200, section 5).
const (
	leastMTU4 = 552
	leastMTU6 = header.IPv6MinimumMTU
)

// raiseMTU corrects a router's message that a packet was too big for the next network, if it names
// a size that none has, such as 0, which routers older than RFC 1191 do. The stack would go on with
// segments of one byte.
func raiseMTU(frame []byte) {
	const start = header.EthernetMinimumSize
	if len(frame) < start {
		return
	}
	data := frame[start:]
	if ip := header.IPv4(data); ip.IsValid(len(data)) &&
		ip.TransportProtocol() == header.ICMPv4ProtocolNumber {
		m := header.ICMPv4(ip.Payload())
		if len(m) >= header.ICMPv4MinimumSize && m.Type() == header.ICMPv4DstUnreachable &&
			m.Code() == header.ICMPv4FragmentationNeeded && m.MTU() < leastMTU4 {
			setMTU(m, leastMTU4)
		}
	} else if ip := header.IPv6(data); ip.IsValid(len(data)) &&
		ip.NextHeader() == uint8(header.ICMPv6ProtocolNumber) {
		m := header.ICMPv6(ip.Payload())
		if len(m) >= header.ICMPv6MinimumSize && m.Type() == header.ICMPv6PacketTooBig &&
			m.MTU() < leastMTU6 {
			setMTU(m, leastMTU6)
		}
	}
}

// setMTU changes the last two bytes of a message's header. Its checksum stays as right or wrong as
// it was (RFC 1624).
func setMTU(m []byte, mtu uint16) {
	sum, old := binary.BigEndian.Uint16(m[2:]), binary.BigEndian.Uint16(m[6:])
	sum = checksum.Combine(checksum.Combine(^sum, ^old), mtu)
	binary.BigEndian.PutUint16(m[2:], ^sum)
	binary.BigEndian.PutUint16(m[6:], mtu)
}
