// What is said of a call beyond function, file and line: for those alone who ask for it, since
// it takes another look at the entries.

package dwarf

import "github.com/zeroframe/zeroframe/tools/symbol/lookup"

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

// declared fills in what the entry at off says of a function, and those that it refers to.
func (r *Reader) declared(l *Loaded, u *unit, off uint64, d *Detail) {
	file, fileOf := r.declaration(u, off, d)
	if file.kind == valueNone {
		return
	}
	if fileOf != l.u { // of another unit, as link-time optimization makes them
		l = r.load(fileOf, 0)
	}
	d.StartFile = r.FileName(l, file.number())
}

// declaration is declared but for the name of the file, of which it returns the number and the
// unit.
func (r *Reader) declaration(u *unit, off uint64, d *Detail) (file value, fileOf *unit) {
	first := true
	for of, e := range r.origins(u, off) {
		if d.Name == "" {
			d.Name = r.string(of, &r.infoPages, e.at[atName])
		}
		if file.kind == valueNone {
			file, fileOf = e.at[atDeclFile], of
		}
		if d.StartLine == 0 {
			d.StartLine = int(e.at[atDeclLine].number())
		}
		if first {
			d.Start, d.HasStart = r.address(u, e.at[atLow])
		}
		first = false
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
	row, hasLine := r.rowAt(l, pc)
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
		e, _ := r.dieAt(l.u, c.off)
		next.Column = int(e.at[atCallColumn].number())
		next.Discriminator = int(e.at[atDiscriminator].number())
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
