// Functions and the calls inlined into them, from a unit's tree of debugging
// information entries. Most of a tree is types and variables: they are stepped
// over, where the compiler wrote how far (DW_AT_sibling) with all that is in
// them. What is kept of a unit is which function is where; a function's own
// entries are read when an address of it is looked up.
//
// Source: DWARF 5, sections 2.3 (siblings), 3.3.8.2 (inlined subroutines).

package dwarf

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
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
)

// The attributes of use, as a die has them.
const (
	atNone = iota // the others
	atSibling
	atName
	atStmtList
	atLow
	atHigh
	atLanguage
	atCompDir
	atOrigin
	atSpecification
	atRanges
	atCallFile
	atCallLine
	atLinkage
	atStrOffsetsBase
	atAddrBase
	atRngListBase
	atDwoName
	atDeclFile
	atDeclLine
	atType
	atGoKey
	atGoElem
	atExternal
	atDeclaration
	atByteSize
	atCount
	atUpperBound
	atCallColumn
	atDiscriminator // of a call
	atLocation
	atEnd
)

// referring are the attributes that CheckTypes follows or counts.
const referring = 1<<atName | 1<<atOrigin | 1<<atSpecification | 1<<atType | 1<<atGoKey |
	1<<atGoElem

// slots are these by the numbers of DWARF.
var slots = [0x90]uint8{
	0x01: atSibling, 0x02: atLocation, 0x03: atName, 0x0b: atByteSize, 0x10: atStmtList, 0x11: atLow,
	0x12: atHigh, 0x13: atLanguage, 0x1b: atCompDir, 0x2f: atUpperBound, 0x31: atOrigin, 0x37: atCount,
	0x3a: atDeclFile, 0x3b: atDeclLine, 0x3c: atDeclaration, 0x3f: atExternal, 0x47: atSpecification,
	0x49: atType, 0x55: atRanges, 0x57: atCallColumn, 0x58: atCallFile, 0x59: atCallLine,
	0x6e: atLinkage, 0x72: atStrOffsetsBase, 0x73: atAddrBase, 0x74: atRngListBase, 0x76: atDwoName,
}

// slotOf returns the place of an attribute in a die.
func slotOf(attr uint64) uint8 {
	switch {
	case attr < uint64(len(slots)):
		return slots[attr]
	case attr == 0x2007: // of MIPS; the others of GNU
		return atLinkage
	case attr == 0x2130:
		return atDwoName
	case attr == 0x2133:
		return atAddrBase
	case attr == 0x2136:
		return atDiscriminator
	case attr == 0x2901: // Go's
		return atGoKey
	case attr == 0x2902:
		return atGoElem
	}
	return atNone
}

// A die is one entry: the attributes of use, as they are in the file.
type die struct {
	tag uint64
	at  [atEnd]value
}

// origin returns the reference to the entry that this one is made from, or that it completes.
func (e *die) origin() value {
	if v := e.at[atOrigin]; v.kind != valueNone {
		return v
	}
	return e.at[atSpecification]
}

// readAttrs reads the values of an entry of shape a. Values may take no bytes, so each is counted.
func (r *Reader) readAttrs(c *elf.Cursor, u *unit, a *abbrev, e *die) {
	e.tag = a.tag
	c.Bad = c.Bad || !r.spend(len(a.attrs))
	e.read(c, u, a)
}

// read is readAttrs without an allowance.
func (e *die) read(c *elf.Cursor, u *unit, a *abbrev) {
	for i := range a.attrs {
		s := &a.attrs[i]
		e.at[s.slot] = s.read(c, s.implicit, &u.format)
	}
}

// skipAttrs steps over an entry's values.
func (r *Reader) skipAttrs(c *elf.Cursor, u *unit, a *abbrev) {
	if a.size >= 0 {
		c.Skip(uint64(a.size))
		return
	}
	c.Bad = c.Bad || !r.spend(len(a.attrs))
	for i := range a.attrs {
		s := &a.attrs[i]
		s.read(c, s.implicit, &u.format)
	}
}

// skipAll steps over an entry with all that is in it, if the entry tells how.
func skipAll(c *elf.Cursor, u *unit, a *abbrev) bool {
	at := c.At + a.sibling
	if a.sibling < 0 || at+4 > len(c.B) {
		return false
	}
	to := uint64(binary.LittleEndian.Uint32(c.B[at:]))
	if c.Big {
		to = uint64(binary.BigEndian.Uint32(c.B[at:]))
	}
	if to += u.base - c.Base; to < uint64(at) || to > uint64(len(c.B)) {
		return false
	}
	c.At = int(to)
	return true
}

// unitBytes returns the unit's entries, read into the reader's buffer.
func (r *Reader) unitBytes(u *unit) []byte {
	if r.current != u {
		r.current = u
		r.info = r.Data.info.Bytes(&r.infoBuf, u.dies, u.end-u.dies)
	}
	return r.info
}

// dieAt reads the entry at an offset that another one refers to.
func (r *Reader) dieAt(u *unit, off uint64) (e die, ok bool) {
	abbrevs := r.abbrevTable(u)
	read := func(c *elf.Cursor) {
		e, ok = die{}, false
		a := abbrevs.get(c.ULEB())
		if c.Bad || a == nil || !r.spend(1+len(a.attrs)) {
			return
		}
		r.readAttrs(c, u, a, &e)
		ok = !c.Bad
	}
	if off < u.dies || off >= u.end {
		return e, false
	}
	if r.current == u && off-u.dies < uint64(len(r.info)) {
		read(&elf.Cursor{B: r.info, At: int(off - u.dies), Base: u.dies, Big: r.File.Big()})
		return e, ok
	}
	r.infoPages.Parse(off, read)
	return e, ok
}

// A Loaded is what has been read of a unit.
type Loaded struct {
	u     *unit
	Funcs []Function // those that lie not in another one, sorted by low
	Deep  bool       // those that do too
	Lines LineTable
	files []string // names of lines.files, as far as they were asked for
}

// A nameKey says which entry has a name.
type nameKey struct {
	kind valueKind // valueRef or valueRefSup
	n    uint64
}

// CallName returns the name of a call's function: the linker's if the compiler
// gave it, otherwise the source's.
func (r *Reader) CallName(l *Loaded, c *Call) string {
	u := l.u
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

// maxSteps bounds the references from one entry to the next that are followed.
const maxSteps = 8

// funcName follows an inlined call or a definition to the entry that has its name,
// maybe over several steps.
func (r *Reader) funcName(u *unit, name, linkage, origin value) string {
	short := ""
	for range maxSteps {
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
		if u == nil || !r.rooted(u) { // for the bases of its strings
			break
		}
		e, ok := r.dieAt(u, origin.n)
		if !ok {
			break
		}
		name, linkage, origin = e.at[atName], e.at[atLinkage], e.origin()
	}
	return short
}

// origins goes from the entry at off to the one that it is made from or completes, and so on.
func (r *Reader) origins(u *unit, off uint64) iter.Seq2[*unit, *die] {
	return func(yield func(*unit, *die) bool) {
		for range maxSteps {
			e, ok := r.dieAt(u, off)
			next := e.origin()
			if !ok || !yield(u, &e) || next.kind != valueRef {
				return
			}
			if u, off = r.unitAt(u, next.n), next.n; u == nil {
				return
			}
		}
	}
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

// load returns what the unit has, read now or before, with its lines up to the one at
// the address upTo, or more.
func (r *Reader) load(u *unit, upTo uint64) *Loaded {
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
	l := r.scratch.clone()
	r.loaded[u] = l
	r.cached += l.items()
	return l
}

// clone returns a copy of l, whose buffers serve again.
func (l *Loaded) clone() *Loaded {
	c := *l
	c.Funcs, c.Lines, c.files = slices.Clone(l.Funcs), l.Lines.clone(), nil
	return &c
}

// items is how much l takes: functions, rows and names.
func (l *Loaded) items() int { return len(l.Funcs) + len(l.Lines.rows) + len(l.Lines.Files) + 16 }

// maxKept bounds the items of what End keeps.
const maxKept = 4 << 20

// Begin reads the unit at offset base, with its lines up to the one at upTo, or returns nil.
// What it returns holds until End or the next Begin.
func (r *Reader) Begin(base, upTo uint64) *Loaded {
	r.Allow()
	r.treeOf = nil
	r.keptMu.Lock()
	l, ok := r.kept[base]
	if ok {
		delete(r.kept, base) // nobody else has it meanwhile
		r.keptItems -= l.items()
	}
	r.keptMu.Unlock()
	if ok {
		return l
	}
	u := r.unit(base)
	if u == nil {
		return nil
	}
	r.loadInto(&r.scratch, u, upTo)
	return &r.scratch
}

// End forgets the unit whose header is at base, an offset in .debug_info. If l is not nil, it is
// what Begin has returned and is kept for the next Begin, of whatever Reader.
func (r *Reader) End(base uint64, l *Loaded) {
	delete(r.units, base)
	if l == nil {
		return
	}
	if l == &r.scratch {
		l = l.clone()
	}
	r.keptMu.Lock()
	defer r.keptMu.Unlock()
	if r.keptItems += l.items(); r.keptItems > maxKept || r.kept == nil {
		r.kept, r.keptItems = make(map[uint64]*Loaded), l.items()
	}
	r.kept[base] = l
}

// loadRest reads the rest of l's lines.
func (r *Reader) loadRest(l *Loaded) {
	r.loadLines(&r.scratch.Lines, l.u, AllLines)
	if l != &r.scratch {
		r.cached += len(r.scratch.Lines.rows) - len(l.Lines.rows)
		l.Lines = r.scratch.Lines.clone()
	}
}

// loadInto reads a unit's functions, and its lines up to the one at upTo, into l.
func (r *Reader) loadInto(l *Loaded, u *unit, upTo uint64) {
	l.u, l.files = u, l.files[:0]
	if !u.rooted {
		r.abbrevTable(u) // where root finds what it needs, and is needed anyway
		if _, ok := r.root(u); !ok {
			l.Funcs, l.Lines = l.Funcs[:0], LineTable{}
			return
		}
	}
	r.loadLines(&l.Lines, u, upTo)
	r.LoadFuncs(l, false)
}

// Lookup returns the frames at pc, innermost first, and the start of the physical
// function's text around pc. symbol is the name that the symbol table has for pc: it is the
// physical function's, for it has the suffix of a piece (".cold") and of a clone
// (".constprop.0"). d may be nil.
func (d *Data) Lookup(pc uint64, symbol string) (frames []lookup.Call, start uint64) {
	if d == nil {
		return nil, 0
	}
	d.eachAt(pc, func(r *Reader, l *Loaded) bool {
		frames, start = r.Frames(l, pc, symbol, nil)
		return len(frames) > 0
	})
	return frames, start
}

// eachAt calls try with each unit that has code at pc, until it returns true.
func (d *Data) eachAt(pc uint64, try func(r *Reader, l *Loaded) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.main
	var buf [maxUnits]uint64
	for _, base := range d.unitsAt(pc, buf[:0]) {
		r.Allow()
		if u := r.unit(base); u != nil && try(r, r.load(u, pc)) {
			return
		}
	}
}

// funcAt returns the function at pc, also one that lies in another one.
func (r *Reader) funcAt(l *Loaded, pc uint64) *Function {
	fn := l.FuncAt(pc)
	if l.LooksDeeper(fn) {
		r.LoadFuncs(l, true)
		fn = l.FuncAt(pc)
	}
	return fn
}

// rowAt returns the row of the line table that holds at pc.
func (r *Reader) rowAt(l *Loaded, pc uint64) (row Row, ok bool) {
	if row, ok = l.Lines.at(pc); !ok && l.Lines.cut {
		r.loadRest(l)
		row, ok = l.Lines.at(pc)
	}
	return row, ok
}

// Frames appends the frames at pc, which the unit has code at.
func (r *Reader) Frames(l *Loaded, pc uint64, symbol string,
	frames []lookup.Call) ([]lookup.Call, uint64) {
	fn := r.funcAt(l, pc)
	row, hasLine := r.rowAt(l, pc)
	if fn == nil && !hasLine {
		return frames, 0
	}
	fr := lookup.Call{Function: symbol}
	if hasLine {
		fr.File, fr.Line, fr.Discriminator = r.FileName(l, row.File), int(row.Line), int(row.Disc)
	}
	if fn == nil {
		return append(frames, fr), pc
	}
	r.LoadTree(l, fn)
	at := r.Tree.at(pc)
	for range lookup.MaxInlined {
		if at < 0 {
			break
		}
		c := &r.Tree.Calls[at]
		if at = c.Parent; at < 0 {
			if symbol == "" {
				if name := r.CallName(l, c); name != "" {
					fr.Function = name
				}
			}
			break
		}
		fr.Function, fr.Inlined = r.CallName(l, c), true
		frames = append(frames, fr)
		fr = lookup.Call{Function: symbol, File: r.FileName(l, c.CallFile), Line: int(c.CallLine)}
	}
	return append(frames, fr), fn.Low
}
