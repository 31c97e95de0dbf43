package argument

// What a function was called with, by proof: by what its own frame still holds of it, and by how its
// caller has made it. All that can be found must be the same.

import (
	"encoding/binary"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// maxUp bounds how many callers are asked for one value, and how often.
const maxUp = 24

// An activation is a frame at its pc, with what is known of its function's code there.
type activation struct {
	im   *Image
	f    *Frame
	flow *flow
	s    *state
	in   *instruction
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
	if a.s, a.in = fl.at(f.PC); a.s == nil {
		return nil
	}
	f.active = a
	return a
}

// caller returns the frame that has called this one, if it stands at that very call. plain is set if
// the call names the function; else it may have come to it by a wrapper, which changes the receiver.
func (a *activation) caller() (up *activation, plain bool) {
	if a.f.Up == nil {
		return nil, false
	}
	if up = a.im.activation(a.f.Up); up == nil || up.in.Op != x86asm.CALL || up.in.next != a.f.Up.PC+1 {
		return nil, false
	}
	d, ok := up.flow.cfa(up.in.pc)
	if !ok || up.f.CFA-uint64(d) != a.f.CFA {
		return nil, false
	}
	to, direct := up.in.target()
	if direct && to != a.flow.entry {
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
	if up, plain := a.caller(); up != nil && (plain || p != 0 || !strings.Contains(a.im.name(a.flow.entry), ").")) {
		if c := up.s.regs[p]; c.id != 0 && int64(c.bytes) >= n {
			found.add(up.value(c, n, a.f))(n)
		}
	}
	if id := a.flow.ids[node{kind: entryReg, n: p}]; id != 0 {
		found.add(a.holding(content{id, 8}, n, nil))(n)
	}
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
func (a *activation) value(c content, n int64, below *Frame) (v uint64, ok bool) {
	switch x := a.flow.nodes[c.id]; x.kind {
	case konst:
		return uint64(x.n), true
	case frame:
		return a.f.CFA + uint64(x.n), true
	case entryReg:
		return a.entryReg(x.n, n)
	}
	return a.holding(c, n, below)
}

// holding returns what a register or a stack word has that holds a content.
func (a *activation) holding(c content, n int64, below *Frame) (v uint64, ok bool) {
	var found values
	names := [...]string{"rax", "rcx", "rdx", "rbx", "", "", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "", "r15"}
	for p, name := range names {
		if r := a.s.regs[p]; name != "" && r.id == c.id && int64(r.bytes) >= n && a.f.Register != nil {
			found.add(a.f.Register(name))(n)
		}
	}
	lo, hi := a.given(below)
	for at, w := range a.s.slots {
		if w.id == c.id && int64(w.bytes) >= n && (at+n <= lo || at >= hi) && !a.flow.pointed(at, n) {
			if b, ok := a.f.memory(a.f.CFA+uint64(at), uint64(n)); ok {
				var full [8]byte
				copy(full[:], b)
				found.add(le64(full[:]), true)(n)
			}
		}
	}
	if x := a.flow.nodes[c.id]; x.kind == entryArg {
		if _, over := a.s.slots[x.n]; !over && !a.flow.pointed(x.n, 8) {
			v, ok := a.f.word(a.f.CFA + uint64(x.n))
			found.add(v, ok)(n)
		}
	}
	return found.one()
}

// given returns the part of the frame that belongs to a callee.
func (a *activation) given(below *Frame) (lo, hi int64) {
	d, ok := a.flow.cfa(a.in.pc)
	switch {
	case !ok:
		return -1 << 62, 1 << 62
	case a.in.Op != x86asm.CALL:
		return 0, 0
	case below != nil:
		if fn, ok := a.im.table.Find(uintptr(below.PC)); ok {
			return -d, -d + int64(fn.ArgsSize())
		}
	}
	return -d, -d + a.flow.outgoing(a.in)
}

// called returns what a parameter was at the function's entry: the bytes of a value of that size, if
// all of its scalars are known.
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
			if _, over := a.s.slots[word]; !over && !a.flow.pointed(h.place, h.size) {
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

// together reports whether the pieces of a value, which the location list has at the frame's pc, are
// those that its first entry has had, when the variable came to be: then none was assigned to since.
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
	s, in := a.flow.at(first.lo)
	if !ok || s == nil || in.pc != first.lo || len(then) != len(all) {
		return false
	}
	for i := range all {
		p, q := &all[i], &then[i]
		if p.kind == isValue && q.kind == isValue && p.n == q.n {
			continue
		}
		x, y := a.content(a.s, p), a.content(s, q)
		if x.id == 0 || x.id != y.id || uint64(min(x.bytes, y.bytes)) < p.size {
			return false
		}
	}
	return true
}

// content returns what a state has at a piece.
func (a *activation) content(s *state, p *piece) content {
	switch {
	case p.kind == inRegister && p.n < uint64(len(dwarfRegisters)):
		return s.regs[dwarfRegisters[p.n]]
	case p.kind == inRegister && p.n >= 17 && p.n < 33:
		return s.regs[regX+p.n-17]
	case p.kind == inMemory:
		at := int64(p.n - a.f.CFA)
		if a.flow.pointed(at, int64(p.size)) {
			return content{}
		}
		if c, ok := s.slots[at]; ok {
			return c
		}
		return a.flow.untouched(at)
	}
	return content{}
}

// dwarfRegisters are x86's numbers of the general registers, by DWARF's.
var dwarfRegisters = [...]uint8{0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15}
