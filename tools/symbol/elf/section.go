// Sections are read in pieces, where an answer needs them: a unit, a
// line table, a page with a few strings. A section that is compressed, or whose
// relocations are still to be applied, cannot be read so, and is kept whole.

package elf

import (
	"bytes"
	"debug/elf"
)

// A Contents is a section of debug information.
type Contents struct {
	f         *File
	off, Size uint64 // where it lies in the file
	whole     []byte // its contents, if it is kept whole
}

// DebugContents finds the section called name, ".debug_info" say. It is empty if
// the file has none.
func (f *File) DebugContents(name string) (*Contents, error) {
	s := f.debugSection(name)
	if s == nil {
		return &Contents{f: f}, nil
	}
	if _, err := f.Extent(s); err != nil {
		return nil, err
	}
	if !f.Compressed(s) && !f.relocated(s) {
		return &Contents{f: f, off: s.Off, Size: s.Len}, nil
	}
	b, err := f.Data(s)
	if err == nil && f.relocated(s) {
		err = f.relocate(s, b)
	}
	if err != nil {
		return nil, err
	}
	return FixedContents(f, b), nil
}

// debugSection finds the section called name, or returns nil.
func (f *File) debugSection(name string) *Section {
	s := f.FirstSection(name, ".z"+name[1:])
	if s != nil && f.Type == elf.ET_REL && s.Flags&elf.SHF_GROUP != 0 {
		// An object file has a section of that name for each type, too.
		for i := range f.Sections {
			if o := &f.Sections[i]; o.Name == s.Name && o.Flags&elf.SHF_GROUP == 0 {
				return o
			}
		}
	}
	return s
}

// FixedContents returns the contents of a section of f that are not in the file.
func FixedContents(f *File, b []byte) *Contents {
	return &Contents{f: f, Size: uint64(len(b)), whole: b}
}

// Bytes returns n bytes from off, or as many as there are. They lie in buf, which
// grows as it must, unless the section is kept whole.
func (s *Contents) Bytes(buf *[]byte, off, n uint64) []byte {
	if off >= s.Size {
		return nil
	}
	n = min(n, s.Size-off)
	if s.whole != nil {
		return s.whole[off : off+n]
	}
	if uint64(cap(*buf)) < n {
		*buf = make([]byte, n+n/4)
	}
	b := (*buf)[:n]
	if m, _ := s.f.r.ReadAt(b, int64(s.off+off)); m < len(b) {
		return nil // the file became shorter
	}
	return b
}

// Pages are what has been read of a section lately.
type Pages struct {
	sec  *Contents
	slot [pageSlots]struct {
		no uint64 // page number + 1
		b  []byte
	}
	tmp []byte
}

const (
	pageSlots = 16
	pageSize  = 4 << 10
)

// Use makes p read another section.
func (p *Pages) Use(sec *Contents) {
	if p.sec != sec {
		*p = Pages{sec: sec, tmp: p.tmp}
	}
}

// PagesOf returns pages of a section as it lies in the file.
func (f *File) PagesOf(s *Section) *Pages {
	return &Pages{sec: &Contents{f: f, off: s.Off, Size: s.Len}}
}

// from returns what lies from off on, up to the end of a page at least.
func (p *Pages) from(off uint64) []byte {
	if off >= p.sec.Size {
		return nil
	}
	if p.sec.whole != nil {
		return p.sec.whole[off:]
	}
	no := off / pageSize
	slot := &p.slot[no%pageSlots]
	if slot.no != no+1 {
		slot.no = 0
		if slot.b = p.sec.Bytes(&slot.b, no*pageSize, pageSize); slot.b == nil {
			return nil
		}
		slot.no = no + 1
	}
	return slot.b[off%pageSize:]
}

// atLeast returns n bytes from off, or as many as there are.
func (p *Pages) atLeast(off, n uint64) []byte {
	if n <= pageSize { // otherwise it is in no page
		if b := p.from(off); uint64(len(b)) >= n || off+uint64(len(b)) >= p.sec.Size {
			return b
		}
	}
	return p.sec.Bytes(&p.tmp, off, n)
}

// CString returns the string at off.
func (p *Pages) CString(off uint64) []byte {
	for n := uint64(1); ; n *= 4 {
		b := p.atLeast(off, n)
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return b[:i]
		}
		if off+uint64(len(b)) >= p.sec.Size || uint64(len(b)) < n {
			return nil
		}
		n = max(n, uint64(len(b)))
	}
}

// Cursor reads the section from off on, n bytes at least if it has them.
func (p *Pages) Cursor(off, n uint64) Cursor {
	b := p.atLeast(off, n)
	return Cursor{B: b, Base: off, Big: p.sec.f.Big(), Bad: b == nil}
}

// Parse calls read with a cursor at off, and again with a longer piece if the
// piece ended too early.
func (p *Pages) Parse(off uint64, read func(c *Cursor)) {
	for n := uint64(64); ; n *= 4 {
		c := p.Cursor(off, n)
		got := uint64(len(c.B))
		if read(&c); !c.Bad || got == 0 || off+got >= p.sec.Size {
			return
		}
		n = max(n, got)
	}
}
