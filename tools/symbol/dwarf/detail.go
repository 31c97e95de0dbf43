// What is said of a call beyond function, file and line: for those alone who ask for it, since
// it takes another look at the entries.

package dwarf

import (
	"slices"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// Attributes of use here, by the numbers of DWARF.
const (
	attrName          = 0x03
	attrByteSize      = 0x0b
	attrLow           = 0x11
	attrUpperBound    = 0x2f
	attrOrigin        = 0x31
	attrCount         = 0x37
	attrDeclFile      = 0x3a
	attrDeclLine      = 0x3b
	attrLocation      = 0x02
	attrSpecification = 0x47
	attrType          = 0x49
	attrCallColumn    = 0x57
	attrDiscriminator = 0x2136 // of a call; GNU's
)

// A Detail is what more is known of a call.
type Detail struct {
	// Column is that of the line, from 1 on; 0 if it is not known.
	Column int
	// Discriminator is the number of the block within the line, for a call that is inlined at
	// it too.
	Discriminator int
	// Name is the function's as it is in the source, without its scope and parameters.
	Name string
	// StartFile and StartLine are where the function is declared.
	StartFile string
	StartLine int
	// Start is the address of the first instruction, if HasStart: a call that is inlined in
	// several pieces has none.
	Start    uint64
	HasStart bool
	// CompDir is the folder in which the compiler ran: names of files that were not absolute
	// have it in front.
	CompDir string
}

// An attribute is one of an entry, by its number.
type attribute struct {
	attr uint16
	value
	block []byte // of a location that is an expression: that
}

// attributes returns the attributes of the entry at off, or nil.
func (r *Reader) attributes(u *unit, off uint64) (all []attribute) {
	if off < u.dies || off >= u.end {
		return nil
	}
	abbrevs := r.abbrevTable(u)
	r.infoPages.Parse(off, func(c *elf.Cursor) {
		all = all[:0]
		a := abbrevs.get(c.ULEB())
		if c.Bad || a == nil || !r.spend(1+len(a.attrs)) {
			return
		}
		for i := range a.attrs {
			s := &a.attrs[i]
			before := *c
			v := attribute{attr: s.attr, value: readForm(c, s.form, s.implicit, &u.format)}
			if c.Bad {
				all = all[:0]
				return
			}
			if s.attr == attrLocation {
				v.block = slices.Clone(blockOf(&before, s.form))
			}
			all = append(all, v)
		}
	})
	return all
}

// blockOf returns the bytes of a value that is a block, or nil.
func blockOf(c *elf.Cursor, form uint64) []byte {
	switch form {
	case formBlock1:
		return c.Take(c.Uint(1))
	case formBlock2:
		return c.Take(c.Uint(2))
	case formBlock4:
		return c.Take(c.Uint(4))
	case formBlock, formExprloc:
		return c.Take(c.ULEB())
	}
	return nil
}

// unitAt returns the unit of a reference from u, with what its strings need.
func (r *Reader) unitAt(u *unit, off uint64) *unit {
	if off < u.dies || off >= u.end {
		u = r.unitOf(off)
	}
	if u == nil || !r.rooted(u) {
		return nil
	}
	return u
}

// declared fills in what the entry at off says of a function, and those that it refers to.
func (r *Reader) declared(l *Loaded, u *unit, off uint64, d *Detail) {
	file, fileOf := r.declaration(u, off, d)
	if file.kind == valueNone {
		return
	}
	if fileOf != l.u { // of another unit, as link-time optimization makes them
		l = r.load(fileOf, 0)
	}
	d.StartFile = r.FileName(l, uint32(file.n))
}

// declaration is declared but for the name of the file, of which it returns the number and the
// unit.
func (r *Reader) declaration(u *unit, off uint64, d *Detail) (file value, fileOf *unit) {
	fileOf = u
	for step := range 8 {
		var next value
		for _, a := range r.attributes(u, off) {
			switch {
			case a.attr == attrName && d.Name == "":
				d.Name = r.string(u, &r.infoPages, a.value)
			case a.attr == attrDeclFile && file.kind == valueNone:
				file, fileOf = a.value, u
			case a.attr == attrDeclLine && d.StartLine == 0:
				d.StartLine = int(uint32(a.n))
			case a.attr == attrLow && step == 0:
				d.Start, d.HasStart = r.address(u, a.value)
			case a.attr == attrOrigin || a.attr == attrSpecification && next.kind == valueNone:
				next = a.value
			}
		}
		if next.kind != valueRef {
			break
		}
		if u = r.unitAt(u, next.n); u == nil {
			break
		}
		off = next.n
	}
	return file, fileOf
}

// Details returns more of the calls that Lookup returns for pc, in the same order; nil if the debug
// information has no function there. d may be nil.
func (d *Data) Details(pc uint64) (all []Detail) {
	if d == nil {
		return nil
	}
	d.eachAt(pc, func(r *Reader, l *Loaded) bool {
		all = r.details(l, pc)
		return len(all) > 0
	})
	return all
}

func (r *Reader) details(l *Loaded, pc uint64) (all []Detail) {
	row, hasLine := l.Lines.at(pc)
	if !hasLine && l.Lines.cut {
		r.loadRest(l)
		row, hasLine = l.Lines.at(pc)
	}
	compDir := r.string(l.u, &r.infoPages, l.u.compDir)
	next := Detail{CompDir: compDir}
	if hasLine {
		next.Column, next.Discriminator = int(row.Col), int(row.Disc)
	}
	chain := r.chain(l, pc)
	if chain == nil {
		if hasLine {
			all = append(all, next)
		}
		return all
	}
	for _, c := range chain {
		now := next
		next = Detail{CompDir: compDir}
		r.declared(l, l.u, c.off, &now)
		for _, a := range r.attributes(l.u, c.off) {
			switch a.attr {
			case attrCallColumn:
				next.Column = int(uint32(a.n))
			case attrDiscriminator:
				next.Discriminator = int(uint32(a.n))
			}
		}
		all = append(all, now)
	}
	return all
}

// chain returns the calls at pc, innermost first.
func (r *Reader) chain(l *Loaded, pc uint64) (calls []Call) {
	fn := r.funcAt(l, pc)
	if fn == nil {
		return nil
	}
	r.LoadTree(l, fn)
	for at := r.Tree.at(pc); at >= 0 && len(calls) <= lookup.MaxInlined; {
		c := r.Tree.Calls[at]
		calls = append(calls, c)
		at = c.Parent
	}
	return calls
}
