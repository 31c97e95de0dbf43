// Look-ups make the best of a damaged file and say nothing of it. Who wants to know
// what is wrong has the file checked.

package symbol

import (
	stdelf "debug/elf"
	"errors"
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// maxProblems bounds the errors of a check: the first few tell.
const maxProblems = 20

// A checker collects what is wrong.
type checker struct {
	problems []error
	seen     map[string]bool // sections
}

// add keeps the first error of each section of a file.
func (c *checker) add(f interface{ Name() string }, section, format string, a ...any) {
	key := f.Name() + "\x00" + section
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
	c.problems = append(c.problems, fmt.Errorf("%s: %s", f.Name(), text))
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
	if s := f.companion(); f.FirstSection(".debug_info", ".zdebug_info") == nil && s != nil {
		c.sections(s)
		c.symbols(s)
		of = s
	}
	if f.dwarfErr != nil {
		c.add(of, sectionOf(f.dwarfErr, ".debug_info"), "%v", f.dwarfErr)
	}
	if d != nil {
		d.Check(func(section, format string, a ...any) { c.add(d.File, section, format, a...) })
	}
	return errors.Join(c.problems...)
}

// Incomplete returns what the answers so far lack, since debug information is damaged or
// not there, with the file that would help; or nil. It reads nothing. Context: host.
func (f *File) Incomplete() error {
	if wrong := f.storeErr.Load(); wrong != nil {
		return fmt.Errorf("%s: %w", f.Name(), *wrong)
	}
	if wrong := f.argErr.Load(); wrong != nil {
		return *wrong
	}
	if !f.dwarfRead.Load() {
		return nil
	}
	of := f
	if f.FirstSection(".debug_info", ".zdebug_info") == nil && f.split != nil {
		of = f.split
	}
	if f.dwarfErr != nil && !f.HasUnlinkedDWARF() {
		return fmt.Errorf(
			"%s: lines and inlined calls are missing: %w; it helps to have that file as it was built",
			of.Name(), f.dwarfErr)
	}
	if f.dwarf != nil {
		if lost := f.dwarf.Lost(); lost != "" {
			return fmt.Errorf("%s: %s", of.Name(), lost)
		}
	}
	return nil
}

// sections unfolds each section that look-ups read.
func (c *checker) sections(f *File) {
	relocated := make(map[string]bool)
	for i := range f.Sections {
		s := &f.Sections[i]
		switch {
		case s.Type == stdelf.SHT_NOBITS: // in a debug file, what the program itself has
			continue
		case s.Type == stdelf.SHT_SYMTAB || s.Type == stdelf.SHT_DYNSYM:
		case strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_"):
			if f.Type == stdelf.ET_REL && f.CanRelocate() {
				if relocated[s.Name] {
					continue // a type's, or one that no look-up reads
				}
				relocated[s.Name] = true
				if _, err := f.DebugContents(strings.Replace(s.Name, ".z", ".", 1)); err != nil {
					c.add(f, sectionOf(err, s.Name), "%v", err)
				}
				continue
			}
		case s.Name == ".strtab" || s.Name == ".dynstr" || s.Name == ".gnu_debuglink":
		default:
			continue
		}
		if _, err := f.Extent(s); err != nil {
			c.add(f, s.Name, "%v", err)
		} else if f.Compressed(s) {
			if _, err := f.Data(s); err != nil {
				c.add(f, s.Name, "%v", err)
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
	for _, typ := range []stdelf.SectionType{stdelf.SHT_SYMTAB, stdelf.SHT_DYNSYM} {
		for i := range f.Sections {
			if s := &f.Sections[i]; s.Type == typ && uint64(s.Link) >= uint64(len(f.Sections)) {
				c.add(f, s.Name, "its names are in section %d, of %d", s.Link, len(f.Sections))
			}
		}
		tab, str := f.SymbolSections(typ)
		if tab == nil {
			continue
		}
		p := symbolPart{entsize: f.SymbolSize()}
		var err error
		if p.tab, err = f.Data(tab); err != nil {
			c.add(f, tab.Name, "%v", err)
			continue
		}
		if p.str, err = f.Data(str); err != nil {
			c.add(f, str.Name, "%v", err)
			continue
		}
		if uint64(len(p.tab))%p.entsize != 0 {
			c.add(f, tab.Name, "%d bytes are no whole number of symbols", len(p.tab))
		}
		for i := uint64(0); (i+1)*p.entsize <= uint64(len(p.tab)); i++ {
			s := f.rawSymbol(&p, i)
			if s.Name != 0 && elf.CString(p.str, uint64(s.Name)) == nil {
				c.add(f, tab.Name, "the name of symbol %d lies outside of %s", i, str.Name)
				break
			}
		}
	}
}

// goTable looks at each Go function.
func (c *checker) goTable(f *File) {
	g := f.goTable()
	name := ".gopclntab"
	if f.FirstSection(name) == nil {
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
