// Functions and the calls inlined into them, from a unit's tree of debugging
// information entries. The tree is flattened: each function and each inlined call
// knows the one it is in, and a list of address ranges, sorted, leads to the
// innermost one at an address.
//
// Source: DWARF 5, sections 3.3.8.2 (inlined subroutines), 7.5.3 (abbreviations).

package symbol

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

const (
	tagInlinedSubroutine = 0x1d
	tagSubprogram        = 0x2e

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
	attrMIPSLinkage    = 0x2007
)

// An abbrevTable maps codes to the shapes of entries.
type abbrevTable map[uint64]*abbrev

type abbrev struct {
	tag      uint64
	children bool
	attrs    []attrSpec
}

type attrSpec struct {
	attr, form uint64
	implicit   int64
}

// A die is one entry: the attributes of use, as they are in the file.
type die struct {
	tag                                   uint64
	children                              bool
	name, linkage, compDir, language      value
	low, high, ranges                     value
	origin, specification                 value
	callFile, callLine                    value
	stmtList                              value
	addrBase, strOffsetsBase, rngListBase value
}

// abbrevTable returns the table at offset off of .debug_abbrev. What it has of a
// damaged table is what comes before the damage.
func (d *dwarfData) abbrevTable(off uint64) abbrevTable {
	if t, ok := d.abbrevs[off]; ok {
		return t
	}
	t := make(abbrevTable)
	c := d.cursor(d.abbrev, off)
	for d.spend(4) {
		code := c.uleb()
		if code == 0 || c.bad {
			break
		}
		a := &abbrev{tag: c.uleb(), children: c.u8() != 0}
		for d.spend(1) {
			s := attrSpec{attr: c.uleb(), form: c.uleb()}
			if s.form == formImplicit {
				s.implicit = c.sleb()
			}
			if s.attr == 0 && s.form == 0 || c.bad {
				break
			}
			a.attrs = append(a.attrs, s)
		}
		if c.bad {
			break
		}
		t[code] = a
		d.cached += 2 + len(a.attrs)
	}
	if d.work >= 0 { // otherwise it may not be whole
		d.abbrevs[off] = t
	}
	return t
}

// readDIE reads the entry at the cursor. ok is false at a damaged one; an entry
// with tag 0 ends a list of children.
func (d *dwarfData) readDIE(c *cursor, u *unit, abbrevs abbrevTable, e *die) (ok bool) {
	*e = die{}
	code := c.uleb()
	if c.bad {
		return false
	}
	if code == 0 {
		return true
	}
	a := abbrevs[code]
	if a == nil || !d.spend(1+len(a.attrs)) {
		return false
	}
	e.tag, e.children = a.tag, a.children
	for i := range a.attrs {
		s := &a.attrs[i]
		v := c.form(s.form, s.implicit, &u.format)
		switch s.attr {
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
		case attrAddrBase:
			e.addrBase = v
		case attrStrOffsetsBase:
			e.strOffsetsBase = v
		case attrRnglistsBase:
			e.rngListBase = v
		}
	}
	return !c.bad
}

// unitCursor is a cursor on .debug_info that ends with the unit.
func (d *dwarfData) unitCursor(u *unit, off uint64) cursor {
	return d.cursor(d.info[:u.end], off)
}

func (d *dwarfData) dieAt(u *unit, off uint64) (e die, ok bool) {
	c := d.unitCursor(u, off)
	ok = d.readDIE(&c, u, d.abbrevTable(u.abbrevOff), &e) && e.tag != 0
	return e, ok
}

// A funcTable is the functions of a unit.
type funcTable struct {
	funcs  []function
	ranges []funcRange
}

// A function is a function or a call inlined into one.
type function struct {
	parent             int32 // the function it is inlined into, -1 for none
	depth              int32 // number of functions around it
	origin             value // where its name is, for an inlined call
	name, linkage      value
	callFile, callLine uint32
}

type funcRange struct {
	low, high, maxHigh uint64 // maxHigh as in unitRange
	fn                 int32
}

// loadFuncs reads the functions of a unit.
func (d *dwarfData) loadFuncs(u *unit) {
	t := &u.funcs
	*t = funcTable{}
	c := d.unitCursor(u, u.dies)
	abbrevs := d.abbrevTable(u.abbrevOff)
	// For each open list of children, the function it is in.
	around := []int32{-1}
	var e die
	for len(around) > 0 && d.readDIE(&c, u, abbrevs, &e) {
		if e.tag == 0 {
			around = around[:len(around)-1]
			if len(around) == 1 {
				break // that was the end of the unit's own children
			}
			continue
		}
		in := around[len(around)-1]
		inlined := e.tag == tagInlinedSubroutine
		if inlined || e.tag == tagSubprogram {
			fn := function{parent: -1, name: e.name, linkage: e.linkage, origin: e.origin}
			if fn.origin.kind != valueRef {
				fn.origin = e.specification
			}
			if inlined && in >= 0 {
				fn.parent, fn.depth = in, t.funcs[in].depth+1
			}
			fn.callFile, fn.callLine = uint32(e.callFile.n), uint32(e.callLine.n)
			in = int32(len(t.funcs))
			d.eachRange(u, &e, func(low, high uint64) {
				t.ranges = append(t.ranges, funcRange{low: low, high: high, fn: in})
			})
			t.funcs = append(t.funcs, fn)
		}
		if e.children {
			around = append(around, in)
		}
	}
	slices.SortStableFunc(t.ranges, func(a, b funcRange) int { return cmp.Compare(a.low, b.low) })
	for i := range t.ranges {
		t.ranges[i].maxHigh = t.ranges[i].high
		if i > 0 {
			t.ranges[i].maxHigh = max(t.ranges[i].high, t.ranges[i-1].maxHigh)
		}
	}
	d.cached += len(t.funcs) + len(t.ranges)
}

// at returns the innermost function at pc and the start of the piece of text of
// it that pc is in; fn is -1 if there is none.
func (t *funcTable) at(pc uint64) (fn int32) {
	fn = -1
	var size uint64
	i := sort.Search(len(t.ranges), func(i int) bool { return t.ranges[i].low > pc })
	for i--; i >= 0 && t.ranges[i].maxHigh > pc; i-- {
		r := &t.ranges[i]
		if pc >= r.high {
			continue
		}
		deeper := fn < 0 || t.funcs[r.fn].depth > t.funcs[fn].depth
		if deeper || t.funcs[r.fn].depth == t.funcs[fn].depth && r.high-r.low < size {
			fn, size = r.fn, r.high-r.low
		}
	}
	return fn
}

// start returns the start of the piece of the function's text that pc is in.
func (t *funcTable) start(fn int32, pc uint64) uint64 {
	for i := range t.ranges {
		if r := &t.ranges[i]; r.fn == fn && r.low <= pc && pc < r.high {
			return r.low
		}
	}
	return pc
}

// funcName returns a function's name: the linker's if the compiler gave it,
// otherwise the source's, which in some languages says less: linked tells which.
// An inlined call or a definition refers to another entry for it, maybe over
// several steps.
func (d *dwarfData) funcName(u *unit, fn *function) (s string, linked bool) {
	name, linkage, origin := fn.name, fn.linkage, fn.origin
	short, linked := "", u.plainNames
	for range 8 {
		if s := d.string(u, d.info, linkage); s != "" {
			return s, true
		}
		if short == "" {
			short = d.string(u, d.info, name)
		}
		if origin.kind != valueRef {
			break
		}
		if u = d.unitOf(origin.n); u == nil {
			break
		}
		if _, ok := d.root(u); !ok { // for the bases of its strings
			break
		}
		e, ok := d.dieAt(u, origin.n)
		if !ok {
			break
		}
		name, linkage = e.name, e.linkage
		if origin = e.origin; origin.kind != valueRef {
			origin = e.specification
		}
	}
	return short, linked
}

// load reads a unit's functions and lines, unless that has been done.
func (d *dwarfData) load(u *unit) {
	if u.loaded {
		return
	}
	// What is kept is forgotten when it has grown far beyond what the sections
	// can honestly hold: units that share their lines would make it so.
	if d.cached > 4*d.total+1<<16 {
		for _, u := range d.units {
			u.loaded, u.funcs, u.lines = false, funcTable{}, lineTable{}
		}
		clear(d.abbrevs)
		d.cached = 0
	}
	u.loaded = true
	d.loadFuncs(u)
	d.loadLines(u)
}

// dwarfLookup returns the frames at pc by DWARF, innermost first, and the start
// of the physical function's text around pc. symbol is the name that the symbol
// table has for pc, used if DWARF has only a line.
func (f *File) dwarfLookup(pc uint64, symbol string) (frames []Frame, start uint64) {
	d := f.dwarfData()
	if d == nil {
		return nil, 0
	}
	f.dwarfMu.Lock()
	defer f.dwarfMu.Unlock()
	for _, u := range d.unitsAt(pc) {
		d.allow()
		d.load(u)
		row, hasLine := u.lines.at(pc)
		fn := u.funcs.at(pc)
		if fn < 0 && !hasLine {
			continue
		}
		fr := Frame{Function: symbol}
		if hasLine {
			fr.File, fr.Line, fr.Discriminator = d.fileName(u, row.file), int(row.line), int(row.disc)
		}
		if fn < 0 {
			return []Frame{fr}, pc
		}
		for range maxInlineDepth {
			call := &u.funcs.funcs[fn]
			name, linked := d.funcName(u, call)
			if call.parent < 0 {
				// "f.cold" and the like are pieces of f.
				if name != "" && (linked || symbol == "" || strings.HasPrefix(symbol, name+".")) {
					fr.Function = name
				}
				break
			}
			fr.Function = name
			fr.Inlined = true
			frames = append(frames, fr)
			fr = Frame{Function: symbol, File: d.fileName(u, call.callFile), Line: int(call.callLine)}
			fn = call.parent
		}
		return append(frames, fr), u.funcs.start(fn, pc)
	}
	return nil, 0
}
