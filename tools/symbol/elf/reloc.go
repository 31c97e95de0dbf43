// Object files, kernel modules among them, have no addresses yet: each section
// begins at 0, and what refers to another place is filled in by relocations. Here
// the sections are laid out one after the other, .text first, so that an offset
// into .text is its address; and the debug sections are relocated as the linker
// would do it.
//
// Sources: System V ABI, "Relocation"; its supplements for the 64-bit x86 (table
// 4.9), the 32-bit x86 (4.3), Arm 64 (5.7), RISC-V ("Relocations") and the other machines.

package elf

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// layOut gives the sections of an object file addresses, far apart: what lies
// outside of one is in no other. SectionStart tells them.
func (f *File) layOut() {
	gap := uint64(1 << 32)
	if f.Class == elf.ELFCLASS32 {
		gap = 1 << 24
	}
	next := uint64(0)
	place := func(s *Section) {
		s.Addr = next
		next = alignUp(next+min(s.Len, 1<<40)+1, gap)
	}
	text := -1
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Name == ".text" && s.Flags&elf.SHF_ALLOC != 0 {
			text = i
			place(s)
			break
		}
	}
	for _, exec := range []bool{true, false} {
		for i := range f.Sections {
			s := &f.Sections[i]
			if i != text && s.Flags&elf.SHF_ALLOC != 0 && (s.Flags&elf.SHF_EXECINSTR != 0) == exec {
				place(s)
			}
		}
	}
}

// A relocKind is what a relocation of a debug section writes.
type relocKind struct {
	size     int // in bytes, or one of the sizes below; 0 writes nothing
	relative bool
	op       relocOp
}

// A relocOp says what becomes of what is there: it is replaced or, on RISC-V, whose
// linker changes distances, added to or subtracted from by one relocation of a pair.
type relocOp uint8

const (
	relocSet relocOp = iota
	relocAdd
	relocSub
)

// Sizes of what takes no whole number of bytes.
const (
	sizeLow6 = -1 // the lower six bits of a byte
	sizeULEB = -2 // a variable-length number, which keeps its length
)

// relocTable has the relocations found in debug sections: of each machine their types, and what
// each writes. That is a number of bytes, or low6 or uleb (the sizes above), then r if it is
// relative, + or - if it is added or subtracted.
const relocTable = `
EM_SPARC: 0=0 1=1 2=2 3=4 6=4r 23=4 32=8 46=8r 54=8 55=2 76=4 77=8
EM_386: 0=0 1=4 2=4r 20=2 22=1 32=4
EM_68K: 0=0 1=4 2=2 3=1 4=4r 41=4
EM_MIPS: 0=0 2=4 18=8 39=4 41=8 248=4r
EM_PPC: 0=0 1=4 3=2 24=4 26=4r 78=4
EM_PPC64: 0=0 1=4 3=2 24=4 26=4r 38=8 43=8 44=8r 78=8
EM_S390: 0=0 1=1 3=2 4=4 5=4r 16=2r 22=8 23=8r 52=4 53=8
EM_ARM: 0=0 2=4 3=4r 38=4
EM_SPARCV9: 0=0 1=1 2=2 3=4 6=4r 23=4 32=8 46=8r 54=8 55=2 76=4 77=8
EM_X86_64: 0=0 1=8 2=4r 10=4 11=4 12=2 14=1 17=8 21=4 24=8r
EM_AVR: 0=0 1=4 4=2
EM_MSP430: 0=0 1=4 2=2
EM_QDSP6: 0=0 6=4 7=2 8=1 31=4r
EM_AARCH64: 0=0 256=0 257=8 258=4 259=2 260=8r 261=4r 262=2r
EM_RISCV: 0=0 1=4 2=8 33=1+ 34=2+ 35=4+ 36=8+ 37=1- 38=2- 39=4- 40=8- 43=0 51=0 52=low6- 53=low6
	54=1 55=2 56=4 57=4r 60=uleb 61=uleb-
EM_BPF: 0=0 2=8 3=4 4=4
EM_LOONGARCH: 0=0 1=4 2=8 7=4 8=8 47=1+ 48=2+ 50=4+ 51=8+ 52=1- 53=2- 55=4- 56=8- 99=4r 100=0
	102=0 105=low6+ 106=low6- 107=uleb+ 108=uleb- 109=8r
`

// relocKinds returns the table by machine and type.
var relocKinds = sync.OnceValue(func() map[elf.Machine]map[uint32]relocKind {
	machines := make(map[string]elf.Machine)
	for m := range elf.EM_LOONGARCH + 1 {
		machines[m.String()+":"] = m
	}
	all := make(map[elf.Machine]map[uint32]relocKind)
	var kinds map[uint32]relocKind
	for word := range strings.FieldsSeq(relocTable) {
		if m, ok := machines[word]; ok {
			kinds = make(map[uint32]relocKind)
			all[m] = kinds
			continue
		}
		var no uint32
		var size string
		fmt.Sscanf(word, "%d=%s", &no, &size)
		k := relocKind{relative: strings.HasSuffix(size, "r")}
		switch size[len(size)-1] {
		case '+':
			k.op = relocAdd
		case '-':
			k.op = relocSub
		}
		switch size = strings.TrimRight(size, "r+-"); size {
		case "low6":
			k.size = sizeLow6
		case "uleb":
			k.size = sizeULEB
		default:
			k.size = int(size[0] - '0')
		}
		kinds[no] = k
	}
	return all
})

// relocInfo splits a relocation's word about symbol and type.
func (f *File) relocInfo(info uint64) (sym uint64, kind uint32) {
	switch {
	case f.Class != elf.ELFCLASS64:
		return info >> 8, uint32(info & 0xff)
	case f.Machine == elf.EM_MIPS && !f.Big(): // it is no word there, but a symbol and four bytes
		return info & 0xffffffff, uint32(info >> 56)
	case f.Machine == elf.EM_SPARCV9: // the type takes one byte of its word
		return info >> 32, uint32(info & 0xff)
	}
	return info >> 32, uint32(info)
}

// place returns the bytes that a relocation writes, or nil if they lie outside of b.
func (k *relocKind) place(b []byte) []byte {
	n := k.size
	switch n {
	case sizeLow6:
		n = 1
	case sizeULEB:
		for n = 0; n < len(b) && b[n] >= 0x80; n++ {
		}
		n++
	}
	if n > len(b) {
		return nil
	}
	return b[:n]
}

// get reads the number at a relocation's place.
func (k *relocKind) get(at []byte, big bool) uint64 {
	c := Cursor{B: at, Big: big}
	switch k.size {
	case sizeLow6:
		return uint64(at[0] & 0x3f)
	case sizeULEB:
		return c.ULEB()
	}
	return c.Uint(k.size)
}

// put writes a number there.
func (k *relocKind) put(at []byte, big bool, v uint64) {
	switch k.size {
	case sizeLow6:
		at[0] = at[0]&^0x3f | byte(v)&0x3f
		return
	case sizeULEB:
		for i := range at {
			at[i] = at[i]&0x80 | byte(v)&0x7f
			v >>= 7
		}
		return
	}
	for i := range at {
		j := i
		if big {
			j = len(at) - 1 - i
		}
		at[j] = byte(v >> (8 * i))
	}
}

// CanRelocate reports whether relocations of the file's machine are known.
func (f *File) CanRelocate() bool { return relocKinds()[f.Machine] != nil }

// relocated reports whether the section of an object file has relocations.
func (f *File) relocated(s *Section) bool {
	return f.Type == elf.ET_REL && f.relocsOf(s) != nil
}

// relocsOf returns the section with the relocations of s, or nil.
func (f *File) relocsOf(s *Section) *Section {
	for i := range f.Sections {
		if r := &f.Sections[i]; (r.Type == elf.SHT_RELA || r.Type == elf.SHT_REL) &&
			int(r.Info) < len(f.Sections) && &f.Sections[r.Info] == s {
			return r
		}
	}
	return nil
}

// relocate applies to b, the contents of s, its relocations.
func (f *File) relocate(s *Section, b []byte) error {
	rs := f.relocsOf(s)
	kinds := relocKinds()[f.Machine]
	if kinds == nil {
		return fmt.Errorf("section %s: relocations for %v are not known", s.Name, f.Machine)
	}
	table, err := f.Data(rs)
	if err != nil {
		return err
	}
	if uint64(rs.Link) >= uint64(len(f.Sections)) {
		return fmt.Errorf("section %s: its symbol table, section %d, is not there", rs.Name, rs.Link)
	}
	values, err := f.symbolValues(&f.Sections[rs.Link])
	if err != nil {
		return err
	}
	word := f.AddressSize()
	entry := 2 * word
	if rs.Type == elf.SHT_RELA {
		entry += word
	}
	for ; len(table) >= entry; table = table[entry:] {
		c := Cursor{B: table[:entry], Big: f.Big()}
		off, info := c.Uint(word), c.Uint(word)
		sym, kind := f.relocInfo(info)
		k, ok := kinds[kind]
		switch {
		case !ok:
			return fmt.Errorf("section %s: relocation of type %d for %v is not known", rs.Name,
				kind, f.Machine)
		case k.size == 0:
			continue
		case off > uint64(len(b)) || k.place(b[off:]) == nil || sym >= uint64(len(values)):
			return fmt.Errorf("section %s: relocation at %#x with symbol %d lies outside: damaged",
				rs.Name, off, sym)
		}
		at := k.place(b[off:])
		v := values[sym]
		if rs.Type == elf.SHT_RELA {
			v += c.Uint(word)
		} else {
			v += k.get(at, f.Big())
		}
		if k.relative {
			v -= s.Addr + off
		}
		switch k.op {
		case relocAdd:
			v += k.get(at, f.Big())
		case relocSub:
			v = k.get(at, f.Big()) - v
		}
		k.put(at, f.Big(), v)
	}
	return nil
}

// symbolValues returns the address of each symbol of a symbol table.
func (f *File) symbolValues(s *Section) ([]uint64, error) {
	f.relocMu.Lock()
	defer f.relocMu.Unlock()
	if v, ok := f.relocSyms[s]; ok {
		return v, nil
	}
	b, err := f.Data(s)
	if err != nil {
		return nil, err
	}
	size := f.SymbolSize()
	values := make([]uint64, uint64(len(b))/size)
	for i := range values {
		values[i] = f.DecodeSymbol(b[uint64(i)*size:]).Value
	}
	if f.relocSyms == nil {
		f.relocSyms = make(map[*Section][]uint64)
	}
	f.relocSyms[s] = values
	return values, nil
}

// TextSpans returns where code lies: the executable sections or, in a file without
// sections, segments; sorted and joined where one follows another.
func (f *File) TextSpans() []Span {
	f.textOnce.Do(func() {
		var all []Span
		for i := range f.Sections {
			if s := &f.Sections[i]; s.Flags&elf.SHF_EXECINSTR != 0 && s.Len > 0 && s.Holds(s.Addr) {
				all = append(all, Span{s.Addr, s.Addr + min(s.Len, ^s.Addr)})
			}
		}
		for i := range f.Segments {
			s := &f.Segments[i]
			if len(f.Sections) == 0 && s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && s.MemSize > 0 {
				all = append(all, Span{s.Addr, s.Addr + min(s.MemSize, ^s.Addr)})
			}
		}
		slices.SortFunc(all, func(a, b Span) int { return cmp.Compare(a.Low, b.Low) })
		for _, s := range all {
			if n := len(f.text); n > 0 && s.Low <= f.text[n-1].High {
				f.text[n-1].High = max(f.text[n-1].High, s.High)
			} else {
				f.text = append(f.text, s)
			}
		}
	})
	return f.text
}
