package depot

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer"
)

// The stacks that were found last, each in one piece. In the depot itself a stack is in pieces, and
// a comparison has to wait at each link. Most lookups are for a stack that was found just before,
// and comparing with its one piece takes less time than the links.
//
// An interrupt may change a place while it is being read or filled. A version number tells: it is
// odd while somebody fills the place, and then nobody else does; a reader that finds it changed
// discards what it read.

type recent struct {
	hash  uint64 // of the stack and its end
	id    uint32 // 0: none
	n     uint32 // bytes of units, without the end
	units [recentBytes + 8]byte
}

const (
	// maxRecents is the largest number of places. They take a sixteenth of the memory at most.
	maxRecents = 64
	// recentBytes is the length of the longest stack in a place: 40 frames.
	recentBytes = 120
)

// placeRecent takes memory at base, and returns how much is left.
func (d *Depot) placeRecent(base uintptr) (left uintptr) {
	const size = unsafe.Sizeof(recent{})
	d.recent, d.recents = base, maxRecents
	for d.recents > 0 && uintptr(d.recents)*size > d.size/16 {
		d.recents /= 2
	}
	return d.size - uintptr(d.recents)*size
}

// place returns the place for a hash.
func (d *Depot) place(hash uint64) *recent {
	i := uintptr(hash>>32) & uintptr(d.recents-1)
	return (*recent)(at(d.recent + i*unsafe.Sizeof(recent{})))
}

// is reports whether the place holds the units of p.
func (r *recent) is(p *tracer.Packed) bool {
	n := p.Bytes()
	return n == uintptr(r.n) && equal(uintptr(unsafe.Pointer(&r.units)), p.Buffer(), n)
}

// equal compares n bytes.
func equal(a, b, n uintptr) bool {
	for n >= 48 {
		x, y := (*[6]uint64)(at(a)), (*[6]uint64)(at(b))
		if (x[0]^y[0])|(x[1]^y[1])|(x[2]^y[2])|(x[3]^y[3])|(x[4]^y[4])|(x[5]^y[5]) != 0 {
			return false
		}
		a += 48
		b += 48
		n -= 48
	}
	for n >= 24 {
		x, y := (*[3]uint64)(at(a)), (*[3]uint64)(at(b))
		if (x[0]^y[0])|(x[1]^y[1])|(x[2]^y[2]) != 0 {
			return false
		}
		a += 24
		b += 24
		n -= 24
	}
	for n >= 8 {
		if *(*uint64)(at(a)) != *(*uint64)(at(b)) {
			return false
		}
		a += 8
		b += 8
		n -= 8
	}
	return n == 0 || (*(*uint64)(at(a))^*(*uint64)(at(b)))<<(64-8*n) == 0
}

// keep stores a stack that was found in its place.
func (d *Depot) keep(hash uint64, p *tracer.Packed, id uint32) {
	n := p.Bytes()
	version := d.version.Load()
	if d.recents == 0 || n > recentBytes || version&1 != 0 ||
		!d.version.CompareAndSwap(version, version+1) {
		return
	}
	r := d.place(hash)
	r.hash, r.id, r.n = hash, id, uint32(n)
	for i := uintptr(0); i < n; i += 8 {
		*(*uint64)(unsafe.Pointer(&r.units[i])) = *(*uint64)(at(p.Buffer() + i))
	}
	d.version.Store(version + 2)
}
