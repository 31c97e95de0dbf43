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

// LoadFuncs finds the unit's functions. With deep it looks for functions inside
// functions too, and in DWARF 2, where a function cannot say that it has several pieces,
// for calls inlined into a piece of it that lies elsewhere (f.cold).
func (r *Reader) LoadFuncs(l *Loaded, deep bool) {
	u := l.u
	l.Funcs, l.Deep = l.Funcs[:0], deep
	c := elf.Cursor{B: r.unitBytes(u), Base: u.dies, Big: r.File.Big()}
	abbrevs := r.abbrevTable(u)
	if !r.spend(len(c.B)) {
		return
	}
	depth := 0
	skipped := uint64(0) // where what is read with deep alone ends
	var in []owner       // of DWARF 2, with deep
	var e die
	// Nearly all the time of a look-up is spent here: hence the short cuts.
	for c.At < len(c.B) && !c.Bad {
		off := u.dies + uint64(c.At)
		code := uint64(c.B[c.At])
		if code < 0x80 {
			c.At++
		} else {
			code = c.ULEB()
		}
		if code == 0 {
			if depth--; depth <= 0 {
				break
			}
			if n := len(in); n > 0 && in[n-1].depth == depth {
				in = in[:n-1]
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
			if c.Bad {
				continue
			}
			to := uint64(0)
			if e.at[atSibling].kind == valueRef && e.at[atSibling].n > off &&
				e.at[atSibling].n-u.dies >= uint64(c.At) && e.at[atSibling].n <= u.end {
				to = e.at[atSibling].n
			}
			is := first
			if u.version == 2 && !a.children {
				is = bare
			}
			if off < skipped {
				is = inner
			}
			for _, s := range r.ranges(u, &e) {
				l.Funcs = append(l.Funcs, Function{Low: s.Low, High: s.High, off: off, end: to,
					order: int32(len(l.Funcs)), rank: is})
			}
			skipped = max(skipped, to)
			if to != 0 && !deep {
				c.At = int(to - u.dies)
				continue
			}
			if s := r.spans; deep && u.version == 2 && a.children && len(s) == 1 {
				in = append(in, owner{s[0], off, to, depth})
			}
		case a.tag == tagInlinedSubroutine && len(in) > 0:
			e = die{}
			r.readAttrs(&c, u, a, &e)
			of := &in[len(in)-1]
			for _, s := range r.ranges(u, &e) {
				if s.Low < of.Low || s.Low >= of.High {
					l.Funcs = append(l.Funcs, Function{Low: s.Low, High: s.High, off: of.off, end: of.end,
						order: int32(len(l.Funcs)), rank: inner})
				}
			}
		case a.sibling >= 0 && !a.descend && !deep && skipAll(&c, u, a):
			continue
		case a.sibling >= 0 && !a.descend && deep:
			to := c
			skipAll(&to, u, a)
			skipped = max(skipped, u.dies+uint64(to.At))
			r.skipAttrs(&c, u, a)
		case a.size >= 0:
			c.At += a.size
		default:
			r.skipAttrs(&c, u, a)
		}
		if a.children {
			depth++
		}
		if depth == 0 {
			break
		}
	}
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
