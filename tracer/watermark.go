package tracer

import "unsafe"

// Watermarks. A stack that is about to be used is filled with a signature;
// later, the lowest word that is no longer the signature marks how deep the
// stack has been used. The scan starts at the far end, the lowest address,
// because paint can survive *below* deeper writes (a local array that is
// skipped) but nothing is written below the deepest write; searching from the
// top, or halving the range, finds such an island and stops too early. What the scan finds is still only a
// lower bound, for the deepest frame may have left its lowest words alone: so
// every report says "at least".

// Signature is the 64-bit pattern that unused stack holds. It is no canonical
// address, so code that takes a pointer from unused stack faults at once.
const Signature uintptr = 0x57ac_feed_57ac_d00d

// Paint fills lo <= address < hi with the Signature. Both are multiples of 8,
// the memory is mapped and writable, and all of it is below the live stack
// pointer. It writes eight words at a time. Any context.
func Paint(lo, hi uintptr) {
	base, n, i := pointer(lo), hi-lo, uintptr(0)
	for ; n-i >= 64; i += 64 {
		b := (*[8]uintptr)(unsafe.Add(base, i))
		b[0], b[1], b[2], b[3] = Signature, Signature, Signature, Signature
		b[4], b[5], b[6], b[7] = Signature, Signature, Signature, Signature
	}
	for ; i < n; i += 8 {
		*(*uintptr)(unsafe.Add(base, i)) = Signature
	}
}

// HighWater returns how many bytes below hi have been used: the distance from
// hi to the lowest word in lo <= address < hi that is not the Signature. The
// memory is mapped. Any context.
func HighWater(lo, hi uintptr) uintptr {
	base, n, i := pointer(lo), hi-lo, uintptr(0)
	for ; n-i >= 64; i += 64 {
		b := (*[8]uintptr)(unsafe.Add(base, i))
		// One branch for eight words: paint leaves no bit in the sum of differences.
		if (b[0]^Signature)|(b[1]^Signature)|(b[2]^Signature)|(b[3]^Signature)|
			(b[4]^Signature)|(b[5]^Signature)|(b[6]^Signature)|(b[7]^Signature) != 0 {
			break
		}
	}
	for ; i < n; i += 8 {
		if *(*uintptr)(unsafe.Add(base, i)) != Signature {
			return n - i
		}
	}
	return 0
}

// pointer makes a pointer of an address of the machine: such memory is no part
// of Go's heap, and the collector neither moves nor frees it.
func pointer(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// Measure updates the stack's Used and returns it, in bytes. Used never falls.
func (s *Stack) Measure() uintptr {
	if u := HighWater(s.Lo, s.Hi); u > s.Used {
		s.Used = u
	}
	return s.Used
}
