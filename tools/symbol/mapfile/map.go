// A Map is its symbols, sorted by address, with all names of an address kept. Which
// of them is the answer for an address follows the rules that package symbol has for
// the symbol table of an ELF file, so that a map answers as the file it came from.
// Where a map gives no size, a function ends where anything else is known to begin:
// the next symbol, or the end of the piece of an object file that it lies in.

package mapfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
)

// ErrUnknown is wrapped by the errors of Open and Read for a file in none of the
// known formats.
var ErrUnknown = errors.New("not a map file of a known format")

// maxFile is the size in bytes of the longest map that is read. The map of a large
// browser has some hundred megabytes.
const maxFile = 1 << 30

// MaxUnsized is how many bytes a symbol covers at most of which no size is known:
// after the last symbol of a kernel there is a gap of gigabytes to its modules.
const MaxUnsized = 256 << 10

// A Symbol is a name with an address.
type Symbol struct {
	Name string
	// Module is the kernel module that kallsyms names, without brackets, or "".
	Module string
	// Addr is the address, Size the size in bytes; 0 if the map does not say.
	Addr, Size uint64
	// Type is nm's letter. For maps without it, it is 'T' for code and 'D' for
	// anything else, in lower case where the map says that it is local.
	Type byte

	mark bool // set by a linker script or a label: any other name is better
}

// IsFunc reports whether the symbol names code.
func (s *Symbol) IsFunc() bool {
	return strings.IndexByte("TtWwi", s.Type) >= 0
}

// A Region is a piece of a program that a linker's map lists: what one object file
// has in one section, or filling.
type Region struct {
	// Name is the section's name, Object the object file; "" if not known.
	Name, Object string
	Addr, Size   uint64
	// Code is set unless the name is one of a section of data.
	Code bool
}

// Options say how to read a map.
type Options struct {
	// Base is where the program was loaded; nil: where its map says. The
	// addresses of a map with a preferred load address (Microsoft's, those of PE
	// files) move from there to Base. Those of any other count from 0, and Base
	// is added to them. Borland's older maps do not say it ([Map.Assumed]).
	Base *uint64
}

// A Map is a map file that has been read. Nothing changes it: its methods may be
// called from several goroutines at once. Context: host.
type Map struct {
	name, format string
	wide         bool // addresses have 64 bits
	syms         []Symbol
	funcs        []int32 // of syms: the best function of each address
	regions      []Region
	segs         segments
	assumed      string

	nameOnce sync.Once
	byName   []int32 // of syms: those of funcs and their aliases, sorted by name
}

// Assumed returns what had to be assumed about where the program lies, as a sentence for the
// user; "" if the map or [Options] say it. Context: host.
func (m *Map) Assumed() string { return m.assumed }

// Open reads the map file at path, which may be a pipe. Errors name the file, the
// line and the cause. Context: host.
func Open(path string, opt Options) (*Map, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, path, opt)
}

// Read reads a map file. The name is used in errors. Context: host.
func Read(r io.Reader, name string, opt Options) (*Map, error) {
	var text strings.Builder
	n, err := io.Copy(&text, io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		var pe *os.PathError
		if errors.As(err, &pe) {
			return nil, err // it has the name
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	case n > maxFile:
		return nil, fmt.Errorf("%s: %w: longer than %d MiB", name, ErrUnknown, maxFile>>20)
	}
	m := &Map{name: name}
	if err := m.parse(text.String(), opt); err != nil {
		return nil, err
	}
	return m, nil
}

// parse reads the text, in whatever format it is.
func (m *Map) parse(text string, opt Options) error {
	f, err := detect(text)
	if err != nil {
		return fmt.Errorf("%s:%w", m.name, err)
	}
	m.format = f.name
	m.syms = make([]Symbol, 0, len(text)/(2*f.width))
	r, preferred := f.begin(m, opt), uint64(0)
	for l := (lines{text: text}); l.next(); {
		if err := r.line(l.line); err == errEnd {
			break
		} else if err != nil {
			return fmt.Errorf("%s:%d: %w", m.name, l.n, err)
		}
	}
	if r.end != nil {
		if preferred, err = r.end(); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	if opt.Base != nil {
		m.move(*opt.Base - preferred)
	}
	return m.finish()
}

// move adds delta to all addresses.
func (m *Map) move(delta uint64) {
	for i := range m.syms {
		if t := m.syms[i].Type; t != 'A' && t != 'a' {
			m.syms[i].Addr += delta
			m.wide = m.wide || m.syms[i].Addr>>32 != 0
		}
	}
	for i := range m.regions {
		m.regions[i].Addr += delta
	}
	m.segs.move(delta)
}

// finish sorts what has been read and finds the function of each address.
func (m *Map) finish() error {
	if len(m.syms) > 1<<31-1 {
		return fmt.Errorf("%s: %d symbols are too many", m.name, len(m.syms))
	}
	m.sortSymbols()
	m.sortRegions()
	m.nameRegions()
	for i := range m.syms {
		s := &m.syms[i]
		if !s.IsFunc() || s.Size == 0 && slices.Contains(endMarks, s.Name) || isNoFunc(s.Name) {
			continue
		}
		if n := len(m.funcs); n > 0 && m.syms[m.funcs[n-1]].Addr == s.Addr {
			if s.better(&m.syms[m.funcs[n-1]]) {
				m.funcs[n-1] = int32(i)
			}
			continue
		}
		m.funcs = append(m.funcs, int32(i))
	}
	switch {
	case len(m.funcs) > 0:
	case len(m.syms) == 0:
		return fmt.Errorf("%s: no symbols in it (%s)", m.name, m.format)
	default:
		return fmt.Errorf("%s: %d symbols but no function among them (%s)", m.name, len(m.syms), m.format)
	}
	if last := &m.syms[len(m.syms)-1]; last.Addr == 0 {
		return fmt.Errorf("%s: all addresses are 0: kernel.kptr_restrict or missing rights hide them; "+
			"read /proc/kallsyms as root", m.name)
	}
	return nil
}

// nameRegions names the functions that a linker's map leaves out because they are
// local, where each lies in a section of its own (gcc -ffunction-sections): .text.f
// is f's.
func (m *Map) nameRegions() {
	var found []Symbol
	for i := range m.regions {
		r := &m.regions[i]
		name, ok := strings.CutPrefix(r.Name, ".text.")
		if !ok || r.Size == 0 || name == "" {
			continue
		}
		switch first, _, _ := strings.Cut(name, "."); first {
		case "unlikely", "startup", "exit", "hot", "split", "unknown", "sorted":
			continue // a kind of code, or the cold part of a function
		}
		at := m.from(r.Addr)
		for n := 0; n < 16 && at < len(m.syms) && m.syms[at].mark; n++ {
			at++
		}
		if at == len(m.syms) || m.syms[at].Addr-r.Addr >= r.Size {
			found = append(found, Symbol{Name: name, Addr: r.Addr, Size: r.Size, Type: 't'})
		}
	}
	if len(found) > 0 {
		m.syms = append(m.syms, found...)
		m.sortSymbols()
	}
}

// better reports whether s is to be named instead of o, which has the same address and
// comes before it: what covers more, as package symbol has it, then global before weak
// before local; and marks last.
func (s *Symbol) better(o *Symbol) bool {
	return cmp.Or(cmp.Compare(o.isMark(), s.isMark()), cmp.Compare(s.Size, o.Size),
		cmp.Compare(s.binding(), o.binding())) > 0
}

func (s *Symbol) isMark() int {
	if s.mark || s.Size == 0 && slices.Contains(startMarks, s.Name) {
		return 1
	}
	return 0
}

func (s *Symbol) binding() int {
	switch s.Type {
	case 'T':
		return 2
	case 'W', 'w', 'i':
		return 1
	}
	return 0
}

// What linker scripts set at the start of code, which nm does not tell from the first function,
// and at its end.
var (
	startMarks = strings.Fields(`_text _stext __text_start _ftext __executable_start _sinittext
		__init_begin __inittext_begin`)
	endMarks = strings.Fields("etext _etext __etext _einittext __inittext_end __init_end")
)

// isNoFunc reports whether name stands among functions and is none: what Go's linker
// sets at both ends of the text, and what says where an ARM's code and data begin (ELF
// for the Arm Architecture, "Mapping symbols").
func isNoFunc(name string) bool {
	if name == "runtime.text" || name == "runtime.etext" {
		return true
	}
	if len(name) >= 2 && name[0] == '$' && strings.IndexByte("adtx", name[1]) >= 0 {
		return len(name) == 2 || name[2] == '.'
	}
	return false
}

// Name returns the name the map was read under. Context: host.
func (m *Map) Name() string { return m.name }

// AddressSize returns the size of an address in bytes, 4 or 8. Context: host.
func (m *Map) AddressSize() int {
	if m.wide {
		return 8
	}
	return 4
}

// Symbols returns all symbols, sorted by address; those of one address are in the
// order of the file. The slice is the Map's own. Context: host.
func (m *Map) Symbols() []Symbol { return m.syms }

// Named returns all functions called name, sorted by address. Context: host.
func (m *Map) Named(name string) []Symbol {
	m.nameOnce.Do(func() {
		for i := range m.syms {
			if m.syms[i].IsFunc() {
				m.byName = append(m.byName, int32(i))
			}
		}
		slices.SortStableFunc(m.byName, func(a, b int32) int {
			return strings.Compare(m.syms[a].Name, m.syms[b].Name)
		})
	})
	var found []Symbol
	i := sort.Search(len(m.byName), func(i int) bool { return m.syms[m.byName[i]].Name >= name })
	for ; i < len(m.byName) && m.syms[m.byName[i]].Name == name; i++ {
		found = append(found, m.syms[m.byName[i]])
	}
	return found
}

// after returns the index in funcs of the first function that begins after addr.
func (m *Map) after(addr uint64) int {
	return sort.Search(len(m.funcs), func(i int) bool { return m.syms[m.funcs[i]].Addr > addr })
}

// Find returns the function that covers addr. Its Size is the map's, or up to where
// anything else begins. Context: host.
func (m *Map) Find(addr uint64) (Symbol, bool) {
	i := m.after(addr)
	// Labels inside a function come after its own symbol: look a few back.
	for n := 0; i > 0 && n < 16; n++ {
		i--
		s := m.syms[m.funcs[i]]
		if s.Size == 0 {
			if n > 0 {
				continue
			}
			s.Size = m.span(int(m.funcs[i]), s.Addr)
		}
		if addr-s.Addr < s.Size {
			return s, true
		}
	}
	return Symbol{}, false
}

// from returns which of the symbols is the first at addr or above.
func (m *Map) from(addr uint64) int {
	return sort.Search(len(m.syms), func(i int) bool { return m.syms[i].Addr >= addr })
}

func (m *Map) sortSymbols() {
	slices.SortStableFunc(m.syms, func(a, b Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
}

func (m *Map) sortRegions() {
	slices.SortStableFunc(m.regions, func(a, b Region) int { return cmp.Compare(a.Addr, b.Addr) })
}

// Span returns the distance from addr, where a function is, to whatever else begins
// behind it: the function's size with the padding after it. Context: host.
func (m *Map) Span(addr uint64) uint64 {
	return m.span(m.from(addr)-1, addr)
}

// span looks from the symbol after i on.
func (m *Map) span(i int, addr uint64) uint64 {
	size := min(MaxUnsized, ^addr)
	for j := i + 1; j < len(m.syms); j++ {
		if s := &m.syms[j]; s.Addr-addr >= size {
			break
		} else if s.Addr > addr && (s.IsFunc() || s.Type|0x20 != 'a') {
			size = s.Addr - addr
		}
	}
	if len(m.regions) > 0 {
		r, ok := m.Region(addr)
		if !ok {
			return 0
		}
		size = min(size, r.Addr+r.Size-addr)
	}
	return size
}

// Preceding returns the nearest function before addr, for an address that is in
// none: the padding after one, mostly. Context: host.
func (m *Map) Preceding(addr uint64) (Symbol, bool) {
	i := m.after(addr)
	if i == 0 || addr-m.syms[m.funcs[i-1]].Addr >= MaxUnsized {
		return Symbol{}, false
	}
	return m.syms[m.funcs[i-1]], true
}

// Nearest returns the nearest symbol at or before addr, of data too. Context: host.
func (m *Map) Nearest(addr uint64) (Symbol, bool) {
	i := sort.Search(len(m.syms), func(i int) bool { return m.syms[i].Addr > addr })
	for i--; i >= 0; i-- {
		if t := m.syms[i].Type; t != 'A' && t != 'a' {
			return m.syms[i], true
		}
	}
	return Symbol{}, false
}

// Region returns the piece of the program that holds addr, if the map lists them.
// Context: host.
func (m *Map) Region(addr uint64) (Region, bool) {
	i := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].Addr > addr })
	// Empty ones may follow at the same address.
	for n := 0; i > 0 && n < 16; n++ {
		if i--; addr-m.regions[i].Addr < m.regions[i].Size {
			return m.regions[i], true
		}
	}
	return Region{}, false
}

// InText reports whether addr lies in code: in a piece of code, or between the first
// function and the last of a map that lists no pieces. Context: host.
func (m *Map) InText(addr uint64) bool {
	if len(m.regions) > 0 {
		r, ok := m.Region(addr)
		return ok && r.Code
	}
	if _, ok := m.Find(addr); ok {
		return true
	}
	// Padding between two functions.
	s, ok := m.Nearest(addr)
	return ok && s.IsFunc() && addr-s.Addr < MaxUnsized &&
		!slices.Contains(endMarks, s.Name) && !isNoFunc(s.Name)
}

// Logical returns the address of a segment's offset, the form in which Microsoft's
// and Borland's maps give addresses. It reports false if the map has no such
// segment. Context: host.
func (m *Map) Logical(segment, offset uint64) (addr uint64, ok bool) {
	return m.segs.address(segment, offset)
}

// isData reports whether a section of this name holds data. Other names are anyone's
// guess, and mostly code: what nobody runs needs no name in an embedded linker
// script.
func isData(section string) bool { return hasPrefix(section, dataSections) }

// isUnloaded reports whether a section of this name is for tools only: its address,
// mostly 0, means nothing.
func isUnloaded(section string) bool { return hasPrefix(section, unloadedSections) }

// How the names of these sections begin.
var (
	dataSections = strings.Fields(`.data .bss .sbss .sdata .ldata .lbss .rodata .lrodata .rdata
		.tdata .tbss .tls .got .igot .dyn .interp .note .rela .rel. .relr .eh_frame .gcc_except .gnu
		.hash .init_array .fini_array .preinit_array .ctors .dtors .jcr .comment .debug .zdebug .stab
		.symtab .strtab .shstrtab .pdata .xdata .idata .edata .CRT .rsrc .reloc .drectve .ARM.ex
		.ARM.attr .riscv.attr .heap .stack .gopclntab .go. .typelink .itablink .noptr .sframe COMMON`)
	unloadedSections = strings.Fields(`.debug .zdebug .comment .stab .symtab .strtab .shstrtab
		.gnu.lto .gnu.attributes .gnu.warning .note.GNU-stack .ARM.attr .riscv.attr /DISCARD/ .drectve
		.gnu_debug`)
)

// hasPrefix reports whether s begins with one of the prefixes.
func hasPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// SectionStart returns the lowest address of the section called name, if the map
// lists what is in sections. Context: host.
func (m *Map) SectionStart(name string) (addr uint64, ok bool) {
	for i := range m.regions {
		if m.regions[i].Name == name {
			return m.regions[i].Addr, true
		}
	}
	return 0, false
}
