// Functions that the linker dropped (--gc-sections), in images that have text at address 0.
//
// The entries of such functions stay in the debug information. Linkers set their addresses to
// 0 or 1, where mostly no text is; in firmware, boot loaders and object files there is, and so
// the functions that are really there have to be told from the dropped ones. A function at 0 is
// there if a symbol at 0 has its name. A unit's text or a sequence of lines from 0 on is there
// together with such a function. Where no name tells (assembly, line tables alone), it is there if
// no other can be: one that overlaps another unit's text, or ends in the middle of a symbol's,
// cannot. If several are left, none of them counts.
//
// Other images have no zeroText, and all of this costs them nothing.

package dwarf

import (
	"cmp"
	stdelf "debug/elf"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// lastDead is the highest of the low addresses that linkers give to what they dropped: lists of
// ranges have 1, since 0 would end them. lld's -1 and -2 are in no text.
const lastDead = 1

// padding is the alignment of functions in bytes: a smaller gap between two of them tells nothing.
const padding = 16

// A zeroText is what tells about the text at 0.
type zeroText struct {
	file  *elf.File
	once  sync.Once
	syms  []elf.Symbol // in text, by address
	names []byte

	// Once the units' ranges are read (Data.mu):
	first uint64 // the lowest address after lastDead that a unit has
	unit  uint64 // that has the text at 0; noUnit if none
}

const noUnit = ^uint64(0)

// newZeroText returns nil for a file without text at 0.
func newZeroText(f *elf.File) *zeroText {
	if text := f.TextSpans(); len(text) == 0 || text[0].Low > lastDead {
		return nil
	}
	return &zeroText{file: f, first: ^uint64(0), unit: noUnit}
}

// A truth says whether something is in the image.
type truth uint8

const (
	maybe truth = iota
	gone
	there
)

// A zeroFunc is a function that says it is at 0 or 1.
type zeroFunc struct {
	elf.Span
	is   truth
	line int // where it is declared, if it is there
}

// symbols returns the symbols that lie in text.
func (z *zeroText) symbols() []elf.Symbol {
	z.once.Do(func() {
		tab, str := z.file.SymbolSections(stdelf.SHT_SYMTAB)
		if tab == nil {
			return
		}
		b, err := z.file.Data(tab)
		if err != nil {
			return
		}
		if z.names, err = z.file.Data(str); err != nil {
			return
		}
		for size := int(z.file.SymbolSize()); len(b) >= size; b = b[size:] {
			s := z.file.DecodeSymbol(b)
			switch stdelf.ST_TYPE(s.Info) {
			case stdelf.STT_SECTION, stdelf.STT_FILE, stdelf.STT_TLS:
				continue
			}
			if s.Shndx == stdelf.SHN_UNDEF || s.Shndx >= stdelf.SHN_LORESERVE || !z.file.IsText(s.Value) {
				continue
			}
			// Assemblers' marks are not places where something begins.
			if name := z.name(s); !strings.HasPrefix(name, "$") && !strings.HasPrefix(name, ".L") {
				z.syms = append(z.syms, s)
			}
		}
		slices.SortStableFunc(z.syms, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	})
	return z.syms
}

func (z *zeroText) name(s elf.Symbol) string { return string(elf.CString(z.names, uint64(s.Name))) }

// has reports whether the function called name is at addr. It is not if the symbols have
// something else there.
func (z *zeroText) has(addr uint64, name string) truth {
	syms := z.symbols()
	i := sort.Search(len(syms), func(i int) bool { return syms[i].Value > addr }) - 1
	is := maybe
	for at := i; at >= 0 && (syms[at].Value == addr || at == i); at-- {
		switch s := syms[at]; {
		case s.Value == addr && sameFunc(z.name(s), name):
			return there
		case s.Value == addr || s.Size == 0 || addr-s.Value < s.Size:
			is = gone
		}
	}
	return is
}

// sameFunc reports whether a symbol is that of the function that debug information calls name.
// Compilers add suffixes for a clone or a part (".cold"), some systems put an underscore in front,
// and g++ does not say how a function that is local to its file is mangled.
func sameFunc(symbol, name string) bool {
	if name == "" || symbol == "" {
		return false
	}
	rest, ok := strings.CutPrefix(strings.TrimPrefix(symbol, "_"), strings.TrimPrefix(name, "_"))
	if ok && (rest == "" || rest[0] == '.' || rest[0] == '@') {
		return true
	}
	base, _, _ := strings.Cut(name, "<")
	return strings.HasPrefix(symbol, "_Z") && !strings.HasPrefix(name, "_Z") &&
		(strings.HasPrefix(name, "operator") || strings.Contains(symbol, fmt.Sprint(len(base), base)))
}

// canEnd reports whether a piece of text from 0 on that nothing else is known of can end at n: no
// symbol goes on there, and from there to the next text there is padding.
func (z *zeroText) canEnd(n uint64) bool {
	next := min(z.first, z.file.TextSpans()[0].High)
	for _, s := range z.symbols() {
		if s.Value >= n {
			next = min(next, s.Value)
			break
		}
		if s.Size > n-s.Value {
			return false
		}
	}
	if n > next {
		return false
	}
	if next-n < padding {
		return true
	}
	b, ok := z.file.BytesAt(n, min(next-n, 1<<16))
	// Linkers fill with one byte again and again, or with the long NOPs of x86.
	const nops = "\x66\x2e\x0f\x1f\x84\x80\x44\x40\x90\x00"
	filled := func(with string) bool {
		return !slices.ContainsFunc(b, func(c byte) bool { return strings.IndexByte(with, c) < 0 })
	}
	return ok && (filled(string(b[:1])) || filled(nops))
}

// isThere tells whether the function whose entry is at off is at low.
func (r *Reader) isThere(u *unit, off, low uint64) truth {
	e, ok := r.dieAt(u, off)
	if !ok {
		return maybe
	}
	return r.zero.has(low, r.funcName(u, e.at[atName], e.at[atLinkage], e.origin()))
}

// dropDeadFuncs notes the functions of l that say they are at 0, and takes those out of l that are
// not. It is for when all are read and sorted: to read names takes the place of shapes.
func (r *Reader) dropDeadFuncs(u *unit, l *Loaded) {
	u.zero, u.zeroRead = u.zero[:0], true
	end := uint64(0) // of those that are gone
	unsure := 0
	for i := range l.Funcs {
		f := &l.Funcs[i]
		if f.Low > lastDead {
			continue
		}
		z := zeroFunc{Span: elf.Span{Low: f.Low, High: f.High}, is: r.isThere(u, f.off, f.Low)}
		switch z.is {
		case gone:
			end = max(end, f.High)
			f.High = f.Low
		case there:
			var d Detail
			r.declaration(u, f.off, &d)
			z.line = d.StartLine
		case maybe:
			unsure++
		}
		u.zero = append(u.zero, z)
	}
	// Of a section with several functions that is gone, gold has the others after the first.
	for i := range l.Funcs {
		f := &l.Funcs[i]
		if f.Low > lastDead && f.Low < end+padding && r.isThere(u, f.off, f.Low) == gone {
			end = max(end, f.High)
			f.High = f.Low
		}
	}
	l.Funcs = slices.DeleteFunc(l.Funcs, func(f Function) bool {
		return f.High == f.Low || f.Low <= lastDead && unsure > 0 && (unsure > 1 || f.High > r.zero.first)
	})
}

// zeroFuncs returns the unit's functions that say they are at 0 or 1.
func (r *Reader) zeroFuncs(u *unit) []zeroFunc {
	if !u.zeroRead {
		u.zeroRead = true
		r.LoadFuncs(&Loaded{u: u}, false)
	}
	return u.zero
}

// textOf tells whether a unit with these functions at 0 has the piece of text s, which begins
// there.
func textOf(funcs []zeroFunc, s elf.Span) truth {
	is, longer, other := maybe, false, false
	for _, f := range funcs {
		switch {
		case f.is == there && f.High == s.High:
			return there
		case f.is == there:
			is, longer = gone, longer || f.High < s.High // as a unit's whole text is
		case f.is == gone:
			is, other = gone, other || f.High == s.High
		}
	}
	if longer && !other {
		return there
	}
	return is
}

// dropDead takes out of the index what the units have at 0 and is not there. d.mu is held.
func (d *Data) dropDead() {
	if d.zero == nil {
		return
	}
	x, r := &d.index, d.main
	d.zero.settle(x.ranges)
	is := make(map[unitRange]truth)
	found, only := false, 0
	for _, c := range x.ranges {
		if _, asked := is[c]; asked || c.Low > lastDead {
			continue
		}
		is[c] = gone
		r.Allow()
		if u := r.unit(c.base); u != nil {
			if _, ok := r.root(u); ok {
				is[c] = textOf(r.zeroFuncs(u), c.Span)
			}
		}
		found = found || is[c] == there
		if is[c] == maybe && d.zero.canEnd(c.High) {
			only++
		} else if is[c] == maybe {
			is[c] = gone
		}
	}
	x.ranges = slices.DeleteFunc(x.ranges, func(c unitRange) bool {
		return c.Low <= lastDead && is[c] != there && (is[c] == gone || found || only > 1)
	})
	d.zero.settle(x.ranges)
	// What was read meanwhile did not know all of that.
	clear(r.loaded)
	r.treeOf, r.cached = nil, 0
}

// settle notes what the units have.
func (z *zeroText) settle(ranges []unitRange) {
	z.unit = noUnit
	for _, c := range ranges {
		if c.Low > lastDead {
			z.first = min(z.first, c.Low)
		} else {
			z.unit = c.base
		}
	}
}

// dropDeadLines takes out of a unit's line table the sequences at 0 that are not there. Of several
// that can be, as for functions that are equally long, the one counts that begins nearest to the
// line where the function is declared.
func (r *Reader) dropDeadLines(t *LineTable, u *unit) {
	if !slices.ContainsFunc(t.Seqs, func(s Sequence) bool { return s.Low <= lastDead }) {
		return
	}
	funcs := r.zeroFuncs(u)
	distance := func(s Sequence) int {
		if s.Low > lastDead {
			return -1
		}
		far := math.MaxInt
		switch is := textOf(funcs, s.Span); {
		case is == maybe && r.zero.unit == u.base && r.zero.canEnd(s.High):
			far = 0
		case is == there:
			for _, f := range funcs {
				if n := int(s.line) - f.line; f.is == there && n >= 0 {
					far = min(far, n)
				}
			}
		}
		return far
	}
	nearest, ties := math.MaxInt, 0
	for _, s := range t.Seqs {
		if n := distance(s); n >= 0 && n < nearest {
			nearest, ties = n, 1
		} else if n == nearest {
			ties++
		}
	}
	t.Seqs = slices.DeleteFunc(t.Seqs, func(s Sequence) bool {
		n := distance(s)
		return n == math.MaxInt || n >= 0 && (n > nearest || ties > 1)
	})
}
