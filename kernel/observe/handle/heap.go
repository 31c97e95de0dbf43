package handle

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/observe/eventstream"
)

// The heap profile of Go's runtime, as a record: it is read where the runtime keeps it, so
// it can be had at any time, from a dead program too.

// HeapKind is the kind of the record. It holds (tools/handle/heap.go reads it), with
// numbers and strings as tracer/stream writes them:
//
//	"zfheap1\n"
//	string    the image's build ID, as bytes
//	numbers   time now in ns since boot; ns of the time of day at boot
//	number    bytes between two counted allocations, in the mean
//	1         for each stack, and then: size of an object; objects allocated and freed;
//	          bytes allocated and freed; number of return addresses; these
//	0         at the end
//	number    1 if the counts are those as of the end of a garbage collection; before the
//	          second one they are all that there are
const HeapKind = "heap"

const heapMagic = "zfheap1\n"

// maxHeapStacks bounds what is believed of the list's length.
const maxHeapStacks = 1 << 20

// heapWanted is set while the profile is sent with snapshots. Set once at boot.
var heapWanted bool

// SendHeaps has each snapshot followed by the heap profile, whether anything is logged or
// not. Early context.
func SendHeaps() { heapWanted = true }

// sendHeap sends the heap profile, if it is wanted.
func sendHeap() {
	if !heapWanted {
		return
	}
	rate, ok := goinfo.HeapRate()
	if !ok {
		return
	}
	w := eventstream.Begin(HeapKind)
	for i := range len(heapMagic) {
		w.Byte(heapMagic[i])
	}
	w.Uvarint(uint64(buildIDLen))
	w.Bytes(buildID[:buildIDLen])
	now := clock.Now()
	w.Uvarint(now)
	w.Uvarint(uint64(clock.Wall()) - now)
	w.Uvarint(rate)
	settled := false
	n := 0
	for b, ok := goinfo.NextBucket(nil); ok && n < maxHeapStacks; b, ok = goinfo.NextBucket(&b) {
		settled = settled || b.Settled.Allocs != 0 || b.Settled.Frees != 0
		n++
	}
	b, ok := goinfo.NextBucket(nil)
	for ; n > 0 && ok; n-- {
		c := &b.All
		if settled {
			c = &b.Settled
		}
		if c.Allocs != 0 {
			w.Uvarint(1)
			w.Uvarint(b.Size)
			w.Uvarint(c.Allocs)
			w.Uvarint(c.Frees)
			w.Uvarint(c.AllocBytes)
			w.Uvarint(c.FreeBytes)
			w.Uvarint(uint64(b.StackLen))
			for i := range b.StackLen {
				w.Uvarint(uint64(b.PC(i)))
			}
		}
		b, ok = goinfo.NextBucket(&b)
	}
	w.Uvarint(0)
	if settled {
		w.Uvarint(1)
	} else {
		w.Uvarint(0)
	}
	w.End()
}
