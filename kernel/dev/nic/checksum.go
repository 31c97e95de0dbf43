package nic

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
)

// The header of virtio-net (Virtual I/O Device 1.2, 5.1.6) says what is still to be done with a
// packet: by us with one that has come, by the card with one that goes.

// HeaderBytes is the header's length, before a packet for [Post] too.
const HeaderBytes = 12

// Offsets in it, of fields of 2 bytes, but the flags of one.
const (
	headerFlags  = 0
	headerStart  = 6  // of what the checksum is of
	headerOffset = 8  // of the checksum, from there
	headerPieces = 10 // buffers that a received packet is in

	headerOpen  = 1 // a flag: the checksum is that of the pseudo-header alone
	headerValid = 2 // and: it was found to be right
)

// complete reports whether the header of a packet of n bytes says that its bytes are right. If it
// is a frame whose checksum is open, complete fills that in, at the place that the header names if
// it is one in the frame.
func complete(header, packet uintptr, n int, frame bool) bool {
	flags := arch.Load8(header + headerFlags)
	if frame && flags&headerOpen != 0 {
		start, offset := int(arch.Load16(header+headerStart)), int(arch.Load16(header+headerOffset))
		if start+offset+2 > n {
			return false
		}
		b := unsafe.Slice((*byte)(arch.Pointer(packet)), n)[start:]
		check := ^Fold(Sum(b))
		if check == 0 {
			check = 0xffff // 0 would mean no checksum
		}
		b[offset], b[offset+1] = byte(check>>8), byte(check)
	}
	return flags&(headerOpen|headerValid) != 0
}

// Sum adds the 16-bit words of b, an odd last byte padded with 0 (RFC 1071). Any context.
func Sum(b []byte) (s uint64) {
	i := 0
	for ; i+1 < len(b); i += 2 {
		s += uint64(b[i])<<8 | uint64(b[i+1])
	}
	if i < len(b) {
		s += uint64(b[i]) << 8
	}
	return s
}

// Fold reduces a sum to 16 bits, in ones' complement. Any context.
func Fold(s uint64) uint16 {
	for s>>16 != 0 {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}
