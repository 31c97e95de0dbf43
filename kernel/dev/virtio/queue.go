package virtio

import "github.com/zeroframe/zeroframe/arch"

// A virtqueue (Virtual I/O Device 1.2, 2.7, "split virtqueues"): a table of descriptors, a ring of
// those that the device may use, and one of those that it has used, in our memory, in the layout
// that older devices require.
//
// Storing an index publishes what the device may use: what is interrupted before that has not
// happened.

const (
	descSize    = 16
	noInterrupt = 1 // of the first ring's flags
	noNotify    = 1 // of the second ring's flags

	maxQueue = 1024 // descriptors; older devices prescribe the number

	DescNext  = 1 // flag of a descriptor: it continues in another
	DescWrite = 2 // and: the device writes
)

// Queue is a virtqueue. Addresses are in our memory. It holds no pointers.
type Queue struct {
	Size  uint16 // descriptors
	desc  uintptr
	avail uintptr // flags, index, ring of descriptors; 2 bytes each
	used  uintptr // flags, index, 2 bytes each; ring of descriptor and length, 4 bytes each
	end   uintptr
}

// queueBytes returns the memory that the rings of a queue of size descriptors take, and the offset
// of the second ring in it.
func queueBytes(size uint16) (bytes, used uintptr) {
	const align = arch.PageSize
	n := uintptr(size)
	used = (descSize*n + 4 + 2*n + 2 + align - 1) &^ (align - 1)
	return (used + 4 + 8*n + 2 + align - 1) &^ (align - 1), used
}

// QueueBytes returns how many bytes of memory a queue of size descriptors takes, whole pages.
func QueueBytes(size uint16) uintptr {
	bytes, _ := queueBytes(size)
	return bytes
}

// Place gives a queue of size descriptors its memory, at a page's address.
func (q *Queue) Place(memory uintptr, size uint16) {
	bytes, used := queueBytes(size)
	*q = Queue{Size: size, desc: memory, avail: memory + descSize*uintptr(size), used: memory + used,
		end: memory + bytes}
}

// Rings returns the addresses of the descriptors and of the two rings, for the device.
func (q *Queue) Rings() (desc, avail, used uintptr) { return q.desc, q.avail, q.used }

// Clear empties the queue.
func (q *Queue) Clear() {
	for p := q.desc; p < q.end; p += 4 {
		arch.Store32(p, 0)
	}
}

// Describe makes descriptor i name n bytes at addr; next counts with DescNext.
func (q *Queue) Describe(i uint16, addr uintptr, n uint32, flags, next uint16) {
	d := q.desc + descSize*uintptr(i)
	addr = arch.Physical(addr)
	arch.Store32(d, uint32(addr))
	arch.Store32(d+4, uint32(uint64(addr)>>32))
	arch.Store32(d+8, n)
	arch.Store16(d+12, flags)
	arch.Store16(d+14, next)
}

// SetLength makes descriptor i name n bytes.
func (q *Queue) SetLength(i uint16, n uint32) { arch.Store32(q.desc+descSize*uintptr(i)+8, n) }

// Silence asks the device to stop interrupting for this queue, or to do so again.
func (q *Queue) Silence(on bool) {
	flags := uint16(0)
	if on {
		flags = noInterrupt
	}
	arch.Store16(q.avail, flags)
}

// Watched reports whether the device looks at the queue by itself for now, and wants no
// notification of what was published. Source: the specification, 2.7.10.
func (q *Queue) Watched() bool {
	arch.Fence() // the index is there before the device's answer is read
	return arch.Load16(q.used)&noNotify != 0
}

// Index returns the number of chains that the device was given, and UsedIndex how many it has used,
// both modulo 65536.
func (q *Queue) Index() uint16     { return arch.Load16(q.avail + 2) }
func (q *Queue) UsedIndex() uint16 { return arch.Load16(q.used + 2) }

// Publish hands the chain that begins with descriptor desc over to the device, and returns the new
// Index.
func (q *Queue) Publish(desc uint16) uint16 {
	i := q.Index()
	arch.Store16(q.avail+4+2*uintptr(i%q.Size), desc)
	arch.Store16(q.avail+2, i+1)
	return i + 1
}

// Used returns the chain that the device used as number i: its first descriptor, and the number of
// bytes written, both according to the device.
func (q *Queue) Used(i uint16) (desc, n uint32) {
	e := q.used + 4 + 8*uintptr(i%q.Size)
	return arch.Load32(e), arch.Load32(e + 4)
}
