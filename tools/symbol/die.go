// Functions and the calls inlined into them, from a unit's tree of debugging
// information entries. Most of a tree is types and variables: they are stepped
// over, where the compiler wrote how far (DW_AT_sibling) with all that is in
// them. What is kept of a unit is which function is where; a function's own
// entries are read when an address of it is looked up.
//
// Source: DWARF 5, sections 2.3 (siblings), 3.3.8.2 (inlined subroutines).

package symbol

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
)

const (
	tagLexicalBlock      = 0x0b
	tagInlinedSubroutine = 0x1d
	tagModule            = 0x1e
	tagCatchBlock        = 0x25
	tagSubprogram        = 0x2e
	tagTryBlock          = 0x32
	tagNamespace         = 0x39
	tagPartialUnit       = 0x3c
	tagTypeUnit          = 0x41

	attrSibling        = 0x01
	attrName           = 0x03
	attrStmtList       = 0x10
	attrLowPC          = 0x11
	attrHighPC         = 0x12
	attrLanguage       = 0x13
	attrCompDir        = 0x1b
	attrAbstractOrigin = 0x31
	attrSpecification  = 0x47
	attrRanges         = 0x55
	attrCallFile       = 0x58
	attrCallLine       = 0x59
	attrLinkageName    = 0x6e
	attrStrOffsetsBase = 0x72
	attrAddrBase       = 0x73
	attrRnglistsBase   = 0x74
	attrDwoName        = 0x76
	attrMIPSLinkage    = 0x2007
	attrGNUDwoName     = 0x2130
	attrGNUDwoID       = 0x2131
	attrGNURangesBase  = 0x2132
	attrGNUAddrBase    = 0x2133
)

// A die is one entry: the attributes of use, as they are in the file.
type die struct {
	tag                                   uint64
	sibling                               value
	name, linkage, compDir, language      value
	low, high, ranges                     value
	origin, specification                 value
	callFile, callLine                    value
	stmtList                              value
	addrBase, strOffsetsBase, rngListBase value
	dwoName, dwoID, rangesBase            value
}

// readAttrs reads the values of an entry of shape a.
func (r *dwarfReader) readAttrs(c *cursor, u *unit, a *abbrev, e *die) {
	e.tag = a.tag
	for i := range a.attrs {
		s := &a.attrs[i]
		v := c.form(s.form, s.implicit, &u.format)
		switch s.attr {
		case attrSibling:
			e.sibling = v
		case attrName:
			e.name = v
		case attrLinkageName, attrMIPSLinkage:
			e.linkage = v
		case attrCompDir:
			e.compDir = v
		case attrLanguage:
			e.language = v
		case attrLowPC:
			e.low = v
		case attrHighPC:
			e.high = v
		case attrRanges:
			e.ranges = v
		case attrAbstractOrigin:
			e.origin = v
		case attrSpecification:
			e.specification = v
		case attrCallFile:
			e.callFile = v
		case attrCallLine:
			e.callLine = v
		case attrStmtList:
			e.stmtList = v
		case attrAddrBase, attrGNUAddrBase:
			e.addrBase = v
		case attrDwoName, attrGNUDwoName:
			e.dwoName = v
		case attrGNUDwoID:
			e.dwoID = v
		case attrGNURangesBase:
			e.rangesBase = v
		case attrStrOffsetsBase:
			e.strOffsetsBase = v
		case attrRnglistsBase:
			e.rngListBase = v
		}
	}
}

// skipAttrs steps over an entry's values.
func (c *cursor) skipAttrs(u *unit, a *abbrev) {
	if a.size >= 0 {
		c.skip(uint64(a.size))
		return
	}
	for i := range a.attrs {
		s := &a.attrs[i]
		if n := fixedSize(s.form, &u.format); n >= 0 {
			c.skip(uint64(n))
		} else {
			c.form(s.form, s.implicit, &u.format)
		}
	}
}

// skipAll steps over an entry with all that is in it, if the entry tells how.
func (c *cursor) skipAll(u *unit, a *abbrev) bool {
	at := c.at + a.sibling
	if a.sibling < 0 || at+4 > len(c.b) {
		return false
	}
	to := uint64(binary.LittleEndian.Uint32(c.b[at:]))
	if c.big {
		to = uint64(binary.BigEndian.Uint32(c.b[at:]))
	}
	if to += u.base - c.base; to < uint64(at) || to > uint64(len(c.b)) {
		return false
	}
	c.at = int(to)
	return true
}

// unitBytes returns the unit's entries, read into the reader's buffer.
func (r *dwarfReader) unitBytes(u *unit) []byte {
	if r.current != u {
		r.current = u
		r.info = r.dwarfData.info.bytes(&r.infoBuf, u.dies, u.end-u.dies)
	}
	return r.info
}

// dieAt reads the entry at an offset that another one refers to.
func (r *dwarfReader) dieAt(u *unit, off uint64) (e die, ok bool) {
	abbrevs := r.abbrevTable(u)
	read := func(c *cursor) {
		e, ok = die{}, false
		a := abbrevs.get(c.uleb())
		if c.bad || a == nil || !r.spend(1+len(a.attrs)) {
			return
		}
		r.readAttrs(c, u, a, &e)
		ok = !c.bad
	}
	if off < u.dies || off >= u.end {
		return e, false
	}
	if r.current == u && off-u.dies < uint64(len(r.info)) {
		read(&cursor{b: r.info, at: int(off - u.dies), base: u.dies, big: r.file.big()})
		return e, ok
	}
	r.infoPages.parse(off, read)
	return e, ok
}

// A loadedUnit is what has been read of a unit.
type loadedUnit struct {
	u     *unit
	funcs []function // those that lie not in another one, sorted by low
	deep  bool       // those that do too
	lines lineTable
	files []string // names of lines.files, as far as they were asked for

	// Where the functions are instead, if they are in another file.
	split       *loadedUnit
	splitReader *dwarfReader
}

// A function is a piece of text of a function and the place of its entry.
type function struct {
	low, high uint64
	maxHigh   uint64 // the highest high of this one and all before it
	off, end  uint64 // of the entry and what is in it, in .debug_info; end may be 0
	order     int32
}

// loadFuncs finds the unit's functions. With deep it looks for functions inside
// functions too.
func (r *dwarfReader) loadFuncs(l *loadedUnit, deep bool) {
	u := l.u
	l.funcs, l.deep = l.funcs[:0], deep
	c := cursor{b: r.unitBytes(u), base: u.dies, big: r.file.big()}
	abbrevs := r.abbrevTable(u)
	if !r.spend(len(c.b)) {
		return
	}
	depth := 0
	var e die
	// Nearly all the time of a look-up is spent here: hence the short cuts.
	for c.at < len(c.b) && !c.bad {
		off := u.dies + uint64(c.at)
		code := uint64(c.b[c.at])
		if code < 0x80 {
			c.at++
		} else {
			code = c.uleb()
		}
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
		switch {
		case a.tag == tagSubprogram && a.located:
			e = die{}
			r.readAttrs(&c, u, a, &e)
			if c.bad {
				continue
			}
			to := uint64(0)
			if e.sibling.kind == valueRef && e.sibling.n > off && e.sibling.n-u.dies >= uint64(c.at) && e.sibling.n <= u.end {
				to = e.sibling.n
			}
			for _, s := range r.ranges(u, &e) {
				l.funcs = append(l.funcs, function{low: s.low, high: s.high, off: off, end: to, order: int32(len(l.funcs))})
			}
			if to != 0 && !deep {
				c.at = int(to - u.dies)
				continue
			}
		case a.sibling >= 0 && !a.descend && !deep && c.skipAll(u, a):
			continue
		case a.size >= 0:
			c.at += a.size
		default:
			c.skipAttrs(u, a)
		}
		if a.children {
			depth++
		}
		if depth == 0 {
			break
		}
	}
	slices.SortFunc(l.funcs, func(a, b function) int {
		return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.order, b.order))
	})
	for i := range l.funcs {
		l.funcs[i].maxHigh = l.funcs[i].high
		if i > 0 {
			l.funcs[i].maxHigh = max(l.funcs[i].high, l.funcs[i-1].maxHigh)
		}
	}
}

// funcAt returns the function that pc is in, or nil. Of several the last counts:
// it is the innermost one.
func (l *loadedUnit) funcAt(pc uint64) (fn *function) {
	i := sort.Search(len(l.funcs), func(i int) bool { return l.funcs[i].low > pc })
	for i--; i >= 0 && l.funcs[i].maxHigh > pc; i-- {
		if f := &l.funcs[i]; pc < f.high && (fn == nil || f.order > fn.order) {
			fn = f
		}
	}
	return fn
}

// A nameKey says which entry has a name.
type nameKey struct {
	kind valueKind // valueRef or valueRefSup
	n    uint64
}

// callName returns the name of a call's function: the linker's if the compiler
// gave it, otherwise the source's.
func (r *dwarfReader) callName(u *unit, c *call) string {
	key := nameKey{c.origin.kind, c.origin.n}
	if c.linkage.kind != valueNone || c.name.kind != valueNone || c.origin.kind == valueNone {
		return r.funcName(u, c.name, c.linkage, c.origin)
	}
	if s, ok := r.names[key]; ok {
		return s
	}
	s := r.funcName(u, c.name, c.linkage, c.origin)
	if len(r.names) >= 1<<14 {
		clear(r.names)
	}
	r.names[key] = s
	return s
}

// funcName follows an inlined call or a definition to the entry that has its name,
// maybe over several steps.
func (r *dwarfReader) funcName(u *unit, name, linkage, origin value) string {
	short := ""
	for range 8 {
		if s := r.string(u, &r.infoPages, linkage); s != "" {
			return s
		}
		if short == "" {
			short = r.string(u, &r.infoPages, name)
		}
		switch {
		case origin.kind == valueRefSup:
			if r = r.supplement(); r == nil {
				return short
			}
			u = r.unitOf(origin.n)
		case origin.kind != valueRef:
			return short
		case origin.n < u.dies || origin.n >= u.end:
			u = r.unitOf(origin.n)
		}
		if u == nil {
			break
		}
		if !u.rooted {
			if _, ok := r.root(u); !ok { // for the bases of its strings
				break
			}
		}
		e, ok := r.dieAt(u, origin.n)
		if !ok {
			break
		}
		name, linkage = e.name, e.linkage
		if origin = e.origin; origin.kind == valueNone {
			origin = e.specification
		}
	}
	return short
}

// load returns what the unit has, read now or before, with its lines up to the one at
// the address upTo, or more.
func (r *dwarfReader) load(u *unit, upTo uint64) *loadedUnit {
	if l, ok := r.loaded[u]; ok {
		return l
	}
	// What is kept is forgotten when it has grown beyond what an answer can be
	// worth, and far beyond what the sections can honestly hold.
	if r.cached > min(4*r.total+1<<16, 4<<20) {
		clear(r.loaded)
		r.treeOf, r.cached = nil, 0
	}
	r.loadInto(&r.scratch, u, upTo)
	l := &loadedUnit{}
	*l = r.scratch
	l.funcs, l.lines, l.files = slices.Clone(l.funcs), l.lines.clone(), nil
	r.loaded[u] = l
	r.cached += len(l.funcs) + len(l.lines.rows) + len(l.lines.files) + 16
	return l
}

// loadRest reads the rest of l's lines.
func (r *dwarfReader) loadRest(l *loadedUnit) {
	r.loadLines(&r.scratch.lines, l.u, allLines)
	if l != &r.scratch {
		r.cached += len(r.scratch.lines.rows) - len(l.lines.rows)
		l.lines = r.scratch.lines.clone()
	}
}

// loadInto reads a unit's functions, and its lines up to the one at upTo, into l.
func (r *dwarfReader) loadInto(l *loadedUnit, u *unit, upTo uint64) {
	l.u, l.split, l.splitReader, l.files = u, nil, nil, l.files[:0]
	if !u.rooted {
		r.abbrevTable(u) // where root finds what it needs, and is needed anyway
		if _, ok := r.root(u); !ok {
			l.funcs, l.lines = l.funcs[:0], lineTable{}
			return
		}
	}
	r.loadLines(&l.lines, u, upTo)
	if r.loadSplit(l) {
		l.funcs = l.funcs[:0]
		return
	}
	r.loadFuncs(l, false)
}

// dwarfLookup returns the frames at pc by DWARF, innermost first, and the start
// of the physical function's text around pc. symbol is what the symbol table has
// for pc: its name is the physical function's, for it has the suffix of a piece
// (".cold") and of a clone (".constprop.0"), if it vouches for pc.
func (f *File) dwarfLookup(pc uint64, symbol symbolHit) (frames []Frame, start uint64) {
	d := f.dwarfData()
	if d == nil {
		return nil, 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.main
	var buf [4]uint64
	for _, base := range d.unitsAt(pc, buf[:0]) {
		r.allow()
		if u := r.unit(base); u != nil {
			if frames, start = r.frames(r.load(u, pc), pc, symbol, nil); len(frames) > 0 {
				return frames, start
			}
		}
	}
	return nil, 0
}

// frames appends the frames at pc, which the unit has code at.
func (r *dwarfReader) frames(l *loadedUnit, pc uint64, symbol symbolHit, frames []Frame) ([]Frame, uint64) {
	e, er := l, r // where the entries are
	if l.split != nil {
		e, er = l.split, l.splitReader
		er.allow()
	}
	fn := e.funcAt(pc)
	if fn == nil && !e.deep && len(e.funcs) > 0 {
		// There is a function, but not at the top: one inside another.
		er.loadFuncs(e, true)
		fn = e.funcAt(pc)
	}
	row, hasLine := l.lines.at(pc)
	if !hasLine && l.lines.cut {
		r.loadRest(l)
		row, hasLine = l.lines.at(pc)
	}
	if fn == nil && !hasLine {
		return frames, 0
	}
	fr := Frame{Function: symbol.name}
	if hasLine {
		fr.File, fr.Line, fr.Discriminator = r.fileName(l, row.file), int(row.line), int(row.disc)
	}
	if fn == nil {
		return append(frames, fr), pc
	}
	er.loadTree(e, fn)
	at := er.tree.at(pc)
	for range maxInlineDepth {
		if at < 0 {
			break
		}
		c := &er.tree.calls[at]
		if at = c.parent; at < 0 {
			if symbol.name == "" {
				if name := er.callName(e.u, c); name != "" {
					fr.Function = name
				}
			}
			break
		}
		fr.Function, fr.Inlined = er.callName(e.u, c), true
		frames = append(frames, fr)
		fr = Frame{Function: symbol.name, File: r.fileName(l, c.callFile), Line: int(c.callLine)}
	}
	return append(frames, fr), fn.low
}
