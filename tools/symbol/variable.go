// Data symbols: the variable that an address lies in. They are a table of their own, since
// nearly all look-ups are of code.

package symbol

import (
	stdelf "debug/elf"
	"sort"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// Variable returns the name of the variable, or of the linker's mark, that addr lies in or
// behind, and how far addr is from its start. A symbol without a size reaches to the next
// one of its section. It reports false for an address of code. Context: host.
func (f *File) Variable(addr uint64) (name string, offset uint64, ok bool) {
	if s := f.symbolFile(); s != f {
		return s.Variable(addr)
	}
	if f.IsText(addr) {
		return "", 0, false
	}
	f.varOnce.Do(func() { f.vars, f.varNames = f.readData() })
	i := sort.Search(len(f.vars), func(i int) bool { return f.vars[i].addr > addr })
	if i == 0 {
		return "", 0, false
	}
	d := &f.vars[i-1]
	if offset = addr - d.addr; d.size > 0 && offset >= d.size || d.size == 0 &&
		!f.SameSection(d.addr, addr) {
		return "", 0, false
	}
	return stripABI(string(elf.CString(f.varNames, uint64(d.name)))), offset, true
}

// A dataSymbol is a symbol that is none of code.
type dataSymbol struct {
	addr, size uint64
	name       uint32 // in the string table
}

// readData returns the data symbols, sorted by address, the best of each address only, and
// their string table.
func (f *File) readData() (all []dataSymbol, names []byte) {
	for _, p := range f.symbols().parts {
		of := f.ofPart(&p)
		text := of.TextSections()
		for i := range p.count() {
			s := f.rawSymbol(&p, i)
			switch stdelf.ST_TYPE(s.Info) {
			case stdelf.STT_OBJECT, stdelf.STT_NOTYPE, stdelf.STT_COMMON:
			default:
				continue
			}
			if int(s.Shndx) < len(text) && s.Shndx != stdelf.SHN_UNDEF && !text[s.Shndx] &&
				of.Sections[s.Shndx].Flags&stdelf.SHF_ALLOC != 0 && p.named(&s) {
				all = append(all, dataSymbol{s.Value, s.Size, s.Name})
			}
		}
		if names = p.str; len(all) > 0 {
			break // .dynsym has nothing more
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].addr < all[j].addr })
	n := 0
	for _, d := range all {
		switch {
		case n == 0 || all[n-1].addr != d.addr:
			all[n] = d
			n++
		case d.size >= all[n-1].size: // as of functions: what covers more, then the later one
			all[n-1] = d
		}
	}
	return all[:n:n], names
}
