// A map file in the place of an ELF file: the same questions, of which it answers
// those about functions. And the other way round: the symbols of an ELF file, for a
// map of it.

package symbol

import (
	"cmp"
	stdelf "debug/elf"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tools/symbol/mapfile"
)

// A Map is a map file that resolves addresses to functions. It has no lines, no
// inlined calls and no build ID. Its methods may be called from several goroutines at
// once. Context: host.
type Map struct{ *mapfile.Map }

// OpenMap reads the map file at path, in any format that package mapfile knows. Its
// errors name the file, the line and the cause. Context: host.
func OpenMap(path string, opt mapfile.Options) (*Map, error) {
	m, err := mapfile.Open(path, opt)
	if err != nil {
		return nil, err
	}
	return NewMap(m), nil
}

// NewMap returns a Map of a map file that has been read. Context: host.
func NewMap(m *mapfile.Map) *Map { return &Map{m} }

// Close does nothing: a map is read whole when it is opened. Context: host.
func (m *Map) Close() error { return nil }

// BuildID returns "": no map has one, so nothing tells whether it is the map of what
// is looked up in it. Context: host.
func (m *Map) BuildID() string { return "" }

// Lookup returns the function that the instruction at addr is in, as [File.Lookup]
// does, or nil. A function of a kernel module has the module behind its name, in
// brackets. A return address at a function's entry belongs to the call before it,
// unless the byte before it is in no function: then nothing can have called.
// Context: host.
func (m *Map) Lookup(addr uint64, ret bool) []lookup.Call {
	pc := addr
	if ret && addr > 0 {
		s, ok := m.Find(addr)
		if entry := ok && s.Addr == addr; entry {
			_, ok := m.Find(addr - 1)
			ret = ok
		}
		if ret {
			pc--
		}
	}
	s, ok := m.Find(pc)
	if !ok {
		return nil
	}
	return []lookup.Call{{Function: mapName(&s), Offset: addr - s.Addr}}
}

// mapName is the name under which a symbol of a map is shown.
func mapName(s *mapfile.Symbol) string {
	if s.Module != "" {
		return s.Name + " [" + s.Module + "]"
	}
	return stripABI(s.Name)
}

// SPDelta reports false: a map says nothing of stacks. Context: host.
func (m *Map) SPDelta(uint64) (uint64, bool) { return 0, false }

// IsText reports whether addr lies in code, as far as the map tells. Context: host.
func (m *Map) IsText(addr uint64) bool { return m.InText(addr) }

// Preceding returns the nearest function before addr, as [File.Preceding] does.
// Context: host.
func (m *Map) Preceding(addr uint64) (lookup.Call, bool) {
	s, ok := m.Map.Preceding(addr)
	return lookup.Call{Function: mapName(&s), Offset: addr - s.Addr}, ok
}

// goSuffixes are what Go's linker may add to a name.
var goSuffixes = []string{"", ".abi0", ".abiinternal"}

// Named returns the functions called name, as [File.Named] does. Context: host.
func (m *Map) Named(name string) []lookup.Named {
	var found []lookup.Named
	add := func(s mapfile.Symbol) {
		found = append(found, lookup.Named{Start: s.Addr, Size: s.Size, Span: m.Span(s.Addr)})
	}
	for _, suffix := range goSuffixes {
		for _, s := range m.Map.Named(name + suffix) {
			if len(found) < maxNamed && !slices.ContainsFunc(found,
				func(n lookup.Named) bool { return n.Start == s.Addr }) {
				add(s)
			}
		}
	}
	if len(found) == 0 {
		for _, s := range m.Map.Symbols() {
			if len(found) < maxNamed && strings.HasPrefix(s.Name, name) && s.IsFunc() &&
				sourceName(s.Name) == name {
				add(s)
			}
		}
	}
	slices.SortFunc(found, func(a, b lookup.Named) int { return cmp.Compare(a.Start, b.Start) })
	return found
}

// Nearest describes an address that is in no function: ".text(main.o)+0x40" where the
// map lists what each object file has in a section, or else the symbol of data that
// it is in or near, "counter+0x4". It returns "" if none is within a page of it.
// Context: host.
func (m *Map) Nearest(addr uint64) string {
	if s, ok := m.Map.Nearest(addr); ok && !s.IsFunc() && (addr-s.Addr < s.Size || addr == s.Addr) {
		return fmt.Sprintf("%s+%#x", s.Name, addr-s.Addr)
	}
	if r, ok := m.Region(addr); ok {
		name := r.Name
		if r.Object != "" {
			name += "(" + r.Object + ")"
		}
		return fmt.Sprintf("%s+%#x", name, addr-r.Addr)
	}
	const page = 4096
	if s, ok := m.Map.Nearest(addr); ok && addr-s.Addr <= page {
		return fmt.Sprintf("%s+%#x", s.Name, addr-s.Addr)
	}
	return ""
}

// MapSymbols returns the file's symbols for a map of it, sorted by address, with nm's
// letters: all that are defined, but those of thread-local storage, whose values are
// no addresses. A Go function that no symbol table names is there under the name in
// the pc table, and a function of a stripped file under the name that Lookup gives it.
// The error is that of a file without symbols, or of one that is not linked and so has
// no addresses. Context: host.
func (f *File) MapSymbols() ([]mapfile.Symbol, error) {
	if f.Type == stdelf.ET_REL {
		return nil, fmt.Errorf("%s: an object file, which has no addresses before it is linked", f.Name())
	}
	var syms []mapfile.Symbol
	t, from := f.symbols(), f.symbolFile()
	for pi := range t.parts {
		p := &t.parts[pi]
		if pi > 0 && len(syms) > 0 && !p.around {
			break // .dynsym is a part of .symtab
		}
		for i := range p.count() {
			s := from.rawSymbol(p, i)
			name := elf.CString(p.str, uint64(s.Name))
			letter := from.ofPart(p).nmLetter(&s)
			if letter == 0 || len(name) == 0 {
				continue
			}
			syms = append(syms, mapfile.Symbol{Name: string(name), Addr: s.Value, Size: s.Size,
				Type: letter})
		}
	}
	sortSymbols(syms)
	named := len(syms)
	has := func(addr uint64) bool {
		i := sort.Search(named, func(i int) bool { return syms[i].Addr >= addr })
		for ; i < named && syms[i].Addr == addr; i++ {
			if syms[i].IsFunc() && !isMarker([]byte(syms[i].Name)) {
				return true
			}
		}
		return false
	}
	if g := f.goTable(); g != nil {
		for fn := range g.funcs() {
			if !has(uint64(fn.Entry())) {
				syms = append(syms, mapfile.Symbol{Name: string(fn.Name()), Addr: uint64(fn.Entry()),
					Size: uint64(fn.End()) - uint64(fn.Entry()), Type: 't'})
			}
		}
	} else if f.FindsFunctions() {
		for i := range f.found {
			if fn := &f.found[i]; !has(fn.Start) {
				syms = append(syms, mapfile.Symbol{Name: fn.Name, Addr: fn.Start,
					Size: fn.End - fn.Start, Type: 't'})
			}
		}
	}
	if len(syms) > named {
		sortSymbols(syms)
	}
	if !slices.ContainsFunc(syms, func(s mapfile.Symbol) bool { return s.IsFunc() }) {
		return nil, fmt.Errorf("%s: %w", f.Name(), ErrNoSymbols)
	}
	f.preferFirst(syms)
	f.boundUnsized(syms)
	return syms, nil
}

func sortSymbols(syms []mapfile.Symbol) {
	slices.SortStableFunc(syms, func(a, b mapfile.Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
}

// preferFirst puts the symbol first that Lookup prefers of those at one address.
func (f *File) preferFirst(syms []mapfile.Symbol) {
	for i := 0; i < len(syms); {
		end := i + 1
		for end < len(syms) && syms[end].Addr == syms[i].Addr {
			end++
		}
		if hit, ok := f.funcAt(syms[i].Addr); ok && end-i > 1 && hit.start == syms[i].Addr {
			for j := i; j < end; j++ {
				if syms[j].IsFunc() && stripABI(syms[j].Name) == hit.name {
					best := syms[j]
					copy(syms[i+1:j+1], syms[i:j])
					syms[i] = best
					break
				}
			}
		}
		i = end
	}
}

// boundUnsized gives a size to each function without one that covers the rest of its
// section, or more than a map lets such a function cover: without it a map would give
// another answer there than the file.
func (f *File) boundUnsized(syms []mapfile.Symbol) {
	for i := range syms {
		s := &syms[i]
		if s.Size != 0 || !s.IsFunc() {
			continue
		}
		next := i + 1
		for next < len(syms) && (syms[next].Addr == s.Addr || syms[next].Type|0x20 == 'a') {
			next++
		}
		end := f.SectionEnd(s.Addr)
		switch {
		case end == 0:
		case next == len(syms) || syms[next].Addr >= end:
			s.Size = end - s.Addr
		case syms[next].Addr-s.Addr > mapfile.MaxUnsized:
			s.Size = syms[next].Addr - s.Addr
		}
	}
}

// nmLetter returns the letter that nm has for a symbol, or 0 for one that is not
// defined or has no address.
func (f *File) nmLetter(s *elf.Symbol) byte {
	typ, bind := stdelf.ST_TYPE(s.Info), stdelf.ST_BIND(s.Info)
	switch {
	case s.Shndx == stdelf.SHN_UNDEF, typ == stdelf.STT_FILE, typ == stdelf.STT_SECTION,
		typ == stdelf.STT_TLS:
		return 0
	case typ == stdelf.STT_GNU_IFUNC:
		return 'i'
	case bind == stdelf.STB_WEAK && typ == stdelf.STT_OBJECT:
		return 'V'
	case bind == stdelf.STB_WEAK:
		return 'W'
	case bind == 10: // STB_GNU_UNIQUE
		return 'u'
	}
	letter := byte('d')
	switch i := uint64(s.Shndx); {
	case s.Shndx == stdelf.SHN_ABS:
		letter = 'a'
	case s.Shndx == stdelf.SHN_COMMON:
		letter = 'c'
	case i < uint64(len(f.Sections)):
		switch sec := &f.Sections[i]; {
		case sec.Flags&stdelf.SHF_ALLOC == 0:
			return 'n'
		case sec.Flags&stdelf.SHF_EXECINSTR != 0:
			letter = 't'
		case sec.Type == stdelf.SHT_NOBITS:
			letter = 'b'
		case sec.Flags&stdelf.SHF_WRITE == 0:
			letter = 'r'
		}
	}
	if typ == stdelf.STT_FUNC {
		letter = 't'
	}
	if bind == stdelf.STB_LOCAL {
		return letter
	}
	return letter - 'a' + 'A'
}
