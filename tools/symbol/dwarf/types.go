// What other readers of DWARF take on trust. The standard library's debug/dwarf, and Delve with it,
// recurse along the references between entries, and read a table of abbreviations for each offset
// that a unit names: a ring of types overflows their stack, which nobody can catch. So a file is
// read here first, once and in time proportional to its size.
//
// What those two would read otherwise than this package does is refused, too: a second section of
// the same name, a reference into the middle of an entry, two shapes of one code, DWARF of 64 bits.

package dwarf

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// What debug information may ask of a reader that recurses. Compilers stay far below.
const (
	maxTypeDepth = 1000    // of what makes up a value, or a type's text; of entries within entries
	maxTypeText  = 1 << 20 // bytes of a type's text
	maxTypePath  = 50_000  // types that one leads to, one by the other
	maxOrigins   = 16      // entries that one is made from, one by the other
	moreAttrs    = 4       // attributes for each byte of .debug_info
)

// The references between entries, by who follows them.
const (
	byValue = 1 << iota // Size: a value is made of the other one's
	byText              // String: a type's text has the other one's in it
	byAny               // whoever reads a type, with all that it leads to
)

// The tags of types and of what they have in them, but for those of local.go.
const (
	tagClass      = 0x02
	tagEnum       = 0x04
	tagMember     = 0x0d
	tagStruct     = 0x13
	tagSubroutine = 0x15
	tagTypedef    = 0x16
	tagUnion      = 0x17
	tagBase       = 0x24
	tagConst      = 0x26
	tagEnumerator = 0x28
	tagVolatile   = 0x35
	tagRestrict   = 0x37
)

// typeTags are the types that are read, and who follows their DW_AT_type.
var typeTags = [1 << 6]uint8{
	tagArrayType: byAny | byValue | byText, tagConst: byAny | byValue | byText,
	tagVolatile: byAny | byValue | byText, tagRestrict: byAny | byValue | byText,
	tagTypedef: byAny | byValue, tagPointerType: byAny | byText, tagSubroutine: byAny | byText,
	tagClass: byAny, tagStruct: byAny, tagUnion: byAny, tagEnum: byAny, tagBase: byAny,
}

// An edge is a reference of a node; next is the node's one before, or -1.
type edge struct {
	to   uint64 // an offset; later a node, or nowhere
	next int32
	kind uint8
}

const nowhere = 1<<64 - 1

// A node is a type.
type node struct {
	off   uint64
	text  uint64 // bytes of its text that are its own
	first int32  // edge, or -1
	depth uint32 // levels that it has itself: 1, and an array's dimensions
	tag   uint8
	named bool
}

// typeGraph is what the entries' references lead to.
type typeGraph struct {
	r       *Reader
	e       die // the entry at hand
	nodes   []node
	edges   []edge
	starts  bitSet      // where entries begin
	forward []uint64    // references to what was not read yet
	origins [][2]uint64 // entries with what each is made from, by abstract_origin or specification
	made    bitSet      // which those are
	open    []int32     // the node of each entry that is not closed, or -1
	attrs   uint64
	tables  map[uint64]bool // by offset
	sizes   uint64          // of the tables
}

// A bitSet has a bit for each byte of .debug_info.
type bitSet []uint64

func (b bitSet) add(at uint64) { b[at/64] |= 1 << (at % 64) }

func (b bitSet) has(at uint64) bool {
	return at/64 < uint64(len(b)) && b[at/64]>>(at%64)&1 != 0
}

// CheckTypes is [Data.CheckTypes] of an ELF file that is to be opened. Context: host.
func CheckTypes(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	d := &Data{File: f}
	if err = d.find(f); err == nil {
		err = d.CheckTypes()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// CheckTypes returns an error of one sentence if the standard library's debug/dwarf, or Delve,
// cannot read the debug information without harm. d may be nil. Context: host.
func (d *Data) CheckTypes() error {
	if d == nil || d.info.Size == 0 {
		return nil
	}
	met := map[string]bool{}
	for _, s := range d.File.Sections {
		_, name, ok := strings.Cut(s.Name, "debug_")
		if ok && (met[name] || strings.HasPrefix(name, "types")) {
			return refused("section %s is one too many", s.Name)
		}
		met[name] = ok
	}
	if d.File.Big() {
		return refused("it is big-endian")
	}
	n := d.info.Size/64 + 1
	g := &typeGraph{r: d.NewReader(), tables: map[uint64]bool{}, starts: make(bitSet, n),
		made:  make(bitSet, n),
		nodes: make([]node, 0, n), edges: make([]edge, 0, n)}
	end := uint64(0)
	for _, base := range d.allUnits() {
		g.r.Allow()
		u := g.r.unit(base)
		if u == nil || u.dwarf64 {
			return refused("the header of the unit at %#x is not known", base)
		}
		if err := g.unit(u); err != nil {
			return err
		}
		end = u.end
		delete(g.r.units, base)
	}
	if end != d.info.Size {
		return refused("no unit begins at %#x", end)
	}
	return g.check()
}

func refused(format string, a ...any) error {
	return errors.New("its debug information is damaged or made to do harm: " +
		fmt.Sprintf(format, a...) +
		"; take the file as it was built")
}

// unit reads a unit's entries.
func (g *typeGraph) unit(u *unit) error {
	t := g.r.abbrevTable(u)
	if !g.tables[u.abbrevOff] {
		g.tables[u.abbrevOff] = true
		g.sizes += t.size
	}
	if !t.valid || t.odd || g.sizes > 2*g.r.abbrev.Size {
		return refused("the shapes of the unit at %#x are twofold, or lie in those of others", u.base)
	}
	c := elf.Cursor{B: g.r.unitBytes(u), Base: u.dies}
	g.open = g.open[:0]
	for c.At < len(c.B) {
		at := u.dies + uint64(c.At)
		code := c.ULEB()
		if code == 0 {
			g.open = g.open[:max(len(g.open)-1, 0)]
			continue
		}
		g.starts.add(at)
		a := t.get(code)
		if a == nil {
			return refused("the entry at %#x is of no shape", at)
		}
		if g.attrs += uint64(len(a.attrs)); g.attrs > moreAttrs*g.r.Data.info.Size+1<<16 {
			return refused("the entries up to %#x have %d attributes", at, g.attrs)
		}
		me := g.entry(u, a, &c, at)
		if c.Bad {
			return refused("the entry at %#x goes beyond its unit", at)
		}
		if a.children {
			g.open = append(g.open, me)
		}
		if len(g.open) > maxTypeDepth {
			return refused("the entry at %#x is in %d others", at, maxTypeDepth)
		}
	}
	if len(g.open) > 1 {
		return refused("the unit at %#x ends within an entry", u.base)
	}
	return nil
}

// entry reads an entry's references. It returns its node, or -1 if it has none.
func (g *typeGraph) entry(u *unit, a *abbrev, c *elf.Cursor, at uint64) int32 {
	kind, me, in := uint8(0), int32(-1), int32(-1)
	if a.tag < uint64(len(typeTags)) {
		kind = typeTags[a.tag]
	}
	if n := len(g.open); n > 0 {
		in = g.open[n-1]
	}
	part := in >= 0 && (a.tag == tagSubrangeType || a.tag == tagEnumerator)
	if kind == 0 && !a.refers && !part {
		g.r.skipAttrs(c, u, a)
		return -1
	}
	e := &g.e
	*e = die{tag: a.tag}
	e.read(c, u, a) // g.attrs counts
	text := uint64(0)
	if (kind != 0 || part || a.tag == tagMember) && !c.Bad {
		text = uint64(len(g.r.string(u, &g.r.infoPages, e.at[atName])))
	}
	if kind != 0 {
		me = int32(len(g.nodes))
		g.nodes = append(g.nodes, node{off: at, first: -1, depth: 1, text: 16 + text, tag: uint8(a.tag),
			named: text > 0})
	}
	if origin := e.origin(); origin.kind == valueRef {
		g.made.add(at)
		g.origins = append(g.origins, [2]uint64{at, origin.n})
		g.refer(-1, origin, 0)
	}
	of := uint8(byAny)
	if text == 0 {
		of |= byText // godwarf's, where a type has no name
	}
	g.refer(me, e.at[atGoKey], of)
	g.refer(me, e.at[atGoElem], of)
	if in < 0 || kind != 0 {
		g.refer(me, e.at[atType], kind)
		return me
	}
	g.part(&g.nodes[in], in, e, text)
	return me
}

// part adds to a type what an entry in it is of: a member, a parameter, a dimension, a name.
func (g *typeGraph) part(of *node, in int32, e *die, text uint64) {
	kind, tag := uint8(0), e.tag
	switch {
	case of.tag == tagArrayType && tag == tagSubrangeType:
		of.depth++
	case of.tag == tagEnum && tag == tagEnumerator:
		of.text += 24 + text
	case of.tag == tagSubroutine && tag == tagFormalParameter:
		kind = byAny | byText
	case tag == tagMember && (of.tag == tagStruct || of.tag == tagClass || of.tag == tagUnion):
		kind = byAny
		if e.at[atExternal].kind == valueNone && e.at[atDeclaration].kind == valueNone {
			kind |= byValue
		}
		if !of.named {
			of.text += 48 + text
			kind |= byText
		}
	}
	g.refer(in, e.at[atType], kind)
}

// refer adds a reference, from -1 if nobody recurses along it.
func (g *typeGraph) refer(from int32, v value, kind uint8) {
	if v.kind != valueRef {
		return
	}
	to := v.n
	if !g.starts.has(to) {
		g.forward = append(g.forward, to)
	}
	if from >= 0 && kind != 0 {
		n := &g.nodes[from]
		g.edges = append(g.edges, edge{to, n.first, kind})
		n.first = int32(len(g.edges) - 1)
	}
}

// check looks at the references now that all entries are known.
func (g *typeGraph) check() error {
	for _, to := range g.forward {
		if !g.starts.has(to) {
			return refused("what is at %#x is referred to and is no entry", to)
		}
	}
	for _, o := range g.origins {
		for n, to := 0, o[1]; g.made.has(to); n++ {
			i := sort.Search(len(g.origins), func(i int) bool { return g.origins[i][0] >= to })
			if to = g.origins[i][1]; n > maxOrigins {
				return refused("the entry at %#x is made from too many others", o[0])
			}
		}
	}
	for i := range g.edges {
		e := &g.edges[i]
		n := sort.Search(len(g.nodes), func(n int) bool { return g.nodes[n].off >= e.to })
		if n == len(g.nodes) || g.nodes[n].off != e.to {
			e.to = nowhere
		} else {
			e.to = uint64(n)
		}
	}
	for _, kind := range []uint8{byValue, byText, byAny} {
		w := typeWalk{typeGraph: g, kind: kind, met: make([]int32, len(g.nodes)),
			low:   make([]int32, len(g.nodes)),
			depth: make([]uint32, len(g.nodes)), text: make([]uint64, len(g.nodes))}
		for n := range g.nodes {
			if err := w.from(int32(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// A typeWalk finds the rings of one kind of reference, and how far it leads from each node:
// Tarjan's strongly connected components, without recursion.
type typeWalk struct {
	*typeGraph
	kind     uint8
	met, low []int32  // Tarjan's numbers, from 1
	depth    []uint32 // 0: not known yet
	text     []uint64
	count    int32
	stack    []int32
	path     []struct{ node, edge int32 }
}

func (w *typeWalk) enter(n int32) {
	w.count++
	w.met[n], w.low[n] = w.count, w.count
	w.stack = append(w.stack, n)
	w.path = append(w.path, struct{ node, edge int32 }{n, w.nodes[n].first})
}

// from walks from a node, unless that was met.
func (w *typeWalk) from(root int32) error {
	if w.met[root] == 0 {
		w.enter(root)
	}
	for len(w.path) > 0 {
		top := &w.path[len(w.path)-1]
		if top.edge >= 0 {
			e := &w.edges[top.edge]
			top.edge = e.next
			switch to := int32(e.to); {
			case e.kind&w.kind == 0 || e.to == nowhere:
			case w.met[to] == 0:
				w.enter(to)
			case w.depth[to] == 0:
				w.low[top.node] = min(w.low[top.node], w.met[to])
			}
			continue
		}
		n := top.node
		if w.path = w.path[:len(w.path)-1]; len(w.path) > 0 {
			up := w.path[len(w.path)-1].node
			w.low[up] = min(w.low[up], w.low[n])
		}
		if w.low[n] == w.met[n] {
			if err := w.leave(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave takes the component of n, whose nodes lead to each other, from the stack.
func (w *typeWalk) leave(n int32) error {
	i := len(w.stack) - 1
	for w.stack[i] != n {
		i--
	}
	own, most, text := uint32(0), uint32(0), uint64(0)
	for _, m := range w.stack[i:] {
		own += w.nodes[m].depth
		text += w.nodes[m].text
		for k := w.nodes[m].first; k >= 0; k = w.edges[k].next {
			e := &w.edges[k]
			if e.kind&w.kind == 0 || e.to == nowhere {
				continue
			}
			if w.depth[e.to] == 0 && w.kind != byAny {
				return refused("the entry at %#x leads back to itself", w.nodes[m].off)
			}
			most = max(most, w.depth[e.to])
			text = min(text+w.text[e.to], 1<<62)
		}
	}
	limit := uint32(maxTypeDepth)
	if w.kind == byAny {
		limit = maxTypePath
	}
	if most += own; most > limit || w.kind == byText && text > maxTypeText {
		return refused("the type at %#x leads to %d others, and its text is of %d bytes",
			w.nodes[n].off, most, text)
	}
	for _, m := range w.stack[i:] {
		w.depth[m], w.text[m] = most, text
	}
	w.stack = w.stack[:i]
	return nil
}
