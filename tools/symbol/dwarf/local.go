// The variables of a function that lie in its frame, which is what sanitizers ask for when they
// report an address on a stack.
//
// Sources: DWARF 5, sections 2.5.1 (DW_OP_fbreg), 5 (sizes of types).

package dwarf

import "github.com/zeroframe/zeroframe/tools/symbol/elf"

// A Local is a variable or a parameter of a function, or of one that is inlined into it.
type Local struct {
	Function, Name string
	File           string
	Line           int
	// Offset is its distance in bytes from the frame's base, if HasOffset: otherwise it lies in
	// registers, or in several places.
	Offset    int64
	HasOffset bool
	// Size is that of its type in bytes, if HasSize.
	Size    uint64
	HasSize bool
}

const (
	tagFormalParameter = 0x05
	tagVariable        = 0x34
	tagArrayType       = 0x01
	tagPointerType     = 0x0f
	tagReferenceType   = 0x10
	tagRvalueReference = 0x42
	tagSubrangeType    = 0x21

	opFbreg = 0x91

	maxLocals = 10000
)

// Locals returns the variables of the physical function at pc in the order of the source. d may
// be nil.
func (d *Data) Locals(pc uint64) (all []Local) {
	if d == nil {
		return nil
	}
	d.eachAt(pc, func(r *Reader, l *Loaded) bool {
		chain := r.chain(l, pc)
		if len(chain) == 0 {
			return false
		}
		all = r.locals(l, chain[len(chain)-1].off)
		return true
	})
	return all
}

// entryAt returns the shape of the entry at off, nil for the one that ends a list, and where the
// next one begins.
func (r *Reader) entryAt(u *unit, off uint64) (a *abbrev, next uint64, ok bool) {
	if off < u.dies || off >= u.end {
		return nil, 0, false
	}
	abbrevs := r.abbrevTable(u)
	r.infoPages.Parse(off, func(c *elf.Cursor) {
		start := c.At
		code := c.ULEB()
		a, ok = nil, !c.Bad
		if a = abbrevs.get(code); a != nil {
			r.skipAttrs(c, u, a)
		}
		ok = ok && !c.Bad && (a != nil || code == 0)
		next = off + uint64(c.At-start)
	})
	return a, next, ok && next > off && r.spend(1)
}

// locals returns the variables below the entry at off, which is a function's.
func (r *Reader) locals(l *Loaded, off uint64) (all []Local) {
	var names []string // of the functions around, one for each level
	for len(all) < maxLocals {
		a, next, ok := r.entryAt(l.u, off)
		switch {
		case !ok:
			return all
		case a == nil:
			if names = names[:max(len(names)-1, 0)]; len(names) == 0 {
				return all
			}
			off = next
			continue
		}
		name := ""
		if len(names) > 0 {
			name = names[len(names)-1]
		}
		nested := len(names) > 0 && a.tag == tagSubprogram // one of its own
		switch {
		case nested:
		case a.tag == tagInlinedSubroutine || len(names) == 0:
			var d Detail
			r.declared(l, l.u, off, &d)
			name = d.Name
		case a.tag == tagVariable || a.tag == tagFormalParameter:
			all = append(all, r.local(l, off, name))
		}
		off = next
		switch {
		case nested && a.children:
			if off, ok = r.behindChildren(l.u, off); !ok {
				return all
			}
		case a.children:
			names = append(names, name)
		case len(names) == 0:
			return all
		}
	}
	return all
}

// behindChildren returns where the list of entries that begins at off ends.
func (r *Reader) behindChildren(u *unit, off uint64) (end uint64, ok bool) {
	for depth := 1; depth > 0; {
		a, next, ok := r.entryAt(u, off)
		switch {
		case !ok:
			return 0, false
		case a == nil:
			depth--
		case a.children:
			depth++
		}
		off = next
	}
	return off, true
}

// local reads the entry of a variable.
func (r *Reader) local(l *Loaded, off uint64, function string) Local {
	v := Local{Function: function}
	u := l.u
	var d Detail
	r.declared(l, u, off, &d)
	v.Name, v.File, v.Line = d.Name, d.StartFile, d.StartLine
	typed := value{}
	typeOf := u
	for range 8 { // to the entry that an inlined one is of
		var next value
		for _, a := range r.attributes(u, off) {
			switch a.attr {
			case attrLocation:
				if len(a.block) > 0 && a.block[0] == opFbreg {
					c := elf.Cursor{B: a.block[1:]}
					v.Offset = c.SLEB()
					v.HasOffset = !c.Bad
				}
			case attrType:
				if typed.kind == valueNone {
					typed, typeOf = a.value, u
				}
			case attrOrigin, attrSpecification:
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
	if typed.kind == valueRef {
		if u := r.unitAt(typeOf, typed.n); u != nil {
			v.Size, v.HasSize = r.typeSize(u, typed.n, 0)
		}
	}
	return v
}

// typeSize returns the size in bytes of a type.
func (r *Reader) typeSize(u *unit, off uint64, depth int) (n uint64, ok bool) {
	if depth > 32 {
		return 0, false
	}
	of := value{}
	for _, a := range r.attributes(u, off) {
		switch {
		case a.attr == attrByteSize && a.kind == valueConst:
			return a.n, true
		case a.attr == attrType:
			of = a.value
		}
	}
	tag, counts := r.typeShape(u, off)
	switch tag {
	case tagPointerType, tagReferenceType, tagRvalueReference:
		return uint64(u.addrSize), true
	}
	if of.kind != valueRef {
		return 0, false
	}
	to := r.unitAt(u, of.n)
	if to == nil {
		return 0, false
	}
	n, ok = r.typeSize(to, of.n, depth+1)
	if tag == tagArrayType {
		for _, count := range counts {
			n *= count
		}
		ok = ok && counts != nil
	}
	return n, ok
}

// typeShape returns the tag of a type's entry, and of an array how many elements it has in each
// dimension; nil if it does not say it.
func (r *Reader) typeShape(u *unit, off uint64) (tag uint64, counts []uint64) {
	a, next, ok := r.entryAt(u, off)
	if !ok || a == nil {
		return 0, nil
	}
	tag = a.tag
	if tag != tagArrayType || !a.children {
		return tag, nil
	}
	for len(counts) < 16 {
		off = next
		if a, next, ok = r.entryAt(u, off); !ok || a == nil || a.children {
			break
		}
		if a.tag != tagSubrangeType {
			continue
		}
		known := false
		for _, s := range r.attributes(u, off) {
			switch {
			case s.kind != valueConst:
			case s.attr == attrCount:
				counts, known = append(counts, s.n), true
			case s.attr == attrUpperBound && !known:
				counts, known = append(counts, s.n+1), true
			}
		}
		if !known {
			return tag, nil
		}
	}
	return tag, counts
}

// Global returns where the variable at an address is declared, if it is one outside of functions.
// It looks through the outermost entries of all units. d may be nil.
func (d *Data) Global(addr uint64) (file string, line int, ok bool) {
	if d == nil {
		return "", 0, false
	}
	r := d.NewReader()
	for _, base := range d.allUnits() {
		r.Allow()
		u := r.unit(base)
		if u == nil || !r.rooted(u) {
			continue
		}
		if off, ok := r.globalIn(u, addr); ok {
			l := &Loaded{u: u}
			if r.readLines(&l.Lines, u, func(*elf.Cursor, *lineHeader) {}) {
				v := r.local(l, off, "")
				return v.File, v.Line, v.Line != 0
			}
		}
		r.End(base, nil)
	}
	return "", 0, false
}

// globalIn returns the entry of the variable at addr in a unit.
func (r *Reader) globalIn(u *unit, addr uint64) (found uint64, ok bool) {
	c := elf.Cursor{B: r.unitBytes(u), Base: u.dies, Big: r.File.Big()}
	abbrevs := r.abbrevTable(u)
	depth := 0
	for c.At < len(c.B) && !c.Bad && r.spend(1) {
		off := u.dies + uint64(c.At)
		code := c.ULEB()
		if code == 0 {
			if depth--; depth <= 0 {
				break
			}
			continue
		}
		a := abbrevs.get(code)
		if a == nil {
			break
		}
		if a.tag == tagVariable {
			for i := range a.attrs {
				s := &a.attrs[i]
				before := c
				readForm(&c, s.form, s.implicit, &u.format)
				if s.attr == attrLocation && r.isAt(u, blockOf(&before, s.form), addr) {
					return off, true
				}
			}
		} else if depth > 0 && a.tag != tagNamespace && skipAll(&c, u, a) {
			continue
		} else {
			r.skipAttrs(&c, u, a)
		}
		if a.children {
			depth++
		} else if depth == 0 {
			break
		}
	}
	return 0, false
}

// isAt reports whether a location is an address, and that one.
func (r *Reader) isAt(u *unit, block []byte, addr uint64) bool {
	const opAddr, opAddrx, opGNUAddrx = 0x03, 0xa1, 0xfb
	if len(block) < 2 {
		return false
	}
	c := elf.Cursor{B: block[1:], Big: r.File.Big()}
	switch block[0] {
	case opAddr:
		n := c.Uint(u.addrSize)
		return !c.Bad && c.At == len(c.B) && n == addr
	case opAddrx, opGNUAddrx:
		n, ok := r.addrx(u, c.ULEB())
		return ok && n == addr
	}
	return false
}
