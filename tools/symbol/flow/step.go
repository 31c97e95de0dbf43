package flow

import (
	"strings"
	"sync"

	"golang.org/x/arch/x86/x86asm"
)

// What an instruction writes, by bits.
const (
	writesNothing = 1 << iota
	writesFirst   // its first operand alone
	// the bytes of the second operand, as many as the smaller of the two has, into the first
	moves
	zeros      // zero, where both operands are the same
	writesAXDX // where it has one operand or none
)

// writes are these bits, by instruction.
var writes = sync.OnceValue(func() []uint8 {
	names := make(map[string]uint8)
	for bits, list := range map[uint8]string{
		writesNothing: `NOP CMP TEST BT UD2 INT PAUSE UCOMISD UCOMISS COMISD COMISS PTEST PREFETCHNTA
			PREFETCHT0 PREFETCHT1 PREFETCHT2 PREFETCHW MFENCE SFENCE LFENCE`,
		writesFirst: `ADD AND OR INC DEC NEG NOT SHL SHR SAR ROL ROR ADC SBB BSF BSR POPCNT TZCNT LZCNT
			BSWAP BTS BTR BTC SHLD SHRD ADDSD SUBSD MULSD DIVSD ADDSS SUBSS MULSS DIVSS SQRTSD SQRTSS
			CVTSI2SD CVTSI2SS CVTTSD2SI CVTTSD2SQ CVTTSS2SI CVTSD2SS CVTSS2SD ROUNDSD ANDPS ANDPD ANDNPD
			ORPS ORPD MINSD MAXSD PSHUFB PSHUFD PCMPEQB PMOVMSKB PAND POR PUNPCKLBW PUNPCKLQDQ CMPSD_XMM
			CMOVA CMOVAE CMOVB CMOVBE CMOVE CMOVG CMOVGE CMOVL CMOVLE CMOVNE CMOVNO CMOVNP CMOVNS CMOVO
			CMOVP CMOVS SETA SETAE SETB SETBE SETE SETG SETGE SETL SETLE SETNE SETNO SETNP SETNS SETO SETP
			SETS MOVBE MOVNTI CRC32`,
		writesFirst | moves: `MOV MOVZX MOVSX MOVSXD MOVUPS MOVAPS MOVUPD MOVAPD MOVDQU MOVDQA MOVQ MOVD
			MOVSS MOVSD_XMM`,
		writesFirst | zeros: "XOR XORPS XORPD PXOR SUB",
		writesAXDX:          "MUL IMUL DIV IDIV CQO CDQ CDQE RDTSC",
	} {
		for n := range strings.FieldsSeq(list) {
			names[n] = bits
		}
	}
	all := []uint8{0}
	for op := x86asm.Op(1); !strings.HasPrefix(op.String(), "Op("); op++ {
		all = append(all, names[op.String()])
	}
	return all
})

// Arguments are the registers in which a function gets its arguments and leaves its results.
var Arguments = [...]int{0, 3, 1, 7, 6, 8, 9, 10, 11}

// FloatArguments is how many of the XMM registers are used in the same way.
const FloatArguments = 15

// step does what an instruction leaves in registers and words of the frame.
func (f *Function) step(s *State, in *Inst) {
	kind, dst, src := writes()[in.Op], in.Args[0], in.Args[1]
	none := [2]Content{}
	switch {
	case in.Op == 0: // it may write any register, and any word of the frame
		f.Fill(s)
		f.clobber(s)
		for at := range s.Slots {
			if f.Strict {
				s.Slots[at] = Content{}
			}
		}
		for at := int64(0); f.Strict && at < f.ArgsSize(f.Start); at += 8 {
			s.Slots[at] = Content{}
		}
	case in.Op == x86asm.CALL:
		f.call(s, in)
	case kind&writesNothing != 0:
	case in.Op == x86asm.LEA:
		f.lea(s, in)
	case kind&zeros != 0 && dst == src:
		zero := Content{f.Const(0), 8}
		f.set(s, in, dst, [2]Content{zero, zero})
	case kind&moves != 0:
		f.move(s, in)
	case in.Op == x86asm.PUSH:
		if d, ok := f.CFA(in.PC); ok {
			f.store(s, -d-8, 8, f.get(s, in, dst, 8))
		}
	case in.Op == x86asm.POP:
		if d, ok := f.CFA(in.PC); ok {
			f.set(s, in, dst, [2]Content{f.load(s, -d, 8, in.PC)})
		}
	case in.Op == x86asm.ADD, in.Op == x86asm.SUB:
		f.set(s, in, dst, [2]Content{f.sum(s, in)})
	case in.Op == x86asm.XCHG:
		a, b := f.get(s, in, dst, f.width(in, dst)), f.get(s, in, src, f.width(in, src))
		f.set(s, in, dst, b)
		f.set(s, in, src, a)
	case in.Op == x86asm.XADD:
		f.set(s, in, dst, none)
		f.set(s, in, src, none)
	case in.Op == x86asm.CMPXCHG:
		f.set(s, in, dst, none)
		s.Regs[0] = Content{}
	case kind&writesAXDX != 0 && src == nil:
		for _, n := range []int{0, 2} {
			s.Regs[n] = f.define(s, n, in.PC)
		}
	case kind&writesFirst != 0, in.Op == x86asm.IMUL:
		f.set(s, in, dst, none)
	default:
		f.set(s, in, dst, none)
		f.Fill(s)
		f.clobber(s)
	}
}

// clobber makes the registers unknown that a function does not keep.
func (f *Function) clobber(s *State) {
	for i := range f.registers() {
		if i != SP && i != BP && i != G && i != X+15 && i != High+15 {
			s.Regs[i] = Content{}
		}
	}
}

// call leaves results in the registers of arguments. Its arguments on the stack are the callee's.
func (f *Function) call(s *State, in *Inst) {
	f.clobber(s)
	for i, n := range Arguments {
		if f.Strict || i < 3 {
			s.Regs[n] = f.define(s, n, in.PC)
		}
	}
	if !f.Strict {
		return
	}
	for n := X; n < X+FloatArguments; n++ {
		s.Regs[n] = f.define(s, n, in.PC)
	}
	d, ok := f.CFA(in.PC)
	lo, hi := -d, -d+f.Outgoing(in)
	for at := range s.Slots {
		if !ok || at >= lo && at < hi {
			s.Slots[at] = Content{}
		}
	}
}

// Outgoing returns how many bytes from SP on a call gives to its callee.
func (f *Function) Outgoing(in *Inst) int64 {
	if to, ok := in.Target(); ok {
		return f.ArgsSize(to)
	}
	return 256 // whom it calls is not known
}

// Fill forgets the words of the frame that a string instruction, or a routine of the runtime that
// is called like one, may write from DI on.
func (f *Function) Fill(s *State) {
	if x := f.nodes[s.Reg(7)]; x.Kind == Frame && !f.Strict {
		for at := range s.Slots {
			if at >= x.N && at < -8 {
				s.Slots[at] = Content{}
			}
		}
	}
}

// Address returns the address of an operand in memory before an instruction.
func (f *Function) Address(s *State, in *Inst, m x86asm.Mem) (v Value) {
	reg := func(r x86asm.Reg) Value {
		if n, size, ok := Register(r); ok && size == 8 {
			return s.Reg(n)
		}
		return 0
	}
	switch {
	case m.Segment == x86asm.FS || m.Segment == x86asm.GS:
		return 0
	case m.Base == x86asm.RIP:
		return f.Const(int64(in.Next) + m.Disp)
	case m.Base == 0:
		v = f.Const(0)
	case m.Base == x86asm.RSP:
		d, ok := f.CFA(in.PC)
		if !ok {
			return 0
		}
		v = f.Frame(-d)
	default:
		v = reg(m.Base)
	}
	if m.Index != 0 {
		v = f.Indexed(v, reg(m.Index), int64(m.Scale))
	}
	return f.Add(v, m.Disp)
}

// lea makes an address.
func (f *Function) lea(s *State, in *Inst) {
	m, _ := in.Args[1].(x86asm.Mem)
	v := f.Address(s, in, m)
	if x := f.nodes[v]; x.Kind == Frame && !f.Strict {
		f.taken[span{x.N, x.N + 1}] = true
	}
	f.set(s, in, in.Args[0], [2]Content{known(v)})
}

func known(v Value) Content {
	if v == 0 {
		return Content{}
	}
	return Content{v, 8}
}

// sum returns what is left by the addition of a constant; nothing by others.
func (f *Function) sum(s *State, in *Inst) Content {
	n, isImm := in.Args[1].(x86asm.Imm)
	r, size, isReg := Register(in.Args[0])
	if !isImm || !isReg || size != 8 || r == SP {
		return Content{}
	}
	if in.Op == x86asm.SUB {
		n = -n
	}
	return known(f.Add(s.Reg(r), int64(n)))
}

// width returns the size of an operand, in bytes.
func (f *Function) width(in *Inst, a x86asm.Arg) int64 {
	if _, size, ok := Register(a); ok {
		return int64(size)
	}
	if in.MemBytes > 0 {
		return int64(in.MemBytes)
	}
	return 64
}

// move copies.
func (f *Function) move(s *State, in *Inst) {
	dst, src := in.Args[0], in.Args[1]
	n := f.width(in, dst)
	if _, isImm := src.(x86asm.Imm); !isImm {
		n = min(n, f.width(in, src))
	}
	switch wide := f.width(in, dst) == 8 || f.width(in, src) == 8; {
	case in.Op == x86asm.MOVSS, in.Op == x86asm.MOVD && !wide: // else it has REX.W
		n = min(n, 4)
	case in.Op == x86asm.MOVSD_XMM || in.Op == x86asm.MOVQ || in.Op == x86asm.MOVD:
		n = min(n, 8)
	}
	f.set(s, in, dst, f.get(s, in, src, n))
}

// Get returns what an operand holds, 0 if not all of eight bytes are known.
func (f *Function) Get(s *State, in *Inst, a x86asm.Arg) Value {
	if f.width(in, a) == 8 {
		if c := f.get(s, in, a, 8)[0]; c.Bytes == 8 {
			return c.Value
		}
	}
	return 0
}

// get returns the lowest n bytes of an operand, in two halves.
func (f *Function) get(s *State, in *Inst, a x86asm.Arg, n int64) (v [2]Content) {
	switch a := a.(type) {
	case x86asm.Imm:
		v[0] = Content{f.Const(int64(a)), 8}
	case x86asm.Reg:
		switch p, _, ok := Register(a); {
		case !ok || HighByte(a):
		case p == SP:
			if d, ok := f.CFA(in.PC); ok {
				v[0] = Content{f.Frame(-d), 8}
			}
		case p < X:
			v[0] = s.Regs[p]
		default:
			v[0], v[1] = s.Regs[p], s.Regs[p+High-X]
		}
	case x86asm.Mem:
		addr := f.Address(s, in, a)
		switch x := f.nodes[addr]; {
		case x.Kind == Frame:
			v[0] = f.load(s, x.N, min(n, 8), in.PC)
			if n > 8 {
				v[1] = f.load(s, x.N+8, n-8, in.PC+1)
			}
		case !f.Strict && n == 8:
			v[0] = known(f.Load(s, addr))
		}
	}
	for i := range v {
		v[i].Bytes = uint8(min(int64(v[i].Bytes), max(n-int64(i)*8, 0)))
	}
	return v
}

// Load returns the word at an address, where nothing has to be proved.
func (f *Function) Load(s *State, addr Value) Value {
	switch x := f.nodes[addr]; x.Kind {
	case Frame:
		if c := f.Slot(s, x.N); c.Bytes == 8 {
			return c.Value
		}
		return 0
	case Const:
		if w, ok := f.program.Constant(uint64(x.N)); ok {
			return f.Const(int64(w))
		}
	}
	return f.Mem(addr)
}

// load returns n bytes of the frame. A word of which nothing is known holds the same now as what is
// loaded.
func (f *Function) load(s *State, at, n int64, pc uint64) Content {
	v, ok := s.Slots[at]
	switch {
	case f.Strict && f.Pointed(at, n):
		return Content{}
	case !ok:
		for o := n - 1; o > -8; o-- {
			if c, there := s.Slots[at+o]; there && (o > 0 || c.Value == 0 || int64(c.Bytes) > -o) {
				return Content{}
			}
		}
		v = f.Slot(s, at)
	}
	if f.Strict && v.Value == 0 && n == 8 && at%8 == 0 {
		v = f.define(s, int(at+slots), pc)
		f.store(s, at, 8, [2]Content{v})
	}
	return Content{v.Value, min(v.Bytes, uint8(n))}
}

// set puts v into an operand.
func (f *Function) set(s *State, in *Inst, a x86asm.Arg, v [2]Content) {
	switch a := a.(type) {
	case x86asm.Mem:
		addr := f.Address(s, in, a)
		if x := f.nodes[addr]; x.Kind == Frame {
			f.store(s, x.N, f.width(in, a), v)
		} else if old := f.ids[Node{Kind: Mem, A: addr}]; old != 0 && !f.Strict {
			// What was read from there before is another value than what will be.
			f.replace(s, old, f.define(s, X, in.PC).Value)
		}
	case x86asm.Reg:
		p, size, ok := Register(a)
		if !ok || p == SP || p >= f.registers() {
			return
		}
		c := Content{v[0].Value, min(v[0].Bytes, uint8(size))}
		switch {
		case HighByte(a):
			c = Content{}
		case size < 4: // the rest stays
		case size == 4 && c.Bytes == 4 && f.nodes[c.Value].Kind == Const: // the upper half is zero
			c = Content{f.Const(int64(uint32(f.nodes[c.Value].N))), 8}
		case c.Value == 0 || !f.Strict && c.Bytes < 8:
			v[1], c = Content{}, f.define(s, p, in.PC)
		}
		if s.Regs[p] = c; p >= X {
			s.Regs[p+High-X] = v[1]
		}
	}
}

// store puts the lowest bytes of v into size bytes of the frame.
func (f *Function) store(s *State, at, size int64, v [2]Content) {
	for k := at - 7; k < at+size; k++ {
		if have, ok := s.Slots[k]; ok && k+int64(have.Bytes) > at {
			s.Slots[k] = Content{}
		}
	}
	if f.Strict && f.Pointed(at, size) {
		return
	}
	for i, c := range v {
		if n := min(size-int64(i)*8, 8); n > 0 {
			if c.Bytes = min(c.Bytes, uint8(n)); c.Value == 0 || c.Bytes == 0 {
				c = Content{}
			}
			s.Slots[at+int64(i)*8] = c
		}
	}
	for o := at &^ 7; o < at+size; o += 8 {
		if _, ok := s.Slots[o]; !ok {
			s.Slots[o] = Content{} // it is not as it was at the entry
		}
	}
}

// framed notes the words of the frame of which the code makes the address, and reports false if
// those may be any.
func (f *Function) framed() bool {
	for i := range f.Insts {
		in := &f.Insts[i]
		m, isMem := in.Args[1].(x86asm.Mem)
		for _, a := range in.Args {
			if m, ok := a.(x86asm.Mem); ok && m.Base == x86asm.RBP && in.Op != x86asm.LEA {
				return false
			}
		}
		switch {
		case in.Op != x86asm.LEA || !isMem:
			if in.Args[1] == x86asm.RSP && in.Args[0] != x86asm.RBP && in.Op != x86asm.CMP {
				return false
			}
		case in.Args[0] == x86asm.RBP || in.Args[0] == x86asm.RSP:
			if m.Base != x86asm.RSP && m.Base != x86asm.RBP {
				return false
			}
		case m.Base == x86asm.RBP || m.Index == x86asm.RSP:
			return false
		case m.Base == x86asm.RSP:
			d, ok := f.CFA(in.PC)
			if !ok || m.Index != 0 {
				return false
			}
			lo, hi := f.Object(m.Disp - d)
			f.taken[span{lo, hi}] = true
		}
	}
	return true
}

// Pointed reports whether a pointer may lead to some of the n bytes at a distance from the CFA.
func (f *Function) Pointed(at, n int64) bool {
	for s := range f.taken {
		if at < s.hi && at+n > s.lo {
			return true
		}
	}
	return false
}
