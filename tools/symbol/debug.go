// The debug sections are read in pieces, where an answer needs them: a unit, a
// line table, a page with a few strings. A section that is compressed, or whose
// relocations are still to be applied, cannot be read so, and is kept whole.

package symbol

import (
	"bytes"
	"debug/elf"
	"sync"
)

// A debugSection is a section of debug information.
type debugSection struct {
	f         *File
	off, size uint64 // where it lies in the file
	whole     []byte // its contents, if it is kept whole
}

// debugSection finds the section called name, ".debug_info" say. It is empty if
// the file has none.
func (f *File) debugSection(name string) (*debugSection, error) {
	s := f.section(name, ".z"+name[1:])
	if s == nil {
		return &debugSection{f: f}, nil
	}
	if f.typ == elf.ET_REL && s.flags&elf.SHF_GROUP != 0 {
		// An object file has a section of that name for each type, too.
		for i := range f.sections {
			if o := &f.sections[i]; o.name == s.name && o.flags&elf.SHF_GROUP == 0 {
				s = o
				break
			}
		}
	}
	if _, err := f.extent(s); err != nil {
		return nil, err
	}
	if !f.folded(s) && !f.relocated(s) {
		return &debugSection{f: f, off: s.off, size: s.len}, nil
	}
	b, err := f.data(s)
	if err != nil {
		return nil, err
	}
	if f.relocated(s) {
		if err := f.relocate(s, b); err != nil {
			return nil, err
		}
	}
	return &debugSection{f: f, size: uint64(len(b)), whole: b}, nil
}

// bytes returns n bytes from off, or as many as there are. They lie in buf, which
// grows as it must, unless the section is kept whole.
func (s *debugSection) bytes(buf *[]byte, off, n uint64) []byte {
	if off >= s.size {
		return nil
	}
	n = min(n, s.size-off)
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
type pages struct {
	sec  *debugSection
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

// from returns what lies from off on, up to the end of a page at least.
func (p *pages) from(off uint64) []byte {
	if off >= p.sec.size {
		return nil
	}
	if p.sec.whole != nil {
		return p.sec.whole[off:]
	}
	no := off / pageSize
	slot := &p.slot[no%pageSlots]
	if slot.no != no+1 {
		slot.no = 0
		if slot.b = p.sec.bytes(&slot.b, no*pageSize, pageSize); slot.b == nil {
			return nil
		}
		slot.no = no + 1
	}
	return slot.b[off%pageSize:]
}

// atLeast returns n bytes from off, or as many as there are.
func (p *pages) atLeast(off, n uint64) []byte {
	if n <= pageSize { // otherwise it is in no page
		if b := p.from(off); uint64(len(b)) >= n || off+uint64(len(b)) >= p.sec.size {
			return b
		}
	}
	return p.sec.bytes(&p.tmp, off, n)
}

// cstring returns the string at off.
func (p *pages) cstring(off uint64) []byte {
	for n := uint64(1); ; n *= 4 {
		b := p.atLeast(off, n)
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return b[:i]
		}
		if off+uint64(len(b)) >= p.sec.size || uint64(len(b)) < n {
			return nil
		}
		n = max(n, uint64(len(b)))
	}
}

// cursor reads the section from off on, n bytes at least if it has them.
func (p *pages) cursor(off, n uint64) cursor {
	b := p.atLeast(off, n)
	return cursor{b: b, base: off, big: p.sec.f.big(), bad: b == nil}
}

// parse calls read with a cursor at off, and again with a longer piece if the
// piece ended too early.
func (p *pages) parse(off uint64, read func(c *cursor)) {
	for n := uint64(64); ; n *= 4 {
		c := p.cursor(off, n)
		got := uint64(len(c.b))
		if read(&c); !c.bad || got == 0 || off+got >= p.sec.size {
			return
		}
		n = max(n, got)
	}
}

// dwarfData is the debug sections, and which unit has which addresses. It is
// shared by those who read; what has been read belongs to each reader.
type dwarfData struct {
	file                               *File
	info, abbrev, line, str, lineStr   *debugSection
	ranges, rnglists, addr, strOffsets *debugSection
	aranges                            *debugSection
	total                              int // bytes of all the sections

	basesOnce sync.Once
	unitBases []uint64 // of every unit's header, rising

	mu    sync.Mutex
	index unitIndex
	main  *dwarfReader // of single look-ups

	dwoMu sync.Mutex
	dwos  map[string]*dwarfData // by path; nil for a file of no use

	dwpOnce sync.Once
	dwp     *dwarfData // of the .dwp file
	dwpFile *File
	parts   map[uint64]dwoPart // of a .dwp file: where each unit is

	supOnce       sync.Once
	supplementary *dwarfData
	supFile       *File
}

// unitBasesAll returns the offsets of all units' headers.
func (d *dwarfData) allUnits() []uint64 {
	d.basesOnce.Do(func() {
		p := pages{sec: d.info}
		for at := uint64(0); at < d.info.size; {
			c := p.cursor(at, 12)
			length, head := c.uint(4), uint64(4)
			if length == 0xffffffff {
				length, head = c.uint(8), 12
			}
			if c.bad || length > d.info.size-at-head {
				return
			}
			d.unitBases = append(d.unitBases, at)
			at += head + length
		}
	})
	return d.unitBases
}
