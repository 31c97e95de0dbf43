// Call frame information: the entries of the sections .eh_frame and .debug_frame, but for the
// programs in them, which package unwind runs.
//
// An entry is either a CIE (what many functions have in common) or an FDE (one function: a range of
// addresses and a program that makes its rows). The two sections differ in how an FDE names its CIE
// and in how addresses are written. Opening a section reads the head of each entry and makes an
// index of the FDEs, sorted by address. It knows amd64 only.
//
// Sources: DWARF 5, section 6.4.1; Linux Standard Base 5.0, "Exception Frames".

package elf

import (
	"cmp"
	"slices"
	"sort"
)

// Frames is one section of call frame information.
type Frames struct {
	EH   bool  // .eh_frame
	FDEs []FDE // sorted by Low

	b    []byte
	addr uint64       // where b lies in memory
	cies map[int]*CIE // by their offsets; nil for one that cannot be used
}

// A CIE is what FDEs have in common.
type CIE struct {
	CodeAlign uint64
	DataAlign int64
	Column    uint64 // the register that stands for the return address
	Signal    bool   // S: a signal frame
	Program   []byte

	addrSize, segSize int
	augmented         bool // z: FDEs have augmentation data
	encoding          byte // R: how addresses in FDEs are written
}

// An FDE is one function.
type FDE struct {
	Low, High uint64
	CIE       *CIE

	start, end int // its program, as offsets in the section
}

// frameAddrSize is that of an address in bytes, unless a CIE says otherwise.
const frameAddrSize = 8

// Encodings of addresses in .eh_frame (Linux Standard Base 5.0, 10.5.1): the lower four bits say
// how the number is written, the upper ones what it counts from.
const (
	peAbsPtr   = 0x00
	peULEB     = 0x01
	peSigned   = 0x08
	peSLEB     = peSigned | peULEB
	pePCRel    = 0x10
	peAligned  = 0x50
	peIndirect = 0x80
	peOmit     = 0xff
)

// NewFrames returns the section with these contents, which lie at addr in memory. Host.
func NewFrames(b []byte, addr uint64, eh bool) *Frames {
	s := &Frames{EH: eh, b: b, addr: addr, cies: make(map[int]*CIE)}
	s.readIndex()
	return s
}

// Program returns the program of an FDE.
func (s *Frames) Program(f *FDE) Cursor { return s.cursor(f.start, f.end) }

func (s *Frames) cursor(start, end int) Cursor {
	return Cursor{B: s.b[:end], At: start}
}

// A frameEntry is the head of a CIE or an FDE.
type frameEntry struct {
	start, end int    // the entry, its length field included
	idAt       int    // offset of the field that names the CIE
	id         uint64 // that field's value
	body       int    // offset of what follows it
	isCIE      bool
}

// entryAt reads the head of the entry at the offset. An empty one, such as ends
// .eh_frame, has no body.
func (s *Frames) entryAt(at int) (e frameEntry, ok bool) {
	c := s.cursor(at, len(s.b))
	n, wide := c.Length()
	if n >= 0xfffffff0 && !wide {
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
	of := uint64(0) // a CIE
	if !s.EH {
		of = 1<<32 - 1
	}
	if wide && !s.EH { // in .eh_frame it has four bytes, however long the length is
		e.id, of = c.Uint(8), 1<<64-1
	} else {
		e.id = c.Uint(4)
	}
	e.isCIE = e.id == of
	e.body = c.At
	return e, !c.Bad
}

// readIndex goes through all entries. Behind one whose length makes no sense,
// nothing can be found any more.
func (s *Frames) readIndex() {
	for at := 0; at < len(s.b); {
		e, ok := s.entryAt(at)
		if !ok {
			break
		}
		if e.body < e.end && !e.isCIE {
			if f, ok := s.readFDE(&e); ok {
				s.FDEs = append(s.FDEs, f)
			}
		}
		at = e.end
	}
	slices.SortStableFunc(s.FDEs, func(a, b FDE) int { return cmp.Compare(a.Low, b.Low) })
}

// readFDE reads an FDE but for its program.
func (s *Frames) readFDE(e *frameEntry) (f FDE, ok bool) {
	at := e.id
	if s.EH {
		at = uint64(e.idAt) - e.id // backwards from the field
	}
	if at >= uint64(len(s.b)) {
		return f, false
	}
	if f.CIE = s.cieAt(int(at)); f.CIE == nil {
		return f, false
	}
	c := s.cursor(e.body, e.end)
	c.Take(uint64(f.CIE.segSize))
	if f.Low, ok = s.address(&c, f.CIE.encoding, f.CIE.addrSize); !ok {
		return f, false
	}
	n, ok := s.address(&c, f.CIE.encoding&0x0f, f.CIE.addrSize)
	if !ok || n == 0 || f.Low+n < f.Low {
		return f, false
	}
	f.High = f.Low + n
	if f.CIE.augmented {
		c.Take(c.ULEB()) // the language's data
	}
	f.start, f.end = c.At, e.end
	return f, !c.Bad
}

// cieAt reads the CIE at the offset, nil if it is none that is understood.
func (s *Frames) cieAt(at int) *CIE {
	if c, ok := s.cies[at]; ok {
		return c
	}
	s.cies[at] = nil
	e, ok := s.entryAt(at)
	if !ok || !e.isCIE {
		return nil
	}
	c := s.cursor(e.body, e.end)
	r := &CIE{addrSize: frameAddrSize, encoding: peAbsPtr}
	version := c.U8()
	augmentation := string(CString(c.B, uint64(c.At)))
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
		c.Take(frameAddrSize)
		augmentation = ""
	}
	r.CodeAlign, r.DataAlign = c.ULEB(), c.SLEB()
	if version == 1 {
		r.Column = uint64(c.U8())
	} else {
		r.Column = c.ULEB()
	}
	if !s.augmentation(&c, r, augmentation) || c.Bad {
		return nil
	}
	r.Program = c.B[c.At:]
	s.cies[at] = r
	return r
}

// augmentation reads what the letters of a CIE's augmentation string announce.
func (s *Frames) augmentation(c *Cursor, r *CIE, letters string) bool {
	if letters == "" {
		return true
	}
	if letters[0] != 'z' {
		r.Signal = letters == "S"
		return r.Signal
	}
	r.augmented = true
	n := c.ULEB()
	if c.Bad || n > uint64(c.Left()) {
		return false
	}
	end := c.At + int(n)
	data := Cursor{B: c.B[:end], At: c.At}
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
			r.Signal = true
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

// Address reads an address in the program of one of the CIE's FDEs.
func (s *Frames) Address(c *Cursor, of *CIE) (a uint64, ok bool) {
	return s.address(c, of.encoding, of.addrSize)
}

// address reads an address in an encoding.
func (s *Frames) address(c *Cursor, encoding byte, size int) (a uint64, ok bool) {
	if encoding == peOmit {
		return 0, false
	}
	at := s.addr + uint64(c.At)
	if encoding&0x70 == peAligned {
		pad := -at & uint64(size-1)
		c.Take(pad)
		return c.Uint(size), !c.Bad
	}
	switch how := encoding & 0x0f; {
	case how == peAbsPtr:
		a = c.Uint(size)
	case how == peULEB:
		a = c.ULEB()
	case how == peSLEB:
		a = uint64(c.SLEB())
	case how == peSigned || how&^peSigned > 4:
		return 0, false
	case how&peSigned == 0: // of 2, 4 or 8 bytes
		a = c.Uint(1 << (how - 1))
	default:
		a = uint64(c.Sint(1 << (how - peSigned - 1)))
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

// Find returns the FDE of the function that pc is in.
func (s *Frames) Find(pc uint64) (f *FDE, ok bool) {
	i := sort.Search(len(s.FDEs), func(i int) bool { return s.FDEs[i].Low > pc })
	// FDEs overlap in damaged files only, or where a linker has dropped a
	// function and left its FDE.
	for n := 0; i > 0 && n < 16; n++ {
		i--
		if pc < s.FDEs[i].High {
			return &s.FDEs[i], true
		}
	}
	return nil, false
}
