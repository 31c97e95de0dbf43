package unwind

// A section of call frame information: entries that are either a CIE (what many
// functions have in common) or an FDE (one function: a range of addresses and a
// program that makes its rows). The sections .debug_frame and .eh_frame differ in
// how an FDE names its CIE and in how addresses are written.
//
// Opening a section reads the head of each entry and makes an index of the FDEs,
// sorted by address; a program runs when a pc of its function is looked up.

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// A section is one section of call frame information.
type section struct {
	b        []byte
	addr     uint64 // where b lies in memory
	eh       bool   // .eh_frame
	addrSize int    // of an address in bytes, 4 or 8
	big      bool   // big-endian

	cies  map[int]*cie // by their offsets; nil for one that cannot be used
	index []fde        // sorted by lo
}

// cie is what FDEs have in common.
type cie struct {
	addrSize  int
	segSize   int
	codeAlign uint64
	dataAlign int64
	column    Reg
	signal    bool // S: a signal frame
	augmented bool // z: FDEs have augmentation data
	encoding  byte // R: how addresses in FDEs are written
	program   []byte
}

// fde is one function.
type fde struct {
	lo, hi     uint64
	cie        *cie
	start, end int // its program, as offsets in the section
}

// Encodings of addresses in .eh_frame (Linux Standard Base 5.0, 10.5.1).
const (
	peAbsPtr   = 0x00
	peULEB     = 0x01
	peUData2   = 0x02
	peUData4   = 0x03
	peUData8   = 0x04
	peSLEB     = 0x09
	peSData2   = 0x0a
	peSData4   = 0x0b
	peSData8   = 0x0c
	pePCRel    = 0x10
	peTextRel  = 0x20
	peDataRel  = 0x30
	peFuncRel  = 0x40
	peAligned  = 0x50
	peIndirect = 0x80
	peOmit     = 0xff
)

func newSection(b []byte, addr uint64, eh bool, addrSize int, order binary.ByteOrder) *section {
	s := &section{b: b, addr: addr, eh: eh, addrSize: addrSize, big: order == binary.BigEndian,
		cies: make(map[int]*cie)}
	s.readIndex()
	return s
}

func (s *section) cursor(start, end int) elf.Cursor {
	return elf.Cursor{B: s.b[:end], At: start, Big: s.big}
}

// An entry is the head of a CIE or an FDE.
type entry struct {
	start, end int    // the entry, its length field included
	idAt       int    // offset of the field that names the CIE
	id         uint64 // that field's value
	body       int    // offset of what follows it
	isCIE      bool
}

// entryAt reads the head of the entry at the offset. An empty one, such as ends
// .eh_frame, has no body.
func (s *section) entryAt(at int) (e entry, ok bool) {
	c := s.cursor(at, len(s.b))
	n, wide := c.Uint(4), false
	if n == 0xffffffff {
		n, wide = c.Uint(8), true
	} else if n >= 0xfffffff0 {
		return e, false // reserved
	}
	if c.Bad || n > uint64(c.Left()) {
		return e, false
	}
	e.start, e.end, e.idAt = at, c.At+int(n), c.At
	if n == 0 {
		e.body = e.end
		return e, true
	}
	c.B = c.B[:e.end]
	switch {
	case s.eh: // four bytes, however long the length is
		e.id = c.Uint(4)
		e.isCIE = e.id == 0
	case wide:
		e.id = c.Uint(8)
		e.isCIE = e.id == 1<<64-1
	default:
		e.id = c.Uint(4)
		e.isCIE = e.id == 1<<32-1
	}
	e.body = c.At
	return e, !c.Bad
}

// readIndex goes through all entries. Behind one whose length makes no sense,
// nothing can be found any more.
func (s *section) readIndex() {
	for at := 0; at < len(s.b); {
		e, ok := s.entryAt(at)
		if !ok {
			break
		}
		if e.body < e.end && !e.isCIE {
			if f, ok := s.readFDE(&e); ok {
				s.index = append(s.index, f)
			}
		}
		at = e.end
	}
	slices.SortStableFunc(s.index, func(a, b fde) int { return cmp.Compare(a.lo, b.lo) })
}

// readFDE reads an FDE but for its program.
func (s *section) readFDE(e *entry) (f fde, ok bool) {
	at := e.id
	if s.eh {
		at = uint64(e.idAt) - e.id // backwards from the field
	}
	if at >= uint64(len(s.b)) {
		return f, false
	}
	if f.cie = s.cieAt(int(at)); f.cie == nil {
		return f, false
	}
	c := s.cursor(e.body, e.end)
	c.Take(uint64(f.cie.segSize))
	if f.lo, ok = s.address(&c, f.cie.encoding, f.cie.addrSize); !ok {
		return f, false
	}
	n, ok := s.address(&c, f.cie.encoding&0x0f, f.cie.addrSize)
	if !ok || n == 0 || f.lo+n < f.lo {
		return f, false
	}
	f.hi = f.lo + n
	if f.cie.augmented {
		c.Take(c.ULEB()) // the language's data
	}
	f.start, f.end = c.At, e.end
	return f, !c.Bad
}

// cieAt reads the CIE at the offset, nil if it is none that is understood.
func (s *section) cieAt(at int) *cie {
	if c, ok := s.cies[at]; ok {
		return c
	}
	s.cies[at] = nil
	e, ok := s.entryAt(at)
	if !ok || !e.isCIE {
		return nil
	}
	c := s.cursor(e.body, e.end)
	r := &cie{addrSize: s.addrSize, encoding: peAbsPtr}
	version := c.U8()
	augmentation := string(elf.CString(c.B, uint64(c.At)))
	c.SkipString()
	switch version {
	case 1, 3:
	case 4:
		r.addrSize, r.segSize = int(c.U8()), int(c.U8())
	default:
		return nil
	}
	if r.addrSize != 4 && r.addrSize != 8 || r.segSize > 8 {
		return nil
	}
	if augmentation == "eh" { // of GCC 2: a pointer follows
		c.Take(uint64(s.addrSize))
		augmentation = ""
	}
	r.codeAlign, r.dataAlign = c.ULEB(), c.SLEB()
	column := uint64(0)
	if version == 1 {
		column = uint64(c.U8())
	} else {
		column = c.ULEB()
	}
	if column >= NumRegs {
		return nil
	}
	r.column = Reg(column)
	if !s.augmentation(&c, r, augmentation) || c.Bad {
		return nil
	}
	r.program = c.B[c.At:]
	s.cies[at] = r
	return r
}

// augmentation reads what the letters of a CIE's augmentation string announce.
func (s *section) augmentation(c *elf.Cursor, r *cie, letters string) bool {
	if letters == "" {
		return true
	}
	if letters[0] != 'z' {
		return letters == "S" && s.plainSignal(r)
	}
	r.augmented = true
	n := c.ULEB()
	if c.Bad || n > uint64(c.Left()) {
		return false
	}
	end := c.At + int(n)
	data := elf.Cursor{B: c.B[:end], At: c.At, Big: c.Big}
	c.At = end
	for _, letter := range letters[1:] {
		switch letter {
		case 'L': // encoding of the FDE's pointer to the language's data
			data.U8()
		case 'P': // the personality routine
			if enc := data.U8(); enc != peOmit {
				if _, ok := s.address(&data, enc&^peIndirect, r.addrSize); !ok {
					return false
				}
			}
		case 'R':
			r.encoding = data.U8()
		case 'S':
			r.signal = true
		case 'B', 'G':
			// Of other machines: keys for signed return addresses, tagged stacks.
		default:
			// Its data cannot be told from that of letters behind it. An
			// encoding of addresses that comes later would be missed.
			return false
		}
	}
	return !data.Bad
}

func (s *section) plainSignal(r *cie) bool {
	r.signal = true
	return true
}

// address reads an address in an encoding.
func (s *section) address(c *elf.Cursor, encoding byte, size int) (a uint64, ok bool) {
	if encoding == peOmit {
		return 0, false
	}
	at := s.addr + uint64(c.At)
	if encoding&0x70 == peAligned {
		pad := -at & uint64(size-1)
		c.Take(pad)
		return c.Uint(size), !c.Bad
	}
	switch encoding & 0x0f {
	case peAbsPtr:
		a = c.Uint(size)
	case peULEB:
		a = c.ULEB()
	case peUData2:
		a = c.Uint(2)
	case peUData4:
		a = c.Uint(4)
	case peUData8:
		a = c.Uint(8)
	case peSLEB:
		a = uint64(c.SLEB())
	case peSData2:
		a = uint64(c.Sint(2))
	case peSData4:
		a = uint64(c.Sint(4))
	case peSData8:
		a = uint64(c.Sint(8))
	default:
		return 0, false
	}
	switch encoding & 0x70 {
	case 0:
	case pePCRel:
		a += at
	default:
		return 0, false // relative to what only a loader knows
	}
	if encoding&peIndirect != 0 {
		return 0, false // in memory
	}
	if size == 4 {
		a &= 1<<32 - 1
	}
	return a, !c.Bad
}

// find returns the FDE of the function that pc is in.
func (s *section) find(pc uint64) (f *fde, ok bool) {
	i := sort.Search(len(s.index), func(i int) bool { return s.index[i].lo > pc })
	// FDEs overlap in damaged files only, or where a linker has dropped a
	// function and left its FDE.
	for n := 0; i > 0 && n < 16; n++ {
		i--
		if pc < s.index[i].hi {
			return &s.index[i], true
		}
	}
	return nil, false
}
