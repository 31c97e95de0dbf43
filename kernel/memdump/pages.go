package memdump

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/dump"
)

// Every page of RAM once, the most useful first (dump.Class). The data that gives the order may be
// broken, so it only says which page is next: all of RAM comes in the end. The order is the same
// each time, because the machine is dead.

// notes is the address of a bit for each page of RAM, set once the page has come; numNotes is their
// number. Set once at boot.
var notes, numNotes uintptr

// A source is a position in the order.
type source struct {
	class dump.Class
	count uint32 // pages so far
	lost  uint32 // of these, the pages that are lost (kept.go)

	// Within a class: the range or goroutine, and the next address in it. 0 and 0 is the beginning.
	i  int
	at uintptr

	// For kept memory: the next mark.
	mark uint32

	// The tables on the current path, by their level.
	level int
	table [4]uintptr
	index [4]uintptr
}

// pages is the position in the order. Panic path only.
var pages source

// prepare takes memory for the notes. Early context, before mem.Release.
func (s *source) prepare() bool {
	numNotes = uintptr(min(mem.Highest(), 512<<30)) / arch.PageSize
	notes = mem.Contiguous((numNotes + 7) / 8)
	return notes != 0
}

// reset goes back to the beginning.
func (s *source) reset() {
	*s = source{level: -1}
	if sendingKept {
		return
	}
	for i := uintptr(0); i < (numNotes+7)/8; i++ {
		*(*byte)(arch.Pointer(notes + i)) = 0
	}
}

// next returns the address of the next page; ok is false when all have come.
func (s *source) next() (frame uintptr, ok bool) {
	if sendingKept {
		return s.nextKept()
	}
	for s.class < dump.NumClasses {
		f := s.candidate()
		switch {
		case f == 0:
			s.class++
			s.i, s.at = 0, 0
		case s.note(f):
			s.count++
			return f, true
		}
	}
	return 0, false
}

// inRAM reports whether f is the address of a page of RAM.
func inRAM(f uintptr) bool {
	for i := 0; ; i++ {
		lo, hi, ok := mem.RAM(i)
		if !ok {
			return false
		}
		if lo <= f && f < hi {
			return f/arch.PageSize < numNotes
		}
	}
}

// note notes that the page at f comes, and reports whether it is RAM and has not come before.
func (s *source) note(f uintptr) bool {
	if !inRAM(f) {
		return false
	}
	n := f / arch.PageSize
	p := (*byte)(arch.Pointer(notes + n/8))
	if *p>>(n%8)&1 != 0 {
		return false
	}
	*p |= 1 << (n % 8)
	return true
}

// candidate returns a page of the class, perhaps one that has come already; 0 after the last.
func (s *source) candidate() uintptr {
	switch s.class {
	case dump.Tables:
		return s.nextTable()
	case dump.Kernel:
		return s.nextOfKernel()
	case dump.Stacks:
		return s.nextOfStacks()
	case dump.Runtime, dump.Heap:
		return s.nextOfProgram(s.class == dump.Heap)
	}
	return s.nextOfRAM(s.class == dump.Unused)
}

// nextTable walks the page tables, each before the tables that it leads to.
func (s *source) nextTable() uintptr {
	if s.level < 0 {
		s.level = 3
		s.table[3], s.index[3] = mem.Root(), 0
		return s.table[3]
	}
	for s.level < 4 {
		l := s.level & 3
		if l == 0 || s.index[l] >= 512 {
			s.level++
			continue
		}
		e, _ := tracer.ReadWord(arch.Virtual(s.table[l] + s.index[l]*8))
		s.index[l]++
		if e&arch.PTEPresent == 0 || l < 3 && e&arch.PTELarge != 0 {
			continue
		}
		f := e & arch.PTEAddr
		if !inRAM(f) || s.noted(f) { // broken tables may form a loop
			continue
		}
		s.level--
		s.table[s.level&3], s.index[s.level&3] = f, 0
		return f
	}
	return 0
}

func (s *source) noted(f uintptr) bool {
	n := f / arch.PageSize
	return *(*byte)(arch.Pointer(notes + n/8))>>(n%8)&1 != 0
}

// nextOf goes on in lo <= address < hi, and returns 0 after it.
func (s *source) nextOf(lo, hi uintptr) uintptr {
	if s.at == 0 {
		s.at = lo &^ (arch.PageSize - 1)
	}
	if s.at >= hi {
		s.at = 0
		s.i++
		return 0
	}
	s.at += arch.PageSize
	return s.at - arch.PageSize
}

// nextOfKernel walks the image's variables, and the kernel's memory after the image.
func (s *source) nextOfKernel() uintptr {
	for {
		seg, ok := mem.ImageSegment(s.i)
		switch {
		case ok && !seg.Write:
			s.i++
			continue
		case ok:
			if f := s.nextOf(seg.Lo, seg.Hi); f != 0 {
				return f
			}
			continue
		}
		last, ok := mem.ImageSegment(s.i - 1)
		if !ok {
			return 0
		}
		return s.nextOf(last.Hi, mem.BootEnd())
	}
}

// nextOfStacks walks the stacks of threads in the table, and those of goroutines.
func (s *source) nextOfStacks() uintptr {
	threads := len(stack.Table) - stack.Count
	for s.i < threads+goinfo.NumG() {
		var lo, hi uintptr
		if s.i < threads {
			t := &stack.Table[stack.Count+s.i]
			lo, hi = t.Lo, t.Hi
		} else if g, ok := goinfo.GAt(s.i - threads); ok && !g.Dead() {
			lo, hi = g.StackLo, g.StackHi
		}
		if lo == 0 || hi-lo > maxStack {
			s.i, s.at = s.i+1, 0
			continue
		}
		at := s.nextOf(lo, hi)
		if at == 0 {
			continue
		}
		if f, _ := physical(at); f != 0 {
			return f
		}
	}
	return 0
}

// maxStack bounds the size of a stack that is believed.
const maxStack = 1 << 30

// heapBits is the number of low address bits in which addresses of Go's heap differ: its arenas lie
// in one terabyte, while the runtime's other memory is mapped elsewhere.
const heapBits = 40

// nextOfProgram walks what the program has mapped: Go's heap, or everything else.
func (s *source) nextOfProgram(heap bool) uintptr {
	if s.at == 0 {
		s.at = mem.SpaceLo()
	}
	g, _ := goinfo.GAt(0)
	for s.at < mem.SpaceHi {
		at := s.at
		f, size := physical(at)
		s.at = at&^(size-1) + size
		if f == 0 {
			continue
		}
		if inHeap := g.Addr>>heapBits == at>>heapBits; inHeap == heap {
			s.at = at + arch.PageSize
			return f
		}
	}
	return 0
}

// physical returns the page that addr is mapped to, or 0, and the size of the range that an entry
// maps on the level where the look-up ended.
func physical(addr uintptr) (frame, size uintptr) {
	t := mem.Root()
	for level := 3; level >= 0; level-- {
		shift := 12 + 9*uint(level)
		size = 1 << shift
		e, ok := tracer.ReadWord(arch.Virtual(t + addr>>shift&511*8))
		if !ok || e&arch.PTEPresent == 0 {
			return 0, size
		}
		t = e & arch.PTEAddr
		if level < 3 && e&arch.PTELarge != 0 && level > 0 {
			return t&^(size-1) + addr&(size-1)&^(arch.PageSize-1), size
		}
	}
	return t, size
}

// nextOfRAM walks all RAM, with unused including RAM that was never handed out.
func (s *source) nextOfRAM(unused bool) uintptr {
	for {
		lo, hi, ok := mem.RAM(s.i)
		if !ok {
			return 0
		}
		f := s.nextOf(lo, hi)
		if f == 0 {
			continue
		}
		if end := mem.NeverUsed(f); end != 0 && !unused {
			s.at = end
			continue
		}
		return f
	}
}

// read copies n bytes of physical memory to the start of to, with zeros for secrets, and reports
// whether it could.
func read(to []byte, from uintptr, n int) bool {
	to = to[:n]
	if sendingKept {
		from, _ = keptAt(found).Where(from)
	}
	if arch.CopyUser(uintptr(unsafe.Pointer(unsafe.SliceData(to))), arch.Virtual(from),
		uintptr(n)) != 0 {
		return false
	}
	hide(to, from)
	return true
}
