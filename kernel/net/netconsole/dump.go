package netconsole

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/nic"
)

// Datagrams of a dump (package kernel/memdump), which goes to the receiver of log and traces, and
// answers to it. Once somebody answers, datagrams go to that hardware address. ARP requests for
// this machine's address (RFC 826) are answered, because nothing else of the machine is alive.

// MaxDump is the longest payload of a dump's datagram, in bytes.
const MaxDump = nic.MaxFrame - 4 - payloadAt

// DumpRoom is the memory for a dump: the datagram to send, the received frame, and an answer to
// ARP.
type DumpRoom struct {
	frame frame
	in    [nic.MaxFrame]byte
	reply [arpSize]byte
}

// dumpAt is the address of the room. Panic path only, and while a boot sends what the previous one
// has kept.
var dumpAt uintptr

func dumpRoom() *DumpRoom { return (*DumpRoom)(arch.Pointer(dumpAt)) }

// ARP for IPv4 on Ethernet: offsets in a frame, and its length.
const (
	arpKind      = ipAt + 6
	arpSender    = ipAt + 8
	arpSenderIP  = ipAt + 14
	arpTarget    = ipAt + 18
	arpTargetIP  = ipAt + 24
	arpSize      = ipAt + 28
	arpRequest   = 1
	arpAnswer    = 2
	typeARP      = 0x0806
	typeIPv4     = 0x0800
	arpFirstByte = ipAt
)

// BeginDump enables datagrams of a dump, and reports whether they are possible. It takes over room
// from the caller. Panic path, and early context.
func BeginDump(room *DumpRoom) bool {
	if !Ready() {
		return false
	}
	dumpAt = uintptr(unsafe.Pointer(room))
	dumpRoom().frame.prepare(&state.config)
	return true
}

// DumpPayload returns the room for the payload of the next datagram. Panic path.
func DumpPayload() []byte { return dumpRoom().frame.b[payloadAt : payloadAt+MaxDump] }

// SendDump sends a datagram with n bytes of payload, and reports whether the card took it. Panic
// path.
func SendDump(n int) bool {
	f := &dumpRoom().frame
	return f.send(n) || restart() && f.send(n)
}

// ReceiveDump returns the payload of a received datagram for the machine, or nil; more is true if
// anything was received. The payload is valid until the next call. Panic path.
func ReceiveDump() (payload []byte, more bool) {
	in := &dumpRoom().in
	n := nic.Receive(uintptr(unsafe.Pointer(in)), len(in))
	if n == 0 {
		return nil, false
	}
	return received(in[:n]), true
}

// received handles a frame.
func received(b []byte) []byte {
	if len(b) < arpSize {
		return nil
	}
	switch get16(b[ethType:]) {
	case typeARP:
		answerARP(b)
		return nil
	case typeIPv4:
	default:
		return nil
	}
	ip := b[ipAt:]
	head, total := int(ip[0]&15)*4, int(get16(ip[2:]))
	if ip[0]>>4 != 4 || head < 20 || total < head+8 || total > len(ip) || ip[9] != protocolUDP ||
		get16(ip[6:])&0x3fff != 0 {
		return nil // or a fragment
	}
	c := &state.config
	for i := range c.Source {
		if ip[16+i] != c.Source[i] {
			return nil
		}
	}
	udp := ip[head:total]
	length := int(get16(udp[4:]))
	if get16(udp[2:]) != c.SourcePort || get16(udp) != c.DestinationPort || length < 8 ||
		length > len(udp) {
		return nil
	}
	return udp[8:length]
}

// Heard says that the last datagram of [ReceiveDump] came from the receiver. Panic path.
func Heard() {
	if state.config.Fixed {
		return
	}
	var h Hardware
	for i := range h {
		h[i] = dumpRoom().in[6+i]
	}
	dumpRoom().frame.setHardware(h)
}

// answerARP answers a request for this machine's hardware address.
func answerARP(b []byte) {
	if get16(b[arpKind:]) != arpRequest || get16(b[arpFirstByte+2:]) != typeIPv4 {
		return
	}
	for i := range state.config.Source {
		if b[arpTargetIP+i] != state.config.Source[i] {
			return
		}
	}
	r, own := &dumpRoom().reply, nic.Address()
	for i := range r {
		r[i] = b[i]
	}
	put16(r[arpKind:], arpAnswer)
	for i := range own {
		r[i], r[arpTarget+i] = b[6+i], b[arpSender+i]
		r[6+i], r[arpSender+i] = own[i], own[i]
	}
	for i := range state.config.Source {
		r[arpTargetIP+i], r[arpSenderIP+i] = b[arpSenderIP+i], state.config.Source[i]
	}
	transmit(uintptr(unsafe.Pointer(r)), len(r))
}

func get16(b []byte) uint16 { return uint16(b[0])<<8 | uint16(b[1]) }
