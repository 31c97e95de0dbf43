// DWARF is read one compile unit at a time.
//
// Damaged or hostile DWARF can make small data mean much work: by sharing one
// long list among many entries, say. So each step has an allowance of work in
// proportion to the length of the debug sections, many times what real files
// need, and gives up when that is spent.
//
// Source: DWARF 5, sections 3.1 and 7.5.1.

package dwarf

import (
	"errors"
	"sort"
	"sync"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// A unit is a compile unit.
type unit struct {
	format
	dies      uint64 // offset of its first entry in .debug_info
	end       uint64 // offset of its end there
	abbrevOff uint64

	rooted                                bool
	low                                   uint64 // DW_AT_low_pc, base of its ranges
	compDir                               value
	stmtList                              uint64
	hasLines                              bool
	plainNames                            bool // names in the source are the linker's
	addrBase, strOffsetsBase, rngListBase uint64

	zero     []zeroFunc // if zeroRead
	zeroRead bool
}

// Open finds the debug sections of f.
func Open(f *elf.File) (*Data, error) {
	d := &Data{File: f}
	if err := d.find(f); err != nil {
		return nil, err
	}
	if len(f.TextSpans()) == 0 {
		return nil, errors.New("DWARF without any code addresses")
	}
	d.zero = newZeroText(f)
	d.main = d.NewReader()
	return d, nil
}

// A dataSection is a debug section of a Data.
type dataSection struct {
	name string
	to   **elf.Contents
}

// sections returns them all.
func (d *Data) sections() []dataSection {
	return []dataSection{
		{".debug_info", &d.info}, {".debug_abbrev", &d.abbrev}, {".debug_line", &d.line},
		{".debug_str", &d.str}, {".debug_line_str", &d.lineStr}, {".debug_ranges", &d.ranges},
		{".debug_rnglists", &d.rnglists}, {".debug_addr", &d.addr}, {".debug_str_offsets", &d.strOffsets},
		{".debug_aranges", &d.aranges},
	}
}

// find finds the sections of f. Those that are compressed are unfolded side by side.
func (d *Data) find(f *elf.File) error {
	all := d.sections()
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, want := range all {
		wait.Go(func() { *want.to, errs[i] = f.DebugContents(want.name) })
	}
	wait.Wait()
	for i, want := range all {
		if errs[i] != nil {
			return errs[i]
		}
		d.total += int((*want.to).Size)
	}
	return nil
}

// A Reader reads DWARF for one goroutine at a time.
type Reader struct {
	*Data
	infoPages, abbrevPages, strPages, lineStrPages elf.Pages
	linePages, rangePages, addrPages, offsetPages  elf.Pages

	work    int // what is left of the allowance
	cached  int // items kept in units and loaded
	units   map[uint64]*unit
	loaded  map[*unit]*Loaded
	abbrevs [8]abbrevTable

	nextAbbrevs int // the table that is replaced next

	sup *Reader // of the supplementary file, when it is needed

	current *unit // whose bytes infoBuf has
	info    []byte
	infoBuf []byte
	lineBuf []byte
	spans   []elf.Span // of the last entry whose ranges were read
	scratch Loaded     // what is read, before what is kept of it is copied

	Tree   FuncTree // of the function looked up last
	treeOf *Loaded
	treeAt uint64
	names  map[nameKey]string
}

// NewReader returns a Reader with caches of its own; one goroutine may use it at a time.
func (d *Data) NewReader() *Reader {
	r := &Reader{Data: d, units: make(map[uint64]*unit), loaded: make(map[*unit]*Loaded),
		names: make(map[nameKey]string)}
	for _, p := range []struct {
		pages *elf.Pages
		sec   *elf.Contents
	}{
		{&r.infoPages, d.info}, {&r.abbrevPages, d.abbrev}, {&r.strPages, d.str},
		{&r.lineStrPages, d.lineStr},
		{&r.linePages, d.line}, {&r.addrPages, d.addr}, {&r.offsetPages, d.strOffsets},
	} {
		p.pages.Use(p.sec)
	}
	r.rangePages.Use(d.ranges)
	return r
}

// Allow sets the allowance for one step.
func (r *Reader) Allow() { r.work = 16*r.total + 1<<16 }

// spend takes n from the allowance and reports whether there was as much.
func (r *Reader) spend(n int) bool {
	r.work -= n
	return r.work >= 0
}

// unit reads the header of the unit at offset base, or returns nil.
func (r *Reader) unit(base uint64) *unit {
	const (
		utType, utSkeleton, utSplitCompile, utSplitType = 2, 4, 5, 6
	)
	if u, ok := r.units[base]; ok {
		return u
	}
	c := r.infoPages.Cursor(base, 48)
	u := &unit{format: format{base: base}}
	length, dwarf64 := c.Length()
	if u.dwarf64 = dwarf64; c.Bad || length > r.Data.info.Size-base-uint64(c.At) {
		return nil
	}
	u.end = base + uint64(c.At) + length
	u.version = uint16(c.Uint(2))
	unitType := uint64(0)
	if u.version >= 5 {
		unitType = c.Uint(1)
		u.addrSize = int(c.Uint(1))
		u.abbrevOff = c.Offset(u.dwarf64)
	} else {
		u.abbrevOff = c.Offset(u.dwarf64)
		u.addrSize = int(c.Uint(1))
	}
	switch unitType {
	case utSkeleton, utSplitCompile:
		c.Skip(8)
	case utType, utSplitType:
		c.Skip(8)
		c.Offset(u.dwarf64)
	}
	u.dies = base + uint64(c.At)
	if c.Bad || u.dies > u.end || u.version < 2 || u.version > 5 || u.addrSize != 2 &&
		u.addrSize != 4 && u.addrSize != 8 {
		u = nil
	}
	if len(r.units) > 1<<16 { // more than that are not needed again
		clear(r.units)
		clear(r.loaded)
		r.treeOf, r.current = nil, nil
	}
	r.units[base] = u
	return u
}

// splitLost is what [Data.Lost] says of units that are skeletons: they have lines alone.
var splitLost = "inlined calls may be missing that -gsplit-dwarf has put into .dwo files, which are " +
	"not read: it helps to build without it"

// rooted reads a unit's first entry, unless it has been read, and reports whether it could.
func (r *Reader) rooted(u *unit) bool {
	if u.rooted {
		return true
	}
	_, ok := r.root(u)
	return ok
}

// root reads a unit's first entry and keeps of it what the rest needs.
func (r *Reader) root(u *unit) (e die, ok bool) {
	off, ok := u.dies, false
	r.infoPages.Parse(off, func(c *elf.Cursor) {
		if rest := u.end - off; uint64(len(c.B)) > rest {
			c.B = c.B[:rest]
		}
		e = die{}
		code := c.ULEB()
		a := r.oneAbbrev(u, code)
		if a == nil || !r.spend(1+len(a.attrs)) {
			return
		}
		r.readAttrs(c, u, a, &e)
		ok = !c.Bad
	})
	if !ok {
		return e, false
	}
	if !u.rooted {
		u.rooted = true
		u.compDir = e.at[atCompDir]
		switch e.at[atLanguage].n {
		case 0x01, 0x02, 0x0c, 0x1d, 0x2c, 0x16, 0x8001: // C of all years, Go, assembly
			u.plainNames = true
		}
		u.stmtList, u.hasLines = e.at[atStmtList].n, e.at[atStmtList].kind != valueNone
		if e.at[atDwoName].kind != valueNone {
			r.lost.Store(&splitLost)
		}
		// Without a base attribute the lists begin after the section's header.
		header := 2 * uint64(u.offsetSize())
		u.addrBase, u.strOffsetsBase, u.rngListBase = header, header, header+4
		if u.version < 5 { // those sections had no headers when they were an extension
			u.addrBase, u.strOffsetsBase = 0, 0
		}
		for _, b := range []struct {
			v  value
			to *uint64
		}{{e.at[atAddrBase], &u.addrBase}, {e.at[atStrOffsetsBase], &u.strOffsetsBase},
			{e.at[atRngListBase], &u.rngListBase}} {
			if b.v.kind != valueNone {
				*b.to = b.v.n
			}
		}
		u.low, _ = r.address(u, e.at[atLow])
	}
	return e, true
}

// unitOf returns the unit that holds the entry at offset off, or nil.
func (r *Reader) unitOf(off uint64) *unit {
	bases := r.allUnits()
	i := sort.Search(len(bases), func(i int) bool { return bases[i] > off })
	if i == 0 {
		return nil
	}
	if u := r.unit(bases[i-1]); u != nil && off >= u.dies && off < u.end {
		return u
	}
	return nil
}

// eachUnit calls do with each unit whose first entry can be read, and forgets it then, until do
// returns false.
func (r *Reader) eachUnit(do func(u *unit) bool) {
	for _, base := range r.allUnits() {
		r.Allow()
		u := r.unit(base)
		if u == nil || !r.rooted(u) {
			continue
		}
		if !do(u) {
			return
		}
		r.End(base, nil)
	}
}

// address resolves a value that stands for an address.
func (r *Reader) address(u *unit, v value) (uint64, bool) {
	switch v.kind {
	case valueAddr:
		return v.n, true
	case valueAddrx:
		return r.addrx(u, v.n)
	}
	return 0, false
}

func (r *Reader) addrx(u *unit, i uint64) (uint64, bool) {
	if i > r.addr.Size {
		return 0, false
	}
	c := r.addrPages.Cursor(u.addrBase+i*uint64(u.addrSize), uint64(u.addrSize))
	a := c.Uint(u.addrSize)
	return a, !c.Bad
}

// string resolves a value that stands for a string; in is where a string given in
// place lies.
func (r *Reader) string(u *unit, in *elf.Pages, v value) string {
	switch v.kind {
	case valueStrpSup:
		if s := r.supplement(); s != nil {
			return string(s.strPages.CString(v.n))
		}
	case valueString:
		return string(in.CString(v.n))
	case valueStrp:
		return string(r.strPages.CString(v.n))
	case valueLineStrp:
		return string(r.lineStrPages.CString(v.n))
	case valueStrx:
		size := uint64(u.offsetSize())
		if v.n > r.strOffsets.Size {
			return ""
		}
		c := r.offsetPages.Cursor(u.strOffsetsBase+v.n*size, size)
		if off := c.Offset(u.dwarf64); !c.Bad {
			return string(r.strPages.CString(off))
		}
	}
	return ""
}
