package waits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/postmortem/locks"
)

// An address gets the name by which the program's source would speak of it: variables are gone
// through from the package's and the frames' own on, through pointers, by their types, the
// nearest ones first, until what is waited for has been met.

// maxVisits bounds how many values are looked at, maxElements how many elements of an array or a
// slice.
const (
	maxVisits   = 1 << 20
	maxElements = 1 << 12
)

// region is a value in memory that is still to be looked at.
type region struct {
	addr uint64
	typ  godwarf.Type
	name *path
	in   string // the struct's type and the field, if it is one
	hops int    // in a namer of what timers lead to: how many pointers have led here
}

// In the place of a region's in: tables of a map, the slots of a group of its elements, one of
// them.
const (
	inTables = "tables"
	inSlots  = "slots"
	inSlot   = "slot"
)

// path is a name in the making.
type path struct {
	up    *path
	step  string // .field, [3]
	root  string // in the first one: the variable
	where string // in the first one: the function that has it, if it is no package's
}

func (n *path) String() string {
	var s string
	for ; n.up != nil; n = n.up {
		s = n.step + s
	}
	return n.root + s + n.where
}

// at returns a part of a region.
func (r *region) at(off int64, t godwarf.Type, step, in string) region {
	return region{r.addr + uint64(off), t, &path{up: r.name, step: step}, in, r.hops}
}

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
	timers bool // it looks at what the functions of timers lead to
}

type seen struct {
	addr uint64
	typ  godwarf.Type
}

func (p *program) newNamer() *namer {
	return &namer{p: p, names: make(map[uint64]string), inside: make(map[uint64]string),
		seen: make(map[seen]bool), types: make(map[uint64]dynamicType)}
}

// want has it look for what goroutines wait for.
func (n *namer) want(all []*Goroutine) {
	for _, o := range objects(all) {
		if o.Addr != 0 {
			n.wanted = append(n.wanted, o.Addr)
		}
	}
	slices.Sort(n.wanted)
	n.wanted = slices.Compact(n.wanted)
	n.mds, _ = proc.LoadModuleData(n.p.t.BinInfo(), n.p.mem)
}

// name gives each object its name.
func (p *program) name(all []*Goroutine) {
	n := p.newNamer()
	if n.want(all); len(n.wanted) == 0 {
		return
	}
	var own, std []region
	add := func(v *proc.Variable, name, where string, standard bool) {
		r := region{v.Addr, v.RealType, &path{root: name, where: where}, "", 0}
		if standard {
			std = append(std, r)
		} else {
			own = append(own, r)
		}
	}
	for name, v := range p.globals {
		if !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "internal/") {
			add(v, name, "", locks.Standard(name))
		}
	}
	for _, list := range [][]region{own, std} {
		slices.SortFunc(list, func(a, b region) int { return cmp.Compare(a.name.root, b.name.root) })
	}
	n.run(own)
	own = nil
	// What no package has, a frame may: of the functions of those who wait.
	for _, g := range all {
		for i := range g.frames {
			f := funcName(&g.frames[i])
			if g.Wait == nil || g.System || f == "" || strings.HasPrefix(f, "runtime.") ||
				strings.HasPrefix(f, "internal/") || strings.HasPrefix(f, "sync.") {
				continue
			}
			for _, v := range p.locals(g, i) {
				add(v, v.Name, " of "+f, locks.Standard(f))
			}
		}
	}
	n.run(own)
	n.run(std)
	for _, o := range objects(all) {
		in := n.inside[o.Addr]
		if o.Name = cmp.Or(n.names[o.Addr], in); strings.Count(o.Name, ".") > 4 && in != "" {
			o.Name = in
		}
	}
}

// run looks at regions, and at what they lead to.
func (n *namer) run(queue []region) {
	for n.queue = queue; len(n.queue) > 0 && n.visits < maxVisits &&
		len(n.names) < len(n.wanted); n.visits++ {
		r := n.queue[0]
		n.queue = n.queue[1:]
		if key := (seen{r.addr, inspect.Plain(r.typ)}); !n.seen[key] {
			n.seen[key] = true
			n.walk(r, 0)
		}
	}
}

// within returns what is wanted in some bytes.
func (n *namer) within(addr uint64, size int64) []uint64 {
	i, _ := slices.BinarySearch(n.wanted, addr)
	j := i
	for j < len(n.wanted) && n.wanted[j]-addr < uint64(max(size, 1)) {
		j++
	}
	return n.wanted[i:j]
}

// meet names what is wanted in some bytes.
func (n *namer) meet(r region, addr uint64, size int64) {
	for _, w := range n.within(addr, size) {
		if n.names[w] == "" {
			n.names[w] = r.name.String()
			if r.in != "" {
				n.inside[w] = r.in
			}
		}
	}
}

// primitives are the types at which a name ends.
var primitives = map[string]bool{
	"sync.Mutex": true, "sync.RWMutex": true, "sync.WaitGroup": true, "sync.Once": true,
	"sync.Cond":           true,
	"internal/sync.Mutex": true, "runtime.hchan": true,
}

// walk names what lies in a value, and queues what its pointers lead to.
func (n *namer) walk(r region, depth int) {
	t := inspect.Plain(r.typ)
	if depth > 16 || t == nil || r.typ == nil {
		return
	}
	if s, ok := t.(*godwarf.StructType); primitives[r.typ.Common().Name] ||
		ok && (primitives[s.StructName] || strings.HasPrefix(s.StructName, "sync/atomic.") &&
			!(n.timers && s.StructName == "sync/atomic.Value")) {
		n.meet(r, r.addr, t.Size())
		return
	}
	switch x := t.(type) {
	case *godwarf.StructType:
		if n.timers && strings.HasPrefix(x.StructName, "context.") {
			r.hops = 0
		}
		open := inspect.Leads(x, func(off uint64) uint64 { return n.p.word(r.addr + off) })
		if open.Type != nil {
			n.array(&r, open.Addr, open.Type, open.Count, inTables)
		}
		for _, f := range x.Field {
			step, in := "."+f.Name, x.StructName+"."+f.Name
			if r.in == inSlot || inspect.OfMap(x) {
				step, in = "", ""
			}
			if f.Name == "slots" && step == "" {
				in = inSlots
			}
			if f.Name != open.Skip && (!n.timers || cancels(x.StructName, f.Name)) {
				n.walk(r.at(f.ByteOffset, f.Type, step, in), depth+1)
			}
		}
		return
	case *godwarf.ArrayType:
		n.elements(r, x, depth)
		return
	}
	n.meet(r, r.addr, 1)
	switch x := t.(type) {
	case *godwarf.SliceType:
		n.array(&r, n.p.word(r.addr), x.ElemType, n.p.word(r.addr+8), "")
	case *godwarf.PtrType:
		if inspect.Plain(x.Type) != nil && x.Type.Size() > 0 {
			n.push(region{n.p.word(r.addr), x.Type, r.name, "", r.hops})
		}
	case *godwarf.ChanType:
		n.meet(r, n.p.word(r.addr), 1)
	case *godwarf.InterfaceType:
		n.dynamic(r, x)
	case *godwarf.FuncType:
		n.closure(r)
	case *godwarf.MapType:
		if m := n.p.word(r.addr); m != 0 {
			n.walk(region{m, inspect.Pointee(x), r.name, "", r.hops}, depth+1)
		}
	}
}

// elements walks those of an array: those that are wanted, and if they may have pointers, the first
// ones.
func (n *namer) elements(r region, x *godwarf.ArrayType, depth int) {
	size := x.Type.Size()
	if size <= 0 {
		return
	}
	one := func(i int64) {
		step, in := fmt.Sprintf("[%d]", i), r.in
		switch in {
		case inTables:
			step, in = "", ""
		case inSlots:
			step, in = "[...]", inSlot
		}
		n.walk(r.at(i*size, x.Type, step, in), depth+1)
	}
	for _, w := range n.within(r.addr, x.Size()) {
		one(int64(w-r.addr) / size)
	}
	if _, basic := inspect.Plain(x.Type).(interface{ Basic() *godwarf.BasicType }); !basic {
		for i := range min(x.Count, maxElements) {
			one(i)
		}
	}
}

// array queues values that lie one after the other.
func (n *namer) array(r *region, addr uint64, elem godwarf.Type, count uint64, in string) {
	count = min(count, maxElements)
	if key := (seen{addr + 1, elem}); count > 0 && !n.seen[key] {
		n.seen[key] = true
		array := &godwarf.ArrayType{Type: elem, Count: int64(count)}
		array.ByteSize = elem.Size() * int64(count)
		n.push(region{addr, array, r.name, in, r.hops})
	}
}

func (n *namer) push(r region) {
	if r.hops++; n.timers && r.hops > timerHops {
		return
	}
	if r.addr != 0 && len(n.queue) < maxVisits {
		n.queue = append(n.queue, r)
	}
}

// dynamic queues what is in an interface.
func (n *namer) dynamic(r region, x *godwarf.InterfaceType) {
	tab, data := n.p.word(r.addr), n.p.word(r.addr+8)
	if s, ok := inspect.Plain(x.Type).(*godwarf.StructType); !ok || tab == 0 || data == 0 {
		return
	} else if len(s.Field) > 0 && s.Field[0].Name == "tab" {
		tab = n.p.get(tab, "internal/abi.ITab.Type")
	}
	if n.timers {
		n.meet(r, data, 1) // a channel, of whatever type
	}
	t, direct := n.typeAt(tab)
	switch {
	case t == nil:
	case direct:
		n.walk(region{r.addr + 8, t, r.name, r.in, r.hops}, 0)
	default:
		n.push(region{data, t, r.name, "", r.hops})
	}
}

// typeAt returns the type that the runtime describes at addr, and whether an interface has a
// value of it in itself.
func (n *namer) typeAt(addr uint64) (godwarf.Type, bool) {
	if d, ok := n.types[addr]; ok {
		return d.typ, d.direct
	}
	var d dynamicType
	scope := n.p.scope()
	v, err := scope.EvalExpression(fmt.Sprintf(`*("*internal/abi.Type")(%#x)`, addr),
		proc.LoadConfig{})
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
