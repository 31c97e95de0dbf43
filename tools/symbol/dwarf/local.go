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

// block returns a cursor over the bytes of a value that is a block.
func (r *Reader) block(v value) (c elf.Cursor) {
	if v.kind == valueBlock {
		c = r.infoPages.Cursor(v.n, uint64(v.size))
	}
	c.B = c.B[:min(len(c.B), int(v.size))]
	return c
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
	for of, e := range r.origins(u, off) {
		if c := r.block(e.at[atLocation]); c.U8() == opFbreg {
			v.Offset = c.SLEB()
			v.HasOffset = !c.Bad
		}
		if typed.kind == valueNone {
			typed, typeOf = e.at[atType], of
		}
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
	e, ok := r.dieAt(u, off)
	of := e.at[atType]
	switch {
	case depth > 32 || !ok:
		return 0, false
	case e.at[atByteSize].kind == valueConst:
		return e.at[atByteSize].n, true
	case e.tag == tagPointerType || e.tag == tagReferenceType || e.tag == tagRvalueReference:
		return uint64(u.addrSize), true
	case of.kind != valueRef:
		return 0, false
	}
	to := r.unitAt(u, of.n)
	if to == nil {
		return 0, false
	}
	n, ok = r.typeSize(to, of.n, depth+1)
	if e.tag == tagArrayType {
		counts := r.dimensions(u, off)
		for _, count := range counts {
			n *= count
		}
		ok = ok && counts != nil
	}
	return n, ok
}

// dimensions returns how many elements an array has in each dimension; nil if its entry does not
// say it.
func (r *Reader) dimensions(u *unit, off uint64) (counts []uint64) {
	a, next, ok := r.entryAt(u, off)
	if !ok || a == nil || !a.children {
		return nil
	}
	for len(counts) < 16 {
		off = next
		if a, next, ok = r.entryAt(u, off); !ok || a == nil || a.children {
			break
		}
		if a.tag != tagSubrangeType {
			continue
		}
		switch e, _ := r.dieAt(u, off); {
		case e.at[atCount].kind == valueConst:
			counts = append(counts, e.at[atCount].n)
		case e.at[atUpperBound].kind == valueConst:
			counts = append(counts, e.at[atUpperBound].n+1)
		default:
			return nil
		}
	}
	return counts
}

// Global returns where the variable at an address is declared, if it is one outside of functions.
// It looks through the outermost entries of all units. d may be nil.
func (d *Data) Global(addr uint64) (file string, line int, ok bool) {
	if d == nil {
		return "", 0, false
	}
	r := d.NewReader()
	r.eachUnit(func(u *unit) bool {
		l := &Loaded{u: u}
		off, found := r.globalIn(u, addr)
		if !found || !r.readLines(&l.Lines, u, func(*elf.Cursor, *lineHeader) {}) {
			return true
		}
		v := r.local(l, off, "")
		file, line, ok = v.File, v.Line, v.Line != 0
		return false
	})
	return file, line, ok
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
			e := die{}
			if r.readAttrs(&c, u, a, &e); r.isAt(u, e.at[atLocation], addr) {
				return off, true
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
func (r *Reader) isAt(u *unit, location value, addr uint64) bool {
	const opAddr, opAddrx, opGNUAddrx = 0x03, 0xa1, 0xfb
	c := r.block(location)
	switch c.U8() {
	case opAddr:
		n := c.Uint(u.addrSize)
		return !c.Bad && c.At == len(c.B) && n == addr
	case opAddrx, opGNUAddrx:
		n, ok := r.addrx(u, c.ULEB())
		return ok && n == addr
	}
	return false
}
