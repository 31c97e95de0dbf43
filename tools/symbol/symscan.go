// One pass over a symbol table that keeps none of it: for a few addresses that is
// cheaper than to read the table and sort it.

package symbol

import (
	stdelf "debug/elf"
	"encoding/binary"
	"sort"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// manyScans is a number of passes over the table after which there is no other.
const manyScans = 1 << 20

// A scanned is the best symbol that a pass over the table has met for an address.
type scanned struct {
	elf.Symbol
	index uint64
	ok    bool
}

// scanSymbols finds for each of addrs, which rise, what funcAt finds, in one pass
// over .symtab that keeps none of it. It reports false if that is not enough to
// answer with.
func (f *File) scanSymbols(addrs []uint64, hits []symbolHit) bool {
	tab, str := f.SymbolSections(stdelf.SHT_SYMTAB)
	if tab == nil || f.Compressed(tab) || f.Compressed(str) {
		return false
	}
	if _, err := f.Extent(tab); err != nil {
		return false
	}
	if _, err := f.Extent(str); err != nil {
		return false
	}
	// The nearest symbol before each address, of those after the address before
	// it, and the nearest one that covers it.
	nearest, covers := make([]scanned, len(addrs)), make([]scanned, len(addrs))
	text := f.TextSections()
	low, high := addrs[0], addrs[len(addrs)-1]
	entsize := f.SymbolSize()
	total := tab.Len / entsize
	buf := make([]byte, min(total, 4096)*entsize)
	files := 0
	plain := f.Class == stdelf.ELFCLASS64 && !f.Big() && f.Type != stdelf.ET_REL
	floor := uint64(0) // symbols below are of use only if they reach the address
	for first := uint64(0); first < total; {
		n := min(total-first, uint64(len(buf))/entsize)
		if m, _ := f.ReadAt(buf[:n*entsize], int64(tab.Off+first*entsize)); uint64(m) < n*entsize {
			return false
		}
		p := symbolPart{tab: buf, entsize: entsize}
		for i := range n {
			if plain {
				// Most symbols are of no use, which is soon seen.
				b := buf[i*entsize : i*entsize+24]
				v := binary.LittleEndian.Uint64(b[8:])
				if b[4]&0xf != byte(stdelf.STT_FILE) && (v > high || v < floor &&
					low-v >= binary.LittleEndian.Uint64(b[16:])) {
					continue
				}
			}
			s := f.rawSymbol(&p, i)
			if first+i > 1 && stdelf.ST_TYPE(s.Info) == stdelf.STT_FILE {
				files++
			}
			if s.Value > high || s.Name == 0 || !f.isFunc(&s, text) {
				continue
			}
			j := 0
			if s.Value > low {
				j = sort.Search(len(addrs), func(j int) bool { return addrs[j] >= s.Value })
			}
			if c := &nearest[j]; !c.ok || s.Value > c.Value || s.Value == c.Value && better(s, c.Symbol) {
				*c = scanned{s, first + i, true}
				if len(addrs) == 1 {
					floor = s.Value
				}
			}
			for ; j < len(addrs) && addrs[j]-s.Value < s.Size; j++ {
				if c := &covers[j]; !c.ok || s.Value > c.Value || s.Value == c.Value && better(s, c.Symbol) {
					*c = scanned{s, first + i, true}
				}
			}
		}
		first += n
	}
	f.strMu.Lock()
	defer f.strMu.Unlock()
	if f.strs == nil {
		f.strs = f.PagesOf(str)
	}
	hit := false
	for j := range addrs {
		near := &nearest[j]
		if j > 0 && !near.ok {
			*near = nearest[j-1]
		}
		best := near
		switch {
		case !near.ok:
			continue
		case near.Size == 0 && f.SameSection(near.Value, addrs[j]):
		case covers[j].ok:
			best = &covers[j]
		default:
			continue
		}
		name := f.strs.CString(uint64(best.Name))
		if len(name) == 0 || isMarker(name) {
			return false
		}
		hits[j] = symbolHit{
			name: stripABI(string(name)), start: best.Value, part: scannedPart, index: best.index,
			named: files == 0 || stdelf.ST_BIND(best.Info) == stdelf.STB_LOCAL,
		}
		hit = true
	}
	if !hit { // maybe .symtab has no function at all, and .dynsym counts
		tab, _ = f.SymbolSections(stdelf.SHT_DYNSYM)
		return tab == nil
	}
	return true
}

// scanFile is sourceOf without the table in memory. f.strMu is held.
func (f *File) scanFile(tab *elf.Section, index uint64) string {
	const step = 256
	entsize := f.SymbolSize()
	buf := make([]byte, step*entsize)
	for end := index; end > 0; {
		first := end - min(end, step)
		p := symbolPart{tab: buf[:(end-first)*entsize], entsize: entsize}
		if n, _ := f.ReadAt(p.tab, int64(tab.Off+first*entsize)); n < len(p.tab) {
			return ""
		}
		for i := end - first; i > 0; i-- {
			if s := f.rawSymbol(&p, i-1); stdelf.ST_TYPE(s.Info) == stdelf.STT_FILE {
				return string(f.strs.CString(uint64(s.Name)))
			}
		}
		end = first
	}
	return ""
}
