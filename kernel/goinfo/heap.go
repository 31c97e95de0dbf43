package goinfo

// The runtime's heap profile: a list of buckets, one for each stack and size of allocated objects,
// which the runtime keeps anyway (runtime/mprof.go). A bucket is a header, the stack, and the
// counts:
//
//	struct bucket      of which nstk is the last field
//	nstk words         return addresses, innermost first
//	struct memRecord   active: the counts as of the end of a garbage collection;
//	                   future: three more, not yet part of those
//
// Each of the counts begins with two words: objects allocated and freed. Up to Go 1.26 the bytes
// follow, which are the objects times the size that all objects of a bucket have.

const (
	maxStackWords = 1024 // runtime's maxProfStackDepth
	cycles        = 3
	maxCycle      = 16 * wordSize // the largest size of counts
)

// A Bucket is a stack's part of the heap profile.
type Bucket struct {
	Size     uint64 // of each object in bytes
	StackLen int    // see [Bucket.PC]
	// Settled counts are those at the end of a garbage collection, Since are those from then to
	// now: what was allocated, and what the collector has freed.
	Settled, Since Cycle

	addr  uintptr
	stack uintptr
}

// Cycle is the number of objects that a stack has allocated, and how many of them have been freed.
type Cycle struct{ Allocs, Frees uint64 }

// HeapRate returns the mean number of bytes between two allocations that the profile counts; 0 if
// there is no profile. ok is false if that is not known. Kernel context, early, goroutine.
func HeapRate() (bytes uint64, ok bool) { return loadVar(heapRate) }

// NextBucket returns the bucket after b in the list of all, or the first one if b is nil. ok is
// false after the last one, or if it cannot be read. Kernel context, early, goroutine.
func NextBucket(b *Bucket) (next Bucket, ok bool) {
	addr := uintptr(0)
	if b == nil {
		v, ok := loadVar(heapBuckets)
		if !ok {
			return Bucket{}, false
		}
		addr = uintptr(v)
	} else if addr, ok = loadPtr(b.addr, bucketAllNext); !ok {
		return Bucket{}, false
	}
	size, ok1 := load(addr, bucketSize)
	n, ok2 := load(addr, bucketStackLen)
	first, cycle, ok3 := recordLayout()
	if !ok1 || !ok2 || n > maxStackWords || !ok3 {
		return Bucket{}, false
	}
	last := item(bucketStackLen)
	next = Bucket{Size: size, StackLen: int(n), addr: addr, stack: addr +
		uintptr(uint32(last)+uint32(last>>32))}
	record := next.stack + uintptr(n)*wordSize
	if !next.Settled.add(record + first) {
		return Bucket{}, false
	}
	for i := range uintptr(cycles) {
		if !next.Since.add(record + first + (i+1)*cycle) {
			return Bucket{}, false
		}
	}
	return next, true
}

// recordLayout returns the offset of the first counts in a memRecord and the size of such counts in
// bytes. ok is false if they are not where they are expected.
func recordLayout() (first, size uintptr, ok bool) {
	allocs, active := item(recordAllocs), item(recordActive)
	first, size = uintptr(uint32(active)), uintptr(active>>32)
	return first, size, allocs != unknown && active != unknown && uintptr(uint32(allocs)) == first &&
		size >= 2*wordSize && size <= maxCycle
}

// add adds the counts at addr.
func (c *Cycle) add(addr uintptr) bool {
	allocs, ok0 := readWord(addr)
	frees, ok1 := readWord(addr + wordSize)
	c.Allocs += uint64(allocs)
	c.Frees += uint64(frees)
	return ok0 && ok1
}

// PC returns the i'th return address of the stack, 0 <= i < StackLen, innermost first; 0 if
// it cannot be read. Kernel context, early, goroutine.
func (b *Bucket) PC(i int) uintptr {
	pc, _ := readWord(b.stack + uintptr(i)*wordSize)
	return pc
}
