package locks

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// A goroutine that runs may still wait: in a loop that reads a variable until another goroutine
// has changed it. Whether it is in one is tried: its instructions are carried out on a copy of
// its registers, with memory as it is, until all is as it was some instructions before. Then it
// will never be otherwise unless memory changes. What writes anywhere but on its own stack, calls
// for a service, or depends on what is not known, is no such loop.

// Frame is where a goroutine goes on: its pc and what is known of its registers.
type Frame struct {
	PC   uint64
	Regs [numRegs]uint64 // by x86's numbers: AX, CX, DX, BX, SP, BP, SI, DI, R8 and so on
	// Known says which of them are.
	Known [numRegs]bool
	// StackLow and StackHigh bound its stack.
	StackLow, StackHigh uint64
}

// maxSteps bounds the instructions that are carried out.
const maxSteps = 20000

// yields are functions of the runtime that give the CPU away and come back.
var yields = map[string]bool{
	"runtime.Gosched": true, "runtime.procyield": true, "runtime.osyield": true, "runtime.procyieldAsm": true,
	"internal/sync.runtime_doSpin": true, "sync.runtime_doSpin": true,
}

// Spins reports whether a goroutine stays in a loop for as long as memory is as it is, and the
// addresses outside of its stack that it reads in it, sorted. read reads memory.
func (p *Program) Spins(f Frame, read func(addr uint64, b []byte) bool) (reads []uint64, spins bool) {
	m := &machine{p: p, f: f, read: read, mem: make(map[uint64]byte)}
	seen := make(map[uint64]snapshot)
	for range maxSteps {
		now := snapshot{m.f, len(m.mem), m.writes, m.reads}
		if was, ok := seen[m.f.PC]; ok && was.f == now.f && m.writes == was.writes {
			return loopReads(m.log[was.reads:]), true
		}
		seen[m.f.PC] = now
		if !m.step() {
			return nil, false
		}
		m.reads = len(m.log)
	}
	return nil, false
}

type snapshot struct {
	f             Frame
	stored        int
	writes, reads int
}

func loopReads(log []uint64) []uint64 {
	log = slices.Clone(log)
	slices.Sort(log)
	return slices.Compact(log)
}

// machine carries out instructions.
type machine struct {
	p      *Program
	f      Frame
	read   func(addr uint64, b []byte) bool
	mem    map[uint64]byte // what was written on the stack
	writes int             // so often a byte there became another one
	log    []uint64        // addresses read elsewhere
	reads  int
	zf, sf bool
	cf, of bool
	flags  bool // these are known
}

func (m *machine) load(addr uint64, n int) (uint64, bool) {
	var b [8]byte
	if n > 8 || !m.read(addr, b[:n]) {
		return 0, false
	}
	if addr < m.f.StackLow || addr >= m.f.StackHigh {
		m.log = append(m.log, addr)
	}
	v := uint64(0)
	for i := n - 1; i >= 0; i-- {
		c := b[i]
		if w, ok := m.mem[addr+uint64(i)]; ok {
			c = w
		}
		v = v<<8 | uint64(c)
	}
	return v, true
}

// store writes on the stack. Elsewhere only what is there already may be written.
func (m *machine) store(addr uint64, n int, v uint64) bool {
	old, ok := m.load(addr, n)
	if ok && old == v&mask(n) {
		return true
	}
	if addr < m.f.StackLow || addr+uint64(n) > m.f.StackHigh {
		return false
	}
	m.writes++
	for i := range n {
		m.mem[addr+uint64(i)] = byte(v >> (8 * i))
	}
	return true
}

func mask(n int) uint64 { return ^uint64(0) >> (64 - 8*n) }

func (m *machine) address(in *inst, x x86asm.Mem) (uint64, bool) {
	if x.Segment == x86asm.FS || x.Segment == x86asm.GS {
		return 0, false
	}
	v := uint64(x.Disp)
	for i, r := range []x86asm.Reg{x.Base, x.Index} {
		switch {
		case r == 0:
			continue
		case r == x86asm.RIP:
			v += in.next
			continue
		}
		n, size, ok := reg(r)
		if !ok || size != 8 || !m.f.Known[n] {
			return 0, false
		}
		if i == 0 {
			v += m.f.Regs[n]
		} else {
			v += m.f.Regs[n] * uint64(x.Scale)
		}
	}
	return v, true
}

// size returns how many bytes an operand has.
func (in *inst) size(a x86asm.Arg) int {
	if _, n, ok := reg(a); ok {
		return n
	}
	return in.MemBytes
}

func (m *machine) get(in *inst, a x86asm.Arg) (uint64, bool) {
	switch a := a.(type) {
	case x86asm.Imm:
		return uint64(a), true
	case x86asm.Mem:
		addr, ok := m.address(in, a)
		if !ok {
			return 0, false
		}
		return m.load(addr, in.MemBytes)
	case x86asm.Reg:
		n, size, ok := reg(a)
		if !ok || !m.f.Known[n] || a >= x86asm.AH && a <= x86asm.BH {
			return 0, false
		}
		return m.f.Regs[n] & mask(size), true
	}
	return 0, false
}

// set writes an operand; known says that v is its value.
func (m *machine) set(in *inst, a x86asm.Arg, v uint64, known bool) bool {
	switch a := a.(type) {
	case x86asm.Mem:
		addr, ok := m.address(in, a)
		return ok && known && in.MemBytes >= 1 && in.MemBytes <= 8 && m.store(addr, in.MemBytes, v)
	case x86asm.Reg:
		n, size, ok := reg(a)
		if !ok {
			return a >= x86asm.X0 && a <= x86asm.X15 // not looked at
		}
		if a >= x86asm.AH && a <= x86asm.BH {
			return false
		}
		if size < 4 {
			known = known && m.f.Known[n]
			v = m.f.Regs[n]&^mask(size) | v&mask(size)
		} else {
			v &= mask(size)
		}
		if !known {
			v = 0
		}
		m.f.Regs[n], m.f.Known[n] = v, known
		return true
	}
	return false
}

// step carries out one instruction, and reports false if it cannot or must not.
func (m *machine) step() bool {
	f := m.p.read(m.f.PC)
	if f == nil {
		return false
	}
	i, ok := f.index(m.f.PC)
	if !ok {
		return false
	}
	in := &f.insts[i]
	m.f.PC = in.next
	dst, src := in.Args[0], in.Args[1]
	n := in.size(dst)
	switch in.Op {
	case x86asm.NOP, x86asm.PAUSE, x86asm.LFENCE, x86asm.MFENCE:
	case x86asm.MOV, x86asm.MOVZX:
		v, known := m.get(in, src)
		return m.set(in, dst, v, known)
	case x86asm.MOVSX, x86asm.MOVSXD:
		v, known := m.get(in, src)
		if k := in.size(src); k > 0 && k < 8 {
			v = uint64(int64(v<<(64-8*k)) >> (64 - 8*k))
		}
		return m.set(in, dst, v, known)
	case x86asm.LEA:
		x, _ := src.(x86asm.Mem)
		v, known := m.address(in, x)
		return m.set(in, dst, v, known)
	case x86asm.CMP, x86asm.TEST, x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.INC, x86asm.DEC:
		return m.arithmetic(in, dst, src, n)
	case x86asm.CMPXCHG:
		old, ok := m.get(in, dst)
		if !ok || !m.f.Known[0] || n == 0 || old == m.f.Regs[0]&mask(n) {
			return false // it is exchanged, or may be
		}
		m.compare(m.f.Regs[0], old, n)
		m.f.Regs[0] = old
	case x86asm.XCHG:
		a, ok := m.get(in, dst)
		b, ok2 := m.get(in, src)
		return ok && ok2 && m.set(in, dst, b, true) && m.set(in, src, a, true)
	case x86asm.PUSH:
		v, known := m.get(in, dst)
		return known && m.push(v)
	case x86asm.POP:
		v, ok := m.pop()
		return ok && m.set(in, dst, v, true)
	case x86asm.JMP:
		m.f.PC, ok = in.target()
		return ok
	case x86asm.CALL:
		to, ok := in.target()
		if !ok {
			return false
		}
		if yields[m.p.name(to)] {
			for r := range m.f.Known {
				if r != regSP && r != regBP && r != regG {
					m.f.Regs[r], m.f.Known[r] = 0, false
				}
			}
			m.flags = false
			return true
		}
		if !m.push(in.next) {
			return false
		}
		m.f.PC = to
	case x86asm.RET:
		m.f.PC, ok = m.pop()
		return ok
	default:
		taken, ok := m.condition(in)
		if !ok || !m.flags {
			return false
		}
		if in.conditional() {
			if taken {
				m.f.PC, _ = in.target()
			}
			return true
		}
		v := uint64(0)
		if taken {
			v = 1
		}
		return m.set(in, dst, v, true) // SETcc
	}
	return true
}

func (m *machine) push(v uint64) bool {
	if !m.f.Known[regSP] {
		return false
	}
	m.f.Regs[regSP] -= 8
	return m.store(m.f.Regs[regSP], 8, v)
}

func (m *machine) pop() (uint64, bool) {
	if !m.f.Known[regSP] {
		return 0, false
	}
	v, ok := m.load(m.f.Regs[regSP], 8)
	m.f.Regs[regSP] += 8
	return v, ok
}

func (m *machine) compare(a, b uint64, n int) uint64 {
	a, b = a&mask(n), b&mask(n)
	v := (a - b) & mask(n)
	sign := uint64(1) << (8*n - 1)
	m.zf, m.sf, m.cf, m.flags = v == 0, v&sign != 0, a < b, true
	m.of = (a^b)&(a^v)&sign != 0
	return v
}

func (m *machine) arithmetic(in *inst, dst, src x86asm.Arg, n int) bool {
	a, ok := m.get(in, dst)
	b, ok2 := uint64(1), true
	if in.Op != x86asm.INC && in.Op != x86asm.DEC {
		b, ok2 = m.get(in, src)
	}
	if in.Op == x86asm.XOR && dst == src {
		a, b, ok, ok2 = 0, 0, true, true
	}
	if n == 0 || n > 8 {
		return false
	}
	if !ok || !ok2 {
		m.flags = false
		if in.Op == x86asm.CMP || in.Op == x86asm.TEST {
			return true
		}
		return m.set(in, dst, 0, false)
	}
	carry := m.cf
	sign := uint64(1) << (8*n - 1)
	var v uint64
	switch in.Op {
	case x86asm.CMP:
		m.compare(a, b, n)
		return true
	case x86asm.SUB, x86asm.DEC:
		v = m.compare(a, b, n)
	case x86asm.ADD, x86asm.INC:
		v = (a + b) & mask(n)
		m.zf, m.sf, m.cf, m.flags = v == 0, v&sign != 0, v < a&mask(n), true
		m.of = ^(a^b)&(a^v)&sign != 0
	default:
		v = a & b
		switch in.Op {
		case x86asm.OR:
			v = a | b
		case x86asm.XOR:
			v = a ^ b
		}
		v &= mask(n)
		m.zf, m.sf, m.cf, m.of, m.flags = v == 0, v&sign != 0, false, false, true
		if in.Op == x86asm.TEST {
			return true
		}
	}
	if in.Op == x86asm.INC || in.Op == x86asm.DEC {
		m.cf = carry
	}
	return m.set(in, dst, v, true)
}

// condition returns whether the condition of a jump or SETcc holds.
func (m *machine) condition(in *inst) (taken, ok bool) {
	switch in.Op {
	case x86asm.JE, x86asm.SETE:
		return m.zf, true
	case x86asm.JNE, x86asm.SETNE:
		return !m.zf, true
	case x86asm.JB, x86asm.SETB:
		return m.cf, true
	case x86asm.JAE, x86asm.SETAE:
		return !m.cf, true
	case x86asm.JBE, x86asm.SETBE:
		return m.cf || m.zf, true
	case x86asm.JA, x86asm.SETA:
		return !m.cf && !m.zf, true
	case x86asm.JL, x86asm.SETL:
		return m.sf != m.of, true
	case x86asm.JGE, x86asm.SETGE:
		return m.sf == m.of, true
	case x86asm.JLE, x86asm.SETLE:
		return m.zf || m.sf != m.of, true
	case x86asm.JG, x86asm.SETG:
		return !m.zf && m.sf == m.of, true
	case x86asm.JS, x86asm.SETS:
		return m.sf, true
	case x86asm.JNS, x86asm.SETNS:
		return !m.sf, true
	}
	return false, false
}
