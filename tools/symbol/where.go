// Where an address lies, for addresses that belong to no function: which
// section, or near which.

package symbol

import (
	"debug/elf"
	"fmt"
)

// holds reports whether the section occupies addr in memory. The image of
// thread-local storage that has no contents (.tbss) occupies nothing.
func (s *section) holds(addr uint64) bool {
	return s.flags&elf.SHF_ALLOC != 0 && addr >= s.addr && addr-s.addr < s.len &&
		!(s.flags&elf.SHF_TLS != 0 && s.typ == elf.SHT_NOBITS)
}

// IsText reports whether addr lies in code: in an executable section or, in a
// file without sections, in an executable segment. Context: host.
func (f *File) IsText(addr uint64) bool {
	text := f.textSpans()
	for i := range text {
		if s := &text[i]; addr < s.high {
			return addr >= s.low
		}
	}
	return false
}

// Section returns the name and the address of the section that holds addr.
// Context: host.
func (f *File) Section(addr uint64) (name string, start uint64, ok bool) {
	for i := range f.sections {
		if s := &f.sections[i]; s.holds(addr) {
			return s.name, s.addr, true
		}
	}
	return "", 0, false
}

// SectionStart returns the address of the section called name. Context: host.
func (f *File) SectionStart(name string) (addr uint64, ok bool) {
	if s := f.section(name); s != nil && s.flags&elf.SHF_ALLOC != 0 {
		return s.addr, true
	}
	return 0, false
}

// Nearest describes an address by the nearest section: ".noptrbss+0x40" for one
// inside it or after its end (where a section's name is followed by "end", as in
// ".noptrbss end+0x40"), ".text-0x1000" for one before its start. It returns ""
// if no section is within a page of addr: what is further away has nothing to do
// with it. Context: host.
func (f *File) Nearest(addr uint64) string {
	if name, start, ok := f.Section(addr); ok {
		return fmt.Sprintf("%s+%#x", name, addr-start)
	}
	const page = 4096
	best, text := uint64(page+1), ""
	for i := range f.sections {
		s := &f.sections[i]
		if s.len == 0 || !s.holds(s.addr) {
			continue
		}
		end := s.addr + s.len
		switch {
		case addr < s.addr && s.addr-addr < best:
			best, text = s.addr-addr, fmt.Sprintf("%s-%#x", s.name, s.addr-addr)
		case addr >= end && addr-end < best:
			best, text = addr-end, fmt.Sprintf("%s end+%#x", s.name, addr-end)
		}
	}
	return text
}
