// The functions of a unit, and which of them an address is in.
//
// A function may lie in several places. Since DWARF 3 it says so itself. In DWARF 2 gcc
// writes an entry __second_sect_of_NAME for the other place, with nothing in it, and leaves
// the calls that are inlined there in the function itself.

package dwarf

import (
	"cmp"
	"slices"
	"sort"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// A Function is a piece of text of a function and the place of its entry.
type Function struct {
	Low, High uint64
	maxHigh   uint64 // the highest high of this one and all before it
	off, end  uint64 // of the entry and what is in it, in .debug_info; end may be 0
	order     int32
	rank      rank
}

// A rank says which function counts where several are at an address.
type rank uint8

const (
	first rank = iota
	inner      // it lies in another one, or elsewhere as a part of it, and is found with deep alone
	bare       // of DWARF 2, with nothing in it: it may stand for a part of another one
)

// An owner is a function that the reading is in.
type owner struct {
	elf.Span
	off, end uint64
	depth    int
}

// A funcSearch goes through a unit's entries for its functions.
type funcSearch struct {
	*Reader
	l       *Loaded
	c       elf.Cursor
	deep    bool
	depth   int
	skipped uint64  // where what is read with deep alone ends
	in      []owner // of DWARF 2, with deep
	e       die
}

// LoadFuncs finds the unit's functions. With deep it looks for functions inside
// functions too, and in DWARF 2, where a function cannot say that it has several pieces,
// for calls inlined into a piece of it that lies elsewhere (f.cold).
func (r *Reader) LoadFuncs(l *Loaded, deep bool) {
	u := l.u
	l.Funcs, l.Deep = l.Funcs[:0], deep
	w := funcSearch{Reader: r, l: l, deep: deep,
		c: elf.Cursor{B: r.unitBytes(u), Base: u.dies, Big: r.File.Big()}}
	if abbrevs := r.abbrevTable(u); r.spend(len(w.c.B)) {
		w.run(abbrevs)
		slices.SortFunc(l.Funcs, func(a, b Function) int {
			return cmp.Or(cmp.Compare(a.Low, b.Low), cmp.Compare(a.order, b.order))
		})
		if r.zero != nil {
			r.dropDeadFuncs(u, l)
		}
		for i := range l.Funcs {
			l.Funcs[i].maxHigh = l.Funcs[i].High
			if i > 0 {
				l.Funcs[i].maxHigh = max(l.Funcs[i].High, l.Funcs[i-1].maxHigh)
			}
		}
	}
}

// run reads the entries. Nearly all the time of a look-up is spent here: hence the short cuts.
func (w *funcSearch) run(abbrevs *abbrevTable) {
	u, c := w.l.u, &w.c
	for c.At < len(c.B) && !c.Bad {
		off := u.dies + uint64(c.At)
		code := uint64(c.B[c.At])
		if code < 0x80 {
			c.At++
		} else {
			code = c.ULEB()
		}
		if code == 0 {
			if w.depth--; w.depth <= 0 {
				break
			}
			if n := len(w.in); n > 0 && w.in[n-1].depth == w.depth {
				w.in = w.in[:n-1]
			}
			continue
		}
		a := abbrevs.get(code)
		if a == nil {
			break
		}
		switch {
		case a.tag == tagSubprogram && a.located:
			if w.function(a, off) {
				continue
			}
		case a.tag == tagInlinedSubroutine && len(w.in) > 0:
			w.inlined(a)
		case a.sibling >= 0 && !a.descend && !w.deep && skipAll(c, u, a):
			continue
		case a.sibling >= 0 && !a.descend && w.deep:
			to := *c
			skipAll(&to, u, a)
			w.skipped = max(w.skipped, u.dies+uint64(to.At))
			w.skipAttrs(c, u, a)
		case a.size >= 0:
			c.At += a.size
		default:
			w.skipAttrs(c, u, a)
		}
		if a.children {
			w.depth++
		}
		if w.depth == 0 {
			break
		}
	}
}

// add adds a piece of text of the function whose entry is from off to end.
func (w *funcSearch) add(s elf.Span, off, end uint64, is rank) {
	w.l.Funcs = append(w.l.Funcs, Function{Low: s.Low, High: s.High, off: off, end: end,
		order: int32(len(w.l.Funcs)), rank: is})
}

// function reads a function's entry, which is at off, and reports whether there is nothing more
// to do with it: the cursor is at the next one.
func (w *funcSearch) function(a *abbrev, off uint64) bool {
	u, c := w.l.u, &w.c
	w.e = die{}
	w.readAttrs(c, u, a, &w.e)
	if c.Bad {
		return true
	}
	to := uint64(0)
	if s := w.e.at[atSibling]; s.kind == valueRef && s.n > off && s.n-u.dies >= uint64(c.At) &&
		s.n <= u.end {
		to = s.n
	}
	is := first
	if u.version == 2 && !a.children {
		is = bare
	}
	if off < w.skipped {
		is = inner
	}
	for _, s := range w.Reader.ranges(u, &w.e) {
		w.add(s, off, to, is)
	}
	w.skipped = max(w.skipped, to)
	if to != 0 && !w.deep {
		c.At = int(to - u.dies)
		return true
	}
	if s := w.spans; w.deep && u.version == 2 && a.children && len(s) == 1 {
		w.in = append(w.in, owner{s[0], off, to, w.depth})
	}
	return false
}

// inlined reads the entry of a call that is inlined into a piece of a function of DWARF 2.
func (w *funcSearch) inlined(a *abbrev) {
	w.e = die{}
	w.readAttrs(&w.c, w.l.u, a, &w.e)
	of := w.in[len(w.in)-1]
	for _, s := range w.Reader.ranges(w.l.u, &w.e) {
		if s.Low < of.Low || s.Low >= of.High {
			w.add(s, of.off, of.end, inner)
		}
	}
}

// FuncAt returns the function that pc is in, or nil. Of several the first by rank counts, of
// those the last.
func (l *Loaded) FuncAt(pc uint64) (fn *Function) {
	i := sort.Search(len(l.Funcs), func(i int) bool { return l.Funcs[i].Low > pc })
	for i--; i >= 0 && l.Funcs[i].maxHigh > pc; i-- {
		f := &l.Funcs[i]
		if pc < f.High && (fn == nil || f.rank < fn.rank || f.rank == fn.rank && f.order > fn.order) {
			fn = f
		}
	}
	return fn
}

// LooksDeeper reports whether LoadFuncs with deep may find another function than fn, which
// FuncAt has found or not: then it must be asked, so that whether it was asked before makes
// no difference.
func (l *Loaded) LooksDeeper(fn *Function) bool {
	return !l.Deep && len(l.Funcs) > 0 && (fn == nil || fn.rank == bare)
}
