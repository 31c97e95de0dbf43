package locks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	stdelf "debug/elf"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/code"
	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// Program is a program's code, of which functions are gone through as they are asked for. It may
// be used by one goroutine at a time. Context: host.
type Program struct {
	file     image
	readOnly []code.Segment
	names    map[uint64]string
	funcs    map[variant]*function // nil while it is gone through, or if it cannot be
	decoded  map[uint64]*function  // by entry, whether gone through or not
	reaches  map[uint64]reach      // functions that may come to a lock
}

// image is what is asked of the file.
type image interface {
	GoFunc(pc uint64) (lookup.GoFunc, bool)
	Lookup(pc uint64, ret bool) []lookup.Call
	BytesAt(addr, n uint64) ([]byte, bool)
}

func newProgram(file image) *Program {
	return &Program{file: file, names: make(map[uint64]string), funcs: make(map[variant]*function),
		decoded: make(map[uint64]*function), reaches: make(map[uint64]reach)}
}

// New returns the Program of a file. It is an error if the file is not for the 64-bit x86, is
// loaded at another address than it was linked for, or has no table of Go's functions.
func New(file *symbol.File) (*Program, error) {
	switch {
	case file.Machine != stdelf.EM_X86_64:
		return nil, fmt.Errorf("%s is for %v: which locks are held can be told of code for amd64 alone", file.Name(), file.Machine)
	case file.Type == stdelf.ET_DYN:
		return nil, fmt.Errorf("%s is position-independent: build it with -buildmode=exe to be told which locks are held", file.Name())
	}
	p := newProgram(file)
	for i := range file.Sections {
		s := &file.Sections[i]
		if s.Flags&stdelf.SHF_ALLOC == 0 || s.Flags&(stdelf.SHF_WRITE|stdelf.SHF_EXECINSTR) != 0 || s.Type == stdelf.SHT_NOBITS {
			continue
		}
		// Go's tables are no data of the program; they are large, and nothing in code points there.
		if s.Name == ".gopclntab" || strings.HasPrefix(s.Name, ".debug") {
			continue
		}
		if b, err := file.Data(s); err == nil {
			p.readOnly = append(p.readOnly, code.Segment{Addr: s.Addr, Bytes: b})
		}
	}
	return p, nil
}

func (p *Program) bytes(lo, hi uint64) []byte {
	b, _ := p.file.BytesAt(lo, hi-lo)
	return b
}

// length returns the length of an instruction that x86asm does not know.
func (p *Program) length(pc uint64) int {
	b, _ := p.file.BytesAt(pc, 16)
	i := code.Decode(b)
	return int(i.Len)
}

// name returns the name of the function that begins at pc, or "". Assembly's suffix is cut off.
func (p *Program) name(pc uint64) string {
	if n, ok := p.names[pc]; ok {
		return n
	}
	n := ""
	if g, ok := p.file.GoFunc(pc); ok && g.Entry == pc {
		n = strings.TrimSuffix(g.Name, ".abi0")
	}
	p.names[pc] = n
	return n
}

// variant is a function with the targets of calls that its code does not name.
type variant struct {
	entry   uint64
	targets string
}

// variant returns the function that pc is in, gone through, with what calls in it lead to that name
// no function; nil if that was not asked.
func (p *Program) variant(pc uint64, targets map[path]uint64) *function {
	g, ok := p.file.GoFunc(pc)
	if !ok {
		return nil
	}
	v := variant{entry: g.Entry}
	if targets != nil {
		v.targets = "with"
		for _, k := range slices.Sorted(maps.Keys(targets)) {
			v.targets += string(k) + string(at(targets[k]))
		}
	}
	f, ok := p.funcs[v]
	if ok {
		return f
	}
	p.funcs[v] = nil
	if f = p.read(pc); f == nil {
		return nil
	}
	f = f.fresh(targets)
	if p.run(f); f.failed {
		return nil
	}
	p.funcs[v] = f
	return f
}

// Held is a lock that a frame has taken and not given back when it stands at a pc.
type Held struct {
	Mode Mode
	// Must is set if each way to the pc takes the lock and none gives it back; without it
	// some do.
	Must bool
	// At is the address of the instruction that takes it; 0 for one that was Freed.
	At   uint64
	addr value
}

// Point is a place in a function at which a frame stands. Context: host.
type Point struct {
	// Held are the locks the frame has taken; Freed are those it has given back without
	// having taken them: its callers have.
	Held, Freed []Held
	// Later are the operations on channels and the like that the frame may still come to.
	Later []Operation
	// Open is set if the function has called what neither the code nor the stack names, as a
	// method of an interface: that may have taken any lock.
	Open bool
	View
	p    *Program
	f    *function
	s    *state
	call *inst // at which it stands
}

// View is what is known of a frame besides its pc. Context: host.
type View struct {
	SP   uint64                                // where SP stood at the entry, with the return address on top
	Word func(addr uint64) (w uint64, ok bool) // reads memory
	// Registers has what is known of the frame's registers, by x86's numbers: of the frame in
	// which a goroutine runs.
	Registers map[int]uint64
	Caller    *Point // of the frame that has called; nil if it is not known
}

// At returns what is known of a frame that stands at pc; ret says that pc is a return address. It
// is an error if the function's code cannot be followed. Which functions were called through
// pointers, such as the methods of interfaces, is read from the stack, as far as frames still have
// the pointer.
func (p *Program) At(pc uint64, ret bool, view View) (*Point, error) {
	var targets map[path]uint64
	for range maxCalls {
		q, err := p.point(pc, ret, targets, view)
		if err != nil || q.f == nil {
			return q, err
		}
		found := q.targets()
		for k := range q.s.calls {
			_, ok := found[k]
			q.Open = q.Open || !ok
		}
		if len(q.f.calls) == 0 || targets != nil && maps.Equal(found, targets) {
			return q, nil
		}
		targets = found
	}
	q, err := p.point(pc, ret, map[path]uint64{}, view)
	if err == nil {
		q.Open = true
	}
	return q, err
}

// targets returns where those calls lead that the code does not name. One that the frame has made is
// known by the pointer of that time; one that it has not, by what is there now.
func (q *Point) targets() map[path]uint64 {
	found := make(map[path]uint64)
	for _, m := range []map[path]value{q.f.calls, q.s.calls} {
		for k, v := range m {
			delete(found, k)
			if to, ok := q.eval(v, 0); ok && q.p.name(to) != "" {
				found[k] = to
			}
		}
	}
	return found
}

// target returns the function that the call leads to at which the frame stands.
func (q *Point) target() (uint64, bool) {
	if q == nil || q.call == nil || q.call.Op != x86asm.CALL {
		return 0, false
	}
	if to, ok := q.call.target(); ok {
		return to, true
	}
	return q.eval(q.p.get(q.f, q.s, q.call, q.call.Args[0]), 0)
}

func (p *Program) point(pc uint64, ret bool, targets map[path]uint64, view View) (*Point, error) {
	at := pc
	if ret {
		at--
	}
	if g, ok := p.file.GoFunc(at); ok && !p.comesToLock(g.Entry, maxCalls) {
		return &Point{Open: p.open(at)}, nil
	}
	f := p.variant(at, targets)
	if f == nil {
		return nil, fmt.Errorf("the code at %#x cannot be followed", pc)
	}
	if to, ok := view.Caller.target(); !ok || to != f.start {
		view.Caller = nil // it has called another one, such as a wrapper that jumps here
	}
	if primitive(f.name) {
		return &Point{View: view, p: p, f: f, s: &state{slots: map[int64]value{}}}, nil
	}
	i, ok := f.index(at)
	if !ok {
		i-- // in the middle of the call
	}
	if i < 0 {
		return nil, fmt.Errorf("the code at %#x cannot be followed", pc)
	}
	stop := f.insts[i].pc
	start := uint64(0)
	for pc := range f.before {
		if pc <= stop && pc >= start {
			start = pc
		}
	}
	s := f.before[start].clone()
	whole := false
	p.block(f, s, start, stop, func(uint64) { whole = true })
	if whole || f.leads[stop] && start != stop {
		return nil, fmt.Errorf("the code at %#x is never reached", pc)
	}
	q := &Point{Held: list(s.held), Freed: list(s.freed), Later: f.later(start, stop), View: view, p: p, f: f, s: s}
	if ret {
		q.call = &f.insts[i]
	}
	return q, nil
}

// open reports whether a call that names no function stands in the code before the instruction that has at
// in it.
func (p *Program) open(at uint64) bool {
	f := p.read(at)
	if f == nil {
		return true
	}
	for i := range f.insts {
		in := &f.insts[i]
		if in.next > at {
			break
		}
		if _, direct := in.target(); in.Op == x86asm.CALL && !direct {
			return true
		}
	}
	return false
}

func list(m map[hold]bool) []Held {
	var all []Held
	for h, must := range m {
		all = append(all, Held{h.mode, must, h.at, h.addr})
	}
	slices.SortFunc(all, func(a, b Held) int {
		return (int(a.At)-int(b.At))*4 + (int(a.addr)-int(b.addr))*2 + int(a.Mode) - int(b.Mode)
	})
	return all
}

// Address returns where the lock is in memory. It reports false if the frame has not kept what
// is needed, and its callers have not.
func (q *Point) Address(h Held) (uint64, bool) { return q.eval(h.addr, 0) }

const maxDepth = 32

func (q *Point) eval(v value, depth int) (uint64, bool) {
	if depth > maxDepth || v == 0 {
		return 0, false
	}
	x := q.f.nodes[v]
	switch x.kind {
	case konst:
		return uint64(x.n), true
	case frame:
		return q.SP + uint64(x.n), true
	}
	// A stack word that holds it, or it with something added.
	base, off := q.f.base(v)
	for n, w := range q.Registers {
		if b, o := q.f.base(q.s.regs[n]); b == base && b != 0 {
			return w + uint64(off-o), true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(q.s.slots)) {
		b, o := q.f.base(q.s.slots[n])
		if b != base || b == 0 || q.f.taken[n] {
			continue
		}
		if w, ok := q.Word(q.SP + uint64(n)); ok {
			return w + uint64(off-o), true
		}
	}
	switch x.kind {
	case entry:
		if q.Caller != nil {
			return q.Caller.eval(q.Caller.s.regs[x.n], depth+1)
		}
	case add:
		w, ok := q.eval(x.a, depth+1)
		return w + uint64(x.n), ok
	case indexed:
		a, ok := q.eval(x.a, depth+1)
		b, ok2 := q.eval(x.b, depth+1)
		return a + b*uint64(x.n), ok && ok2
	case mem:
		if y := q.f.nodes[x.a]; y.kind == frame {
			if _, over := q.s.slots[y.n]; over || q.f.taken[y.n] {
				return 0, false // it holds something else by now
			}
		}
		if a, ok := q.eval(x.a, depth+1); ok {
			return q.Word(a)
		}
	}
	return 0, false
}
