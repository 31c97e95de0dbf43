package inet

import (
	"encoding/binary"
	"sync"
	"syscall"
	"unsafe"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/zeroframe/zeroframe/kernel/dev/nic"
)

// The stack makes packets of TCP that are much longer than a frame, and leaves their checksums
// open, as for a card that does the rest (TSO). They go to the card as they are if it is such a
// one. For others they are split here, and several frames go to the card by one call.

// outFrames is how many frames go by one call at most: interrupts are off in it, and with an e1000
// it waits until the card has read each.
const outFrames = 16

// out is frames on their way to the card.
type out struct {
	frames [outFrames][longest]byte
	parts  [outFrames]syscall.Iovec
	n      int
}

// outs holds those that nobody uses; the variable itself is never written.
var outs = sync.Pool{New: func() any { return new(out) }}

// frame returns a new frame of n bytes.
func (o *out) frame(to direct, n int) []byte {
	if o.n == len(o.frames) {
		o.send(to)
	}
	f := o.frames[o.n][:n]
	o.parts[o.n] = syscall.Iovec{Base: &f[0], Len: uint64(n)}
	o.n++
	return f
}

// send hands the frames over: the card takes each part as one.
func (o *out) send(to direct) {
	if o.n > 0 {
		syscall.Syscall(syscall.SYS_WRITEV, to.fd, uintptr(unsafe.Pointer(&o.parts)), uintptr(o.n))
	}
	o.n = 0
}

// split makes frames of a packet of TCP, with size bytes of its data each, or fewer in the last
// one. The packet begins with Ethernet's header, and then IP's, which has ipLength bytes. Its
// checksum is the sum of the pseudo-header.
func (o *out) split(to direct, packet []byte, ipLength, size int) {
	const ipAt = header.EthernetMinimumSize
	tcpAt := ipAt + ipLength
	tcp := header.TCP(packet[tcpAt:])
	dataAt := tcpAt + int(tcp.DataOffset())
	head, data := packet[:dataAt], packet[dataAt:]
	size = max(1, min(size, longest-dataAt)) // which other machines have a say in
	sequence, flags := tcp.SequenceNumber(), tcp.Flags()
	addresses := checksum.Combine(tcp.Checksum(), ^uint16(len(tcp))) // without the length
	for i := uint16(0); ; i++ {
		part := data[:min(size, len(data))]
		f := o.frame(to, len(head)+len(part))
		copy(f[copy(f, head):], part)
		tcp := header.TCP(f[tcpAt:])
		tcp.SetSequenceNumber(sequence)
		if data = data[len(part):]; len(data) > 0 {
			tcp.SetFlags(uint8(flags &^ (header.TCPFlagFin | header.TCPFlagPsh)))
		}
		sequence += uint32(len(part))
		setLength(f[ipAt:tcpAt], len(tcp), i)
		tcp.SetChecksum(checksum.Combine(addresses, uint16(len(tcp))))
		tcp.SetChecksum(^checksum.Checksum(tcp, 0))
		if len(data) == 0 {
			return
		}
	}
}

// whole hands over a packet of TCP as it is, and reports whether the card splits it.
func (o *out) whole(to direct, p *stack.PacketBuffer) bool {
	const leastSize = 256 // bytes of data in a frame: of smaller ones there would be too many
	tcpAt, dataAt := header.EthernetMinimumSize+int(p.GSOOptions.L3HdrLen), p.HeaderSize()
	size := min(int(p.GSOOptions.MSS), longest-dataAt)
	if size < leastSize || nic.HeaderBytes+p.Size() > nic.Longest() {
		return false
	}
	o.send(to) // what comes before it
	v := buffer.NewView(nic.HeaderBytes + p.Size())
	defer v.Release()
	v.Write(cut(p.NetworkProtocolNumber == header.IPv6ProtocolNumber, tcpAt, dataAt, size))
	for _, b := range p.AsSlices() {
		v.Write(b)
	}
	o.parts[0], o.n = syscall.Iovec{Base: &v.AsSlice()[0], Len: uint64(v.Size())}, 1
	o.send(to)
	return true
}

// cut returns virtio-net's header (Virtual I/O Device 1.2, 5.1.6) for a packet that is to be split
// into frames with size bytes of data each. Offsets are in the packet: of TCP, and of the data.
func cut(six bool, tcp, data, size int) []byte {
	const (
		open       = 1  // a flag: the checksum is that of the pseudo-header alone
		checksumAt = 16 // in TCP's header
	)
	h := []byte{open, 1}
	if six {
		h[1] = 4
	}
	for _, v := range []int{data, size, tcp, checksumAt, 0} {
		h = binary.LittleEndian.AppendUint16(h, uint16(v))
	}
	return h
}

// setLength sets the length of the data after a header of IP, and has its number go on from that of
// an earlier packet.
func setLength(b []byte, length int, later uint16) {
	if header.IPVersion(b) == header.IPv6Version {
		header.IPv6(b).SetPayloadLength(uint16(len(b) - header.IPv6MinimumSize + length))
		return
	}
	ip := header.IPv4(b)
	ip.SetTotalLength(uint16(len(b) + length))
	ip.SetID(ip.ID() + later)
	ip.SetChecksum(0)
	ip.SetChecksum(^checksum.Checksum(b, 0))
}
