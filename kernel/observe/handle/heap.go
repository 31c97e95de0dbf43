package handle

import (
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/observe/eventstream"
)

// The heap profile of Go's runtime, as a record. It is read from the runtime's memory, so it is
// available at any time, even from a dead program.

// HeapKind is the kind of the record. It holds (tools/format/handle/heap.go reads it), with numbers
// and strings as tracer/stream writes them:
//
//	"zfheap2\n"
//	string    the image's build ID, as bytes
//	numbers   time now in ns since boot; ns of the time of day at boot
//	number    bytes between two counted allocations, in the mean
//	1         for each stack, and then: size of an object in bytes; objects allocated and freed
//	          up to the end of the last garbage collection whose work is done; the same from
//	          then to now; number of return addresses; these
//	0         at the end
//
// Objects that were allocated since that collection and are garbage by now are not known: they do
// not count as freed.
const HeapKind = "heap"

const heapMagic = "zfheap2\n"

// maxHeapStacks bounds the length of the list that is believed.
const maxHeapStacks = 1 << 20

// heapWanted is set if the profile is sent with snapshots. Set once at boot.
var heapWanted bool

// SendHeaps makes the heap profile follow each snapshot, whether anything is logged or not. Early
// context.
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
	writeOrigin(w)
	w.Uvarint(rate)
	b, ok := goinfo.NextBucket(nil)
	for n := 0; n < maxHeapStacks && ok; n++ {
		if b.Settled.Allocs|b.Since.Allocs != 0 {
			w.Uvarints(1, b.Size, b.Settled.Allocs, b.Settled.Frees, b.Since.Allocs,
				b.Since.Frees, uint64(b.StackLen))
			for i := range b.StackLen {
				w.Uvarint(uint64(b.PC(i)))
			}
		}
		b, ok = goinfo.NextBucket(&b)
	}
	w.Uvarint(0)
	w.End()
}
