package inet

import (
	"bytes"
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/zeroframe/zeroframe/kernel/linux"
)

// Frames of one connection that have come together are one packet to the stack, for which it costs
// hardly more than a frame (Linux: GRO). Of acknowledgements alone the last one says it all.

// segment is a frame with bytes of a connection, or an acknowledgement, and nothing unusual.
type segment struct {
	link, ip []byte     // headers
	tcp      header.TCP // with the data
	data     []byte
	checked  bool // by the card: the checksum need not be right
}

// longestJoined is how many bytes a packet of IP may have.
const longestJoined = 1<<16 - 1

// join returns the packet of the first frame, and how many frames are in it: 0 if it is not of TCP.
func join(frames []linux.CardFrame) (n int, packet *buffer.View) {
	first, ok := segmentOf(&frames[0])
	if !ok {
		return 0, nil
	}
	data := make([][]byte, 1, len(linux.CardBatch{}))
	last, length, sum := first, len(first.tcp), first.sum()
	data[0] = first.data
	for n = frames[0].Span(); n < len(frames); n += frames[n].Span() {
		next, ok := segmentOf(&frames[n])
		if !ok || !last.goesOn(&next) || len(next.ip)+length+len(next.data) > longestJoined {
			break
		}
		data = append(data, next.data)
		length += len(next.data)
		sum = checksum.Combine(sum, next.sum())
		last = next
	}
	packet = buffer.NewView(len(last.link) + len(last.ip) + length)
	packet.Write(last.link)
	packet.Write(last.ip)
	packet.Write(last.tcp[:last.tcp.DataOffset()])
	for _, d := range data {
		packet.Write(d)
	}
	if length > len(last.tcp) {
		b := packet.AsSlice()[len(last.link):]
		tcp := header.TCP(b[len(last.ip):])
		setLength(b[:len(last.ip)], length, 0)
		tcp.SetSequenceNumber(first.tcp.SequenceNumber())
		tcp.SetChecksum(0)
		sum = checksum.Combine(sum, pseudo(last.ip, length))
		tcp.SetChecksum(^checksum.Checksum(tcp[:tcp.DataOffset()], sum))
	}
	return n, packet
}

// segmentOf returns the segment that a frame has; ok is false if it is none of the usual ones.
func segmentOf(f *linux.CardFrame) (s segment, ok bool) {
	const linkLength = header.EthernetMinimumSize
	b := f.Bytes()
	s.checked = f.Checked
	if len(b) < linkLength+header.IPv4MinimumSize+header.TCPMinimumSize {
		return s, false
	}
	s.link, b = b[:linkLength], b[linkLength:]
	length := 0
	switch header.Ethernet(s.link).Type() {
	case header.IPv4ProtocolNumber:
		const whole, noOptions = 0x3fff, 0x45 // bits that only fragments have; the first byte
		ip := header.IPv4(b)
		s.ip, length = b[:header.IPv4MinimumSize], int(ip.TotalLength())
		ok = b[0] == noOptions && binary.BigEndian.Uint16(b[6:])&whole == 0 &&
			ip.Protocol() == uint8(header.TCPProtocolNumber) && checksum.Checksum(s.ip, 0) == 0xffff
	case header.IPv6ProtocolNumber:
		ip := header.IPv6(b)
		s.ip, length = b[:header.IPv6MinimumSize], header.IPv6MinimumSize+int(ip.PayloadLength())
		ok = b[0]>>4 == header.IPv6Version && ip.NextHeader() == uint8(header.TCPProtocolNumber)
	}
	if !ok || length > len(b) || length < len(s.ip)+header.TCPMinimumSize {
		return s, false
	}
	s.tcp = header.TCP(b[len(s.ip):length])
	at := int(s.tcp.DataOffset())
	if at < header.TCPMinimumSize || at > len(s.tcp) ||
		s.tcp.Flags()&^header.TCPFlagPsh != header.TCPFlagAck {
		return s, false
	}
	s.data = s.tcp[at:]
	return s, true
}

// goesOn reports whether next can be joined to s.
func (s *segment) goesOn(next *segment) bool {
	a, b := s.tcp, next.tcp
	if !bytes.Equal(s.link, next.link) || !sameIP(s.ip, next.ip) || !bytes.Equal(a[:4], b[:4]) ||
		s.checked != next.checked ||
		!bytes.Equal(a[header.TCPMinimumSize:a.DataOffset()], b[header.TCPMinimumSize:b.DataOffset()]) ||
		a.SequenceNumber()+uint32(len(s.data)) != b.SequenceNumber() {
		return false
	}
	later := int32(b.AckNumber() - a.AckNumber())
	if len(s.data) == 0 || len(next.data) == 0 {
		// The same acknowledgement twice says that bytes are lost.
		return len(s.data)+len(next.data) == 0 && later > 0
	}
	// After an odd number of bytes the others' sums would be different ones.
	return later >= 0 && len(s.data)%2 == 0
}

// sameIP reports whether headers of IP differ only in the packet's length, number and checksum.
func sameIP(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == header.IPv6MinimumSize {
		return bytes.Equal(a[:4], b[:4]) && bytes.Equal(a[6:], b[6:])
	}
	return bytes.Equal(a[:2], b[:2]) && bytes.Equal(a[6:10], b[6:10]) && bytes.Equal(a[12:], b[12:])
}

// sum returns the sum of the data, which follows from the checksum: if the data is damaged, so is
// the packet that it is joined to.
func (s *segment) sum() uint16 {
	return ^checksum.Checksum(s.tcp[:s.tcp.DataOffset()], pseudo(s.ip, len(s.tcp)))
}

// pseudo returns the sum of the pseudo-header of so many bytes of TCP.
func pseudo(ip []byte, length int) uint16 {
	addresses := ip[12:]
	if len(ip) == header.IPv6MinimumSize {
		addresses = ip[8:]
	}
	rest := checksum.Combine(uint16(header.TCPProtocolNumber), uint16(length))
	return checksum.Checksum(addresses, rest)
}
