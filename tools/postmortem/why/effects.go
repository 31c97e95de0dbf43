package why

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/symbol/flow"
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

// mask has the bits of a number that a place holds.
func (p place) mask() uint64 { return mask(min(p.size, 8)) }

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

// regOf returns a general register's number and its width in bytes.
func regOf(a x86asm.Arg) (n int, size uint64, ok bool) {
	n, width, ok := flow.Register(a)
	return n, uint64(width), ok && n < flow.X
}

// addressOf returns the address of an operand in memory before the instruction.
func (s *state) addressOf(m x86asm.Mem, next uint64) uint64 {
	a := uint64(m.Disp)
	if m.Disp>>32 == 0 {
		a = uint64(int64(int32(m.Disp))) // the decoder has left the sign out where there is no base
	}
	if m.Base == x86asm.RIP {
		a += next
	} else if n, _, ok := regOf(m.Base); ok {
		a += s.gpr[n]
	}
	if n, _, ok := regOf(m.Index); ok && m.Scale > 0 {
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

// next is the address behind the instruction.
func (e *entry) next() uint64 { return e.pc + uint64(e.inst.Len) }

// operand returns the address of an operand in memory of the instruction.
func (e *entry) operand(m x86asm.Mem) uint64 { return e.addressOf(m, e.next()) }

// placesOf returns the place of an operand, none for a constant.
func (e *entry) placesOf(a x86asm.Arg) []place {
	switch a := a.(type) {
	case x86asm.Reg:
		if n, size, ok := regOf(a); ok {
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
		return []place{bytesAt(e.operand(a), size)}
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
		if n, size, ok := regOf(r); ok {
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

func bytesAt(addr, size uint64) place { return place{kind: inMemory, addr: addr, size: size} }

// A form says which operands most instructions read, to write the first one.
type form uint8

const (
	second form = iota + 1 // copy the second one
	ofBoth                 // compute it of the first two
	differ                 // likewise, but of one with itself it is 0
	ofThree
	ofFirst
	ofSecond
	compares // they write none
	nothing  // likewise, and compare nothing
)

// forms are those of the instructions that need no code of their own.
var forms = func() map[x86asm.Op]form {
	named, all := map[string]form{}, map[x86asm.Op]form{}
	for f, list := range map[form]string{
		second: "MOV MOVZX MOVSX MOVSXD MOVUPS MOVUPD MOVAPS MOVAPD MOVDQU MOVDQA MOVQ MOVD MOVSD_XMM " +
			"MOVSS MOVNTI MOVNTDQ MOVHPS MOVLPS MOVHPD MOVLPD MOVBE VMOVDQA VMOVDQU VMOVNTDQ VMOVNTDQA",
		differ: "XOR SUB PXOR XORPS XORPD PSUBB PSUBD PSUBQ",
		ofBoth: "ADD ADC SBB AND OR SHL SHR SAR ROL ROR RCL RCR BTS BTR BTC PADDB PADDD PADDQ POR PAND " +
			"ADDSD SUBSD MULSD DIVSD ADDSS SUBSS MULSS DIVSS PUNPCKLQDQ",
		ofThree: "SHLD SHRD",
		ofFirst: "INC DEC NEG NOT BSWAP",
		ofSecond: "BSF BSR TZCNT LZCNT POPCNT CVTSI2SD CVTTSD2SI CVTSI2SS CVTTSS2SI CVTSS2SD CVTSD2SS " +
			"PSHUFD MOVMSKPD PMOVMSKB",
		compares: "CMP TEST BT UCOMISD COMISD UCOMISS COMISS",
		nothing:  "NOP PREFETCHT0 PREFETCHNTA",
	} {
		for name := range strings.FieldsSeq(list) {
			named[name] = f
		}
	}
	for op := x86asm.Op(1); !strings.HasPrefix(op.String(), "Op("); op++ {
		if f, ok := named[op.String()]; ok {
			all[op] = f
		}
	}
	return all
}()

// makes is the effect of an instruction that writes the place to.
func makes(to place, how making, from ...place) []effect {
	return []effect{{to: to, how: how, from: from}}
}

// reads are the effects of an instruction that reads what into registers.
func reads(what string, registers ...int) (fx []effect) {
	for _, r := range registers {
		fx = append(fx, effect{to: register(r), how: input, what: what})
	}
	return fx
}

// effects returns what the instruction writes; after is the state behind it.
func (e *entry) effects(after *state) []effect {
	in := &e.inst
	a, b := in.Args[0], in.Args[1]
	switch f := forms[in.Op]; {
	case f == second:
		return e.one(a, copied, b)
	case f == differ && a == b:
		return e.one(a, constant)
	case f == differ, f == ofBoth:
		return e.one(a, computed, a, b)
	case f == ofThree:
		return e.one(a, computed, a, b, in.Args[2])
	case f == ofFirst:
		return e.one(a, computed, a)
	case f == ofSecond:
		return e.one(a, computed, b)
	case f == compares, f == nothing, in.Op == 0:
		return nil
	}
	switch name := in.Op.String(); {
	case strings.HasPrefix(name, "CMOV"):
		// Where it has not moved, the register is as it was.
		if to := e.placesOf(a); len(to) == 1 && after != nil && after.gpr[to[0].reg] == e.gpr[to[0].reg] {
			return nil
		}
		return e.one(a, copied, b)
	case strings.HasPrefix(name, "SET"):
		return e.one(a, computed)
	}
	if fx, ok := e.implicit(after); ok {
		return fx
	}
	if _, jump := a.(x86asm.Rel); jump {
		return nil
	}
	// Others: what has changed has been made here, in a way that is not known.
	var fx []effect
	if m, ok := a.(x86asm.Mem); ok {
		fx = makes(bytesAt(e.operand(m), max(uint64(in.MemBytes), 8)), unknown)
	}
	return append(fx, e.changed(after)...)
}

// implicit is effects for the instructions that use more than their operands name; ok is false for
// others.
func (e *entry) implicit(after *state) (fx []effect, ok bool) {
	in, a, b := &e.inst, e.inst.Args[0], e.inst.Args[1]
	pushed, size := bytesAt(e.gpr[rsp]-8, 8), stringOps[in.Op]
	switch ok = true; in.Op {
	case x86asm.LEA:
		fx = e.address()
	case x86asm.PUSH:
		fx = append(makes(pushed, copied, e.placesOf(a)...),
			makes(register(rsp), computed, register(rsp))...)
		if imm, ok := a.(x86asm.Imm); ok {
			fx[0].how, fx[0].value = constant, uint64(imm)
		}
	case x86asm.POP:
		if to := e.placesOf(a); len(to) > 0 {
			fx = makes(to[0], copied, bytesAt(e.gpr[rsp], 8))
		}
	case x86asm.PUSHFQ, x86asm.PUSHF:
		fx = makes(pushed, unknown)
	case x86asm.CALL:
		fx = []effect{{to: pushed, how: constant, value: e.next()}}
	case x86asm.XCHG:
		fx = append(e.one(a, copied, b), e.one(b, copied, a)...)
	case x86asm.XADD:
		fx = append(e.one(a, computed, a, b), e.one(b, copied, a)...)
	case x86asm.CMPXCHG:
		if fx = makes(register(rax), copied, e.placesOf(a)...); after != nil &&
			after.flags&(1<<6) != 0 { // ZF: it was equal
			fx = e.one(a, copied, b)
		}
	case x86asm.IMUL, x86asm.MUL, x86asm.DIV, x86asm.IDIV:
		fx = e.product()
	case x86asm.CWD, x86asm.CDQ, x86asm.CQO:
		fx = makes(register(rdx), computed, register(rax))
	case x86asm.CBW, x86asm.CWDE, x86asm.CDQE:
		fx = makes(register(rax), copied, register(rax))
	case x86asm.STOSB, x86asm.STOSW, x86asm.STOSD, x86asm.STOSQ:
		fx = makes(bytesAt(e.gpr[rdi], size), copied, register(rax))
	case x86asm.MOVSB, x86asm.MOVSW, x86asm.MOVSD, x86asm.MOVSQ:
		fx = makes(bytesAt(e.gpr[rdi], size), copied, bytesAt(e.gpr[rsi], size))
	case x86asm.IN:
		fx = reads("an input port", rax)
	case x86asm.INSB, x86asm.INSD, x86asm.INSW:
		fx = makes(bytesAt(e.gpr[rdi], max(uint64(in.DataSize/8), 1)), input)
		fx[0].what = "an input port"
	case x86asm.RDTSC, x86asm.RDTSCP:
		fx = reads("the time stamp counter", rax, rdx)
	case x86asm.CPUID:
		fx = reads("CPUID", rax, rbx, rcx, rdx)
	case x86asm.RDMSR:
		fx = reads("a model-specific register", rax, rdx)
	case x86asm.RDRAND:
		fx = e.one(a, input)
		for i := range fx {
			fx[i].what = "RDRAND"
		}
	default:
		ok = false
	}
	return fx, ok
}

// address is effects for LEA.
func (e *entry) address() []effect {
	fx := e.one(e.inst.Args[0], computed)
	if m, ok := e.inst.Args[1].(x86asm.Mem); ok && len(fx) == 1 {
		if fx[0].from = addressPlaces(m); len(fx[0].from) == 0 {
			fx[0].how, fx[0].value = constant, e.operand(m)
		}
	}
	return fx
}

// divides reports whether an instruction is a division, sets whether it makes yes or no of the
// flags.
func divides(op x86asm.Op) bool { return op == x86asm.DIV || op == x86asm.IDIV }
func sets(op x86asm.Op) bool    { return strings.HasPrefix(op.String(), "SET") }

// product is effects for a multiplication or a division.
func (e *entry) product() []effect {
	in := &e.inst
	a, b := in.Args[0], in.Args[1]
	switch {
	case in.Op == x86asm.IMUL && in.Args[2] != nil:
		return e.one(a, computed, b)
	case in.Op == x86asm.IMUL && b != nil:
		return e.one(a, computed, a, b)
	}
	from := append([]place{register(rax)}, e.placesOf(a)...)
	if divides(in.Op) {
		from = append(from, register(rdx))
	}
	return append(makes(register(rax), computed, from...), makes(register(rdx), computed, from...)...)
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
