package argument

// What a function's registers and stack words hold at each of its instructions, as far as its code
// alone says: what the function began with, a constant, an address in its own frame, or what a
// certain instruction has left there. Two places with the same one hold equal values. It is a data
// flow analysis over the blocks of the function; what an instruction does that is not known here,
// makes everything unknown.
//
// A stack word is followed only if no pointer leads to it, since a callee may write through one.

import (
	"maps"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/code"
	"github.com/zeroframe/zeroframe/tracer"
)

// The places of a state: 16 general registers by x86's numbers, the lower halves of the XMM
// registers, the upper ones.
const (
	regSP    = 4
	regBP    = 5
	regG     = 14
	regX     = 16
	regHigh  = 32
	allPlace = 48
)

type nodeKind uint8

const (
	unknown  nodeKind = iota
	konst             // n
	frame             // the address CFA + n
	entryReg          // what the register n held at the function's entry
	entryArg          // what the stack had at CFA + n at the entry
	result            // what the instruction at pc left in the place n
	merged            // what the place n held when the block at pc was entered last
)

type node struct {
	kind nodeKind
	n    int64
	pc   uint64
}

// A content is a node, as its number, of which a place holds the lowest bytes; 0: nothing is known.
type content struct {
	id    int32
	bytes uint8
}

// state is what is known before an instruction. Slots are by their distance from the CFA.
type state struct {
	regs  [allPlace]content
	slots map[int64]content
}

// instruction is one of a function.
type instruction struct {
	x86asm.Inst
	pc, next uint64
	size     int64 // of the memory operand, in bytes
}

// flow is a function whose code has been followed.
type flow struct {
	fn     tracer.Func
	entry  uint64
	insts  []instruction
	index  map[uint64]int
	leads  map[uint64]bool // where blocks begin
	jumps  map[uint64][]uint64
	taken  []span // stack words that a pointer may lead to
	nodes  []node
	ids    map[node]int32
	before map[uint64]*state
	im     *Image
}

type span struct{ lo, hi int64 }

// Limits of what is followed.
const (
	maxCode   = 64 << 10 // bytes of a function
	maxRounds = 64       // visits of a block
	maxSlots  = 512
)

// flow returns the function at pc, followed; nil if that cannot be done.
func (im *Image) flow(pc uint64) *flow {
	fn, ok := im.table.Find(uintptr(pc))
	if !ok {
		return nil
	}
	entry := uint64(fn.Entry())
	if f, ok := im.flows[entry]; ok {
		return f
	}
	if len(im.flows) >= maxKnown {
		clear(im.flows)
	}
	f := &flow{fn: fn, entry: entry, im: im, index: make(map[uint64]int), leads: map[uint64]bool{entry: true},
		jumps: make(map[uint64][]uint64), nodes: make([]node, 1), ids: make(map[node]int32), before: make(map[uint64]*state)}
	if !f.decode() || !f.run() {
		f = nil
	}
	im.flows[entry] = f
	return f
}

// decode reads the instructions and finds where blocks begin and which stack words have pointers.
func (f *flow) decode() bool {
	size := uint64(f.fn.End()) - f.entry
	text, ok := f.im.file.BytesAt(f.entry, size)
	if !ok || size > maxCode {
		return false
	}
	for at := uint64(0); at < size; {
		x, err := x86asm.Decode(text[at:], 64)
		if err != nil || x.Len == 0 {
			if text[at] == 0xcc {
				break
			}
			n := code.Decode(text[at:])
			x = x86asm.Inst{Len: max(n.Len, 1)} // its Op is 0
		}
		in := instruction{Inst: x, pc: f.entry + at, next: f.entry + at + uint64(x.Len), size: int64(x.MemBytes)}
		f.index[in.pc] = len(f.insts)
		f.insts = append(f.insts, in)
		at += uint64(x.Len)
	}
	for i := range f.insts {
		in := &f.insts[i]
		if to, ok := in.target(); ok && in.Op != x86asm.CALL && f.holds(to) {
			f.leads[to] = true
		}
		if in.ends() || in.conditional() {
			f.leads[in.next] = true
		}
		if !f.takes(in) || in.Op == x86asm.JMP && !f.table(i) {
			return false
		}
	}
	return true
}

// takes notes the stack words of which an instruction makes the address, and reports false if
// that may be any.
func (f *flow) takes(in *instruction) bool {
	m, isMem := in.Args[1].(x86asm.Mem)
	for _, a := range in.Args {
		if m, ok := a.(x86asm.Mem); ok && m.Base == x86asm.RBP && in.Op != x86asm.LEA {
			return false
		}
	}
	switch {
	case in.Op == x86asm.LEA && isMem:
		switch {
		case in.Args[0] == x86asm.RBP || in.Args[0] == x86asm.RSP:
			return m.Base == x86asm.RSP || m.Base == x86asm.RBP
		case m.Base == x86asm.RBP || m.Index == x86asm.RSP:
			return false
		case m.Base == x86asm.RSP:
			at, ok := f.slot(in, m)
			f.taken = append(f.taken, f.object(at))
			return ok
		}
	case in.Args[1] == x86asm.RSP && in.Args[0] != x86asm.RBP && in.Op != x86asm.CMP:
		return false
	}
	return true
}

// object returns the extent of the variable at a distance from the CFA, as far as it is known: else
// all that may be.
func (f *flow) object(at int64) span {
	found := span{at, 1 << 32}
	if at < 0 {
		found.hi = 0
	}
	f.fn.StackObjects(func(o tracer.StackObject) {
		if at >= o.Offset && at-o.Offset < o.Size {
			found = span{o.Offset, o.Offset + o.Size}
		}
	})
	return found
}

// pointed reports whether a pointer may lead to some of the n bytes at a distance from the CFA.
func (f *flow) pointed(at, n int64) bool {
	for _, s := range f.taken {
		if at < s.hi && at+n > s.lo {
			return true
		}
	}
	return false
}

// table finds where an indirect jump leads: by a table of addresses that the code before has named. A
// jump out of the function needs none.
func (f *flow) table(i int) bool {
	in := &f.insts[i]
	if _, direct := in.target(); direct {
		return true
	}
	m, ok := in.Args[0].(x86asm.Mem)
	if !ok || m.Index == 0 {
		return false
	}
	for k := i - 1; k >= 0 && k > i-12; k-- {
		lea := &f.insts[k]
		src, ok := lea.Args[1].(x86asm.Mem)
		if lea.Op != x86asm.LEA || !ok || src.Base != x86asm.RIP || lea.Args[0] != m.Base {
			continue
		}
		for at := lea.next + uint64(src.Disp) + uint64(m.Disp); len(f.jumps[in.pc]) < 4096; at += 8 {
			b, ok := f.im.constant(at, 8)
			if !ok || !f.holds(le64(b)) {
				break
			}
			f.leads[le64(b)] = true
			f.jumps[in.pc] = append(f.jumps[in.pc], le64(b))
		}
		return len(f.jumps[in.pc]) > 0
	}
	return false
}

func (f *flow) holds(pc uint64) bool { return pc >= f.entry && pc < uint64(f.fn.End()) }

func (i *instruction) target() (uint64, bool) {
	rel, ok := i.Args[0].(x86asm.Rel)
	return i.next + uint64(int64(rel)), ok
}

// ends reports whether nothing runs on behind the instruction.
func (i *instruction) ends() bool {
	switch i.Op {
	case x86asm.JMP, x86asm.RET, x86asm.UD2, x86asm.INT, x86asm.HLT:
		return true
	}
	return false
}

func (i *instruction) conditional() bool {
	_, ok := i.target()
	return ok && i.Op != x86asm.CALL && i.Op != x86asm.JMP
}

// cfa returns how far the stack pointer is below the CFA before an instruction.
func (f *flow) cfa(pc uint64) (int64, bool) {
	d, ok := f.fn.SPDelta(uintptr(pc))
	return int64(d) + 8, ok
}

// slot returns the distance from the CFA of an operand on the stack.
func (f *flow) slot(in *instruction, m x86asm.Mem) (int64, bool) {
	d, ok := f.cfa(in.pc)
	return m.Disp - d, ok && m.Base == x86asm.RSP && m.Index == 0 && m.Segment == 0
}

func (f *flow) id(n node) int32 {
	v, ok := f.ids[n]
	if !ok {
		v = int32(len(f.nodes))
		f.nodes = append(f.nodes, n)
		f.ids[n] = v
	}
	return v
}

func (f *flow) konst(n int64, bytes uint8) content {
	return content{f.id(node{kind: konst, n: n}), bytes}
}

// define gives what an instruction leaves in a place its number; wherever that was, in an earlier
// round of a loop, it is another value now.
func (f *flow) define(s *state, n node) content {
	id, old := f.ids[n]
	if old {
		s.forget(id)
	}
	if !old {
		id = f.id(n)
	}
	return content{id, 8}
}

func (s *state) forget(id int32) {
	for i := range s.regs {
		if s.regs[i].id == id {
			s.regs[i] = content{}
		}
	}
	for at, v := range s.slots {
		if v.id == id {
			s.slots[at] = content{}
		}
	}
}

// run goes through the blocks until nothing new is known at the beginning of any.
func (f *flow) run() bool {
	first := &state{slots: make(map[int64]content)}
	for i := range first.regs[:regHigh] {
		first.regs[i] = content{f.id(node{kind: entryReg, n: int64(i)}), 8}
	}
	first.regs[regX+15], first.regs[regHigh+15] = f.konst(0, 8), f.konst(0, 8)
	f.before[f.entry] = first
	work, rounds := []uint64{f.entry}, make(map[uint64]int)
	for len(work) > 0 {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		if rounds[pc]++; rounds[pc] > maxRounds {
			return false
		}
		s := f.before[pc].clone()
		if !f.block(s, pc, 0, func(to uint64) {
			if have := f.before[to]; have == nil {
				f.before[to] = s.clone()
				work = append(work, to)
			} else if f.join(have, s.clone(), to) {
				work = append(work, to)
			}
		}) || len(s.slots) > maxSlots {
			return false
		}
	}
	return true
}

func (s *state) clone() *state {
	c := *s
	c.slots = maps.Clone(s.slots)
	return &c
}

// block follows the instructions from pc on, where s holds, up to the end of the block, or before
// that at stop. leave gets where it goes on.
func (f *flow) block(s *state, pc, stop uint64, leave func(to uint64)) bool {
	i, ok := f.index[pc]
	if !ok {
		return false
	}
	for ; i < len(f.insts); i++ {
		in := &f.insts[i]
		if in.pc == stop {
			return true
		}
		if in.pc != pc && f.leads[in.pc] {
			leave(in.pc)
			return true
		}
		to, direct := in.target()
		switch {
		case in.Op == x86asm.CALL && direct && f.im.noReturn(to):
			return true
		case in.conditional():
			leave(to)
			leave(in.next)
			return true
		case in.Op == x86asm.JMP && direct && f.holds(to):
			leave(to)
			return true
		case in.ends():
			for _, to := range f.jumps[in.pc] {
				leave(to)
			}
			return true
		}
		f.step(s, in)
	}
	return true
}

// noReturn reports whether the function at pc never returns, or, as morestack, begins its caller anew.
func (im *Image) noReturn(pc uint64) bool {
	name := im.name(pc)
	for _, p := range []string{"morestack", "panic", "goPanic", "gopanic", "throw", "fatal"} {
		if strings.HasPrefix(name, "runtime."+p) {
			return true
		}
	}
	return false
}

// at returns the state before the instruction at pc, or in which the address pc is.
func (f *flow) at(pc uint64) (*state, *instruction) {
	start := uint64(0)
	for b := range f.before {
		if b <= pc && b >= start {
			start = b
		}
	}
	i, ok := f.index[start]
	if !ok {
		return nil, nil
	}
	for ; i < len(f.insts) && f.insts[i].next <= pc; i++ {
		if in := &f.insts[i]; in.pc != start && f.leads[in.pc] || in.ends() || in.conditional() {
			return nil, nil // that is never reached
		}
	}
	if i == len(f.insts) {
		return nil, nil
	}
	s, whole := f.before[start].clone(), false
	if in := &f.insts[i]; f.block(s, start, in.pc, func(uint64) { whole = true }) && !whole {
		return s, in
	}
	return nil, nil
}

// join adds a way by which the block at pc is entered, and reports whether s has changed.
func (f *flow) join(s, in *state, pc uint64) (changed bool) {
	at := func(place int64) node { return node{kind: merged, n: place, pc: pc} }
	const slots = 1 << 20 // their places
	each := func(do func(place int64, have, now content) content) {
		for i := range s.regs {
			s.regs[i] = do(int64(i), s.regs[i], in.regs[i])
		}
		for k := range in.slots {
			if _, ok := s.slots[k]; !ok {
				s.slots[k] = f.untouched(k)
			}
		}
		for k, have := range s.slots {
			now, ok := in.slots[k]
			if !ok {
				now = f.untouched(k)
			}
			s.slots[k] = do(k+slots, have, now)
		}
	}
	// A value of the block that comes back as another is stale wherever else it is.
	each(func(p int64, have, now content) content {
		if id := f.ids[at(p)]; id != 0 && have.id == id && now.id != id {
			in.forget(id)
		}
		return have
	})
	each(func(p int64, have, now content) content {
		switch {
		case have.id == 0 || have == now:
			return have
		case have.id == now.id:
			if now.bytes < have.bytes {
				changed, have.bytes = true, now.bytes
			}
			return have
		}
		v := content{f.id(at(p)), have.bytes}
		if now.id != 0 {
			v.bytes = min(v.bytes, now.bytes)
		}
		changed = changed || v != have
		return v
	})
	return changed
}

// untouched is what a stack word holds that the function has not written.
func (f *flow) untouched(at int64) content {
	if at >= 0 && at%8 == 0 {
		return content{f.id(node{kind: entryArg, n: at}), 8}
	}
	return content{}
}
