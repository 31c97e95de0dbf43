package locks

import "golang.org/x/arch/x86/x86asm"

// What one instruction does to registers and stack words. The few that carry an address from
// place to place are followed; of the others it matters only what they overwrite.

// reg returns a register's number and size in bytes.
func reg(a x86asm.Arg) (n, size int, ok bool) {
	r, isReg := a.(x86asm.Reg)
	switch {
	case !isReg:
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX), 8, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX), 4, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return int(r - x86asm.AX), 2, true
	case r >= x86asm.AL && r <= x86asm.BL:
		return int(r - x86asm.AL), 1, true
	case r >= x86asm.AH && r <= x86asm.BH:
		return int(r - x86asm.AH), 1, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return int(r-x86asm.SPB) + regSP, 1, true
	}
	return 0, 0, false
}

// address returns the value of a memory operand's address.
func (f *function) address(s *state, in *inst, m x86asm.Mem) value {
	var v value
	switch {
	case m.Segment == x86asm.FS || m.Segment == x86asm.GS:
		return 0
	case m.Base == x86asm.RIP:
		return f.konst(int64(in.next) + m.Disp)
	case m.Base == 0:
		v = f.konst(0)
	case m.Base == x86asm.RSP:
		d, ok := f.spDelta(in.pc)
		if !ok {
			return 0
		}
		v = f.frame(-int64(d))
	default:
		n, size, ok := reg(m.Base)
		if !ok || size != 8 {
			return 0
		}
		v = s.regs[n]
	}
	if m.Index != 0 {
		n, size, ok := reg(m.Index)
		if !ok || size != 8 {
			return 0
		}
		v = f.indexed(v, s.regs[n], int64(m.Scale))
	}
	return f.add(v, m.Disp)
}

// load returns the word at an address.
func (p *Program) load(f *function, s *state, addr value) value {
	switch x := f.nodes[addr]; x.kind {
	case frame:
		return s.slot(f.values, x.n)
	case konst:
		if w, ok := p.constant(uint64(x.n)); ok {
			return f.konst(int64(w))
		}
	}
	return f.mem(addr)
}

// store puts v where addr says, size bytes of it.
func (f *function) store(s *state, addr value, size int, v value) {
	x := f.nodes[addr]
	if x.kind != frame {
		return // not the stack: only what is spilled is relied on
	}
	for n := x.n - 7; n < x.n+int64(size); n++ {
		if _, ok := s.slots[n]; ok || n%8 == 0 {
			s.slots[n] = 0
		}
	}
	if size == 8 {
		s.slots[x.n] = v
	}
}

// set puts v into what an operand names.
func (f *function) set(s *state, in *inst, a x86asm.Arg, v value) {
	switch a := a.(type) {
	case x86asm.Mem:
		size := in.MemBytes
		if size == 0 {
			size = 64
		}
		addr := f.address(s, in, a)
		f.store(s, addr, size, v)
		if old := f.ids[node{kind: mem, a: addr}]; old != 0 && f.nodes[addr].kind != frame {
			// What was read from there before is another value than what will be.
			s.replace(f.values, old, s.define(f.values, node{kind: def, b: numRegs, n: int64(in.pc)}))
		}
	case x86asm.Reg:
		if n, size, ok := reg(a); ok && n != regSP {
			if size < 4 {
				v = 0
			}
			s.regs[n] = v
		}
	}
}

// get returns what an operand names, 8 bytes of it.
func (p *Program) get(f *function, s *state, in *inst, a x86asm.Arg) value {
	switch a := a.(type) {
	case x86asm.Imm:
		return f.konst(int64(a))
	case x86asm.Mem:
		if in.MemBytes == 8 {
			return p.load(f, s, f.address(s, in, a))
		}
	case x86asm.Reg:
		n, size, ok := reg(a)
		switch {
		case !ok || size != 8:
		case n == regSP:
			if d, ok := f.spDelta(in.pc); ok {
				return f.frame(-int64(d))
			}
		default:
			return s.regs[n]
		}
	}
	return 0
}

// step does all that is not about locks: what in leaves in registers and stack words.
func (p *Program) step(f *function, s *state, in *inst) {
	result := func(a x86asm.Arg) {
		if n, size, ok := reg(a); ok && size >= 4 && n != regSP {
			s.regs[n] = 0
			s.regs[n] = s.define(f.values, node{kind: def, b: value(n), n: int64(in.pc)})
			return
		}
		f.set(s, in, a, 0)
	}
	dst, src := in.Args[0], in.Args[1]
	switch in.Op {
	case x86asm.NOP, x86asm.CMP, x86asm.TEST, x86asm.BT, x86asm.RET, x86asm.JMP, x86asm.UD2, x86asm.INT, x86asm.PAUSE,
		x86asm.UCOMISD, x86asm.UCOMISS, x86asm.PREFETCHNTA, x86asm.PREFETCHT0, x86asm.MFENCE, x86asm.SFENCE, x86asm.LFENCE:
	case x86asm.CALL:
		for n := range s.regs {
			if n != regSP && n != regBP && n != regG {
				s.regs[n] = 0
			}
		}
		for _, n := range []int{0, 3, 1} { // results: AX, BX, CX
			s.regs[n] = s.define(f.values, node{kind: def, b: value(n), n: int64(in.pc)})
		}
	case x86asm.MOV:
		v := p.get(f, s, in, src)
		if _, size, isReg := reg(dst); v == 0 && isReg && size >= 4 {
			result(dst)
			return
		}
		f.set(s, in, dst, v)
	case x86asm.LEA:
		m, _ := src.(x86asm.Mem)
		v := f.address(s, in, m)
		if x := f.nodes[v]; x.kind == frame {
			f.taken[x.n] = true
		}
		if v == 0 {
			result(dst)
			return
		}
		f.set(s, in, dst, v)
	case x86asm.ADD, x86asm.SUB:
		n, isImm := src.(x86asm.Imm)
		_, size, isReg := reg(dst)
		v := p.get(f, s, in, dst)
		if !isImm || !isReg || size != 8 || v == 0 {
			result(dst)
			return
		}
		if in.Op == x86asm.SUB {
			n = -n
		}
		f.set(s, in, dst, f.add(v, int64(n)))
	case x86asm.XOR:
		if a, size, ok := reg(dst); ok && size >= 4 {
			if b, _, _ := reg(src); a == b && src == dst {
				s.regs[a] = f.konst(0)
				return
			}
		}
		result(dst)
	case x86asm.PUSH:
		if d, ok := f.spDelta(in.pc); ok {
			f.store(s, f.frame(-int64(d)-8), 8, p.get(f, s, in, dst))
		}
	case x86asm.POP:
		if d, ok := f.spDelta(in.pc); ok {
			f.set(s, in, dst, s.slot(f.values, -int64(d)))
		}
	case x86asm.XCHG, x86asm.XADD:
		a, b := p.get(f, s, in, dst), p.get(f, s, in, src)
		if in.Op == x86asm.XADD {
			a, b = 0, 0
		}
		f.set(s, in, dst, b)
		f.set(s, in, src, a)
	case x86asm.MUL, x86asm.IMUL, x86asm.DIV, x86asm.IDIV, x86asm.CQO, x86asm.CDQ, x86asm.CDQE, x86asm.RDTSC:
		if src != nil {
			result(dst) // of two or three operands
			return
		}
		for _, n := range []int{0, 2} { // AX, DX
			s.regs[n] = 0
			s.regs[n] = s.define(f.values, node{kind: def, b: value(n), n: int64(in.pc)})
		}
	case x86asm.CMPXCHG:
		f.set(s, in, dst, 0)
		s.regs[0] = 0
	default:
		if in.conditional() {
			return
		}
		if one(in.Op) {
			result(dst)
			return
		}
		f.set(s, in, dst, 0)
		f.fill(s)
		for n := range s.regs {
			if n != regSP && n != regBP && n != regG {
				s.regs[n] = 0
			}
		}
	}
}

// fill forgets the stack words that a string instruction, or the runtime's routines that are
// called like one, may write from DI on.
func (f *function) fill(s *state) {
	x := f.nodes[s.regs[7]]
	if x.kind != frame {
		return
	}
	for n := range s.slots {
		if n >= x.n && n < 0 {
			s.slots[n] = 0
		}
	}
}

// one reports whether an instruction writes its first operand alone.
func one(op x86asm.Op) bool {
	switch op {
	case x86asm.AND, x86asm.OR, x86asm.INC, x86asm.DEC, x86asm.NEG, x86asm.NOT, x86asm.SHL, x86asm.SHR, x86asm.SAR,
		x86asm.ROL, x86asm.ROR, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.ADC, x86asm.SBB, x86asm.BSF, x86asm.BSR,
		x86asm.POPCNT, x86asm.TZCNT, x86asm.LZCNT, x86asm.BSWAP, x86asm.BTS, x86asm.BTR, x86asm.BTC, x86asm.SHLD, x86asm.SHRD,
		x86asm.MOVUPS, x86asm.MOVAPS, x86asm.MOVUPD, x86asm.MOVAPD, x86asm.MOVDQU, x86asm.MOVDQA, x86asm.MOVQ, x86asm.MOVD,
		x86asm.MOVSS, x86asm.MOVSD_XMM, x86asm.XORPS, x86asm.PXOR, x86asm.ADDSD, x86asm.SUBSD, x86asm.MULSD, x86asm.DIVSD,
		x86asm.CVTSI2SD, x86asm.CVTTSD2SI, x86asm.CMOVA, x86asm.CMOVAE, x86asm.CMOVB, x86asm.CMOVBE, x86asm.CMOVE,
		x86asm.CMOVG, x86asm.CMOVGE, x86asm.CMOVL, x86asm.CMOVLE, x86asm.CMOVNE, x86asm.CMOVNO, x86asm.CMOVNP, x86asm.CMOVNS,
		x86asm.CMOVO, x86asm.CMOVP, x86asm.CMOVS, x86asm.SETA, x86asm.SETAE, x86asm.SETB, x86asm.SETBE, x86asm.SETE,
		x86asm.SETG, x86asm.SETGE, x86asm.SETL, x86asm.SETLE, x86asm.SETNE, x86asm.SETNO, x86asm.SETNP, x86asm.SETNS,
		x86asm.SETO, x86asm.SETP, x86asm.SETS:
		return true
	}
	return false
}
