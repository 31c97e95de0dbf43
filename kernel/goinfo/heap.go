package goinfo

// The runtime's heap profile: a list of buckets, one for each stack that has allocated
// objects of a size, which the runtime keeps anyway (runtime/mprof.go). A bucket is a
// header, the stack, and the counts:
//
//	struct bucket      of which nstk is the last field
//	nstk words         return addresses, innermost first
//	struct memRecord   active: the counts as of the end of a garbage collection;
//	                   future: three more, not yet part of those
//
// Each of the counts is four words: objects allocated and freed, bytes allocated and
// freed.

const (
	maxStackWords = 1024 // runtime's maxProfStackDepth
	cycleSize     = 4 * wordSize
	cycles        = 3
)

// A Bucket is a stack's part of the heap profile.
type Bucket struct {
	Size     uint64 // of each object in bytes
	StackLen int    // see [Bucket.PC]
	// Settled counts are those as of the end of a garbage collection, All those up to
	// now: all that was allocated, and what was freed up to the last collection.
	Settled, All Cycle

	addr  uintptr
	stack uintptr
}

// Cycle is what a stack has allocated and what of it has been freed.
type Cycle struct{ Allocs, Frees, AllocBytes, FreeBytes uint64 }

// HeapRate returns how many bytes lie in the mean between two allocations that the profile
// counts; 0 if there is no profile. ok is false if that is not known. Kernel context,
// early, goroutine.
func HeapRate() (bytes uint64, ok bool) { return loadVar(heapRate) }

// NextBucket returns the bucket behind b in the list of all, or the first one if b is nil.
// ok is false behind the last one, or if it cannot be read. Kernel context, early,
// goroutine.
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
	first, ok3 := recordLayout()
	if !ok1 || !ok2 || n > maxStackWords || !ok3 {
		return Bucket{}, false
	}
	last := item(bucketStackLen)
	next = Bucket{Size: size, StackLen: int(n), addr: addr, stack: addr + uintptr(uint32(last)+uint32(last>>32))}
	record := next.stack + uintptr(n)*wordSize
	if !next.Settled.add(record + first) {
		return Bucket{}, false
	}
	next.All = next.Settled
	for i := range uintptr(cycles) {
		if !next.All.add(record + first + (i+1)*cycleSize) {
			return Bucket{}, false
		}
	}
	return next, true
}

// recordLayout returns the offset of the first of the four counts in a memRecord. ok is
// false if they are not where they are expected.
func recordLayout() (first uintptr, ok bool) {
	allocs, freeBytes := item(recordAllocs), item(recordFreeBytes)
	first = uintptr(uint32(allocs))
	return first, allocs != unknown && freeBytes != unknown && uintptr(uint32(freeBytes)) == first+3*wordSize
}

// add adds the four words at addr.
func (c *Cycle) add(addr uintptr) bool {
	w0, ok0 := readWord(addr)
	w1, ok1 := readWord(addr + wordSize)
	w2, ok2 := readWord(addr + 2*wordSize)
	w3, ok3 := readWord(addr + 3*wordSize)
	c.Allocs += uint64(w0)
	c.Frees += uint64(w1)
	c.AllocBytes += uint64(w2)
	c.FreeBytes += uint64(w3)
	return ok0 && ok1 && ok2 && ok3
}

// PC returns the i'th return address of the stack, 0 <= i < StackLen, innermost first; 0 if
// it cannot be read. Kernel context, early, goroutine.
func (b *Bucket) PC(i int) uintptr {
	pc, _ := readWord(b.stack + uintptr(i)*wordSize)
	return pc
}
