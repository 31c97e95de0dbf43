// Abbreviations: the shapes of a unit's entries, which say how long each is and what
// is in it.
//
// Source: DWARF 5, section 7.5.3.

package dwarf

import "github.com/zeroframe/zeroframe/tools/symbol/elf"

// An abbrevTable has the shapes of a unit's entries. Compilers number them from 1.
type abbrevTable struct {
	key   abbrevKey
	valid bool
	odd   bool     // other readers take another shape, or another attribute, from it
	size  uint64   // in bytes
	dense []abbrev // dense[i] has the code i+1
	other map[uint64]*abbrev
	specs []attrSpec // of all of them
}

// An abbrevKey is an offset into .debug_abbrev and all else that sizes depend on.
type abbrevKey struct {
	off      uint64
	version  uint16
	addrSize int
	dwarf64  bool
}

type abbrev struct {
	tag      uint64
	children bool
	descend  bool // functions with code may be among the children
	located  bool // it says where its code is
	refers   bool // to a type or to an entry that it is made from
	odd      bool // it has such an attribute twice
	size     int  // of all the values in bytes, or -1 if it depends on them
	sibling  int  // where DW_AT_sibling is, a DW_FORM_ref4, or -1
	attrs    []attrSpec
}

// maxAttrs bounds the attributes of a shape. Compilers give some 30.
const maxAttrs = 1 << 12

type attrSpec struct {
	shape
	implicit int64
	slot     uint8 // of its value in a die
}

func (t *abbrevTable) get(code uint64) *abbrev {
	if code-1 < uint64(len(t.dense)) {
		return &t.dense[code-1]
	}
	return t.other[code]
}

// readAbbrev reads one abbreviation after its code.
func (r *Reader) readAbbrev(c *elf.Cursor, f *format, specs []attrSpec) (abbrev, []attrSpec) {
	a := abbrev{tag: c.ULEB(), children: c.U8() != 0, sibling: -1}
	first, referred := len(specs), uint32(0)
	for r.spend(1) {
		attr, form := c.ULEB(), c.ULEB()
		s := attrSpec{shape: shapeOf(form), slot: slotOf(attr)}
		if form == formImplicit {
			s.implicit = c.SLEB()
		}
		c.Bad = c.Bad || len(specs)-first >= maxAttrs
		if attr == 0 && form == 0 || c.Bad {
			break
		}
		switch {
		case s.slot == atSibling && form == formRef4:
			a.sibling = a.size
		case s.slot == atLow, s.slot == atRanges:
			a.located = true
		}
		a.odd = a.odd || attr >= 1<<32
		if bit := uint32(referring) & (1 << s.slot); bit != 0 {
			a.odd, referred = a.odd || referred&bit != 0, referred|bit
		}
		if n := s.fixed(f); a.size >= 0 && n >= 0 {
			a.size += n
		} else {
			a.size = -1
		}
		specs = append(specs, s)
	}
	a.attrs = specs[first:len(specs):len(specs)]
	switch a.tag {
	case tagLexicalBlock, tagInlinedSubroutine, tagModule, tagCatchBlock, tagTryBlock, tagNamespace:
		a.descend = true
	}
	a.odd, a.refers = a.odd || a.tag >= 1<<32, referred&^(1<<atName) != 0
	return a, specs
}

// abbrevTable returns the unit's table. What it has of a damaged table is what
// comes before the damage.
func (r *Reader) abbrevTable(u *unit) *abbrevTable {
	key := abbrevKey{u.abbrevOff, u.version, u.addrSize, u.dwarf64}
	for i := range r.abbrevs {
		if r.abbrevs[i].key == key && r.abbrevs[i].valid {
			return &r.abbrevs[i]
		}
	}
	// Most units have a table of their own, so few are kept.
	t := &r.abbrevs[r.nextAbbrevs%len(r.abbrevs)]
	r.nextAbbrevs++
	t.key = key
	n := uint64(8 << 10)
	for {
		c := r.abbrevPages.Cursor(u.abbrevOff, n)
		n = max(n, uint64(len(c.B)))
		t.dense, t.other, t.odd = t.dense[:0], nil, false
		specs := t.specs[:0]
		for r.spend(4) {
			code := c.ULEB()
			if code == 0 || c.Bad {
				break
			}
			var a abbrev
			t.odd = t.odd || code >= 1<<32 || t.get(code) != nil
			if a, specs = r.readAbbrev(&c, &u.format, specs); c.Bad {
				break
			}
			t.odd = t.odd || a.odd
			switch {
			case code == uint64(len(t.dense))+1:
				t.dense = append(t.dense, a)
			case t.get(code) == nil:
				if t.other == nil {
					t.other = make(map[uint64]*abbrev)
				}
				other := a // only what is kept here goes to the heap
				t.other[code] = &other
			}
		}
		t.specs, t.size = specs, uint64(c.At)
		if !c.Bad || u.abbrevOff+uint64(len(c.B)) >= r.abbrev.Size || r.work < 0 {
			break
		}
		n *= 4
	}
	t.valid = r.work >= 0 // otherwise it may not be whole
	return t
}

// oneAbbrev returns one abbreviation of a unit, mostly the first, without reading
// the whole table.
func (r *Reader) oneAbbrev(u *unit, code uint64) *abbrev {
	key := abbrevKey{u.abbrevOff, u.version, u.addrSize, u.dwarf64}
	for i := range r.abbrevs {
		if t := &r.abbrevs[i]; t.valid && t.key == key {
			return t.get(code)
		}
	}
	for n := uint64(2 << 10); ; n *= 4 {
		c := r.abbrevPages.Cursor(u.abbrevOff, n)
		n = max(n, uint64(len(c.B)))
		for {
			got := c.ULEB()
			if got == code && code != 0 {
				if a, _ := r.readAbbrev(&c, &u.format, nil); !c.Bad {
					return &a
				}
			}
			if got == 0 || c.Bad {
				break
			}
			skipAbbrev(&c)
		}
		if !r.spend(len(c.B)) || !c.Bad || u.abbrevOff+uint64(len(c.B)) >= r.abbrev.Size {
			return nil
		}
	}
}

// skipAbbrev steps over an abbreviation after its code.
func skipAbbrev(c *elf.Cursor) {
	c.ULEB()
	c.U8()
	for !c.Bad {
		attr, form := c.ULEB(), c.ULEB()
		if form == formImplicit {
			c.SLEB()
		}
		if attr == 0 && form == 0 {
			return
		}
	}
}
