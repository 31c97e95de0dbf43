package argument

// What a function was called with, by proof: by what its own frame still holds of it, and by how
// its caller has made it. All that can be found must be the same.

import (
	"encoding/binary"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tools/symbol/flow"
	"github.com/zeroframe/zeroframe/tracer"
)

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// maxUp bounds how many callers are asked for one value, and how often.
const maxUp = 24

// An activation is a frame at its pc, with what is known of its function's code there.
type activation struct {
	im   *Image
	f    *Frame
	flow *flow.Function
	s    *flow.State
	in   *flow.Inst
	met  map[int64]bool // entries that are being looked for
}

// activation returns that of a frame; nil if its code cannot be followed.
func (im *Image) activation(f *Frame) *activation {
	if f.made {
		return f.active
	}
	f.made, f.constant = true, im.constant
	fl := im.flow(f.PC)
	if fl == nil || f.CFA == 0 {
		return nil
	}
	a := &activation{im: im, f: f, flow: fl, met: make(map[int64]bool)}
	if a.s, a.in, _ = fl.At(f.PC); a.s == nil {
		return nil
	}
	f.active = a
	return a
}

// program is the image for package flow.
type program struct{ im *Image }

func (c program) Name(pc uint64) string { return c.im.name(pc) }

func (c program) Length(text []byte) int { return code.Decode(text).Len }

func (c program) Constant(addr uint64) (uint64, bool) {
	b, ok := c.im.constant(addr, 8)
	if !ok {
		return 0, false
	}
	return le64(b), true
}

// flow returns the function at pc, followed; nil if that cannot be done.
func (im *Image) flow(pc uint64) *flow.Function {
	fn, ok := im.table.Find(uintptr(pc))
	if !ok {
		return nil
	}
	entry, end := uint64(fn.Entry()), uint64(fn.End())
	if f, ok := im.flows[entry]; ok {
		return f
	}
	if len(im.flows) >= maxKnown {
		clear(im.flows)
	}
	im.flows[entry] = nil
	text, ok := im.file.BytesAt(entry, end-entry)
	if !ok {
		return nil
	}
	read := flow.Read(program{im}, "", entry, end, text, func(pc uint64) (uint64, bool) {
		d, ok := fn.SPDelta(uintptr(pc))
		return uint64(d), ok
	})
	if read == nil {
		return nil
	}
	f := read.Fresh()
	f.Strict, f.ArgsSize = true, im.argsSize
	f.Object = func(at int64) (lo, hi int64) {
		if lo, hi = at, 1<<32; at < 0 {
			hi = 0 // as far as it is known: else all that may be
		}
		fn.StackObjects(func(o tracer.StackObject) {
			if at >= o.Offset && at-o.Offset < o.Size {
				lo, hi = o.Offset, o.Offset+o.Size
			}
		})
		return lo, hi
	}
	if f.Run(nil) {
		im.flows[entry] = f
	}
	return im.flows[entry]
}

// argsSize returns how many bytes a function gets on the stack.
func (im *Image) argsSize(pc uint64) int64 {
	if fn, ok := im.table.Find(uintptr(pc)); ok {
		return int64(fn.ArgsSize())
	}
	return 256 // which function it is is not known
}

// caller returns the frame that has called this one, if it stands at that very call. plain is set
// if the call names the function; else it may have come to it by a wrapper, which changes the
// receiver.
func (a *activation) caller() (up *activation, plain bool) {
	if a.f.Up == nil {
		return nil, false
	}
	if up = a.im.activation(a.f.Up); up == nil || up.in.Op != x86asm.CALL ||
		up.in.Next != a.f.Up.PC+1 {
		return nil, false
	}
	d, ok := up.flow.CFA(up.in.PC)
	if !ok || up.f.CFA-uint64(d) != a.f.CFA {
		return nil, false
	}
	to, direct := up.in.Target()
	if direct && to != a.flow.Start {
		return nil, false
	}
	return up, direct
}

// word returns the n lowest bytes of what a place held at the entry.
func (a *activation) entryReg(p, n int64) (v uint64, ok bool) {
	if a.met[p] || len(a.met) > maxUp {
		return 0, false
	}
	a.met[p] = true
	defer delete(a.met, p)
	var found values
	if up, plain := a.caller(); up != nil && (plain || p != 0 ||
		!strings.Contains(a.im.name(a.flow.Start), ").")) {
		if c := up.s.Regs[p]; c.Value != 0 && int64(c.Bytes) >= n {
			found.add(up.value(c, n, a.f))(n)
		}
	}
	found.add(a.holding(flow.Content{Value: a.flow.Entry(int(p)), Bytes: 8}, n, nil))(n)
	return found.one()
}

// values are what was found of one value.
type values struct {
	v           uint64
	some, clash bool
}

func (f *values) add(v uint64, ok bool) func(n int64) {
	return func(n int64) {
		if n < 8 {
			v &= 1<<(8*n) - 1
		}
		f.clash = f.clash || ok && f.some && v != f.v
		if ok {
			f.v, f.some = v, true
		}
	}
}

func (f *values) one() (uint64, bool) { return f.v, f.some && !f.clash }

// value returns the n lowest bytes of a content in this frame, whose callee is below, nil if it is
// not known.
func (a *activation) value(c flow.Content, n int64, below *Frame) (v uint64, ok bool) {
	switch x := a.flow.Node(c.Value); x.Kind {
	case flow.Const:
		return uint64(x.N), true
	case flow.Frame:
		return a.f.CFA + uint64(x.N), true
	case flow.Entry:
		return a.entryReg(x.N, n)
	}
	return a.holding(c, n, below)
}

// gprs are the names of the registers that a function does not keep, by x86's numbers.
var gprs = [...]string{"rax", "rcx", "rdx", "rbx", "", "", "rsi", "rdi", "r8", "r9", "r10", "r11",
	"r12", "r13", "", "r15"}

// holding returns what a register or a stack word has that holds a content.
func (a *activation) holding(c flow.Content, n int64, below *Frame) (v uint64, ok bool) {
	var found values
	for p, name := range gprs {
		if r := a.s.Regs[p]; name != "" && r.Value == c.Value && int64(r.Bytes) >= n &&
			a.f.Register != nil {
			found.add(a.f.Register(name))(n)
		}
	}
	lo, hi := a.given(below)
	for at, w := range a.s.Slots {
		if w.Value == c.Value && int64(w.Bytes) >= n && (at+n <= lo || at >= hi) &&
			!a.flow.Pointed(at, n) {
			found.add(a.f.number(a.f.CFA+uint64(at), int(n)))(n)
		}
	}
	if x := a.flow.Node(c.Value); x.Kind == flow.Mem { // a word of the frame, as it was at the entry
		at := a.flow.Node(x.A).N
		if _, over := a.s.Slots[at]; !over && !a.flow.Pointed(at, 8) {
			v, ok := a.f.word(a.f.CFA + uint64(at))
			found.add(v, ok)(n)
		}
	}
	return found.one()
}

// given returns the part of the frame that belongs to a callee.
func (a *activation) given(below *Frame) (lo, hi int64) {
	d, ok := a.flow.CFA(a.in.PC)
	switch {
	case !ok:
		return -1 << 62, 1 << 62
	case a.in.Op != x86asm.CALL:
		return 0, 0
	case below != nil:
		return -d, -d + a.im.argsSize(below.PC)
	}
	return -d, -d + a.flow.Outgoing(a.in)
}

// called returns what a parameter was at the function's entry: the bytes of a value of that size,
// if all of its scalars are known.
func (a *activation) called(homes []home, size int64) (b []byte, known []bool) {
	b, known = make([]byte, size), make([]bool, size)
	for _, h := range homes {
		var v uint64
		var ok bool
		if h.off < 0 || h.size < 0 || h.size > 8 || h.off+h.size > size {
			return nil, nil
		}
		if !h.stack {
			v, ok = a.entryReg(h.place, h.size)
		} else {
			word := h.place &^ 7
			if _, over := a.s.Slots[word]; !over && !a.flow.Pointed(h.place, h.size) {
				v, ok = a.f.word(a.f.CFA + uint64(word))
				v >>= 8 * uint64(h.place-word)
			}
		}
		if !ok {
			return nil, nil
		}
		for i := range h.size {
			b[h.off+i], known[h.off+i] = byte(v>>(8*i)), true
		}
	}
	return b, known
}

// together reports whether the pieces of a value, which the location list has at the frame's pc,
// are those that its first entry has had, when the variable came to be: then none was assigned to
// since.
func (im *Image) together(l *lists, list uint64, all []piece, f *Frame) bool {
	a := im.activation(f)
	if a == nil {
		return false
	}
	var first *entry
	for e := range l.entries(list) {
		if first == nil || e.lo < first.lo {
			first = &e
		}
	}
	if first == nil || first.usual {
		return false
	}
	then, ok := pieces(first.expr, f)
	s, in, _ := a.flow.At(first.lo)
	if !ok || s == nil || in.PC != first.lo || len(then) != len(all) {
		return false
	}
	for i := range all {
		p, q := &all[i], &then[i]
		if p.kind == isValue && q.kind == isValue && p.n == q.n {
			continue
		}
		x, y := a.content(a.s, p), a.content(s, q)
		if x.Value == 0 || x.Value != y.Value || uint64(min(x.Bytes, y.Bytes)) < p.size {
			return false
		}
	}
	return true
}

// content returns what a state has at a piece.
func (a *activation) content(s *flow.State, p *piece) flow.Content {
	at := int64(p.n - a.f.CFA)
	switch {
	case p.kind == inRegister && p.n < uint64(len(dwarfRegisters)):
		return s.Regs[dwarfRegisters[p.n]]
	case p.kind == inRegister && p.n >= 17 && p.n < 33:
		return s.Regs[flow.X+p.n-17]
	case p.kind == inMemory && !a.flow.Pointed(at, int64(p.size)):
		return a.flow.Slot(s, at)
	}
	return flow.Content{}
}

// dwarfRegisters are x86's numbers of the general registers, by DWARF's.
var dwarfRegisters = [...]uint8{0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15}
