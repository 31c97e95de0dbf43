package inet

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"unsafe"

	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/zeroframe/zeroframe/kernel/linux"
)

// refusedDatagram reports whether a frame says that nobody takes a datagram at its port, and
// returns the datagram's addresses. (The stack tells its own sockets of such errors, and datagrams
// have none.)
func refusedDatagram(frame []byte) (from, to netip.AddrPort, ok bool) {
	const start, message = header.EthernetMinimumSize, header.ICMPv4MinimumSize
	if len(frame) < start {
		return from, to, false
	}
	data := frame[start:]
	if ip := header.IPv4(data); ip.IsValid(len(data)) &&
		ip.TransportProtocol() == header.ICMPv4ProtocolNumber {
		m := header.ICMPv4(ip.Payload())
		if len(m) < message+header.IPv4MinimumSize || m.Type() != header.ICMPv4DstUnreachable ||
			m.Code() != header.ICMPv4PortUnreachable || ip.FragmentOffset() != 0 || ip.More() ||
			!ip.IsChecksumValid() || checksum.Checksum(m, 0) != 0xffff {
			return from, to, false
		}
		of := header.IPv4(m[message:])
		return ports(addr(of.SourceAddress()), addr(of.DestinationAddress()), of.Protocol(), of,
			int(of.HeaderLength()))
	}
	if ip := header.IPv6(data); ip.IsValid(len(data)) &&
		ip.NextHeader() == uint8(header.ICMPv6ProtocolNumber) {
		m := header.ICMPv6(ip.Payload())
		sum := header.PseudoHeaderChecksum(header.ICMPv6ProtocolNumber, ip.SourceAddress(),
			ip.DestinationAddress(), uint16(len(m)))
		if len(m) < message+header.IPv6MinimumSize || m.Type() != header.ICMPv6DstUnreachable ||
			m.Code() != header.ICMPv6PortUnreachable || checksum.Checksum(m, sum) != 0xffff {
			return from, to, false
		}
		of := header.IPv6(m[message:])
		return ports(addr(of.SourceAddress()), addr(of.DestinationAddress()), of.NextHeader(), of,
			header.IPv6MinimumSize)
	}
	return from, to, false
}

// ports adds the ports of a datagram, which begin at an offset of its packet.
func ports(src, dst netip.Addr, protocol uint8, packet []byte, at int) (from, to netip.AddrPort,
	ok bool) {
	if protocol != uint8(header.UDPProtocolNumber) || len(packet) < at+4 {
		return from, to, false
	}
	return netip.AddrPortFrom(src, binary.BigEndian.Uint16(packet[at:])),
		netip.AddrPortFrom(dst, binary.BigEndian.Uint16(packet[at+2:])), true
}

// tellRefused tells the kernel of it.
func tellRefused(gate syscall.RawConn, from, to netip.AddrPort) {
	var b [36]byte
	for i, a := range []netip.AddrPort{from, to} {
		ip := a.Addr().As16()
		copy(b[18*i:], ip[:])
		binary.BigEndian.PutUint16(b[18*i+16:], a.Port())
	}
	gate.Control(func(fd uintptr) { ioctl(fd, linux.GatewayRefused, uintptr(unsafe.Pointer(&b))) })
}
