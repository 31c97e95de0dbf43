package argument

// The parameters of the functions at a pc, in the order of the source. Where the compiler has
// inlined a function or has put it out of line too, names and types are those of its abstract
// entry, and the entry at hand has the places; a parameter without an entry there lives nowhere.

import (
	"debug/dwarf"
	"slices"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
	"github.com/zeroframe/zeroframe/tools/symbol/flow"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// An Image is an ELF file whose functions' parameters are known. It is safe for concurrent use.
type Image struct {
	file  *elf.File
	entry func(pc uint64) (Entry, bool)
	data  *dwarf.Data
	lists [2][]byte // .debug_loc, .debug_loclists
	addrs []byte    // .debug_addr
	name  func(pc uint64) string
	table tracer.PCTable
	types uint64 // where names of the runtime's types count from; 0: not known

	mu       sync.Mutex
	at       map[uint64][]scope
	abstract map[dwarf.Offset][]parameter
	flows    map[uint64]*flow.Function // by the function's entry
}

// A scope is a function at a pc, inlined or not.
type scope struct {
	params, results []parameter
	lists           lists
}

// A parameter is one of a function, without the values that it returns.
type parameter struct {
	entry, typ dwarf.Offset
	name       string
	result     bool
	expr       []byte // where it lives, for all pcs
	list       int64  // or its location list; -1: none
}

// An Entry is the place of a function's entry, as package dwarf finds it.
type Entry struct {
	// Offset counts from the start of .debug_info.
	Offset uint64
	// Version is that of DWARF in the unit.
	Version int
	// Low is the base of the unit's addresses, Addrs where its part of .debug_addr begins.
	Low, Addrs uint64
}

// Limits of what is read, whatever a file says.
const (
	maxScopes  = 64
	maxParams  = 64
	maxVisited = 1 << 16 // entries of one function
	maxKnown   = 1 << 10 // pcs that are remembered
)

// Open returns the parameters of the functions of f. The debug information is in the file
// debug, which may be f, and entry finds the entry of the function at a pc in it. name
// returns the function that begins at an address, or ""; types is the address of
// runtime.types, or 0; table are Go's pc tables. It returns nil if the file does not have the
// debug information for them, or is not for a 64-bit x86.
func Open(f, debug *elf.File, entry func(pc uint64) (Entry, bool), name func(pc uint64) string,
	types uint64, table tracer.PCTable) *Image {
	if f.Arch() != "amd64" {
		return nil
	}
	section := func(name string) []byte {
		_, b, _ := debug.SectionBytes(name)
		return b
	}
	data, err := dwarf.New(section(".debug_abbrev"), nil, nil, section(".debug_info"),
		section(".debug_line"), nil,
		section(".debug_ranges"), section(".debug_str"))
	if err != nil {
		return nil
	}
	im := &Image{file: f, entry: entry, data: data, name: name, types: types, table: table,
		addrs: section(".debug_addr"),
		lists: [2][]byte{section(".debug_loc"), section(".debug_loclists")},
		at:    make(map[uint64][]scope), abstract: make(map[dwarf.Offset][]parameter),
		flows: make(map[uint64]*flow.Function)}
	for _, s := range []string{".debug_addr", ".debug_rnglists", ".debug_str_offsets",
		".debug_line_str"} {
		if b := section(s); b != nil && data.AddSection(s, b) != nil {
			return nil
		}
	}
	return im
}

// Arguments returns the arguments of the calls at a frame's pc, innermost first: of those
// that are inlined and of the function itself. It returns nil if nothing is known of them.
func (im *Image) Arguments(f *Frame) [][]lookup.Argument {
	if im == nil {
		return nil
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	pc := f.PC
	scopes, ok := im.at[pc]
	if !ok {
		if len(im.at) >= maxKnown {
			clear(im.at)
		}
		scopes = im.scopes(pc)
		im.at[pc] = scopes
	}
	f.kept = nil
	var homes [][]home
	if fn, ok := im.table.Find(uintptr(pc)); ok {
		f.kept = func(offset uint8) bool { return fn.ArgKept(uintptr(pc), offset) }
		if len(scopes) > 0 && im.activation(f) != nil {
			homes = im.homes(fn, scopes[0].params, scopes[0].results)
		}
	}
	var all [][]lookup.Argument
	for i := len(scopes) - 1; i >= 0; i-- {
		args := []lookup.Argument{}
		for k := range scopes[i].params {
			var h []home
			if i == 0 && homes != nil {
				h = homes[k]
			}
			args = append(args, im.argument(&scopes[i], &scopes[i].params[k], h, f))
		}
		all = append(all, args)
	}
	return all
}

// constant returns memory that nobody writes to, from the file.
func (im *Image) constant(addr, n uint64) ([]byte, bool) {
	if im.file.Writable(addr) {
		return nil, false
	}
	return im.file.BytesAt(addr, n)
}

// argument evaluates a parameter, which the function gets in its homes, if these are known: where
// DWARF says that it is, or else what the function was called with. Of a location list the pieces
// of a value may be of different times, and are believed only if that is known not to be so.
func (im *Image) argument(s *scope, p *parameter, homes []home, f *Frame) lookup.Argument {
	a := lookup.Argument{Name: p.name}
	t, err := im.data.Type(p.typ)
	if err != nil {
		return a
	}
	a.Type = typeName(t)
	if t.Size() < 0 || t.Size() > maxBytes {
		return a
	}
	if a.Value, a.Known, a.Lacking = im.located(s, p, t, f); a.Known || homes == nil {
		return a
	}
	v := value{im: im, f: f}
	if v.bytes, v.known = f.active.called(homes, t.Size()); v.bytes != nil {
		if text, ok := v.format(t, 0, 0); ok {
			a.Value, a.Known, a.Lacking = text, true, false
		}
	}
	return a
}

// located evaluates a parameter where DWARF says that it is. lacking is set if it is in memory that
// the trace does not carry.
func (im *Image) located(s *scope, p *parameter, t dwarf.Type,
	f *Frame) (text string, known, lacking bool) {
	expr, ok := p.expr, p.expr != nil
	if !ok && p.list >= 0 {
		expr, ok = s.lists.at(uint64(p.list), f.PC)
	}
	if !ok {
		return "", false, false
	}
	where, ok := pieces(expr, f)
	if !ok {
		return "", false, false
	}
	if p.list >= 0 {
		s.lists.keep(where, uint64(p.list), f)
		s.lists.survive(where, uint64(p.list), f)
	}
	if !lay(t, where, p.list >= 0 && !s.lists.inPieces(uint64(p.list), f)) || p.list >= 0 &&
		len(where) > 1 && !im.together(&s.lists, uint64(p.list), where, f) {
		return "", false, false
	}
	v := value{im: im, f: f}
	v.bytes, v.known = f.read(where, uint64(t.Size()))
	if text, known = v.format(t, 0, 0); !known {
		return "", false, !slices.ContainsFunc(where, func(p piece) bool { return p.kind != inMemory })
	}
	return text, true, false
}

// scopes returns the functions at pc, outermost first.
func (im *Image) scopes(pc uint64) []scope {
	e, ok := im.entry(pc)
	if !ok {
		return nil
	}
	l := lists{v5: e.Version >= 5, low: e.Low}
	if l.bytes = im.lists[0]; l.v5 {
		l.bytes = im.lists[1]
		if e.Addrs <= uint64(len(im.addrs)) {
			l.addrs = im.addrs[e.Addrs:]
		}
	}
	r := im.data.Reader()
	r.Seek(dwarf.Offset(e.Offset))
	fn, err := r.Next()
	if err != nil || fn == nil {
		return nil
	}
	w := walk{im: im, r: r, pc: pc, lists: l}
	w.function(fn)
	return w.scopes
}

// A walk reads the entries of one function.
type walk struct {
	im      *Image
	r       *dwarf.Reader
	pc      uint64
	lists   lists
	scopes  []scope
	visited int
}

// function reads a function or a call that is inlined, which is the reader's latest entry.
func (w *walk) function(fn *dwarf.Entry) {
	if len(w.scopes) >= maxScopes {
		return
	}
	n := len(w.scopes)
	w.scopes = append(w.scopes, scope{lists: w.lists})
	var own []parameter
	if fn.Children {
		w.children(&own)
	}
	origin, ok := fn.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
	if ok {
		own = w.im.merge(w.im.parameters(origin), own)
	}
	for _, p := range own {
		switch {
		case p.result:
			w.scopes[n].results = append(w.scopes[n].results, p)
		case !strings.HasPrefix(p.name, ".") && p.name != "":
			w.scopes[n].params = append(w.scopes[n].params, p)
		}
	}
}

// children reads what is in a function or a block up to its end.
func (w *walk) children(params *[]parameter) {
	for {
		e, err := w.r.Next()
		if w.visited++; err != nil || e == nil || e.Tag == 0 || w.visited > maxVisited {
			return
		}
		switch {
		case e.Tag == dwarf.TagFormalParameter && len(*params) < maxParams:
			*params = append(*params, readParameter(e))
			w.r.SkipChildren()
		case e.Tag == dwarf.TagInlinedSubroutine && w.in(e):
			w.function(e)
		case e.Tag == dwarf.TagLexDwarfBlock && e.Children:
			var inner []parameter // of nobody
			w.children(&inner)
		default:
			w.r.SkipChildren()
		}
	}
}

// in reports whether an entry has code at the pc.
func (w *walk) in(e *dwarf.Entry) bool {
	ranges, err := w.im.data.Ranges(e)
	for _, r := range ranges {
		if err == nil && r[0] <= w.pc && w.pc < r[1] {
			return true
		}
	}
	return false
}

// readParameter reads an entry. That of an abstract one has its offset in entry, else that of
// the abstract one.
func readParameter(e *dwarf.Entry) parameter {
	p := parameter{entry: e.Offset, list: -1}
	if origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
		p.entry = origin
	}
	p.name, _ = e.Val(dwarf.AttrName).(string)
	p.typ, _ = e.Val(dwarf.AttrType).(dwarf.Offset)
	p.result, _ = e.Val(dwarf.AttrVarParam).(bool)
	if at := e.AttrField(dwarf.AttrLocation); at != nil {
		switch at.Class {
		case dwarf.ClassExprLoc, dwarf.ClassBlock:
			p.expr, _ = at.Val.([]byte)
		case dwarf.ClassLocListPtr:
			p.list, _ = at.Val.(int64)
		}
	}
	return p
}

// parameters returns those of an abstract function.
func (im *Image) parameters(of dwarf.Offset) []parameter {
	if all, ok := im.abstract[of]; ok {
		return all
	}
	if len(im.abstract) >= maxKnown {
		clear(im.abstract)
	}
	r := im.data.Reader()
	r.Seek(of)
	var all []parameter
	if fn, err := r.Next(); err == nil && fn != nil && fn.Children {
		w := walk{im: im, r: r}
		w.children(&all)
	}
	im.abstract[of] = all
	return all
}

// merge puts the places of own into the parameters of their abstract function.
func (im *Image) merge(abstract, own []parameter) []parameter {
	var all []parameter
	for _, p := range abstract {
		for _, o := range own {
			if o.entry == p.entry {
				p.expr, p.list = o.expr, o.list
			}
		}
		all = append(all, p)
	}
	return all
}
