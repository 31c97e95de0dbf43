package heap

// A span is some pages that hold objects of one size. runtime.mheap_.allspans lists them all.
// An object is allocated if it lies before the span's freeindex or has its allocation bit:
// what the collector has found dead stays allocated until its span is swept, for the runtime's
// statistics as for us.

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

// Limits of what is believed.
const (
	maxSpans     = 1 << 24
	maxSpanBytes = 1 << 34
	maxSlots     = 1 << 28
	pageSize     = 8192
)

// errTooLarge is returned for a heap beyond these limits. A program can have one on a small
// machine: memory that it has never written takes none.
var errTooLarge = fmt.Errorf(
	"the heap has more than %d GiB or %d million objects, too much to be read",
	maxSpanBytes>>30, maxSlots/1_000_000)

// Heap is the heap of a dead program. Host.
type Heap struct {
	*layout
	target *proc.Target
	mem    proc.MemoryReader

	spans []span
	pages map[uint64]uint32 // page number -> index in spans
	slots uint32            // of all spans

	total       uint64 // pages of all spans
	manual      uint64 // bytes of stacks, and of what the collector works with
	claims      int    // so many things are said of objects, and not more
	typedStacks int    // of so many goroutines the variables are still to be looked at

	classes    []uint64 // bytes of each size class
	inlineBits uint64   // bytes of runtime.spanInlineMarkBits at the end of a small span
	modules    []module
	masks      map[uint64]*rtype

	roots []Root
	graph
	flow

	// Bytes and Objects are all that is allocated, reachable or not; ReachableBytes and
	// ReachableObjects what is reachable. RuntimeBytes and RuntimeObjects are the runtime's
	// own count; its objects have the small ones within a block counted one by one.
	Bytes, Objects, ReachableBytes, ReachableObjects uint64
	RuntimeBytes                                     uint64
	// Notes are what could not be read, in words.
	Notes []string
}

// span is some pages.
type span struct {
	start, pages, elem, count uint64
	first                     uint32 // the number of its first slot
	noscan, arena             bool
	small                     bool // it has a size class
	largeType                 uint64
	specials                  uint64
	alloc                     []byte // a bit for each slot
	content                   []byte // of one that has pointers
}

// Open reads the heap of a program: its objects, and who points to whom. Types come with
// [Heap.Types]. It needs about as much memory as the objects with pointers have. Host.
func Open(p *inspect.Program, image string) (*Heap, error) {
	return open(p, image, p.Target().Memory(), maxClaims)
}

// open reads the heap from some memory. With fewer claims than maxClaims it does not ask who points
// to whom.
func open(p *inspect.Program, image string, mem proc.MemoryReader, claims int) (
	h *Heap, err error) {
	defer func() {
		if r := recover(); r != nil {
			h, err = nil, fmt.Errorf("the core is corrupt, or its Go version is not known to zf: %v", r)
		}
	}()
	t := p.Target()
	if t.BinInfo().Arch.PtrSize() != 8 {
		return nil, errors.New("the program is of a machine with 32 bits; zf heap knows those with 64")
	}
	l, err := readLayout(image, t.BinInfo().Images[0].StaticBase)
	if err != nil {
		return nil, err
	}
	h = &Heap{layout: l, target: t, mem: mem, pages: map[uint64]uint32{}, masks: map[uint64]*rtype{},
		claims: claims}
	steps := []func() error{h.readClasses, h.readModules, h.readSpans, h.readStats, h.readContents,
		h.readRoots}
	if claims == maxClaims {
		steps = append(steps, h.link)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// readClasses reads the table of size classes.
func (h *Heap) readClasses() error {
	for _, name := range []string{"internal/runtime/gc.SizeClassToSize", "runtime.class_to_size"} {
		s, ok := h.at[name]
		if !ok || s.size > 1024 {
			continue
		}
		b := make([]byte, s.size)
		if err := h.read(b, s.addr); err != nil {
			return err
		}
		for ; len(b) >= 2; b = b[2:] {
			h.classes = append(h.classes, uint64(binary.LittleEndian.Uint16(b)))
		}
	}
	if len(h.classes) < 2 || !slices.IsSorted(h.classes) {
		return errors.New(
			"the ELF file has no table of the runtime's size classes; this zf knows Go 1.25 to 1.27")
	}
	if t := h.named("runtime.spanInlineMarkBits"); t != nil {
		h.inlineBits = uint64(t.Size())
	}
	return nil
}

// readSpans reads the table of spans.
func (h *Heap) readSpans() error {
	heap := h.variable("runtime.mheap_")
	heapGen := uint32(heap.word("sweepgen"))
	list, err := h.pointersOf(heap, "allspans", "spans", maxSpans)
	if err != nil {
		return err
	}
	kind := h.named("runtime.mspan")
	for _, at := range list {
		r := h.record(kind, at)
		if errors.Is(r.err, errNoMemory) {
			continue // a spare one: the runtime has made room for it, and not written to it yet
		}
		if err := h.readSpan(r, heapGen); err != nil {
			return err
		}
	}
	return nil
}

// readSpan reads one, if it is in use.
func (h *Heap) readSpan(r *record, heapGen uint32) error {
	const inUse, manual = 1, 2
	switch r.word("state.s.value") {
	case manual:
		h.manual += r.word("npages") * pageSize
		return r.err
	case inUse:
	default:
		return r.err
	}
	class := r.word("spanclass")
	s := span{
		start: r.word("startAddr"), pages: r.word("npages"), elem: r.word("elemsize"),
		count:  r.word("nelems"),
		noscan: class&1 != 0, small: class>>1 != 0, largeType: r.word("largeType"),
		specials: r.word("specials"),
		arena:    r.has("isUserArenaChunk") && r.word("isUserArenaChunk") != 0, first: h.slots,
	}
	free, bitsAt, allocated := r.word("freeindex"), r.word("allocBits"), r.word("allocCount")
	gen, before := uint32(r.word("sweepgen")), r.word("allocCountBeforeCache")
	if r.err != nil {
		return r.err
	}
	if allocated == 0 && free == 0 && !s.small {
		return nil // being made
	}
	h.total += s.pages
	if s.pages == 0 || s.pages > 1<<47/pageSize || s.elem == 0 || s.elem%8 != 0 || s.count == 0 ||
		s.count > s.pages*pageSize/8 || s.elem > s.pages*pageSize || s.count*s.elem > s.pages*pageSize ||
		s.start%pageSize != 0 {
		return fmt.Errorf("the core is corrupt: a span at %#x has %d pages and %d objects of %d bytes",
			s.start, s.pages, s.count, s.elem)
	}
	if h.total > maxSpanBytes/pageSize || uint64(h.slots)+s.count > maxSlots {
		return errTooLarge
	}
	n, err := h.readAllocated(&s, bitsAt, free)
	if err != nil {
		return err
	}
	h.Objects += n
	h.Bytes += n * s.elem
	if gen == heapGen+1 || gen == heapGen+3 {
		// A cached one is not in the statistics yet.
		h.RuntimeBytes += (allocated - before) * s.elem
	}
	for i := range s.pages {
		h.pages[s.start/pageSize+i] = uint32(len(h.spans))
	}
	h.slots += uint32(s.count)
	h.spans = append(h.spans, s)
	return nil
}

// readAllocated reads which objects of a span are allocated, and returns how many: those in front
// of free, and those that the bits say.
func (h *Heap) readAllocated(s *span, bitsAt, free uint64) (n uint64, err error) {
	s.alloc = make([]byte, (s.count+7)/8)
	if err := h.read(s.alloc, bitsAt); err != nil {
		return 0, err
	}
	for i := range min(free, s.count) {
		s.alloc[i/8] |= 1 << (i % 8)
	}
	if s.count%8 != 0 {
		s.alloc[len(s.alloc)-1] &= 1<<(s.count%8) - 1
	}
	for _, b := range s.alloc {
		n += uint64(bits.OnesCount8(b))
	}
	return n, nil
}

// readStats adds what the runtime has counted: allocations less frees.
func (h *Heap) readStats() error {
	s, ok := h.at["runtime.memstats"]
	t, ok2 := h.variables["runtime.memstats"]
	delta := h.named("runtime.heapStatsDelta")
	if !ok || !ok2 || delta == nil {
		return errors.New("the ELF file lacks the runtime's statistics")
	}
	off, _, err := inspect.Field(h.typeAt(t), "heapStats.stats")
	if err != nil {
		return err
	}
	// There are three, which are summed up from time to time.
	for i := range uint64(3) {
		r := h.record(delta, s.addr+off+i*uint64(delta.Size()))
		h.RuntimeBytes += r.word("largeAlloc") - r.word("largeFree")
		if r.err != nil {
			return r.err
		}
		allocs, _, err := inspect.Field(delta, "smallAllocCount")
		frees, _, err2 := inspect.Field(delta, "smallFreeCount")
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		for c, size := range h.classes {
			a, f := allocs+8*uint64(c), frees+8*uint64(c)
			if max(a, f)+8 > uint64(len(r.b)) {
				break
			}
			live := binary.LittleEndian.Uint64(r.b[a:]) - binary.LittleEndian.Uint64(r.b[f:])
			h.RuntimeBytes += live * size
		}
	}
	return nil
}

// readContents reads the objects that have pointers. A span without any page in the core was
// not touched, and its objects are zero.
func (h *Heap) readContents() error {
	for i := range h.spans {
		s := &h.spans[i]
		if s.noscan {
			continue
		}
		s.content = make([]byte, s.pages*pageSize)
		if h.readPages(s.content, s.start) != nil {
			s.content = nil
		}
	}
	return nil
}

// find returns the slot that an address lies in; ok is false if no allocated object is there.
func (h *Heap) find(addr uint64) (slot uint32, off uint64, ok bool) {
	i, ok := h.pages[addr/pageSize]
	if !ok {
		return 0, 0, false
	}
	s := &h.spans[i]
	n := (addr - s.start) / s.elem
	if n >= s.count || s.alloc[n/8]&(1<<(n%8)) == 0 {
		return 0, 0, false
	}
	return s.first + uint32(n), (addr - s.start) % s.elem, true
}

// spanOf returns the span of a slot and the slot's number in it.
func (h *Heap) spanOf(slot uint32) (*span, uint64) {
	i, ok := slices.BinarySearchFunc(h.spans, slot, func(s span, n uint32) int {
		return cmp.Compare(s.first, n)
	})
	if !ok {
		i--
	}
	return &h.spans[i], uint64(slot - h.spans[i].first)
}

// address returns where a slot's object begins.
func (h *Heap) address(slot uint32) uint64 {
	s, n := h.spanOf(slot)
	return s.start + n*s.elem
}

// objects calls f for each allocated object.
func (h *Heap) objects(f func(s *span, n uint64, slot uint32)) {
	for i := range h.spans {
		s := &h.spans[i]
		for n := range s.count {
			if s.alloc[n/8]&(1<<(n%8)) != 0 {
				f(s, n, s.first+uint32(n))
			}
		}
	}
}
