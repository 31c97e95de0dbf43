// From a name to the functions that bear it. A trace of Linux or of Go gives
// names and offsets instead of addresses, and names are not unique: a C file may
// have a static function of the same name as another's.

package symbol

import (
	"bytes"
	"cmp"
	stdelf "debug/elf"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// maxNamed bounds the functions of one name that are returned.
const maxNamed = 256

// goPart marks a nameRef as one to Go's pc table.
const goPart = ^uint32(0)

// A nameRef refers to a symbol of a part of the symbol table, or to a function of
// the pc table.
type nameRef struct{ part, index uint32 }

// A nameIndex finds the symbols by the hash of their names: chains of entries.
type nameIndex struct {
	once    sync.Once
	seed    maphash.Seed
	head    []uint32 // by hash: 1 + index in entries of the chain's first
	entries []nameEntry
}

type nameEntry struct {
	nameRef
	sum  uint32 // the hash of its name
	next uint32 // 1 + index of the chain's next
}

// Named returns the functions called name, in the order of their addresses: of
// Go's functions by the name that the runtime prints, of others by that in the
// symbol table. Context: host.
func (f *File) Named(name string) []lookup.Named {
	found := f.named(name)
	if len(found) == 0 && f.Machine == stdelf.EM_PPC64 {
		// The dot is that of the code, as opposed to the descriptor: not all write it.
		if bare, dotted := strings.CutPrefix(name, "."); dotted {
			return f.named(bare)
		}
		return f.named("." + name)
	}
	return found
}

func (f *File) named(name string) []lookup.Named {
	x := &f.names
	x.once.Do(func() { f.indexNames(x) })
	if len(x.head) == 0 {
		return nil
	}
	var found, clones []lookup.Named
	sum := uint32(maphash.String(x.seed, name))
	for at := x.head[sum&uint32(len(x.head)-1)]; at != 0 &&
		len(found) < maxNamed; at = x.entries[at-1].next {
		r := &x.entries[at-1]
		if r.sum != sum {
			continue
		}
		into := &found
		if is := string(f.refName(r.nameRef)); is != name {
			if f.alias(r.nameRef) != name {
				continue
			}
			if !strings.Contains(is, promoted) {
				into = &clones
			}
		}
		n := lookup.Named{}
		if r.part == goPart {
			fn, _ := f.goTable().Func(int(r.index))
			n.Start = uint64(fn.Entry())
			n.Span, n.Last = f.span(n.Start)
			if next, ok := f.goTable().Func(int(r.index) + 1); ok {
				n.Span, n.Last = uint64(next.Entry())-n.Start, false
			}
		} else {
			s := f.symbolFile().rawSymbol(&f.symbols().parts[r.part], uint64(r.index))
			n.Start, n.Size = s.Value, s.Size
			n.Span, n.Last = f.span(s.Value)
		}
		if i := slices.IndexFunc(*into, func(o lookup.Named) bool { return o.Start == n.Start }); i < 0 {
			*into = append(*into, n)
		} else if (*into)[i].Size == 0 {
			(*into)[i].Size = n.Size
		}
	}
	if len(found) == 0 {
		found = clones
	}
	slices.SortFunc(found, func(a, b lookup.Named) int { return cmp.Compare(a.Start, b.Start) })
	return found
}

// indexNames hashes the names of all functions.
func (f *File) indexNames(x *nameIndex) {
	x.seed = maphash.MakeSeed()
	add := func(r nameRef, name []byte) {
		x.entries = append(x.entries, nameEntry{nameRef: r, sum: uint32(maphash.Bytes(x.seed, name))})
		if r.part != goPart && bytes.IndexByte(name, '.') <= 0 {
			return
		}
		if other := f.alias(r); other != "" && other != string(name) {
			x.entries = append(x.entries, nameEntry{nameRef: r, sum: uint32(maphash.String(x.seed, other))})
		}
	}
	if g := f.goTable(); g != nil {
		g.needAll()
		for i := range g.NumFuncs() {
			r := nameRef{goPart, uint32(i)}
			add(r, f.refName(r))
		}
	}
	t, sf := f.symbols(), f.symbolFile()
	x.entries = slices.Grow(x.entries, len(t.funcs)*5/4)
	for pi := range t.parts {
		p := &t.parts[pi]
		of := sf.ofPart(p)
		text := of.TextSections()
		for i := range p.count() {
			if s := f.rawSymbol(p, i); s.Name != 0 && of.isFunc(&s, text) {
				add(nameRef{uint32(pi), uint32(i)}, elf.CString(p.str, uint64(s.Name)))
			}
		}
	}
	if len(x.entries) == 0 {
		return
	}
	size := 1
	for size < len(x.entries) {
		size *= 2
	}
	x.head = make([]uint32, size)
	for i := range x.entries {
		first := &x.head[x.entries[i].sum&uint32(size-1)]
		x.entries[i].next, *first = *first, uint32(i)+1
	}
}

func (f *File) refName(r nameRef) []byte {
	if r.part == goPart {
		fn, ok := f.goTable().Func(int(r.index))
		if !ok {
			return nil
		}
		if name := fn.Name(); bytes.IndexByte(name, '[') < 0 {
			return name
		}
		return []byte(f.goTable().print(string(fn.Name())))
	}
	p := &f.symbols().parts[r.part]
	return elf.CString(p.str, uint64(f.symbolFile().rawSymbol(p, uint64(r.index)).Name))
}

// promoted is what clang's link-time optimization adds to the name of a static function that it
// makes global, with a number behind it. Linux's kallsyms leave it out
// (cleanup_symbol_name in kernel/kallsyms.c), and so a function without it is no better.
const promoted = ".llvm."

// cloneMarks are what compilers add to the name of a function that they have copied, split or
// made global: a number may follow. Linux 5.12 to 6.4 leave them out where clang has built it.
var cloneMarks = []string{promoted, ".__uniq.", ".lto_priv", ".constprop", ".isra", ".part",
	".cold", ".localalias"}

// alias returns another name by which a trace may call the function, "" if there is none: that of
// the source for one that the compiler has named anew, and for a Go function the one that other
// runtimes print.
func (f *File) alias(r nameRef) string {
	if r.part == goPart {
		if fn, ok := f.goTable().Func(int(r.index)); ok && bytes.IndexByte(fn.Name(), '[') >= 0 {
			name := string(fn.Name())
			if before := printedBefore(name); before != f.goTable().print(name) {
				return before
			}
			return printedName(name)
		}
		return ""
	}
	return sourceName(string(f.refName(r)))
}

// sourceName returns the name of a function without what compilers have added, "" if that is
// nothing.
func sourceName(name string) string {
	from := name
	for {
		at := strings.LastIndexByte(from, '.')
		if at <= 0 {
			break
		}
		word := from[at:]
		if len(word) > 1 && strings.Trim(word[1:], "0123456789") == "" { // the number of a mark
			if at = strings.LastIndexByte(from[:at], '.'); at <= 0 {
				break
			}
			word = from[at:]
		}
		if !slices.ContainsFunc(cloneMarks, func(mark string) bool {
			rest, ok := strings.CutPrefix(word, strings.TrimSuffix(mark, "."))
			return ok && (rest == "" && mark[len(mark)-1] != '.' || rest != "" && rest[0] == '.')
		}) {
			break
		}
		from = from[:at]
	}
	if from == name {
		return ""
	}
	return from
}

// span returns the distance from a function symbol's address to the next one in
// its section, or if it is the last one to the section's end.
func (f *File) span(addr uint64) (n uint64, last bool) {
	t := f.symbols()
	end := f.SectionEnd(addr)
	i := t.after(addr)
	if i < len(t.funcs) && (end == 0 || t.funcs[i].addr < end) {
		return t.funcs[i].addr - addr, false
	}
	return max(end, addr) - addr, true
}
