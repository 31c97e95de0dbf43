package argument

// What one instruction leaves in registers and stack words.

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// place returns the place of a register, and its size in bytes; 16 for an XMM register.
func place(a x86asm.Arg) (p int64, size int64, ok bool) {
	r, isReg := a.(x86asm.Reg)
	switch {
	case !isReg:
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int64(r - x86asm.RAX), 8, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int64(r - x86asm.EAX), 4, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return int64(r - x86asm.AX), 2, true
	case r >= x86asm.AL && r <= x86asm.BL:
		return int64(r - x86asm.AL), 1, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return int64(r-x86asm.SPB) + regSP, 1, true
	case r >= x86asm.X0 && r <= x86asm.X15:
		return int64(r-x86asm.X0) + regX, 16, true
	}
	return 0, 0, false
}

// ops makes a set of instructions from their names.
func ops(names string) map[string]bool {
	m := make(map[string]bool)
	for _, n := range strings.Fields(names) {
		m[n] = true
	}
	return m
}

// Instructions by what they write: nothing, or their first operand alone.
var (
	writesNothing = ops(`NOP CMP TEST BT UD2 INT PAUSE UCOMISD UCOMISS COMISD COMISS PTEST PREFETCHNTA PREFETCHT0 PREFETCHT1
		PREFETCHT2 PREFETCHW MFENCE SFENCE LFENCE`)
	writesFirst = ops(`ADD SUB AND OR XOR INC DEC NEG NOT SHL SHR SAR ROL ROR ADC SBB BSF BSR POPCNT TZCNT LZCNT BSWAP BTS
		BTR BTC SHLD SHRD LEA MOV MOVZX MOVSX MOVSXD MOVUPS MOVAPS MOVUPD MOVAPD MOVDQU MOVDQA MOVQ MOVD MOVSS MOVSD_XMM
		XORPS XORPD PXOR ADDSD SUBSD MULSD DIVSD ADDSS SUBSS MULSS DIVSS SQRTSD SQRTSS CVTSI2SD CVTSI2SS CVTTSD2SI CVTTSD2SQ
		CVTTSS2SI CVTSD2SS CVTSS2SD ROUNDSD ANDPS ANDPD ANDNPD ORPS ORPD MINSD MAXSD PSHUFB PSHUFD PCMPEQB PMOVMSKB PAND POR
		PUNPCKLBW PUNPCKLQDQ PXOR CMPSD_XMM CMOVA CMOVAE CMOVB CMOVBE CMOVE CMOVG CMOVGE CMOVL CMOVLE CMOVNE CMOVNO CMOVNP
		CMOVNS CMOVO CMOVP CMOVS SETA SETAE SETB SETBE SETE SETG SETGE SETL SETLE SETNE SETNO SETNP SETNS SETO SETP SETS MOVBE
		MOVNTI CRC32`)
	// moves carry the bytes of the second operand, as many as the smaller of the two has.
	moves = ops("MOV MOVZX MOVSX MOVSXD MOVUPS MOVAPS MOVUPD MOVAPD MOVDQU MOVDQA MOVQ MOVD MOVSS MOVSD_XMM")
	zeros = ops("XOR XORPS XORPD PXOR SUB")
)

// step does what an instruction does to s.
func (f *flow) step(s *state, in *instruction) {
	name := in.Op.String()
	dst, src := in.Args[0], in.Args[1]
	switch {
	case in.Op == 0: // not known: it may write any register and stack word
		f.everything(s)
		s.slots = map[int64]content{}
		for at := range f.written() {
			s.slots[at] = content{}
		}
	case in.Op == x86asm.CALL:
		f.call(s, in)
	case writesNothing[name]:
	case in.Op == x86asm.LEA:
		f.address(s, in)
	case zeros[name] && dst == src:
		f.set(s, in, dst, [2]content{f.konst(0, 8), f.konst(0, 8)}, 16)
	case moves[name]:
		f.move(s, in, dst, src, name)
	case in.Op == x86asm.PUSH:
		if d, ok := f.cfa(in.pc); ok {
			v, n := f.get(s, in, dst, 8)
			f.store(s, -d-8, 8, v, n)
		}
	case in.Op == x86asm.POP:
		f.set(s, in, dst, [2]content{}, 8)
	case in.Op == x86asm.XCHG, in.Op == x86asm.XADD:
		f.set(s, in, dst, [2]content{}, f.width(in, dst))
		f.set(s, in, src, [2]content{}, f.width(in, src))
	case writesFirst[name], in.Op == x86asm.IMUL && src != nil:
		f.set(s, in, dst, [2]content{}, f.width(in, dst))
	default:
		if _, isMem := dst.(x86asm.Mem); isMem {
			f.set(s, in, dst, [2]content{}, 64)
		}
		f.everything(s)
	}
}

// written returns the stack words that are followed at all.
func (f *flow) written() map[int64]bool {
	all := make(map[int64]bool)
	for _, s := range f.before {
		for at := range s.slots {
			all[at] = true
		}
	}
	for at := int64(0); at < int64(f.fn.ArgsSize()); at += 8 {
		all[at] = true
	}
	return all
}

// everything makes all registers unknown.
func (f *flow) everything(s *state) {
	for i := range s.regs {
		if i != regSP && i != regX+15 && i != regHigh+15 {
			s.regs[i] = content{}
		}
	}
}

// call leaves results in the registers of arguments; the others are unknown. Its stack arguments
// are the callee's.
func (f *flow) call(s *state, in *instruction) {
	f.everything(s)
	for _, p := range intRegisters {
		s.regs[p] = f.define(s, node{kind: result, n: p, pc: in.pc})
	}
	for p := int64(regX); p < regX+floatRegisters; p++ {
		s.regs[p] = f.define(s, node{kind: result, n: p, pc: in.pc})
	}
	d, ok := f.cfa(in.pc)
	lo, hi := -d, -d+f.outgoing(in)
	for at := range s.slots {
		if !ok || at >= lo && at < hi {
			s.slots[at] = content{}
		}
	}
}

// outgoing returns how many bytes from the stack pointer on a call gives to its callee.
func (f *flow) outgoing(in *instruction) int64 {
	if to, ok := in.target(); ok {
		if fn, ok := f.im.table.Find(uintptr(to)); ok {
			return int64(fn.ArgsSize())
		}
	}
	return 256 // whom it calls is not known
}

// address is LEA.
func (f *flow) address(s *state, in *instruction) {
	m, _ := in.Args[1].(x86asm.Mem)
	v := content{}
	switch at, ok := f.slot(in, m); {
	case ok:
		v = content{f.id(node{kind: frame, n: at}), 8}
	case m.Base == x86asm.RIP && m.Index == 0:
		v = f.konst(int64(in.next)+m.Disp, 8)
	}
	f.set(s, in, in.Args[0], [2]content{v}, 8)
}

// width returns the size of an operand.
func (f *flow) width(in *instruction, a x86asm.Arg) int64 {
	if _, size, ok := place(a); ok {
		return size
	}
	if in.size > 0 {
		return in.size
	}
	return 64
}

// move copies.
func (f *flow) move(s *state, in *instruction, dst, src x86asm.Arg, name string) {
	n := min(f.width(in, dst), f.width(in, src))
	switch name {
	case "MOVSS", "MOVD":
		n = min(n, 4)
	case "MOVSD_XMM", "MOVQ":
		n = min(n, 8)
	}
	if name == "MOVD" && (f.width(in, dst) == 8 || f.width(in, src) == 8) {
		n = 8 // with REX.W it is MOVQ
	}
	v, known := f.get(s, in, src, n)
	f.set(s, in, dst, v, min(n, known))
}

// get returns the n bytes of an operand, in two halves, and how many of them it is.
func (f *flow) get(s *state, in *instruction, a x86asm.Arg, n int64) (v [2]content, size int64) {
	switch a := a.(type) {
	case x86asm.Imm:
		return [2]content{f.konst(int64(a), 8)}, n
	case x86asm.Reg:
		if p, _, ok := place(a); ok && a != x86asm.AH && a != x86asm.BH && a != x86asm.CH && a != x86asm.DH {
			v[0] = s.regs[p]
			if p >= regX && n > 8 {
				v[1] = s.regs[p+regHigh-regX]
			}
		}
	case x86asm.Mem:
		if at, ok := f.slot(in, a); ok {
			v[0] = f.load(s, at, min(n, 8), in.pc)
			if n > 8 {
				v[1] = f.load(s, at+8, n-8, in.pc+1)
			}
		}
	}
	for i := range v {
		v[i].bytes = uint8(min(int64(v[i].bytes), max(n-int64(i)*8, 0)))
	}
	return v, n
}

// load returns n bytes of the stack. A word of which nothing is known holds the same now as what is
// loaded.
func (f *flow) load(s *state, at, n int64, pc uint64) content {
	v, ok := s.slots[at]
	switch {
	case f.pointed(at, n):
		return content{}
	case !ok:
		for o := n - 1; o > -8; o-- {
			if other, there := s.slots[at+o]; there && (o > 0 || other.id == 0 || int64(other.bytes) > -o) {
				return content{}
			}
		}
		v = f.untouched(at)
	}
	if v.id == 0 && n == 8 && at%8 == 0 {
		v = f.define(s, node{kind: result, n: at, pc: pc | 1<<63})
		f.store(s, at, 8, [2]content{v}, 8)
	}
	return content{v.id, min(v.bytes, uint8(n))}
}

// set puts the lowest n bytes of v into an operand.
func (f *flow) set(s *state, in *instruction, a x86asm.Arg, v [2]content, n int64) {
	switch a := a.(type) {
	case x86asm.Mem:
		if at, ok := f.slot(in, a); ok {
			f.store(s, at, f.width(in, a), v, n)
		}
	case x86asm.Reg:
		p, size, ok := place(a)
		switch {
		case !ok || p == regSP:
		case p >= regX:
			if v[0].id == 0 {
				v = [2]content{f.define(s, node{kind: result, n: p, pc: in.pc})}
			}
			s.regs[p], s.regs[p+regHigh-regX] = v[0], v[1]
		case size < 4: // the rest stays
			s.regs[p] = content{v[0].id, min(v[0].bytes, uint8(size))}
		case v[0].id == 0:
			s.regs[p] = f.define(s, node{kind: result, n: p, pc: in.pc})
		case size == 4 && v[0].bytes >= 4 && f.nodes[v[0].id].kind == konst: // the upper half is zero
			s.regs[p] = f.konst(int64(uint32(f.nodes[v[0].id].n)), 8)
		default:
			s.regs[p] = content{v[0].id, min(v[0].bytes, uint8(size))}
		}
	}
}

// store puts the lowest known bytes of v into size bytes of the stack.
func (f *flow) store(s *state, at, size int64, v [2]content, known int64) {
	for k, have := range s.slots {
		if k < at+size && k+int64(have.bytes) > at {
			s.slots[k] = content{}
		}
	}
	if f.pointed(at, size) {
		return
	}
	for i := range v {
		if n := min(size-int64(i)*8, 8); n > 0 {
			s.slots[at+int64(i)*8] = content{v[i].id, min(v[i].bytes, uint8(n))}
			if v[i].id == 0 {
				s.slots[at+int64(i)*8] = content{}
			}
		}
	}
	for o := at &^ 7; o < at+size; o += 8 {
		if _, ok := s.slots[o]; !ok {
			s.slots[o] = content{} // the word is not as it was at the entry
		}
	}
}
