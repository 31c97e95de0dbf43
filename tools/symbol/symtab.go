// The symbol tables are kept as the bytes they are in the file, with an index of
// the functions beside them: twelve bytes a function, sorted by address. Names
// become strings only when they are asked for.

package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
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
	f.symOnce.Do(func() {
		f.syms = f.readSymbols()
		f.scans.Store(manyScans) // from now on the table serves best
	})
	return f.syms
}

// symbolSize returns the size in bytes of an entry of a symbol table.
func (f *File) symbolSize() uint64 {
	if f.class == elf.ELFCLASS32 {
		return 16
	}
	return 24
}

// symbolSections returns the sections with symbols of type typ and their names, or
// nil. A file has one of each; more would only cost memory.
func (f *File) symbolSections(typ elf.SectionType) (tab, str *section) {
	for i := range f.sections {
		if s := &f.sections[i]; s.typ == typ && uint64(s.link) < uint64(len(f.sections)) {
			return s, &f.sections[s.link]
		}
	}
	return nil, nil
}

// symbolFile returns the file whose symbol table serves: the debug file's if this
// one has lost its own.
func (f *File) symbolFile() *File {
	if !f.hasSection(elf.SHT_SYMTAB) {
		if c := f.companion(); c != nil && c.hasSection(elf.SHT_SYMTAB) {
			return c
		}
	}
	return f
}

// readSymbols reads what it can: a damaged table counts as none.
func (f *File) readSymbols() *symbolTable {
	if c := f.symbolFile(); c != f {
		return c.symbols()
	}
	t := &symbolTable{}
	for _, want := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		tab, str := f.symbolSections(want)
		if tab == nil {
			continue
		}
		p := symbolPart{entsize: f.symbolSize()}
		var err error
		if p.tab, err = f.data(tab); err != nil {
			continue
		}
		if p.str, err = f.data(str); err != nil {
			continue
		}
		t.parts = append(t.parts, p)
	}
	text, total := f.textSections(), uint64(0)
	for i := range t.parts {
		total += uint64(len(t.parts[i].tab)) / t.parts[i].entsize
	}
	t.funcs = make([]funcSymbol, 0, total)
	for pi := range t.parts {
		p := &t.parts[pi]
		p.oneFile = true
		n := uint64(len(p.tab)) / p.entsize
		for i := uint64(0); i < n; i++ {
			s := f.rawSymbol(p, i)
			if i > 1 && elf.ST_TYPE(s.info) == elf.STT_FILE {
				p.oneFile = false
			}
			if !f.isFunc(&s, text) {
				continue
			}
			if p.named(&s) {
				t.funcs = append(t.funcs, funcSymbol{s.value, uint32(pi), uint32(i)})
			}
		}
	}
	sortByAddr(t.funcs) // which are in the order of part and index
	// Of several symbols at one address keep the best, in place.
	n := 0
	for _, s := range t.funcs {
		if n > 0 && t.funcs[n-1].addr == s.addr {
			if old := t.funcs[n-1]; better(f.rawSymbol(&t.parts[s.part], uint64(s.index)), f.rawSymbol(&t.parts[old.part], uint64(old.index))) {
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

// named reports whether a symbol has a name, which is none of a marker.
func (p *symbolPart) named(s *rawSymbol) bool {
	at := uint64(s.name)
	if at >= uint64(len(p.str)) || p.str[at] == 0 {
		return false
	}
	switch p.str[at] {
	case 'r', '$', '.': // a quick look at most of them
		return !isMarker(cstring(p.str, at))
	}
	return true
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
// type, as assembly has, in an executable section or at its start, where a linker
// script may have put it with the section before.
func (f *File) isFunc(s *rawSymbol, text []bool) bool {
	if s.shndx == elf.SHN_UNDEF {
		return false
	}
	switch elf.ST_TYPE(s.info) {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC:
		return true
	case elf.STT_NOTYPE:
		return int(s.shndx) < len(text) && (text[s.shndx] || f.sections[s.shndx].flags&elf.SHF_ALLOC != 0 && f.IsText(s.value))
	}
	return false
}

// isMarker reports whether name is that of no function: Go's linker sets symbols at
// the ends of the text, typed as functions; assemblers mark for Arm and RISC-V what
// is code and what data, and keep for RISC-V their local labels in object files.
func isMarker(name []byte) bool {
	switch {
	case len(name) < 2:
		return false
	case name[0] == '$':
		return (len(name) == 2 || name[2] == '.' || string(name[1:min(len(name), 4)]) == "xrv") &&
			(name[1] == 'a' || name[1] == 'd' || name[1] == 't' || name[1] == 'x')
	case name[0] == '.':
		return name[1] == 'L'
	}
	return string(name) == "runtime.text" || string(name) == "runtime.etext"
}

// better reports whether symbol a, later in the table, is to be named instead of
// symbol b of the same address: it covers more or, of those that cover as much,
// stands later. In a table the local symbols come first. It is what LLVM does.
func better(a, b rawSymbol) bool { return a.size >= b.size }

func (f *File) rawSymbol(p *symbolPart, i uint64) rawSymbol {
	b := p.tab[i*p.entsize : (i+1)*p.entsize]
	var s rawSymbol
	switch {
	case f.class == elf.ELFCLASS64 && !f.big(): // nearly all files
		le := binary.LittleEndian
		s = rawSymbol{
			name: le.Uint32(b), info: b[4], shndx: elf.SectionIndex(le.Uint16(b[6:])),
			value: le.Uint64(b[8:]), size: le.Uint64(b[16:]),
		}
	case f.class == elf.ELFCLASS64:
		s = rawSymbol{
			name: f.order.Uint32(b), info: b[4], shndx: elf.SectionIndex(f.order.Uint16(b[6:])),
			value: f.order.Uint64(b[8:]), size: f.order.Uint64(b[16:]),
		}
	default:
		s = rawSymbol{
			name: f.order.Uint32(b), value: uint64(f.order.Uint32(b[4:])), size: uint64(f.order.Uint32(b[8:])),
			info: b[12], shndx: elf.SectionIndex(f.order.Uint16(b[14:])),
		}
	}
	// In an object file the value counts from the section.
	if f.typ == elf.ET_REL && s.shndx != elf.SHN_UNDEF && int(s.shndx) < len(f.sections) {
		s.value += f.sections[s.shndx].addr
	}
	return s
}

// A symbolHit is the function symbol that covers an address.
type symbolHit struct {
	name  string
	part  int    // of the table, or scannedPart
	index uint64 // of the symbol in it
	named bool   // the table may tell the source file
	start uint64 // address of the function
}

// funcAt returns the function symbol that covers addr. A symbol without a size
// covers what lies before the next symbol in its section. The first few times it
// passes over the table, which costs less than to sort it.
func (f *File) funcAt(addr uint64) (hit symbolHit, ok bool) {
	if s := f.symbolFile(); s != f {
		return s.funcAt(addr)
	}
	const cheap = 6
	if f.scans.Load() < cheap {
		f.scans.Add(1)
		hits := make([]symbolHit, 1)
		if f.scanSymbols([]uint64{addr}, hits) {
			return hits[0], hits[0].name != ""
		}
	}
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
	return symbolHit{
		name: stripABI(string(cstring(p.str, uint64(s.name)))), start: s.value, part: int(fs.part), index: uint64(fs.index),
		named: p.oneFile || elf.ST_BIND(s.info) == elf.STB_LOCAL,
	}
}

// scannedPart stands for .symtab when it is not in memory.
const scannedPart = -1

// hitFile returns the name of a symbol's source file, "" if the table does not tell.
func (f *File) hitFile(hit symbolHit) string {
	if s := f.symbolFile(); s != f {
		return s.hitFile(hit)
	}
	switch {
	case !hit.named:
		return ""
	case hit.part == scannedPart:
		tab, _ := f.symbolSections(elf.SHT_SYMTAB)
		f.strMu.Lock()
		defer f.strMu.Unlock()
		return f.scanFile(tab, hit.index)
	}
	return f.sourceOf(&f.symbols().parts[hit.part], hit.index)
}

// Preceding returns the nearest function symbol before addr in its section, for
// an address that is in no function: the padding after one, mostly, but it may
// be anything. Context: host.
func (f *File) Preceding(addr uint64) (Frame, bool) {
	if s := f.symbolFile(); s != f {
		return s.Preceding(addr)
	}
	t := f.symbols()
	i := sort.Search(len(t.funcs), func(i int) bool { return t.funcs[i].addr > addr })
	if i == 0 || !f.sameSection(t.funcs[i-1].addr, addr) {
		return Frame{}, false
	}
	hit := f.hit(t.funcs[i-1])
	return Frame{Function: hit.name, Offset: addr - hit.start, File: f.hitFile(hit)}, true
}

// sourceOf returns the name of the source file of a symbol: that of the nearest
// STT_FILE symbol before it (System V ABI, "Symbol Table").
func (f *File) sourceOf(p *symbolPart, index uint64) string {
	if p.oneFile { // and it comes first
		index = min(index, 2)
	}
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
