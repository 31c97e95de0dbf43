// The symbol tables are kept as the bytes they are in the file, with an index of
// the functions beside them: twelve bytes a function, sorted by address. Names
// become strings only when they are asked for.

package symbol

import (
	"bytes"
	stdelf "debug/elf"
	"sort"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// A symbolTable is .symtab and .dynsym, whichever are there. An address is looked up in
// .symtab alone if that has any function, as in LLVM: it has those of .dynsym too, except
// in a .gnu_debugdata.
type symbolTable struct {
	parts []symbolPart
	funcs []funcSymbol // sorted by address, the best name of each address only
	outer []uint32     // of each: 1 + index of the nearest before it that reaches further, or 0
}

type symbolPart struct {
	tab, str []byte
	entsize  uint64
	oneFile  bool // all symbols that are not local are of one source file
	around   bool // it is of the file around this one (File.around)
}

// count is how many symbols there are.
func (p *symbolPart) count() uint64 { return uint64(len(p.tab)) / p.entsize }

// A funcSymbol refers to a symbol of one of the parts.
type funcSymbol struct {
	addr  uint64
	part  uint32
	index uint32
}

func (f *File) symbols() *symbolTable {
	f.symOnce.Do(func() {
		f.syms = f.readSymbols()
		f.scans.Store(manyScans) // from now on the table serves best
	})
	return f.syms
}

// symbolFile returns the file whose symbol table serves: the debug file's if this
// one has lost its own.
func (f *File) symbolFile() *File {
	if !f.HasSection(stdelf.SHT_SYMTAB) {
		if c := f.companion(); c != nil && c.HasSection(stdelf.SHT_SYMTAB) {
			return c
		}
	}
	return f
}

// symbolParts reads the symbol tables that can be read.
func (f *File) symbolParts() (parts []symbolPart) {
	for _, want := range []stdelf.SectionType{stdelf.SHT_SYMTAB, stdelf.SHT_DYNSYM} {
		of := f
		if want == stdelf.SHT_DYNSYM && f.around != nil {
			of = f.around
		}
		tab, str := of.SymbolSections(want)
		if tab == nil {
			continue
		}
		p := symbolPart{entsize: f.SymbolSize(), around: of != f}
		var err error
		if p.tab, err = of.Data(tab); err != nil {
			continue
		}
		if p.str, err = of.Data(str); err != nil {
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

// readSymbols reads what it can: a damaged table counts as none.
func (f *File) readSymbols() *symbolTable {
	if c := f.symbolFile(); c != f {
		return c.symbols()
	}
	t := &symbolTable{parts: f.symbolParts()}
	total := uint64(0)
	for i := range t.parts {
		total += t.parts[i].count()
	}
	t.funcs = make([]funcSymbol, 0, total)
	for pi := range t.parts {
		p := &t.parts[pi]
		of := f.ofPart(p)
		if len(t.funcs) > 0 && of == f {
			break
		}
		text := of.TextSections()
		p.oneFile = true
		for i := range p.count() {
			s := f.rawSymbol(p, i)
			if i > 1 && stdelf.ST_TYPE(s.Info) == stdelf.STT_FILE {
				p.oneFile = false
			}
			if !of.isFunc(&s, text) {
				continue
			}
			if p.named(&s) {
				t.funcs = append(t.funcs, funcSymbol{s.Value, uint32(pi), uint32(i)})
			}
		}
	}
	sortByAddr(t.funcs) // which are in the order of part and index
	// Of several symbols at one address keep the best, in place.
	n := 0
	ends := make([]uint64, len(t.funcs))
	for _, s := range t.funcs {
		raw := f.raw(t, &s)
		end := s.addr + min(raw.Size, ^s.addr)
		if n > 0 && t.funcs[n-1].addr == s.addr {
			if end >= ends[n-1] { // better
				t.funcs[n-1], ends[n-1] = s, end
			}
			continue
		}
		t.funcs[n], ends[n] = s, end
		n++
	}
	t.funcs = t.funcs[:n]
	t.outer = make([]uint32, n)
	for i := 1; i < n; i++ {
		at := uint32(i) // one more than the index
		for at > 0 && ends[at-1] <= ends[i] {
			at = t.outer[at-1]
		}
		t.outer[i] = at
	}
	return t
}

// ofPart returns the file that the numbers of sections in a part are of.
func (f *File) ofPart(p *symbolPart) *File {
	if p.around {
		return f.around
	}
	return f
}

// named reports whether a symbol has a name, which is none of a marker.
func (p *symbolPart) named(s *elf.Symbol) bool {
	at := uint64(s.Name)
	if at >= uint64(len(p.str)) || p.str[at] == 0 {
		return false
	}
	switch p.str[at] {
	case 'r', '$', '.': // a quick look at most of them
		return !isMarker(elf.CString(p.str, at))
	}
	return true
}

// isFunc reports whether a symbol names code: a function, or a label without a
// type, as assembly has, in an executable section or at its start, where a linker
// script may have put it with the section before.
func (f *File) isFunc(s *elf.Symbol, text []bool) bool {
	if s.Shndx == stdelf.SHN_UNDEF {
		return false
	}
	switch stdelf.ST_TYPE(s.Info) {
	case stdelf.STT_FUNC, stdelf.STT_GNU_IFUNC:
		return true
	case stdelf.STT_NOTYPE:
		return int(s.Shndx) < len(text) && (text[s.Shndx] ||
			f.Sections[s.Shndx].Flags&stdelf.SHF_ALLOC != 0 && f.IsText(s.Value))
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
func better(a, b elf.Symbol) bool { return a.Size >= b.Size }

// after returns which of the functions is the first above addr.
func (t *symbolTable) after(addr uint64) int {
	return sort.Search(len(t.funcs), func(i int) bool { return t.funcs[i].addr > addr })
}

// raw returns a function's symbol.
func (f *File) raw(t *symbolTable, s *funcSymbol) elf.Symbol {
	return f.rawSymbol(&t.parts[s.part], uint64(s.index))
}

func (f *File) rawSymbol(p *symbolPart, i uint64) elf.Symbol {
	return f.DecodeSymbol(p.tab[i*p.entsize : (i+1)*p.entsize])
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
	i := t.after(addr)
	// Labels inside a function come after its own symbol: look further back.
	for n := 0; i > 0 && n < maxNested; n++ {
		fs := t.funcs[i-1]
		s := f.raw(t, &fs)
		if addr-s.Value < s.Size || s.Size == 0 && n == 0 && f.SameSection(s.Value, addr) {
			return f.hit(fs), true
		}
		i = int(t.outer[i-1])
	}
	return hit, false
}

// A functionsInOrder goes through the symbol table along with addresses that rise. A nil one
// knows nothing.
type functionsInOrder struct {
	f  *File
	t  *symbolTable
	at int // of t.funcs
}

// functionsInOrder returns nil if the table is not in memory, or is not what tells where functions
// begin.
func (f *File) functionsInOrder() *functionsInOrder {
	s := f.symbolFile()
	if s.scans.Load() < manyScans || f.goTable() != nil {
		return nil
	}
	return &functionsInOrder{f: s, t: s.symbols()}
}

// inside reports whether addr, which is not below the ones before, is surely in a function that
// has a symbol, and no symbol is there: no function begins there then. False says nothing.
func (x *functionsInOrder) inside(addr uint64) bool {
	if x == nil {
		return false
	}
	funcs := x.t.funcs
	// Mostly the next one is near; if not, it is searched for.
	if far := x.at + 64; far < len(funcs) && funcs[far].addr < addr {
		x.at = far + sort.Search(len(funcs)-far, func(i int) bool { return funcs[far+i].addr >= addr })
	}
	for x.at < len(funcs) && funcs[x.at].addr < addr {
		x.at++
	}
	if x.at == 0 || x.at < len(funcs) && funcs[x.at].addr == addr {
		return false
	}
	s := x.f.raw(x.t, &funcs[x.at-1])
	return addr-s.Value < s.Size
}

// maxNested bounds the functions around each other that are looked at. In real files there
// are few.
const maxNested = 1000

func (f *File) hit(fs funcSymbol) symbolHit {
	p := &f.symbols().parts[fs.part]
	s := f.rawSymbol(p, uint64(fs.index))
	return symbolHit{
		name: stripABI(string(elf.CString(p.str, uint64(s.Name)))), start: s.Value, part: int(fs.part),
		index: uint64(fs.index),
		named: p.oneFile || stdelf.ST_BIND(s.Info) == stdelf.STB_LOCAL,
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
		tab, _ := f.SymbolSections(stdelf.SHT_SYMTAB)
		f.strMu.Lock()
		defer f.strMu.Unlock()
		return f.scanFile(tab, hit.index)
	}
	return f.sourceOf(&f.symbols().parts[hit.part], hit.index)
}

// Preceding returns the nearest function symbol before addr in its section, for
// an address that is in no function: the padding after one, mostly, but it may
// be anything. Context: host.
func (f *File) Preceding(addr uint64) (lookup.Call, bool) {
	if s := f.symbolFile(); s != f {
		return s.Preceding(addr)
	}
	t := f.symbols()
	i := t.after(addr)
	if i == 0 || !f.SameSection(t.funcs[i-1].addr, addr) {
		return lookup.Call{}, false
	}
	hit := f.hit(t.funcs[i-1])
	return lookup.Call{Function: hit.name, Offset: addr - hit.start, File: f.hitFile(hit)}, true
}

// sourceOf returns the name of the source file of a symbol: that of the nearest
// STT_FILE symbol before it (System V ABI, "Symbol Table").
func (f *File) sourceOf(p *symbolPart, index uint64) string {
	if p.oneFile { // and it comes first
		index = min(index, 2)
	}
	for i := index; i > 0; {
		i--
		if s := f.rawSymbol(p, i); stdelf.ST_TYPE(s.Info) == stdelf.STT_FILE {
			return string(elf.CString(p.str, uint64(s.Name)))
		}
	}
	return ""
}

// Symbol returns the address and the size in bytes of the symbol called name, be
// it code or data. A Go assembly function is found by the name its author gave
// it, with or without the ".abi0" the linker adds. Context: host.
func (f *File) Symbol(name string) (addr, size uint64, ok bool) {
	for _, suffix := range goSuffixes {
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
		for i := range p.count() {
			s := f.rawSymbol(p, i)
			at := uint64(s.Name)
			if s.Shndx == stdelf.SHN_UNDEF || at+uint64(len(name)) >= uint64(len(p.str)) ||
				p.str[at+uint64(len(name))] != 0 {
				continue
			}
			if bytes.HasPrefix(p.str[at:], name) && stdelf.ST_TYPE(s.Info) != stdelf.STT_FILE {
				return s.Value, s.Size, true
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
