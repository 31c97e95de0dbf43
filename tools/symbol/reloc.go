// Object files, kernel modules among them, have no addresses yet: each section
// begins at 0, and what refers to another place is filled in by relocations. Here
// the sections are laid out one after the other, .text first, so that an offset
// into .text is its address; and the debug sections are relocated as the linker
// would do it.
//
// Sources: System V ABI, "Relocation"; its supplements for the 64-bit x86 (table
// 4.9), the 32-bit x86 (4.3) and Arm 64 (5.7).

package symbol

import (
	"debug/elf"
	"fmt"
	"slices"
)

// layOut gives the sections of an object file addresses, far apart: what lies
// outside of one is in no other. SectionStart tells them.
func (f *File) layOut() {
	gap := uint64(1 << 32)
	if f.class == elf.ELFCLASS32 {
		gap = 1 << 24
	}
	next := uint64(0)
	place := func(s *section) {
		s.addr = next
		next = alignUp(next+min(s.len, 1<<40)+1, gap)
	}
	text := -1
	for i := range f.sections {
		if s := &f.sections[i]; s.name == ".text" && s.flags&elf.SHF_ALLOC != 0 {
			text = i
			place(s)
			break
		}
	}
	for _, exec := range []bool{true, false} {
		for i := range f.sections {
			s := &f.sections[i]
			if i != text && s.flags&elf.SHF_ALLOC != 0 && (s.flags&elf.SHF_EXECINSTR != 0) == exec {
				place(s)
			}
		}
	}
}

// relocKinds are the relocations found in debug sections: the size in bytes of what
// each writes, and whether it counts from the place itself. Size 0 writes nothing.
var relocKinds = map[elf.Machine]map[uint32]struct {
	size     int
	relative bool
}{
	elf.EM_X86_64:  {0: {0, false}, 1: {8, false}, 2: {4, true}, 10: {4, false}, 11: {4, false}, 12: {2, false}, 14: {1, false}, 24: {8, true}, 17: {8, false}, 21: {4, false}},
	elf.EM_386:     {0: {0, false}, 1: {4, false}, 2: {4, true}, 20: {2, false}, 22: {1, false}, 32: {4, false}},
	elf.EM_AARCH64: {0: {0, false}, 256: {0, false}, 257: {8, false}, 258: {4, false}, 259: {2, false}, 260: {8, true}, 261: {4, true}, 262: {2, true}},
	elf.EM_ARM:     {0: {0, false}, 2: {4, false}, 3: {4, true}, 38: {4, false}},
}

func (f *File) canRelocate() bool { return relocKinds[f.machine] != nil }

// relocated reports whether the section of an object file has relocations.
func (f *File) relocated(s *section) bool {
	return f.typ == elf.ET_REL && f.relocsOf(s) != nil
}

// relocsOf returns the section with the relocations of s, or nil.
func (f *File) relocsOf(s *section) *section {
	for i := range f.sections {
		if r := &f.sections[i]; (r.typ == elf.SHT_RELA || r.typ == elf.SHT_REL) && int(r.info) < len(f.sections) && &f.sections[r.info] == s {
			return r
		}
	}
	return nil
}

// relocate applies to b, the contents of s, its relocations.
func (f *File) relocate(s *section, b []byte) error {
	rs := f.relocsOf(s)
	kinds := relocKinds[f.machine]
	if kinds == nil {
		return fmt.Errorf("section %s: relocations for %v are not known", s.name, f.machine)
	}
	table, err := f.data(rs)
	if err != nil {
		return err
	}
	if uint64(rs.link) >= uint64(len(f.sections)) {
		return fmt.Errorf("section %s: its symbol table, section %d, is not there", rs.name, rs.link)
	}
	values, err := f.symbolValues(&f.sections[rs.link])
	if err != nil {
		return err
	}
	word := 4
	if f.class == elf.ELFCLASS64 {
		word = 8
	}
	entry := 2 * word
	if rs.typ == elf.SHT_RELA {
		entry += word
	}
	for ; len(table) >= entry; table = table[entry:] {
		c := cursor{b: table[:entry], big: f.big()}
		off, info := c.uint(word), c.uint(word)
		sym, kind := info>>8, uint32(info&0xff)
		if word == 8 {
			sym, kind = info>>32, uint32(info)
		}
		k, ok := kinds[kind]
		switch {
		case !ok:
			return fmt.Errorf("section %s: relocation of type %d for %v is not known", rs.name, kind, f.machine)
		case k.size == 0:
			continue
		case off > uint64(len(b)) || uint64(len(b))-off < uint64(k.size) || sym >= uint64(len(values)):
			return fmt.Errorf("section %s: relocation at %#x with symbol %d lies outside: damaged", rs.name, off, sym)
		}
		at := b[off : off+uint64(k.size)]
		v := values[sym]
		if rs.typ == elf.SHT_RELA {
			v += c.uint(word)
		} else {
			old := cursor{b: at, big: f.big()}
			v += old.uint(k.size)
		}
		if k.relative {
			v -= s.addr + off
		}
		for i := range at {
			j := i
			if f.big() {
				j = len(at) - 1 - i
			}
			at[j] = byte(v >> (8 * i))
		}
	}
	return nil
}

// symbolValues returns the address of each symbol of a symbol table.
func (f *File) symbolValues(s *section) ([]uint64, error) {
	f.relocMu.Lock()
	defer f.relocMu.Unlock()
	if v, ok := f.relocSyms[s]; ok {
		return v, nil
	}
	b, err := f.data(s)
	if err != nil {
		return nil, err
	}
	p := symbolPart{tab: b, entsize: f.symbolSize()}
	values := make([]uint64, uint64(len(b))/p.entsize)
	for i := range values {
		values[i] = f.rawSymbol(&p, uint64(i)).value
	}
	if f.relocSyms == nil {
		f.relocSyms = make(map[*section][]uint64)
	}
	f.relocSyms[s] = values
	return values, nil
}

// textSpans returns where code lies: the executable sections or, in a file without
// sections, segments; sorted and joined where one follows another.
func (f *File) textSpans() []span {
	f.textOnce.Do(func() {
		var all []span
		for i := range f.sections {
			if s := &f.sections[i]; s.flags&elf.SHF_EXECINSTR != 0 && s.len > 0 && s.holds(s.addr) {
				all = append(all, span{s.addr, s.addr + min(s.len, ^s.addr)})
			}
		}
		for i := range f.segments {
			s := &f.segments[i]
			if len(f.sections) == 0 && s.typ == elf.PT_LOAD && s.flags&elf.PF_X != 0 && s.memsz > 0 {
				all = append(all, span{s.addr, s.addr + min(s.memsz, ^s.addr)})
			}
		}
		slices.SortFunc(all, func(a, b span) int {
			if a.low < b.low {
				return -1
			}
			return 1
		})
		for _, s := range all {
			if n := len(f.text); n > 0 && s.low <= f.text[n-1].high {
				f.text[n-1].high = max(f.text[n-1].high, s.high)
			} else {
				f.text = append(f.text, s)
			}
		}
	})
	return f.text
}
