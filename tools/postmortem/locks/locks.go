package locks

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	stdelf "debug/elf"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tools/symbol/flow"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// Program is a program's code, of which functions are gone through as they are asked for. It may
// be used by one goroutine at a time. Context: host.
type Program struct {
	file     image
	readOnly []code.Segment
	names    map[uint64]string
	funcs    map[variant]*function     // nil while it is gone through, or if it cannot be
	decoded  map[uint64]*flow.Function // by entry, whether gone through or not
	reaches  map[uint64]reach          // functions that may come to a lock
}

// image is what is asked of the file.
type image interface {
	GoFunc(pc uint64) (lookup.GoFunc, bool)
	Lookup(pc uint64, ret bool) []lookup.Call
	BytesAt(addr, n uint64) ([]byte, bool)
}

func newProgram(file image) *Program {
	return &Program{file: file, names: make(map[uint64]string), funcs: make(map[variant]*function),
		decoded: make(map[uint64]*flow.Function), reaches: make(map[uint64]reach)}
}

// New returns the Program of a file. It is an error if the file is not for the 64-bit x86, is
// loaded at another address than it was linked for, or has no table of Go's functions.
func New(file *symbol.File) (*Program, error) {
	switch {
	case file.Machine != stdelf.EM_X86_64:
		return nil, fmt.Errorf("%s is for %v: which locks are held can be told of code for amd64 alone",
			file.Name(), file.Machine)
	case file.Type == stdelf.ET_DYN:
		return nil, fmt.Errorf(
			"%s is position-independent: build it with -buildmode=exe to be told which locks are held",
			file.Name())
	}
	p := newProgram(file)
	for i := range file.Sections {
		s := &file.Sections[i]
		if s.Flags&stdelf.SHF_ALLOC == 0 || s.Flags&(stdelf.SHF_WRITE|stdelf.SHF_EXECINSTR) != 0 ||
			s.Type == stdelf.SHT_NOBITS {
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

// Name returns the name of the function that begins at pc, or "". Assembly's suffix is cut off.
func (p *Program) Name(pc uint64) string {
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

// Length returns that of an instruction.
func (p *Program) Length(text []byte) int { return code.Decode(text).Len }

// Constant returns a word of the file's read-only data.
func (p *Program) Constant(addr uint64) (uint64, bool) {
	for _, s := range p.readOnly {
		if off, n := addr-s.Addr, uint64(len(s.Bytes)); off < n && n-off >= 8 {
			return binary.LittleEndian.Uint64(s.Bytes[off:]), true
		}
	}
	return 0, false
}

// read decodes the function that pc is in; nil if there is none.
func (p *Program) read(pc uint64) *flow.Function {
	g, ok := p.file.GoFunc(pc)
	if !ok {
		return nil
	}
	f, ok := p.decoded[g.Entry]
	if !ok {
		text, _ := p.file.BytesAt(g.Entry, g.End-g.Entry)
		f = flow.Read(p, g.Name, g.Entry, g.End, text, g.SPDelta)
		p.decoded[g.Entry] = f
	}
	return f
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
	code := p.read(pc)
	if code == nil {
		return nil
	}
	f = &function{Function: code.Fresh(), p: p, short: make(map[uint64]uint64), targets: targets}
	if f.Run(f) {
		p.funcs[v] = f
	}
	return p.funcs[v]
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
	s    *flow.State
	call *flow.Inst // at which it stands
}

// View is what is known of a frame besides its pc. Context: host.
type View struct {
	// where SP stood at the entry, with the return address on top
	SP   uint64
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
		for k := range of(q.s).calls {
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

// targets returns where those calls lead that the code does not name. One that the frame has made
// is known by the pointer of that time; one that it has not, by what is there now.
func (q *Point) targets() map[path]uint64 {
	found := make(map[path]uint64)
	for _, m := range []map[path]value{q.f.calls, of(q.s).calls} {
		for k, v := range m {
			delete(found, k)
			if to, ok := q.eval(v, 0); ok && q.p.Name(to) != "" {
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
	if to, ok := q.call.Target(); ok {
		return to, true
	}
	return q.eval(q.f.Get(q.s, q.call, q.call.Args[0]), 0)
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
	if to, ok := view.Caller.target(); !ok || to != f.Start {
		view.Caller = nil // it has called another one, such as a wrapper that jumps here
	}
	if primitive(f.Name) {
		return &Point{View: view, p: p, f: f, s: &flow.State{More: newState()}}, nil
	}
	s, in, block := f.At(at)
	if s == nil {
		return nil, fmt.Errorf("the code at %#x is never reached", pc)
	}
	q := &Point{Held: list(of(s).held), Freed: list(of(s).freed), Later: f.later(block, in.PC),
		View: view, p: p, f: f, s: s}
	if ret {
		q.call = in
	}
	return q, nil
}

// open reports whether a call that names no function stands in the code before the instruction that
// has at in it.
func (p *Program) open(at uint64) bool {
	f := p.read(at)
	if f == nil {
		return true
	}
	return slices.ContainsFunc(f.Insts, func(in flow.Inst) bool {
		_, direct := in.Target()
		return in.Next <= at && in.Op == x86asm.CALL && !direct
	})
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
	x := q.f.Node(v)
	switch x.Kind {
	case flow.Const:
		return uint64(x.N), true
	case flow.Frame:
		return q.cfa(x.N), true
	}
	// A register or a word of the frame that holds it, or it with something added.
	base, off := q.f.Base(v)
	for n, w := range q.Registers {
		if b, o := q.f.Base(q.s.Reg(n)); b == base {
			return w + uint64(off-o), true
		}
	}
	for _, at := range slices.Sorted(maps.Keys(q.s.Slots)) {
		c := q.s.Slots[at]
		if b, o := q.f.Base(c.Value); b == base && c.Bytes == 8 && !q.f.Pointed(at, 1) {
			if w, ok := q.Word(q.cfa(at)); ok {
				return w + uint64(off-o), true
			}
		}
	}
	switch x.Kind {
	case flow.Entry:
		if q.Caller != nil {
			return q.Caller.eval(q.Caller.s.Reg(int(x.N)), depth+1)
		}
	case flow.Add:
		w, ok := q.eval(x.A, depth+1)
		return w + uint64(x.N), ok
	case flow.Indexed:
		a, ok := q.eval(x.A, depth+1)
		b, ok2 := q.eval(x.B, depth+1)
		return a + b*uint64(x.N), ok && ok2
	case flow.Mem:
		if y := q.f.Node(x.A); y.Kind == flow.Frame {
			if _, over := q.s.Slots[y.N]; over || q.f.Pointed(y.N, 1) {
				return 0, false // it holds something else by now
			}
		}
		if a, ok := q.eval(x.A, depth+1); ok {
			return q.Word(a)
		}
	}
	return 0, false
}

// cfa returns the address at a distance from the CFA.
func (q *Point) cfa(n int64) uint64 { return q.SP + 8 + uint64(n) }
