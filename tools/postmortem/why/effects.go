package why

import (
	"golang.org/x/arch/x86/x86asm"
)

// A place is where a value is: a register, or memory.
type place struct {
	kind placeKind
	// 0 to 15: RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to R15; of XMM0 to XMM15 likewise
	reg  int
	addr uint64 // of memory
	size uint64 // bytes
}

type placeKind uint8

const (
	inRegister placeKind = iota + 1
	inVector
	inMemory
)

func (p place) overlaps(q place) bool {
	if p.kind != q.kind {
		return false
	}
	if p.kind == inMemory {
		return p.addr < q.addr+q.size && q.addr < p.addr+p.size
	}
	return p.reg == q.reg
}

// How an instruction makes the value that it writes.
type making uint8

const (
	copied   making = iota + 1 // from the one place
	computed                   // from several, or with a constant
	constant                   // it is in the instruction
	input                      // from a device, a clock or a source of random numbers
	unknown                    // not known of this instruction
)

// An effect is one place that an instruction writes.
type effect struct {
	to    place
	how   making
	from  []place // where the value comes from
	what  string  // of input
	value uint64  // of constant
}

// Numbers of registers.
const (
	rax = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
)

// regOf returns a general register's number and its width in bytes, and whether it is the second
// byte.
func regOf(r x86asm.Reg) (n int, size uint64, high, ok bool) {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL:
		return int(r - x86asm.AL), 1, false, true
	case r >= x86asm.AH && r <= x86asm.BH:
		return int(r - x86asm.AH), 1, true, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return int(r-x86asm.SPB) + 4, 1, false, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return int(r - x86asm.AX), 2, false, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX), 4, false, true
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX), 8, false, true
	}
	return 0, 0, false, false
}

// addressOf returns the address of an operand in memory before the instruction.
func (s *state) addressOf(m x86asm.Mem, next uint64) uint64 {
	a := uint64(m.Disp)
	if m.Disp>>32 == 0 {
		a = uint64(int64(int32(m.Disp))) // the decoder has left the sign out where there is no base
	}
	if m.Base == x86asm.RIP {
		a += next
	} else if n, _, _, ok := regOf(m.Base); ok {
		a += s.gpr[n]
	}
	if n, _, _, ok := regOf(m.Index); ok && m.Scale > 0 {
		a += s.gpr[n] * uint64(m.Scale)
	}
	switch m.Segment {
	case x86asm.FS:
		a += s.fs
	case x86asm.GS:
		a += s.gs
	}
	return a
}

// placesOf returns the place of an operand, none for a constant.
func (e *entry) placesOf(a x86asm.Arg) []place {
	switch a := a.(type) {
	case x86asm.Reg:
		if n, size, _, ok := regOf(a); ok {
			return []place{{kind: inRegister, reg: n, size: size}}
		}
		if a >= x86asm.X0 && a <= x86asm.X15 {
			return []place{{kind: inVector, reg: int(a - x86asm.X0), size: 16}}
		}
		if a >= x86asm.Y0 && a <= x86asm.Y15 {
			return []place{{kind: inVector, reg: int(a - x86asm.Y0), size: 32}}
		}
	case x86asm.Mem:
		size := uint64(e.inst.MemBytes)
		if size == 0 {
			size = 8
		}
		return []place{{kind: inMemory, addr: e.addressOf(a, e.pc+uint64(e.inst.Len)), size: size}}
	}
	return nil
}

// addressPlaces are the registers that an operand's address is made of: base first.
func addressPlaces(a x86asm.Arg) (all []place) {
	m, ok := a.(x86asm.Mem)
	if !ok {
		return nil
	}
	for _, r := range []x86asm.Reg{m.Base, m.Index} {
		if n, size, _, ok := regOf(r); ok {
			all = append(all, place{kind: inRegister, reg: n, size: size})
		}
	}
	return all
}

// one makes the effect of an instruction that writes the operand to, from others.
func (e *entry) one(to x86asm.Arg, how making, from ...x86asm.Arg) []effect {
	places := e.placesOf(to)
	if len(places) == 0 {
		return nil
	}
	f := effect{to: places[0], how: how}
	for _, a := range from {
		f.from = append(f.from, e.placesOf(a)...)
		if imm, ok := a.(x86asm.Imm); ok && how == copied {
			f.how, f.value = constant, uint64(imm)
		}
	}
	if f.how == copied && len(f.from) == 0 {
		f.how = unknown
	}
	return []effect{f}
}

func register(n int) place { return place{kind: inRegister, reg: n, size: 8} }

// effects returns what the instruction writes; after is the state behind it.
func (e *entry) effects(after *state) []effect {
	in := &e.inst
	a, b := in.Args[0], in.Args[1]
	size := uint64(in.DataSize / 8)
	switch in.Op {
	case 0:
		return nil
	case x86asm.MOV, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.MOVUPS, x86asm.MOVUPD,
		x86asm.MOVAPS, x86asm.MOVAPD,
		x86asm.MOVDQU, x86asm.MOVDQA, x86asm.MOVQ, x86asm.MOVD, x86asm.MOVSD_XMM, x86asm.MOVSS,
		x86asm.MOVNTI, x86asm.MOVNTDQ,
		x86asm.MOVHPS, x86asm.MOVLPS, x86asm.MOVHPD, x86asm.MOVLPD, x86asm.MOVBE,
		x86asm.VMOVDQA, x86asm.VMOVDQU, x86asm.VMOVNTDQ, x86asm.VMOVNTDQA:
		return e.one(a, copied, b)
	case x86asm.LEA:
		fx := e.one(a, computed)
		if m, ok := b.(x86asm.Mem); ok && len(fx) == 1 {
			fx[0].from = addressPlaces(m)
			if len(fx[0].from) == 0 {
				fx[0].how, fx[0].value = constant, e.addressOf(m, e.pc+uint64(in.Len))
			}
		}
		return fx
	case x86asm.PUSH:
		f := effect{to: place{kind: inMemory, addr: e.gpr[rsp] - 8, size: 8}, how: copied,
			from: e.placesOf(a)}
		if imm, ok := a.(x86asm.Imm); ok {
			f.how, f.value = constant, uint64(imm)
		}
		return []effect{f, {to: register(rsp), how: computed, from: []place{register(rsp)}}}
	case x86asm.POP:
		fx := e.one(a, copied)
		for i := range fx {
			fx[i].how, fx[i].from = copied, []place{{kind: inMemory, addr: e.gpr[rsp], size: 8}}
		}
		return fx
	case x86asm.PUSHFQ, x86asm.PUSHF:
		return []effect{{to: place{kind: inMemory, addr: e.gpr[rsp] - 8, size: 8}, how: unknown}}
	case x86asm.CALL:
		return []effect{{to: place{kind: inMemory, addr: e.gpr[rsp] - 8, size: 8}, how: constant,
			value: e.pc + uint64(in.Len)}}
	case x86asm.XCHG:
		return append(e.one(a, copied, b), e.one(b, copied, a)...)
	case x86asm.XADD:
		return append(e.one(a, computed, a, b), e.one(b, copied, a)...)
	case x86asm.CMPXCHG:
		if after != nil && after.flags&(1<<6) != 0 { // ZF: it was equal
			return e.one(a, copied, b)
		}
		return []effect{{to: register(rax), how: copied, from: e.placesOf(a)}}
	case x86asm.XOR, x86asm.SUB, x86asm.PXOR, x86asm.XORPS, x86asm.XORPD, x86asm.PSUBB, x86asm.PSUBD,
		x86asm.PSUBQ:
		if a == b {
			fx := e.one(a, constant)
			return fx
		}
		return e.one(a, computed, a, b)
	case x86asm.ADD, x86asm.ADC, x86asm.SBB, x86asm.AND, x86asm.OR, x86asm.SHL, x86asm.SHR, x86asm.SAR,
		x86asm.ROL, x86asm.ROR,
		x86asm.RCL, x86asm.RCR, x86asm.BTS, x86asm.BTR, x86asm.BTC, x86asm.PADDB, x86asm.PADDD,
		x86asm.PADDQ, x86asm.POR, x86asm.PAND,
		x86asm.ADDSD, x86asm.SUBSD, x86asm.MULSD, x86asm.DIVSD, x86asm.ADDSS, x86asm.SUBSS, x86asm.MULSS,
		x86asm.DIVSS, x86asm.PUNPCKLQDQ:
		return e.one(a, computed, a, b)
	case x86asm.SHLD, x86asm.SHRD:
		return e.one(a, computed, a, b, in.Args[2])
	case x86asm.INC, x86asm.DEC, x86asm.NEG, x86asm.NOT, x86asm.BSWAP:
		return e.one(a, computed, a)
	case x86asm.BSF, x86asm.BSR, x86asm.TZCNT, x86asm.LZCNT, x86asm.POPCNT, x86asm.CVTSI2SD,
		x86asm.CVTTSD2SI, x86asm.CVTSI2SS,
		x86asm.CVTTSS2SI, x86asm.CVTSS2SD, x86asm.CVTSD2SS, x86asm.PSHUFD, x86asm.MOVMSKPD,
		x86asm.PMOVMSKB:
		return e.one(a, computed, b)
	case x86asm.IMUL:
		switch {
		case in.Args[2] != nil:
			return e.one(a, computed, b)
		case b != nil:
			return e.one(a, computed, a, b)
		}
		fallthrough
	case x86asm.MUL, x86asm.DIV, x86asm.IDIV:
		from := append([]place{register(rax)}, e.placesOf(a)...)
		if in.Op == x86asm.DIV || in.Op == x86asm.IDIV {
			from = append(from, register(rdx))
		}
		return []effect{{to: register(rax), how: computed, from: from},
			{to: register(rdx), how: computed, from: from}}
	case x86asm.CWD, x86asm.CDQ, x86asm.CQO:
		return []effect{{to: register(rdx), how: computed, from: []place{register(rax)}}}
	case x86asm.CBW, x86asm.CWDE, x86asm.CDQE:
		return []effect{{to: register(rax), how: copied, from: []place{register(rax)}}}
	case x86asm.STOSB, x86asm.STOSW, x86asm.STOSD, x86asm.STOSQ:
		n := stringOps[in.Op]
		return []effect{{to: place{kind: inMemory, addr: e.gpr[rdi], size: n}, how: copied,
			from: []place{register(rax)}}}
	case x86asm.MOVSB, x86asm.MOVSW, x86asm.MOVSD, x86asm.MOVSQ:
		n := stringOps[in.Op]
		return []effect{{to: place{kind: inMemory, addr: e.gpr[rdi], size: n}, how: copied,
			from: []place{{kind: inMemory, addr: e.gpr[rsi], size: n}}}}
	case x86asm.IN:
		return []effect{{to: register(rax), how: input, what: "an input port"}}
	case x86asm.INSB, x86asm.INSD, x86asm.INSW:
		return []effect{{to: place{kind: inMemory, addr: e.gpr[rdi], size: max(size, 1)}, how: input,
			what: "an input port"}}
	case x86asm.RDTSC, x86asm.RDTSCP:
		return []effect{{to: register(rax), how: input, what: "the time stamp counter"},
			{to: register(rdx), how: input, what: "the time stamp counter"}}
	case x86asm.CPUID:
		var fx []effect
		for _, r := range []int{rax, rbx, rcx, rdx} {
			fx = append(fx, effect{to: register(r), how: input, what: "CPUID"})
		}
		return fx
	case x86asm.RDMSR:
		return []effect{{to: register(rax), how: input, what: "a model-specific register"},
			{to: register(rdx), how: input, what: "a model-specific register"}}
	case x86asm.RDRAND:
		fx := e.one(a, input)
		for i := range fx {
			fx[i].what = "RDRAND"
		}
		return fx
	case x86asm.CMOVA, x86asm.CMOVAE, x86asm.CMOVB, x86asm.CMOVBE, x86asm.CMOVE, x86asm.CMOVG,
		x86asm.CMOVGE, x86asm.CMOVL, x86asm.CMOVLE,
		x86asm.CMOVNE, x86asm.CMOVNO, x86asm.CMOVNP, x86asm.CMOVNS, x86asm.CMOVO, x86asm.CMOVP,
		x86asm.CMOVS:
		// Where it has not moved, the register is as it was.
		if to := e.placesOf(a); len(to) == 1 && after != nil && after.gpr[to[0].reg] == e.gpr[to[0].reg] {
			return nil
		}
		return e.one(a, copied, b)
	case x86asm.SETA, x86asm.SETAE, x86asm.SETB, x86asm.SETBE, x86asm.SETE, x86asm.SETG, x86asm.SETGE,
		x86asm.SETL, x86asm.SETLE,
		x86asm.SETNE, x86asm.SETNO, x86asm.SETNP, x86asm.SETNS, x86asm.SETO, x86asm.SETP, x86asm.SETS:
		return e.one(a, computed)
	case x86asm.CMP, x86asm.TEST, x86asm.BT, x86asm.UCOMISD, x86asm.COMISD, x86asm.UCOMISS,
		x86asm.COMISS, x86asm.NOP, x86asm.PREFETCHT0, x86asm.PREFETCHNTA:
		return nil
	}
	if _, jump := in.Args[0].(x86asm.Rel); jump {
		return nil
	}
	// Others: what has changed has been made here, in a way that is not known.
	var fx []effect
	if m, ok := a.(x86asm.Mem); ok {
		fx = append(fx, effect{to: place{kind: inMemory, addr: e.addressOf(m, e.pc+uint64(in.Len)),
			size: max(uint64(in.MemBytes), 8)}, how: unknown})
	}
	return append(fx, e.changed(after)...)
}

// changed are the registers that are not what they were, as an effect of which no more is known.
func (e *entry) changed(after *state) (fx []effect) {
	for n := range e.gpr {
		if after != nil && n != rsp && after.gpr[n] != e.gpr[n] {
			fx = append(fx, effect{to: register(n), how: unknown})
		}
		if after != nil && after.vector[n] != e.vector[n] {
			fx = append(fx, effect{to: place{kind: inVector, reg: n, size: 32}, how: unknown})
		}
	}
	return fx
}
