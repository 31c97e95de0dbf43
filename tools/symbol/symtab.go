// The symbol tables are kept as the bytes they are in the file, with an index of
// the functions beside them: twelve bytes a function, sorted by address. Names
// become strings only when they are asked for.

package symbol

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"
	"sort"
	"strings"
)

// A symbolTable is .symtab and .dynsym, whichever are there.
type symbolTable struct {
	parts []symbolPart
	funcs []funcSymbol // sorted by address, the best name of each address only
}

type symbolPart struct {
	tab, str []byte
	entsize  uint64
	oneFile  bool // all symbols that are not local are of one source file
}

// A funcSymbol refers to a symbol of one of the parts.
type funcSymbol struct {
	addr  uint64
	part  uint32
	index uint32
}

// A rawSymbol is one decoded entry of a symbol table.
type rawSymbol struct {
	name        uint32
	info        byte
	shndx       elf.SectionIndex
	value, size uint64
}

func (f *File) symbols() *symbolTable {
	f.symOnce.Do(func() { f.syms = f.readSymbols() })
	return f.syms
}

// readSymbols reads what it can: a damaged table counts as none.
func (f *File) readSymbols() *symbolTable {
	t := &symbolTable{}
	for _, want := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		for i := range f.sections {
			s := &f.sections[i]
			if s.typ != want || uint64(s.link) >= uint64(len(f.sections)) {
				continue
			}
			p := symbolPart{entsize: 24}
			if f.class == elf.ELFCLASS32 {
				p.entsize = 16
			}
			var err error
			if p.tab, err = f.data(s); err != nil {
				continue
			}
			if p.str, err = f.data(&f.sections[s.link]); err != nil {
				continue
			}
			t.parts = append(t.parts, p)
			break // a file has one of each; more would only cost memory
		}
	}
	text := f.textSections()
	for pi := range t.parts {
		p := &t.parts[pi]
		p.oneFile = true
		for i := uint64(0); (i+1)*p.entsize <= uint64(len(p.tab)); i++ {
			s := f.rawSymbol(p, i)
			if i > 1 && elf.ST_TYPE(s.info) == elf.STT_FILE {
				p.oneFile = false
			}
			if name := cstring(p.str, uint64(s.name)); isFunc(&s, text) && len(name) > 0 && !isMarker(name) {
				t.funcs = append(t.funcs, funcSymbol{s.value, uint32(pi), uint32(i)})
			}
		}
	}
	slices.SortStableFunc(t.funcs, func(a, b funcSymbol) int { return cmp.Compare(a.addr, b.addr) })
	// Of several symbols at one address keep the best, in place.
	n := 0
	for _, s := range t.funcs {
		if n > 0 && t.funcs[n-1].addr == s.addr {
			if f.rank(t, s) > f.rank(t, t.funcs[n-1]) {
				t.funcs[n-1] = s
			}
			continue
		}
		t.funcs[n] = s
		n++
	}
	t.funcs = t.funcs[:n]
	return t
}

// textSections says of each section whether it is executable.
func (f *File) textSections() []bool {
	text := make([]bool, len(f.sections))
	for i := range f.sections {
		text[i] = f.sections[i].flags&elf.SHF_EXECINSTR != 0
	}
	return text
}

// isFunc reports whether a symbol names code: a function, or a label without a
// type, as assembly has, in an executable section.
func isFunc(s *rawSymbol, text []bool) bool {
	if s.shndx == elf.SHN_UNDEF {
		return false
	}
	switch elf.ST_TYPE(s.info) {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC:
		return true
	case elf.STT_NOTYPE:
		return int(s.shndx) < len(text) && text[s.shndx]
	}
	return false
}

// isMarker reports whether name is one of the symbols that Go's linker sets at the
// ends of the text, typed as functions though they are none.
func isMarker(name []byte) bool {
	return string(name) == "runtime.text" || string(name) == "runtime.etext"
}

// rank orders the symbols of one address: typed before untyped, with a size
// before without, global before weak before local.
func (f *File) rank(t *symbolTable, fs funcSymbol) int {
	s := f.rawSymbol(&t.parts[fs.part], uint64(fs.index))
	r := 0
	if elf.ST_TYPE(s.info) != elf.STT_NOTYPE {
		r += 8
	}
	if s.size != 0 {
		r += 4
	}
	switch elf.ST_BIND(s.info) {
	case elf.STB_GLOBAL:
		r += 2
	case elf.STB_WEAK:
		r++
	}
	return r
}

func (f *File) rawSymbol(p *symbolPart, i uint64) rawSymbol {
	b := p.tab[i*p.entsize : (i+1)*p.entsize]
	if f.class == elf.ELFCLASS64 {
		return rawSymbol{
			name: f.order.Uint32(b), info: b[4], shndx: elf.SectionIndex(f.order.Uint16(b[6:])),
			value: f.order.Uint64(b[8:]), size: f.order.Uint64(b[16:]),
		}
	}
	return rawSymbol{
		name: f.order.Uint32(b), value: uint64(f.order.Uint32(b[4:])), size: uint64(f.order.Uint32(b[8:])),
		info: b[12], shndx: elf.SectionIndex(f.order.Uint16(b[14:])),
	}
}

// A symbolHit is the function symbol that covers an address.
type symbolHit struct {
	name  string
	file  string // the source file's name, if the table tells
	start uint64 // address of the function
}

// funcAt returns the function symbol that covers addr. A symbol without a size
// covers what lies before the next symbol in its section.
func (f *File) funcAt(addr uint64) (hit symbolHit, ok bool) {
	t := f.symbols()
	i := sort.Search(len(t.funcs), func(i int) bool { return t.funcs[i].addr > addr })
	// Labels inside a function come after its own symbol: look a few back.
	for n := 0; i > 0 && n < 16; n++ {
		i--
		fs := t.funcs[i]
		p := &t.parts[fs.part]
		s := f.rawSymbol(p, uint64(fs.index))
		covered := addr-s.value < s.size
		if s.size == 0 {
			covered = n == 0 && f.sameSection(s.value, addr)
		}
		if covered {
			return f.hit(fs), true
		}
	}
	return hit, false
}

func (f *File) hit(fs funcSymbol) symbolHit {
	p := &f.symbols().parts[fs.part]
	s := f.rawSymbol(p, uint64(fs.index))
	hit := symbolHit{name: stripABI(string(cstring(p.str, uint64(s.name)))), start: s.value}
	if p.oneFile || elf.ST_BIND(s.info) == elf.STB_LOCAL {
		hit.file = f.sourceOf(p, uint64(fs.index))
	}
	return hit
}

// Preceding returns the nearest function symbol before addr in its section, for
// an address that is in no function: the padding after one, mostly, but it may
// be anything. Context: host.
func (f *File) Preceding(addr uint64) (Frame, bool) {
	t := f.symbols()
	i := sort.Search(len(t.funcs), func(i int) bool { return t.funcs[i].addr > addr })
	if i == 0 || !f.sameSection(t.funcs[i-1].addr, addr) {
		return Frame{}, false
	}
	hit := f.hit(t.funcs[i-1])
	return Frame{Function: hit.name, Offset: addr - hit.start, File: hit.file}, true
}

// sourceOf returns the name of the source file of a symbol: that of the nearest
// STT_FILE symbol before it (System V ABI, "Symbol Table").
func (f *File) sourceOf(p *symbolPart, index uint64) string {
	for i := index; i > 0; {
		i--
		if s := f.rawSymbol(p, i); elf.ST_TYPE(s.info) == elf.STT_FILE {
			return string(cstring(p.str, uint64(s.name)))
		}
	}
	return ""
}

func (f *File) sameSection(a, b uint64) bool {
	for i := range f.sections {
		if s := &f.sections[i]; s.holds(a) {
			return s.holds(b)
		}
	}
	return false
}

// Symbol returns the address and the size in bytes of the symbol called name, be
// it code or data. A Go assembly function is found by the name its author gave
// it, with or without the ".abi0" the linker adds. Context: host.
func (f *File) Symbol(name string) (addr, size uint64, ok bool) {
	for _, suffix := range []string{"", ".abi0", ".abiinternal"} {
		if addr, size, ok := f.exactSymbol([]byte(name + suffix)); ok {
			return addr, size, true
		}
	}
	return 0, 0, false
}

func (f *File) exactSymbol(name []byte) (addr, size uint64, ok bool) {
	t := f.symbols()
	for pi := range t.parts {
		p := &t.parts[pi]
		for i := uint64(0); (i+1)*p.entsize <= uint64(len(p.tab)); i++ {
			s := f.rawSymbol(p, i)
			at := uint64(s.name)
			if s.shndx == elf.SHN_UNDEF || at+uint64(len(name)) >= uint64(len(p.str)) || p.str[at+uint64(len(name))] != 0 {
				continue
			}
			if bytes.HasPrefix(p.str[at:], name) && elf.ST_TYPE(s.info) != elf.STT_FILE {
				return s.value, s.size, true
			}
		}
	}
	return 0, 0, false
}

// stripABI takes off what Go's linker adds to the names of functions that exist
// in two calling conventions (cmd/link/internal/ld/symtab.go, mangleABIName).
func stripABI(name string) string {
	name = strings.TrimSuffix(name, ".abi0")
	return strings.TrimSuffix(name, ".abiinternal")
}
