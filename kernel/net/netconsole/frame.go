package netconsole

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/dev/nic"
	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// A frame that lacks only its contents: Ethernet (IEEE 802.3), IPv4 (RFC 791) and UDP (RFC 768)
// headers before room for the payload.

// Offsets of headers in a frame, and of fields in headers.
const (
	ipAt      = 14
	udpAt     = ipAt + 20
	payloadAt = udpAt + 8

	ethType    = 12
	ipLength   = ipAt + 2
	ipID       = ipAt + 4
	ipChecksum = ipAt + 10
	ipSource   = ipAt + 12
	ipTo       = ipAt + 16
	udpLength  = udpAt + 4
	udpCheck   = udpAt + 6

	protocolUDP = 17
)

// maxPayload is the largest payload of a datagram of log or trace, in bytes: Linux's netconsole
// sends no more.
const maxPayload = datagram.MaxPayload

const _ = uint(MaxDump - maxPayload)

// frame is a frame in memory that the card can read: a global one. Its first eight bytes are
// aligned, so that one store can change the destination (see setHardware).
type frame struct {
	_ [0]uint64
	b [payloadAt + MaxDump]byte
}

// identification numbers the datagrams, for whoever reassembles fragments. Under the kernel lock;
// the panic path takes none.
var identification uint16

// prepare writes everything that is the same in each datagram.
func (f *frame) prepare(c *Config) {
	b := &f.b
	own := nic.Address()
	for i := range own {
		b[i] = c.Hardware[i]
		b[6+i] = own[i]
	}
	put16(b[ethType:], 0x0800)
	b[ipAt] = 0x45            // version 4, five words of header
	put16(b[ipAt+6:], 0x4000) // do not fragment
	b[ipAt+8] = 64
	b[ipAt+9] = protocolUDP
	for i := range c.Source {
		b[ipSource+i] = c.Source[i]
		b[ipTo+i] = c.Destination[i]
	}
	put16(b[udpAt:], c.SourcePort)
	put16(b[udpAt+2:], c.DestinationPort)
}

// setPort changes the frame's destination port.
func (f *frame) setPort(port uint16) { put16(f.b[udpAt+2:], port) }

// payload returns the room after the headers.
func (f *frame) payload() []byte { return f.b[payloadAt:] }

// send sends the frame with n bytes of payload, and reports whether the card took it.
func (f *frame) send(n int) bool {
	b := f.b[:payloadAt+n]
	identification++
	put16(b[ipLength:], uint16(len(b)-ipAt))
	put16(b[ipID:], identification)
	put16(b[ipChecksum:], 0)
	put16(b[ipChecksum:], ^nic.Fold(nic.Sum(b[ipAt:udpAt])))
	put16(b[udpLength:], uint16(len(b)-udpAt))
	put16(b[udpCheck:], 0)
	// The pseudo header: both addresses, the protocol, the length.
	check := ^nic.Fold(nic.Sum(b[ipSource:]) + protocolUDP + uint64(len(b)-udpAt))
	if check == 0 {
		check = 0xffff // 0 would mean no checksum
	}
	put16(b[udpCheck:], check)
	return transmit(uintptr(unsafe.Pointer(f)), len(b))
}

// transmit sends a frame, and restart may help if that fails. Never written but by tests.
var transmit, restart = nic.Send, nic.Restart

// setHardware changes the destination atomically: whatever interrupts it may send a datagram.
func (f *frame) setHardware(h Hardware) {
	v := uint64(f.b[6])<<48 | uint64(f.b[7])<<56
	for i := range h {
		v |= uint64(h[i]) << (8 * uint(i))
	}
	*(*uint64)(unsafe.Pointer(f)) = v
}

func put16(b []byte, v uint16) { b[0], b[1] = byte(v>>8), byte(v) }
