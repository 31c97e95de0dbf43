// One pass over a symbol table that keeps none of it: for a few addresses that is
// cheaper than to read the table and sort it.

package symbol

import (
	"debug/elf"
	"encoding/binary"
	"sort"
)

// manyScans is a number of passes over the table after which there is no other.
const manyScans = 1 << 20

// A scanned is the best symbol that a pass over the table has met for an address.
type scanned struct {
	rawSymbol
	index uint64
	ok    bool
}

// scanSymbols finds for each of addrs, which rise, what funcAt finds, in one pass
// over .symtab that keeps none of it. It reports false if that is not enough to
// answer with.
func (f *File) scanSymbols(addrs []uint64, hits []symbolHit) bool {
	tab, str := f.symbolSections(elf.SHT_SYMTAB)
	if tab == nil || f.folded(tab) || f.folded(str) {
		return false
	}
	if _, err := f.extent(tab); err != nil {
		return false
	}
	if _, err := f.extent(str); err != nil {
		return false
	}
	// The nearest symbol before each address, of those after the address before
	// it, and the nearest one that covers it.
	nearest, covers := make([]scanned, len(addrs)), make([]scanned, len(addrs))
	text := f.textSections()
	low, high := addrs[0], addrs[len(addrs)-1]
	entsize := f.symbolSize()
	total := tab.len / entsize
	buf := make([]byte, min(total, 4096)*entsize)
	files := 0
	plain := f.class == elf.ELFCLASS64 && !f.big() && f.typ != elf.ET_REL
	floor := uint64(0) // symbols below are of use only if they reach the address
	for first := uint64(0); first < total; {
		n := min(total-first, uint64(len(buf))/entsize)
		if m, _ := f.r.ReadAt(buf[:n*entsize], int64(tab.off+first*entsize)); uint64(m) < n*entsize {
			return false
		}
		p := symbolPart{tab: buf, entsize: entsize}
		for i := range n {
			if plain {
				// Most symbols are of no use, which is soon seen.
				b := buf[i*entsize : i*entsize+24]
				v := binary.LittleEndian.Uint64(b[8:])
				if b[4]&0xf != byte(elf.STT_FILE) && (v > high || v < floor && v+binary.LittleEndian.Uint64(b[16:]) <= low) {
					continue
				}
			}
			s := f.rawSymbol(&p, i)
			if first+i > 1 && elf.ST_TYPE(s.info) == elf.STT_FILE {
				files++
			}
			if s.value > high || s.name == 0 || !f.isFunc(&s, text) {
				continue
			}
			j := 0
			if s.value > low {
				j = sort.Search(len(addrs), func(j int) bool { return addrs[j] >= s.value })
			}
			if c := &nearest[j]; !c.ok || s.value > c.value || s.value == c.value && better(s, c.rawSymbol) {
				*c = scanned{s, first + i, true}
				if len(addrs) == 1 {
					floor = s.value
				}
			}
			for ; j < len(addrs) && addrs[j]-s.value < s.size; j++ {
				if c := &covers[j]; !c.ok || s.value > c.value || s.value == c.value && better(s, c.rawSymbol) {
					*c = scanned{s, first + i, true}
				}
			}
		}
		first += n
	}
	f.strMu.Lock()
	defer f.strMu.Unlock()
	if f.strs == nil {
		f.strs = &pages{sec: &debugSection{f: f, off: str.off, size: str.len}}
	}
	for j := range addrs {
		near := &nearest[j]
		if j > 0 && !near.ok {
			*near = nearest[j-1]
		}
		best := near
		switch {
		case !near.ok:
			continue
		case near.size == 0 && f.sameSection(near.value, addrs[j]):
		case covers[j].ok:
			best = &covers[j]
		default:
			continue
		}
		name := f.strs.cstring(uint64(best.name))
		if len(name) == 0 || isMarker(name) {
			return false
		}
		hits[j] = symbolHit{
			name: stripABI(string(name)), start: best.value, part: scannedPart, index: best.index,
			named: files == 0 || elf.ST_BIND(best.info) == elf.STB_LOCAL,
		}
	}
	return true
}

// scanFile is sourceOf without the table in memory. f.strMu is held.
func (f *File) scanFile(tab *section, index uint64) string {
	const step = 256
	entsize := f.symbolSize()
	buf := make([]byte, step*entsize)
	for end := index; end > 0; {
		first := end - min(end, step)
		p := symbolPart{tab: buf[:(end-first)*entsize], entsize: entsize}
		if n, _ := f.r.ReadAt(p.tab, int64(tab.off+first*entsize)); n < len(p.tab) {
			return ""
		}
		for i := end - first; i > 0; i-- {
			if s := f.rawSymbol(&p, i-1); elf.ST_TYPE(s.info) == elf.STT_FILE {
				return string(f.strs.cstring(uint64(s.name)))
			}
		}
		end = first
	}
	return ""
}
