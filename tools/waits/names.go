package waits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/zeroframe/zeroframe/tools/locks"
)

// An address gets the name by which the program's source would speak of it: variables are gone
// through from the package's and the frames' own on, through pointers, by their types, the
// nearest ones first, until what is waited for has been met.

// maxVisits bounds how many values are looked at.
const maxVisits = 1 << 20

// region is a value in memory that is still to be looked at.
type region struct {
	addr uint64
	typ  godwarf.Type
	name *path
	in   string // the struct's type and the field, if it is one
}

// path is a name in the making.
type path struct {
	up    *path
	step  string // .field, [3]
	root  string // in the first one: the variable
	where string // in the first one: the function and goroutine that have it, if it is no package's
}

func (n *path) String() string {
	var s string
	for ; n.up != nil; n = n.up {
		s = n.step + s
	}
	return n.root + s + n.where
}

func (n *path) add(step string) *path { return &path{up: n, step: step} }

type namer struct {
	p      *program
	wanted []uint64 // sorted
	names  map[uint64]string
	inside map[uint64]string // the type that has the object as a field, and the field
	queue  []region
	seen   map[seen]bool
	visits int
	types  map[uint64]dynamicType // of runtime types
	mds    []proc.ModuleData
}

type seen struct {
	addr uint64
	typ  godwarf.Type
}

// name gives each object its name.
func (p *program) name(all []*Goroutine) {
	n := &namer{p: p, names: make(map[uint64]string), inside: make(map[uint64]string), seen: make(map[seen]bool),
		types: make(map[uint64]dynamicType)}
	for _, g := range all {
		if g.Wait == nil {
			continue
		}
		for _, o := range g.Wait.Objects {
			if o.Addr != 0 {
				n.wanted = append(n.wanted, o.Addr)
			}
		}
	}
	slices.Sort(n.wanted)
	n.wanted = slices.Compact(n.wanted)
	if len(n.wanted) == 0 {
		return
	}
	n.mds, _ = proc.LoadModuleData(p.t.BinInfo(), p.mem)
	var std []region
	for name, v := range p.globals {
		r := region{v.Addr, v.RealType, &path{root: name}, ""}
		switch {
		case strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/"):
		case locks.Standard(name):
			std = append(std, r)
		default:
			n.queue = append(n.queue, r)
		}
	}
	byName := func(a, b region) int { return cmp.Compare(a.name.root, b.name.root) }
	slices.SortFunc(n.queue, byName)
	slices.SortFunc(std, byName)
	n.run()
	// What no package has, a frame may: of the functions of those who wait.
	var inner []region
	for _, g := range all {
		if g.Wait == nil || g.System {
			continue
		}
		for i := range g.frames {
			f := funcName(&g.frames[i])
			if f == "" || strings.HasPrefix(f, "runtime.") || strings.HasPrefix(f, "internal/") || strings.HasPrefix(f, "sync.") {
				continue
			}
			for _, v := range p.locals(g, i) {
				r := region{v.Addr, v.RealType, &path{root: v.Name, where: fmt.Sprintf(" of %s", f)}, ""}
				if locks.Standard(f) {
					inner = append(inner, r)
				} else {
					n.queue = append(n.queue, r)
				}
			}
		}
	}
	n.run()
	n.queue = append(std, inner...)
	n.run()
	for _, g := range all {
		if g.Wait == nil {
			continue
		}
		for _, o := range g.Wait.Objects {
			if o.Name = n.names[o.Addr]; o.Name == "" {
				o.Name = n.inside[o.Addr]
			}
			if in := n.inside[o.Addr]; strings.Count(o.Name, ".") > 4 && in != "" {
				o.Name = in
			}
			o.inside = n.inside[o.Addr]
		}
	}
}

func (n *namer) run() {
	for len(n.queue) > 0 && n.visits < maxVisits && len(n.names) < len(n.wanted) {
		r := n.queue[0]
		n.queue = n.queue[1:]
		n.visit(r)
	}
	n.queue = nil
}

// visit looks at a value and queues what it points to.
func (n *namer) visit(r region) {
	t := resolve(r.typ)
	key := seen{r.addr, t}
	if n.visits++; n.seen[key] || r.addr == 0 {
		return
	}
	n.seen[key] = true
	n.meet(r, t)
	n.walk(r, t, 0)
}

// meet names what lies in the value.
func (n *namer) meet(r region, t godwarf.Type) {
	size := uint64(max(t.Size(), 1))
	i, _ := slices.BinarySearch(n.wanted, r.addr)
	for ; i < len(n.wanted) && n.wanted[i]-r.addr < size; i++ {
		w := n.wanted[i]
		if n.names[w] != "" {
			continue
		}
		name, in := descend(r.name, r.typ, w-r.addr)
		if name == nil {
			continue
		}
		n.names[w] = name.String()
		if in != "" {
			n.inside[w] = in
		}
	}
}

// primitives are the types at which a name ends.
var primitives = map[string]bool{
	"sync.Mutex": true, "sync.RWMutex": true, "sync.WaitGroup": true, "sync.Once": true, "sync.Cond": true,
	"internal/sync.Mutex": true, "runtime.hchan": true,
}

// descend goes down to what lies off bytes into a value of type t. in is the last named struct
// on the way, with the field.
func descend(name *path, t godwarf.Type, off uint64) (_ *path, in string) {
	for range 64 {
		if td, ok := t.(*godwarf.TypedefType); ok && primitives[td.Name] && off == 0 {
			return name, in
		}
		if primitives[t.Common().Name] {
			return name, in
		}
		switch x := resolve(t).(type) {
		case *godwarf.StructType:
			var field *godwarf.StructField
			for _, f := range x.Field {
				if off >= uint64(f.ByteOffset) && off-uint64(f.ByteOffset) < uint64(f.Type.Size()) {
					field = f
				}
			}
			if field == nil {
				return name, in
			}
			if primitives[x.StructName] || strings.HasPrefix(x.StructName, "sync/atomic.") {
				return name, in
			}
			name = name.add("." + field.Name)
			in = fmt.Sprintf("%s.%s", x.StructName, field.Name)
			off -= uint64(field.ByteOffset)
			t = field.Type
		case *godwarf.ArrayType:
			size := uint64(x.Type.Size())
			if size == 0 {
				return name, in
			}
			name = name.add(fmt.Sprintf("[%d]", off/size))
			off %= size
			t = x.Type
		default:
			if off != 0 {
				return nil, ""
			}
			return name, in
		}
	}
	return nil, ""
}

// walk queues what the pointers in a value lead to.
func (n *namer) walk(r region, t godwarf.Type, depth int) {
	if depth > 16 || primitives[r.typ.Common().Name] {
		return
	}
	switch x := t.(type) {
	case *godwarf.SliceType:
		ptr, count := n.p.word(r.addr), min(n.p.word(r.addr+8), maxElements)
		if elem := x.ElemType; count > 0 && !n.seen[seen{ptr + 1, elem}] {
			n.seen[seen{ptr + 1, elem}] = true
			array := &godwarf.ArrayType{Type: elem, Count: int64(count)}
			array.ByteSize = elem.Size() * int64(count)
			n.push(region{ptr, array, r.name, ""})
		}
	case *godwarf.StringType:
	case *godwarf.StructType:
		for _, f := range x.Field {
			n.walk(region{r.addr + uint64(f.ByteOffset), f.Type, r.name.add("." + f.Name), x.StructName + "." + f.Name},
				resolve(f.Type), depth+1)
		}
	case *godwarf.ArrayType:
		size := x.Type.Size()
		elem := resolve(x.Type)
		if _, basic := elem.(interface{ Basic() *godwarf.BasicType }); basic || size <= 0 {
			return
		}
		for i := range min(x.Count, maxElements) {
			n.walk(region{r.addr + uint64(i*size), x.Type, r.name.add(fmt.Sprintf("[%d]", i)), ""}, elem, depth+1)
		}
	case *godwarf.PtrType:
		if resolve(x.Type) != nil && x.Type.Size() > 0 {
			n.push(region{n.p.word(r.addr), x.Type, r.name, ""})
		}
	case *godwarf.ChanType:
		c := n.p.word(r.addr)
		if _, found := slices.BinarySearch(n.wanted, c); found && n.names[c] == "" {
			n.names[c], n.inside[c] = r.name.String(), r.in
		}
	case *godwarf.InterfaceType:
		n.dynamic(r, x)
	case *godwarf.MapType:
		n.table(r, x)
	}
}

// maxElements bounds how many elements of an array, slice or map are looked at.
const maxElements = 1 << 12

func (n *namer) push(r region) {
	if r.addr != 0 && len(n.queue) < maxVisits {
		n.queue = append(n.queue, r)
	}
}

// dynamic queues what is in an interface.
func (n *namer) dynamic(r region, x *godwarf.InterfaceType) {
	tab, data := n.p.word(r.addr), n.p.word(r.addr+8)
	if s, ok := resolve(x.Type).(*godwarf.StructType); !ok || tab == 0 || data == 0 {
		return
	} else if len(s.Field) > 0 && s.Field[0].Name == "tab" {
		tab = n.p.get(tab, "internal/abi.ITab.Type")
	}
	t, direct := n.typeAt(tab)
	switch {
	case t == nil:
	case direct:
		n.walk(region{r.addr + 8, t, r.name, r.in}, resolve(t), 0)
	default:
		n.push(region{data, t, r.name, ""})
	}
}

// typeAt returns the type that the runtime describes at addr, and whether an interface has a
// value of it in itself.
func (n *namer) typeAt(addr uint64) (godwarf.Type, bool) {
	if d, ok := n.types[addr]; ok {
		return d.typ, d.direct
	}
	var d dynamicType
	scope := proc.FrameToScope(n.p.t, n.p.mem, nil, 0, proc.Stackframe{})
	v, err := scope.EvalExpression(fmt.Sprintf(`*(*"internal/abi".Type)(%#x)`, addr), proc.LoadConfig{})
	if err == nil {
		if d.typ, d.direct, err = proc.RuntimeTypeToDIE(v, 0, n.mds); err != nil {
			d = dynamicType{}
		}
	}
	n.types[addr] = d
	return d.typ, d.direct
}

type dynamicType struct {
	typ    godwarf.Type
	direct bool
}

// table queues the keys and elements of a map: internal/runtime/maps has them in groups of eight,
// each behind a word with a byte for each slot, whose high bit says that it is empty.
func (n *namer) table(r region, x *godwarf.MapType) {
	m := n.p.word(r.addr)
	ptr, _ := resolve(x.Type).(*godwarf.PtrType)
	if m == 0 || ptr == nil {
		return
	}
	dirField, dirOff, ok := fieldOf(ptr.Type, "dirPtr")
	_, lenOff, ok2 := fieldOf(ptr.Type, "dirLen")
	if !ok || !ok2 {
		return
	}
	// The directory is a pointer to pointers to tables; a small map has its one group there.
	dir := n.p.word(m + uint64(dirOff))
	tables, _ := resolve(dirField.Type).(*godwarf.PtrType)
	if tables == nil {
		return
	}
	tablePtr, _ := resolve(tables.Type).(*godwarf.PtrType)
	if tablePtr == nil {
		return
	}
	groups, groupsOff, ok := fieldOf(tablePtr.Type, "groups")
	if !ok {
		return
	}
	data, dataOff, ok := fieldOf(groups.Type, "data")
	_, maskOff, ok2 := fieldOf(groups.Type, "lengthMask")
	if !ok || !ok2 {
		return
	}
	groupPtr, _ := resolve(data.Type).(*godwarf.PtrType)
	if groupPtr == nil {
		return
	}
	group := func(addr uint64) { n.group(addr, groupPtr.Type, r) }
	count := int64(n.p.word(m + uint64(lenOff)))
	if count == 0 {
		group(dir)
		return
	}
	last := uint64(0)
	for i := range min(count, maxElements) {
		t := n.p.word(dir + uint64(i)*8)
		if t == last {
			continue
		}
		last = t
		at := n.p.word(t + uint64(groupsOff+dataOff))
		for k := range min(n.p.word(t+uint64(groupsOff+maskOff))+1, maxElements) {
			group(at + k*uint64(groupPtr.Type.Size()))
		}
	}
}

func (n *namer) group(addr uint64, t godwarf.Type, r region) {
	slots, off, ok := fieldOf(t, "slots")
	if !ok || addr == 0 {
		return
	}
	array, _ := resolve(slots.Type).(*godwarf.ArrayType)
	if array == nil {
		return
	}
	ctrl := n.p.word(addr)
	for i := range uint64(min(array.Count, 8)) {
		if ctrl>>(8*i)&0x80 != 0 {
			continue
		}
		slot, _ := resolve(array.Type).(*godwarf.StructType)
		if slot == nil {
			return
		}
		for _, f := range slot.Field {
			n.push(region{addr + uint64(off) + i*uint64(array.Type.Size()) + uint64(f.ByteOffset), f.Type, r.name.add("[...]"), ""})
		}
	}
}
