// Look-ups make the best of a damaged file and say nothing of it. Who wants to know
// what is wrong has the file checked.

package symbol

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"
)

// maxProblems bounds the errors of a check: the first few tell.
const maxProblems = 20

// A checker collects what is wrong.
type checker struct {
	problems []error
	seen     map[string]bool // sections
}

// add keeps the first error of each section of a file.
func (c *checker) add(f *File, section, format string, a ...any) {
	key := f.name + "\x00" + section
	if c.seen[key] || len(c.problems) >= maxProblems {
		return
	}
	if c.seen == nil {
		c.seen = make(map[string]bool)
	}
	c.seen[key] = true
	text := fmt.Sprintf(format, a...)
	if prefix := "section " + section + ": "; !strings.HasPrefix(text, prefix) {
		text = prefix + text
	}
	c.problems = append(c.problems, fmt.Errorf("%s: %s", f.name, text))
}

// Check reads all that look-ups may read, and returns nil or what is wrong with it: the
// first error of each section, joined, each with the name of the file, which may be the
// separate debug file, and of the section. Look-ups need no Check; it takes as long as
// look-ups in all of the file. Context: host.
func (f *File) Check() error {
	var c checker
	c.sections(f)
	c.symbols(f)
	c.goTable(f)
	d, of := f.dwarfData(), f
	if s := f.companion(); f.section(".debug_info", ".zdebug_info") == nil && s != nil {
		c.sections(s)
		c.symbols(s)
		of = s
	}
	if f.dwarfErr != nil {
		c.add(of, sectionOf(f.dwarfErr, ".debug_info"), "%v", f.dwarfErr)
	}
	if d != nil {
		c.dwarf(d)
	}
	return errors.Join(c.problems...)
}

// sections unfolds each section that look-ups read.
func (c *checker) sections(f *File) {
	relocated := make(map[string]bool)
	for i := range f.sections {
		s := &f.sections[i]
		switch {
		case s.typ == elf.SHT_NOBITS: // in a debug file, what the program itself has
			continue
		case s.typ == elf.SHT_SYMTAB || s.typ == elf.SHT_DYNSYM:
		case strings.HasPrefix(s.name, ".debug_") || strings.HasPrefix(s.name, ".zdebug_"):
			if f.typ == elf.ET_REL && f.canRelocate() {
				if relocated[s.name] {
					continue // a type's, or one that no look-up reads
				}
				relocated[s.name] = true
				if _, err := f.debugSection(strings.Replace(s.name, ".z", ".", 1)); err != nil {
					c.add(f, sectionOf(err, s.name), "%v", err)
				}
				continue
			}
		case s.name == ".strtab" || s.name == ".dynstr" || s.name == ".gnu_debuglink":
		default:
			continue
		}
		if _, err := f.extent(s); err != nil {
			c.add(f, s.name, "%v", err)
		} else if f.folded(s) {
			if _, err := f.data(s); err != nil {
				c.add(f, s.name, "%v", err)
			}
		}
	}
}

// sectionOf returns the section that an error names, "section .x: ...", or else name.
func sectionOf(err error, name string) string {
	if rest, ok := strings.CutPrefix(err.Error(), "section "); ok {
		if s, _, ok := strings.Cut(rest, ":"); ok {
			return s
		}
	}
	return name
}

// symbols looks at each symbol.
func (c *checker) symbols(f *File) {
	for _, typ := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		for i := range f.sections {
			if s := &f.sections[i]; s.typ == typ && uint64(s.link) >= uint64(len(f.sections)) {
				c.add(f, s.name, "its names are in section %d, of %d", s.link, len(f.sections))
			}
		}
		tab, str := f.symbolSections(typ)
		if tab == nil {
			continue
		}
		p := symbolPart{entsize: f.symbolSize()}
		var err error
		if p.tab, err = f.data(tab); err != nil {
			c.add(f, tab.name, "%v", err)
			continue
		}
		if p.str, err = f.data(str); err != nil {
			c.add(f, str.name, "%v", err)
			continue
		}
		if uint64(len(p.tab))%p.entsize != 0 {
			c.add(f, tab.name, "%d bytes are no whole number of symbols", len(p.tab))
		}
		for i := uint64(0); (i+1)*p.entsize <= uint64(len(p.tab)); i++ {
			s := f.rawSymbol(&p, i)
			if s.name != 0 && cstring(p.str, uint64(s.name)) == nil {
				c.add(f, tab.name, "the name of symbol %d lies outside of %s", i, str.name)
				break
			}
		}
	}
}

// goTable looks at each Go function.
func (c *checker) goTable(f *File) {
	g := f.goTable()
	name := ".gopclntab"
	if f.section(name) == nil {
		name = ".data.rel.ro.gopclntab"
	}
	if f.goErr != nil {
		c.add(f, name, "%v", f.goErr)
	}
	if g == nil {
		return
	}
	g.needAll()
	for i := range g.NumFuncs() {
		if fn, ok := g.Func(i); !ok {
			c.add(f, name, "function %d of %d is damaged", i, g.NumFuncs())
			return
		} else if len(g.name(fn)) == 0 && fn.NameOffset() != 0 {
			c.add(f, name, "the name of the function at %#x is damaged", fn.Entry())
			return
		}
	}
}

// dwarf looks at each unit's header, shapes, entries and lines.
func (c *checker) dwarf(d *dwarfData) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.newReader()
	r.allow()
	bases := r.allUnits()
	end := uint64(0)
	for _, base := range bases {
		u := r.unit(base)
		if u == nil {
			c.add(d.file, ".debug_info", "the header of the unit at %#x is damaged, or of a version of DWARF that is not known", base)
			length, _ := r.unitLength(base)
			end = base + length
			continue
		}
		end = u.end
		c.unit(r, u)
		delete(r.units, base)
		if r.work < 0 {
			c.add(d.file, ".debug_info", "at %#x: takes more work than it can be worth", base)
			return
		}
	}
	if end != d.info.size {
		c.add(d.file, ".debug_info", "the unit at %#x goes beyond the end", end)
	}
}

// unitLength returns the length in bytes of the unit at base, with its header.
func (d *dwarfData) unitLength(base uint64) (n uint64, ok bool) {
	p := pages{sec: d.info}
	c := p.cursor(base, 12)
	n = 4 + c.uint(4)
	if n == 4+0xffffffff {
		n = 12 + c.uint(8)
	}
	return n, !c.bad
}

func (c *checker) unit(r *dwarfReader, u *unit) {
	f := r.file
	if u.abbrevOff >= r.abbrev.size {
		c.add(f, ".debug_abbrev", "has %d bytes; the unit at %#x has its shapes at %#x", r.abbrev.size, u.base, u.abbrevOff)
		return
	}
	abbrevs := r.abbrevTable(u)
	e, ok := r.root(u)
	if !ok {
		c.add(f, ".debug_abbrev", "the first entry of the unit at %#x of .debug_info does not fit a shape", u.base)
		return
	}
	if u.hasLines {
		if !r.loadLines(&lineTable{}, u, allLines) {
			c.add(f, ".debug_line", "the table at %#x is damaged", u.stmtList)
		}
	}
	c.ranges(r, u, &e)
	in := cursor{b: r.unitBytes(u), base: u.dies, big: f.big()}
	if !r.spend(len(in.b)) {
		return
	}
	for depth := 0; in.at < len(in.b); {
		at := u.dies + uint64(in.at)
		code := in.uleb()
		if code == 0 {
			if depth--; depth <= 0 {
				return
			}
			continue
		}
		a := abbrevs.get(code)
		if a == nil {
			c.add(f, ".debug_abbrev", "has no shape %d at %#x, which the entry at %#x of .debug_info is of", code, u.abbrevOff, at)
			return
		}
		if a.located {
			e = die{}
			r.readAttrs(&in, u, a, &e)
			if !in.bad {
				c.ranges(r, u, &e)
			}
		} else {
			in.skipAttrs(u, a)
		}
		if in.bad {
			c.add(f, ".debug_info", "the entry at %#x goes beyond its unit", at)
			return
		}
		if a.children {
			depth++
		}
		if depth == 0 {
			return
		}
	}
}

// ranges looks where an entry's list of pieces of text is.
func (c *checker) ranges(r *dwarfReader, u *unit, e *die) {
	switch {
	case e.ranges.kind == valueNone:
	case u.version < 5:
		if u.listBase+e.ranges.n >= r.dwarfData.ranges.size {
			c.add(r.file, ".debug_ranges", "has %d bytes; an entry of the unit at %#x has its list at %#x", r.dwarfData.ranges.size, u.base, e.ranges.n)
		}
	case e.ranges.kind != valueRnglistx:
		if e.ranges.n >= r.rnglists.size {
			c.add(r.file, ".debug_rnglists", "has %d bytes; an entry of the unit at %#x has its list at %#x", r.rnglists.size, u.base, e.ranges.n)
		}
	default:
		if size := r.rnglists.size; u.rngListBase >= size || e.ranges.n >= size {
			c.add(r.file, ".debug_rnglists", "has %d bytes; an entry of the unit at %#x has list %d from %#x on", size, u.base, e.ranges.n, u.rngListBase)
		}
	}
}
