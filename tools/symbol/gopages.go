// Of a Go program's pc table, which is a fifth of the file, an answer needs a few
// kilobytes here and there. The table is kept in a slice as long as it is, of which
// only the pages in use are filled: the rest is memory that no one has touched, and
// so takes none.

package symbol

import (
	"bytes"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
	"github.com/zeroframe/zeroframe/tracer"
)

// A lazyTable is a section of which the pages are read when they are needed.
type lazyTable struct {
	tab  []byte
	f    *File
	off  uint64        // of the section in the file
	all  atomic.Bool   // everything is there
	mu   sync.Mutex    // held to fill pages
	have []atomic.Bool // by page
}

// lazyPage is the size of the pages in bytes.
const lazyPage = 4 << 10

// newLazyTable returns a section with nothing in it yet. A section that is compressed
// is there as a whole.
func (f *File) newLazyTable(s *elf.Section) (*lazyTable, error) {
	if _, err := f.Extent(s); err != nil {
		return nil, err
	}
	if s.Len > 1<<32-1 {
		return nil, fmt.Errorf("section %s: %d bytes are more than a pc table has", s.Name, s.Len)
	}
	t := &lazyTable{f: f, off: s.Off}
	if f.Compressed(s) || s.Len == 0 {
		var err error
		t.tab, err = f.Data(s)
		t.all.Store(true)
		return t, err
	}
	t.tab = make([]byte, s.Len)
	t.have = make([]atomic.Bool, (s.Len+lazyPage-1)/lazyPage)
	return t, nil
}

// need fills n bytes from off, as far as there are as many. What cannot be read stays
// zero, as if the file were damaged.
func (t *lazyTable) need(off, n uint32) {
	if t.all.Load() || n == 0 {
		return
	}
	last := min((uint64(off)+uint64(n)-1)/lazyPage, uint64(len(t.have))-1)
	for first := uint64(off) / lazyPage; first <= last; first++ {
		if !t.have[first].Load() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.fill(first, last)
			return
		}
	}
}

// fill reads those pages from first to last that are not there. t.mu is held.
func (t *lazyTable) fill(first, last uint64) {
	for first <= last {
		if t.have[first].Load() {
			first++
			continue
		}
		end := first + 1
		for end <= last && !t.have[end].Load() {
			end++
		}
		b := t.tab[first*lazyPage : min(end*lazyPage, uint64(len(t.tab)))]
		if n, _ := t.f.ReadAt(b, int64(t.off+first*lazyPage)); n < len(b) {
			clear(b[n:])
		}
		for ; first < end; first++ {
			t.have[first].Store(true)
		}
	}
}

// needAll fills the table. Who needs many answers is best served so.
func (t *lazyTable) needAll() {
	const piece = 256 // pages
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all.Load() {
		return
	}
	pages := len(t.have)
	sideBySide((pages+piece-1)/piece, 1, func() func(int) {
		return func(i int) { t.fill(uint64(i*piece), uint64(min((i+1)*piece, pages)-1)) }
	})
	t.all.Store(true)
}

// needString fills the bytes from off up to a zero byte.
func (t *lazyTable) needString(off uint32) {
	for !t.all.Load() && uint64(off) < uint64(len(t.tab)) {
		next := min((uint64(off)/lazyPage+1)*lazyPage, uint64(len(t.tab)))
		t.need(off, 1)
		if bytes.IndexByte(t.tab[off:next], 0) >= 0 {
			return
		}
		off = uint32(next)
	}
}

// The methods of tracer.PCTable and tracer.Func, for a table that is not all there.

// TextRange is PCTable.TextRange.
func (g *goTable) TextRange() (start, end uintptr) {
	g.need(g.EntryPart(0))
	g.need(g.EntryPart(g.NumFuncs()))
	return g.PCTable.TextRange()
}

// Find is PCTable.Find.
func (g *goTable) Find(pc uintptr) (fn tracer.Func, ok bool) {
	if g.all.Load() {
		return g.PCTable.Find(pc)
	}
	if start, end := g.TextRange(); pc < start || pc >= end {
		return fn, false
	}
	lo, hi := 0, g.NumFuncs()
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		g.need(g.EntryPart(mid))
		if g.EntryAt(mid) <= pc {
			lo = mid
		} else {
			hi = mid
		}
	}
	return g.Func(lo)
}

// Func is PCTable.Func.
func (g *goTable) Func(i int) (fn tracer.Func, ok bool) {
	if i < 0 || i >= g.NumFuncs() {
		return fn, false
	}
	if !g.all.Load() {
		g.need(g.EntryPart(i))
		g.need(g.EntryPart(i + 1))
		g.need(g.RecordPart(i))
	}
	if fn, ok = g.PCTable.Func(i); ok {
		g.need(fn.DataPart())
	}
	return fn, ok
}

// funcs are all functions, in the order of their addresses.
func (g *goTable) funcs() iter.Seq[tracer.Func] {
	return func(yield func(tracer.Func) bool) {
		g.needAll()
		for i := range g.NumFuncs() {
			if fn, ok := g.Func(i); ok && !yield(fn) {
				return
			}
		}
	}
}

// name is Func.Name.
func (g *goTable) name(fn tracer.Func) []byte { return g.NameAt(fn.NameOffset()) }

// NameAt is PCTable.NameAt.
func (g *goTable) NameAt(off int32) []byte {
	g.needString(g.NamePart(off))
	return g.PCTable.NameAt(off)
}

// fileLine is Func.FileLine.
func (g *goTable) fileLine(fn tracer.Func, pc uint64) (file []byte, line int32, ok bool) {
	if !g.all.Load() {
		g.need(fn.FilePart())
		g.need(fn.LinePart())
		place := fn.FilePlace(uintptr(pc))
		g.need(place, 4)
		g.needString(fn.FileName(place))
	}
	return fn.FileLine(uintptr(pc))
}

// pcData is Func.PCData.
func (g *goTable) pcData(fn tracer.Func, i uint32, pc uint64) (int32, bool) {
	g.need(fn.PCDataPart(i))
	return fn.PCData(i, uintptr(pc))
}

// spDelta is Func.SPDelta.
func (g *goTable) spDelta(fn tracer.Func, pc uint64) (int32, bool) {
	g.need(fn.SPPart())
	return fn.SPDelta(uintptr(pc))
}
