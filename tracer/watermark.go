package tracer

import "unsafe"

// Watermarks. A stack is filled with a signature before its use; later, the lowest word that is no
// longer the signature tells how deep the stack has been used. The scan starts at the far end, the
// lowest address, because paint can survive *below* deeper writes (a local array that is skipped)
// but nothing is written below the deepest write; searching from the top, or halving the range,
// finds such an island and stops too early. What the scan finds is still only a lower bound,
// because the deepest frame may not have written its lowest words: so every report says "at least".

// Signature is the 64-bit pattern of unused stack. It is no canonical address, so code that takes a
// pointer from unused stack faults at once.
const Signature uintptr = 0x57ac_feed_57ac_d00d

// Paint fills lo <= address < hi with the Signature. Both are multiples of 8,
// the memory is mapped and writable, and all of it is below the live stack
// pointer. Any context.
func Paint(lo, hi uintptr) { paint(lo, (hi-lo)/8, Signature) }

// HighWater returns how many bytes below hi have been used: the distance from hi to the lowest word
// in lo <= address < hi that is not the Signature. The memory must be mapped. Any context.
func HighWater(lo, hi uintptr) uintptr {
	n := hi - lo
	i := unpainted(lo, n/64, Signature) * 64
	for ; i < n; i += 8 {
		if *(*uintptr)(pointer(lo + i)) != Signature {
			return n - i
		}
	}
	return 0
}

// HighWaterPages is HighWater for a stack of many pages of size bytes each, a power of two. dirty
// says where to look: it returns the lowest address from lo on, below hi, in a page that was
// written to after it was painted, or hi; a page table's dirty bits can tell. Other pages are not
// read. Any context that dirty may run in.
func HighWaterPages(lo, hi, size uintptr, dirty func(lo, hi uintptr) uintptr) uintptr {
	for {
		if lo = dirty(lo, hi); lo >= hi {
			return 0
		}
		end := min(lo&^(size-1)+size, hi)
		if u := HighWater(lo, end); u != 0 {
			return hi - end + u
		}
		lo = end
	}
}

// pointer turns a machine address into a pointer: such memory is no part of Go's heap, and the
// collector neither moves nor frees it.
func pointer(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// Measure updates the stack's Used and returns it, in bytes. Used never falls.
func (s *Stack) Measure() uintptr {
	if u := HighWater(s.Lo, s.Hi); u > s.Used {
		s.Used = u
	}
	return s.Used
}
