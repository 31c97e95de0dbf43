// Where an address lies, for addresses that belong to no function: which
// section, or near which.

package elf

import (
	"debug/elf"
	"fmt"
)

// A Span is a piece of text: the addresses from Low up to High, without High.
type Span struct{ Low, High uint64 }

// Holds reports whether the section occupies addr in memory. The image of
// thread-local storage that has no contents (.tbss) occupies nothing.
func (s *Section) Holds(addr uint64) bool {
	return s.Flags&elf.SHF_ALLOC != 0 && addr >= s.Addr && addr-s.Addr < s.Len &&
		!(s.Flags&elf.SHF_TLS != 0 && s.Type == elf.SHT_NOBITS)
}

// IsText reports whether addr lies in code: in an executable section or, in a
// file without sections, in an executable segment. Context: host.
func (f *File) IsText(addr uint64) bool {
	text := f.TextSpans()
	for i := range text {
		if s := &text[i]; addr < s.High {
			return addr >= s.Low
		}
	}
	return false
}

// Section returns the name and the address of the section that holds addr.
// Context: host.
func (f *File) Section(addr uint64) (name string, start uint64, ok bool) {
	if s := f.sectionAt(addr); s != nil {
		return s.Name, s.Addr, true
	}
	return "", 0, false
}

// sectionAt returns the first section that holds addr, or nil.
func (f *File) sectionAt(addr uint64) *Section {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Holds(addr) {
			return s
		}
	}
	return nil
}

// AddressOf returns the address that the byte at an offset of the file has in memory, as it was
// linked. With exec it is a byte of code: two segments may share a page of the file.
func (f *File) AddressOf(off uint64, exec bool) (addr uint64, ok bool) {
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Type != elf.PT_LOAD || exec && s.Flags&elf.PF_X == 0 {
			continue
		}
		// The loader maps whole pages: what is before and behind is there, too.
		pad := uint64(0)
		if a := s.align; a > 1 && a&(a-1) == 0 {
			pad = min(s.Off&(a-1), s.Addr)
		}
		if first := s.Off - pad; off >= first && off-first < pad+s.FileSize {
			return s.Addr - pad + (off - first), true
		}
	}
	return 0, false
}

// SectionStart returns the address of the section called name. Context: host.
func (f *File) SectionStart(name string) (addr uint64, ok bool) {
	if s := f.FirstSection(name); s != nil && s.Flags&elf.SHF_ALLOC != 0 {
		return s.Addr, true
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
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Len == 0 || !s.Holds(s.Addr) {
			continue
		}
		end := s.Addr + s.Len
		switch {
		case addr < s.Addr && s.Addr-addr < best:
			best, text = s.Addr-addr, fmt.Sprintf("%s-%#x", s.Name, s.Addr-addr)
		case addr >= end && addr-end < best:
			best, text = addr-end, fmt.Sprintf("%s end+%#x", s.Name, addr-end)
		}
	}
	return text
}

// SectionEnd returns the end of the section that holds the address, or 0.
func (f *File) SectionEnd(addr uint64) uint64 {
	if s := f.sectionAt(addr); s != nil {
		return s.Addr + min(s.Len, ^s.Addr)
	}
	return 0
}

// SameSection reports whether the section that holds a holds b.
func (f *File) SameSection(a, b uint64) bool {
	s := f.sectionAt(a)
	return s != nil && s.Holds(b)
}

// TextSections says of each section whether it is executable.
func (f *File) TextSections() []bool {
	text := make([]bool, len(f.Sections))
	for i := range f.Sections {
		text[i] = f.Sections[i].Flags&elf.SHF_EXECINSTR != 0
	}
	return text
}
