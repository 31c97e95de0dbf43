package heap

// Types flow: a variable of type *T that points to an object says that a T lies there. So does
// an interface, which knows its type itself, and a type header. Each object keeps all that was
// said of it; name.go decides. Maps, channels and functions have pointers that DWARF does not
// give the type of: what is behind them follows from the runtime's structures.

import (
	"cmp"
	"debug/dwarf"
	"encoding/binary"
	"reflect"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"

	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

// flow is what has been said of objects.
type flow struct {
	said  map[uint32][]claim
	seen  map[claimAt]bool
	queue []claimAt
	byKey map[string]godwarf.Type
	done  bool
}

// claim is a type that somebody says an object to have, from a place in it on.
type claim struct {
	t     godwarf.Type
	name  string // of what has no DWARF type
	off   uint64
	count uint64 // of an array of them
	size  uint64 // bytes of all
	known bool   // the runtime itself says it
}

// claimAt is a claim about a slot, once.
type claimAt struct {
	slot  uint32
	off   uint64
	count uint64
	t     godwarf.Type
}

// Limits of the flow.
const (
	maxClaims = 1 << 26
	maxDepth  = 64 // types within types
)

// Types gives objects their types. Host.
func (h *Heap) Types() {
	if h.done {
		return
	}
	h.done = true
	h.said, h.seen, h.byKey = map[uint32][]claim{}, map[claimAt]bool{}, map[string]godwarf.Type{}
	h.objects(func(s *span, n uint64, slot uint32) {
		r, at := h.header(s, n)
		if r == nil {
			return
		}
		if t := h.runtimeType(r.addr); t != nil && uint64(t.Size()) == r.size {
			h.claim(slot, at, t, (s.elem-at)/r.size, true)
		}
	})
	for i := range h.roots {
		for _, v := range h.roots[i].typed {
			h.value(v.t, v.b, 0)
		}
	}
	for len(h.queue) > 0 && len(h.seen) < h.claims {
		c := h.queue[len(h.queue)-1]
		h.queue = h.queue[:len(h.queue)-1]
		s, n := h.spanOf(c.slot)
		if s.noscan || s.content == nil {
			continue
		}
		b := s.content[n*s.elem : (n+1)*s.elem]
		size := uint64(c.t.Size())
		for k := uint64(0); k < c.count && c.off+(k+1)*size <= uint64(len(b)); k++ {
			h.value(c.t, b[c.off+k*size:c.off+(k+1)*size], 0)
		}
	}
}

// same returns one type for all that have the name and the size, since Delve's types are not ours.
func (h *Heap) same(t godwarf.Type) godwarf.Type {
	key := typeName(t)
	if have, ok := h.byKey[key]; ok && have.Size() == t.Size() {
		return have
	}
	h.byKey[key] = t
	return t
}

// typeName is a type as it is shown.
func typeName(t godwarf.Type) string {
	if t == nil {
		return "?"
	}
	return cmp.Or(t.Common().Name, t.String())
}

// claim notes that count values of a type lie in an object from off on, and follows them.
func (h *Heap) claim(slot uint32, off uint64, t godwarf.Type, count uint64, known bool) {
	if t == nil || t.Size() <= 0 || count == 0 {
		return
	}
	size := uint64(t.Size())
	s, _ := h.spanOf(slot)
	if off+size > s.elem {
		return // it cannot be
	}
	count = min(count, (s.elem-off)/size)
	t = h.same(t)
	at := claimAt{slot, off, count, t}
	if h.seen[at] {
		return
	}
	h.seen[at] = true
	h.said[slot] = append(h.said[slot], claim{t: t, off: off, count: count, size: size * count,
		known: known})
	h.queue = append(h.queue, at)
}

// pointTo notes what a pointer of a known type says.
func (h *Heap) pointTo(addr uint64, t godwarf.Type, count uint64) {
	if slot, off, ok := h.find(addr); ok {
		h.claim(slot, off, t, count, false)
	}
}

// call notes a name for what has no type of its own.
func (h *Heap) call(addr uint64, name string, size uint64) {
	slot, off, ok := h.find(addr)
	if !ok {
		return
	}
	for _, c := range h.said[slot] {
		if c.name == name && c.off == off && c.size >= size {
			return
		}
	}
	if len(h.said[slot]) < 64 {
		h.said[slot] = append(h.said[slot], claim{name: name, off: off, size: size})
	}
}

// value follows the pointers of a value.
func (h *Heap) value(t godwarf.Type, b []byte, depth int) {
	if t == nil || depth > maxDepth {
		return
	}
	word := func(off int64) uint64 {
		if off < 0 || off+8 > int64(len(b)) {
			return 0
		}
		return binary.LittleEndian.Uint64(b[off:])
	}
	switch u := t.(type) {
	case *godwarf.InterfaceType:
		h.iface(inspect.Plain(t), word(0), word(8), depth)
		return
	case *godwarf.ParametricType:
		return // what it is depends on the dictionary
	case *godwarf.ChanType, *godwarf.MapType:
	case *godwarf.FuncType:
		h.function(word(0), depth)
		return
	case *godwarf.TypedefType:
		h.value(u.Type, b, depth+1)
		return
	}
	switch u := inspect.Plain(inspect.Pointer(t)).(type) {
	case *godwarf.FuncType:
		h.function(word(0), depth)
	case *godwarf.PtrType:
		if _, void := u.Type.(*godwarf.VoidType); !void {
			h.pointTo(word(0), u.Type, 1)
		}
	case *godwarf.StringType:
		if n := word(8); n > 0 {
			h.call(word(0), "string data", n)
		}
	case *godwarf.SliceType:
		h.pointTo(word(0), u.ElemType, word(16))
	case *godwarf.ArrayType:
		if u.Count <= 0 || u.Type == nil || u.Type.Size() <= 0 || !hasPointers(u.Type, 0) {
			return
		}
		size := u.Type.Size()
		for k := int64(0); k < u.Count && (k+1)*size <= int64(len(b)); k++ {
			h.value(u.Type, b[k*size:(k+1)*size], depth+1)
		}
	case *godwarf.StructType:
		h.structure(u, b, word, depth)
	}
}

// structure follows a struct's fields, and of the runtime's own structs what they leave open.
func (h *Heap) structure(u *godwarf.StructType, b []byte, word func(int64) uint64, depth int) {
	open := inspect.Leads(u, func(off uint64) uint64 { return word(int64(off)) })
	h.pointTo(open.Addr, open.Type, open.Count)
	for _, f := range u.Field {
		if f.Name == open.Skip || f.Type == nil {
			continue
		}
		size := f.Type.Size()
		if f.ByteOffset >= 0 && size > 0 && f.ByteOffset+size <= int64(len(b)) {
			h.value(f.Type, b[f.ByteOffset:f.ByteOffset+size], depth+1)
		}
	}
}

// iface follows an interface, whose first word says the type: itself, or in a table.
func (h *Heap) iface(u godwarf.Type, tab, data uint64, depth int) {
	if tab < pageSize || data < pageSize {
		return
	}
	if s, ok := u.(*godwarf.StructType); ok && !strings.HasSuffix(cmp.Or(s.StructName,
		s.Name), "eface") {
		off := uint64(8)
		if o, _, err := inspect.Field(h.named("internal/abi.ITab"), "Type"); err == nil {
			off = o
		}
		t, err := h.load(tab + off)
		if err != nil {
			return
		}
		tab = t
	}
	t := h.runtimeType(tab)
	if t == nil {
		return
	}
	if direct(t, 0) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], data)
		h.value(t, b[:], depth+1)
		return
	}
	h.pointTo(data, t, 1)
}

// direct reports whether an interface has a value of the type in its second word itself: it is
// one pointer.
func direct(t godwarf.Type, depth int) bool {
	if t == nil || t.Size() != 8 || depth > maxDepth {
		return false
	}
	switch u := inspect.Plain(t).(type) {
	case *godwarf.PtrType, *godwarf.FuncType, *godwarf.ChanType, *godwarf.MapType:
		return true
	case *godwarf.StructType:
		return len(u.Field) == 1 && direct(u.Field[0].Type, depth+1)
	case *godwarf.ArrayType:
		return u.Count == 1 && direct(u.Type, depth+1)
	}
	return t.Common().ReflectKind == reflect.UnsafePointer
}

// runtimeType returns the DWARF type of a runtime's descriptor; nil if it was made at run time.
func (h *Heap) runtimeType(addr uint64) godwarf.Type {
	for _, m := range h.modules {
		if addr >= m.types && addr < m.etypes {
			if off, ok := h.runtime[addr-m.types]; ok {
				return h.typeAt(off)
			}
		}
	}
	if off, ok := h.runtime[addr-h.bias]; ok {
		return h.typeAt(off)
	}
	return nil
}

// function follows a function value: the object begins with the code's address, and has what it
// has captured behind it.
func (h *Heap) function(addr uint64, depth int) {
	slot, off, ok := h.find(addr)
	if !ok || off != 0 {
		return
	}
	s, n := h.spanOf(slot)
	b := make([]byte, 8)
	if s.content != nil {
		b = s.content[n*s.elem : (n+1)*s.elem]
	} else if h.read(b, addr) != nil {
		return
	}
	pc := binary.LittleEndian.Uint64(b)
	fn := h.target.BinInfo().PCToFunc(pc)
	if fn == nil || fn.Entry != pc {
		return
	}
	name := "func " + fn.Name
	if slices.ContainsFunc(h.said[slot], func(c claim) bool { return c.name == name }) {
		return
	}
	h.call(addr, name, s.elem)
	for _, v := range h.captured(fn.Name) {
		if size := v.t.Size(); v.off > 0 && size > 0 && v.off+uint64(size) <= uint64(len(b)) {
			h.value(v.t, b[v.off:v.off+uint64(size)], depth+1)
		}
	}
}

// capture is a variable in a closure.
type capture struct {
	off uint64
	t   godwarf.Type
}

// captured returns what the debug information says that a function has captured.
func (h *Heap) captured(name string) (all []capture) {
	at, ok := h.functions[name]
	if !ok {
		return nil
	}
	r := h.data.Reader()
	r.Seek(at)
	if e, err := r.Next(); err != nil || e == nil || !e.Children {
		return nil
	}
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return all
		}
		if off, ok := e.Val(godwarf.AttrGoClosureOffset).(int64); ok && e.Tag == dwarf.TagVariable {
			if t, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok {
				if typ := h.typeAt(t); typ != nil {
					all = append(all, capture{uint64(off), typ})
				}
			}
		}
		if e.Children {
			r.SkipChildren()
		}
	}
}
