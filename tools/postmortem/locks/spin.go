package locks

import (
	"encoding/binary"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/symbol/flow"
)

// A goroutine that runs may still wait: in a loop that reads a variable until another goroutine
// has changed it. Whether it is in one is tried: its instructions are carried out on a copy of
// its registers, with memory as it is, until all is as it was some instructions before. Then it
// will never be otherwise unless memory changes. What writes anywhere but on its own stack, calls
// for a service, or depends on what is not known, is no such loop.

// Frame is where a goroutine goes on: its pc and what is known of its registers.
type Frame struct {
	PC   uint64
	Regs [flow.X]uint64 // by x86's numbers: AX, CX, DX, BX, SP, BP, SI, DI, R8 and so on
	// Known says which of them are.
	Known [flow.X]bool
	// Flags are the processor's flags (RFLAGS), if FlagsKnown is set: it may go on at the branch
	// behind a comparison.
	Flags      uint64
	FlagsKnown bool
	// StackLow and StackHigh bound its stack.
	StackLow, StackHigh uint64
}

// maxSteps bounds the instructions that are carried out.
const maxSteps = 20000

// yields are functions of the runtime that give the CPU away and come back.
var yields = map[string]bool{
	"runtime.Gosched": true, "runtime.procyield": true, "runtime.osyield": true,
	"runtime.procyieldAsm":         true,
	"internal/sync.runtime_doSpin": true, "sync.runtime_doSpin": true,
}

// Spins reports whether a goroutine stays in a loop for as long as memory is as it is, and the
// addresses outside of its stack that it reads in it, sorted. read reads memory.
func (p *Program) Spins(f Frame, read func(addr uint64,
	b []byte) bool) (reads []uint64, spins bool) {
	m := &machine{p: p, f: f, read: read, mem: make(map[uint64]byte), flags: flags{
		f.Flags&(1<<6) != 0, f.Flags&(1<<7) != 0, f.Flags&1 != 0, f.Flags&(1<<11) != 0, f.FlagsKnown}}
	type snapshot struct {
		f             Frame
		flags         flags
		writes, reads int
	}
	seen := make(map[uint64]snapshot)
	for range maxSteps {
		if was, ok := seen[m.f.PC]; ok && was.f == m.f && was.flags == m.flags && m.writes == was.writes {
			log := slices.Clone(m.log[was.reads:])
			slices.Sort(log)
			return slices.Compact(log), true
		}
		seen[m.f.PC] = snapshot{m.f, m.flags, m.writes, len(m.log)}
		if !m.step() {
			return nil, false
		}
	}
	return nil, false
}

// machine carries out instructions.
type machine struct {
	p      *Program
	f      Frame
	read   func(addr uint64, b []byte) bool
	mem    map[uint64]byte // what was written on the stack
	writes int             // so often a byte there became another one
	log    []uint64        // addresses read elsewhere
	flags
}

// flags are those of an x86 processor by which branches are taken.
type flags struct{ zf, sf, cf, of, known bool }

func (m *machine) load(addr uint64, n int) (uint64, bool) {
	var b [8]byte
	if n > 8 || !m.read(addr, b[:n]) {
		return 0, false
	}
	if addr < m.f.StackLow || addr >= m.f.StackHigh {
		m.log = append(m.log, addr)
	}
	for i := range n {
		if w, ok := m.mem[addr+uint64(i)]; ok {
			b[i] = w
		}
	}
	return binary.LittleEndian.Uint64(b[:]), true
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

// address returns that of an operand in memory.
func (m *machine) address(in *flow.Inst, x x86asm.Mem) (v uint64, known bool) {
	v, known = uint64(x.Disp), x.Segment != x86asm.FS && x.Segment != x86asm.GS
	add := func(r x86asm.Reg, times uint64) {
		switch n, size, ok := flow.Register(r); {
		case r == 0:
		case r == x86asm.RIP:
			v += in.Next
		case ok && size == 8 && m.f.Known[n]:
			v += m.f.Regs[n] * times
		default:
			known = false
		}
	}
	add(x.Base, 1)
	add(x.Index, uint64(x.Scale))
	return v, known
}

// size returns how many bytes an operand has.
func size(in *flow.Inst, a x86asm.Arg) int {
	if _, n, ok := flow.Register(a); ok {
		return n
	}
	return in.MemBytes
}

func (m *machine) get(in *flow.Inst, a x86asm.Arg) (uint64, bool) {
	switch a := a.(type) {
	case x86asm.Imm:
		return uint64(a), true
	case x86asm.Mem:
		if addr, ok := m.address(in, a); ok {
			return m.load(addr, in.MemBytes)
		}
	case x86asm.Reg:
		n, size, ok := flow.Register(a)
		if ok && n < flow.X && m.f.Known[n] && !flow.HighByte(a) {
			return m.f.Regs[n] & mask(size), true
		}
	}
	return 0, false
}

// set writes an operand; known says that v is its value.
func (m *machine) set(in *flow.Inst, a x86asm.Arg, v uint64, known bool) bool {
	switch a := a.(type) {
	case x86asm.Mem:
		addr, ok := m.address(in, a)
		return ok && known && in.MemBytes >= 1 && in.MemBytes <= 8 && m.store(addr, in.MemBytes, v)
	case x86asm.Reg:
		n, size, ok := flow.Register(a)
		if !ok || flow.HighByte(a) || n >= flow.X {
			return ok && n >= flow.X // not looked at
		}
		if v &= mask(size); size < 4 {
			known = known && m.f.Known[n]
			v |= m.f.Regs[n] &^ mask(size)
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
	i, ok := f.Index(m.f.PC)
	if !ok {
		return false
	}
	in := &f.Insts[i]
	m.f.PC = in.Next
	dst, src := in.Args[0], in.Args[1]
	switch in.Op {
	case x86asm.NOP, x86asm.PAUSE, x86asm.LFENCE, x86asm.MFENCE:
		return true
	case x86asm.MOV, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD:
		v, known := m.get(in, src)
		if k := size(in, src); k > 0 && k < 8 && in.Op != x86asm.MOV && in.Op != x86asm.MOVZX {
			v = uint64(int64(v<<(64-8*k)) >> (64 - 8*k))
		}
		return m.set(in, dst, v, known)
	case x86asm.LEA:
		x, _ := src.(x86asm.Mem)
		v, known := m.address(in, x)
		return m.set(in, dst, v, known)
	case x86asm.CMP, x86asm.TEST, x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.OR, x86asm.XOR,
		x86asm.INC, x86asm.DEC:
		return m.arithmetic(in, dst, src, size(in, dst))
	case x86asm.CMPXCHG:
		n := size(in, dst)
		old, ok := m.get(in, dst)
		if !ok || !m.f.Known[0] || n == 0 || old == m.f.Regs[0]&mask(n) {
			return false // it is exchanged, or may be
		}
		m.operate(x86asm.CMP, m.f.Regs[0], old, n)
		m.f.Regs[0] = old
		return true
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
		m.f.PC, ok = in.Target()
		return ok
	case x86asm.CALL:
		return m.call(in)
	case x86asm.RET:
		m.f.PC, ok = m.pop()
		return ok
	}
	return m.conditional(in)
}

// call goes on in the function that is called, or after one that only waits a little.
func (m *machine) call(in *flow.Inst) bool {
	to, ok := in.Target()
	if ok && yields[m.p.Name(to)] {
		for r := range m.f.Known {
			if r != flow.SP && r != flow.BP && r != flow.G {
				m.f.Regs[r], m.f.Known[r] = 0, false
			}
		}
		m.flags = flags{}
		return true
	}
	m.f.PC = to
	return ok && m.push(in.Next)
}

func (m *machine) push(v uint64) bool {
	m.f.Regs[flow.SP] -= 8
	return m.f.Known[flow.SP] && m.store(m.f.Regs[flow.SP], 8, v)
}

func (m *machine) pop() (uint64, bool) {
	v, ok := m.load(m.f.Regs[flow.SP], 8)
	m.f.Regs[flow.SP] += 8
	return v, ok && m.f.Known[flow.SP]
}

func (m *machine) arithmetic(in *flow.Inst, dst, src x86asm.Arg, n int) bool {
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
	v, known := uint64(0), ok && ok2
	if known {
		v = m.operate(in.Op, a, b, n)
	} else {
		m.flags = flags{}
	}
	return in.Op == x86asm.CMP || in.Op == x86asm.TEST || m.set(in, dst, v, known)
}

// operate returns what an operation on n bytes gives, and sets the flags by it.
func (m *machine) operate(op x86asm.Op, a, b uint64, n int) (v uint64) {
	a, b = a&mask(n), b&mask(n)
	carry, over, known := false, uint64(0), true // over has the sign of an overflow
	switch op {
	case x86asm.CMP, x86asm.SUB, x86asm.DEC:
		v = a - b
		carry, over = a < b, (a^b)&(a^v)
	case x86asm.ADD, x86asm.INC:
		v = a + b
		carry, over = v&mask(n) < a, ^(a^b)&(a^v)
	case x86asm.OR:
		v = a | b
	case x86asm.XOR:
		v = a ^ b
	default:
		v = a & b
	}
	if op == x86asm.INC || op == x86asm.DEC {
		carry, known = m.cf, m.flags.known // they leave the carry as it is
	}
	sign := uint64(1) << (8*n - 1)
	v &= mask(n)
	m.flags = flags{v == 0, v&sign != 0, carry, over&sign != 0, known}
	return v
}

// conditional carries out a jump or SETcc.
func (m *machine) conditional(in *flow.Inst) bool {
	name := in.Op.String()
	set := strings.HasPrefix(name, "SET")
	less := m.sf != m.of
	taken, ok := map[string]bool{"E": m.zf, "NE": !m.zf, "B": m.cf, "AE": !m.cf, "BE": m.cf || m.zf,
		"A": !m.cf && !m.zf,
		"L": less, "GE": !less, "LE": less || m.zf, "G": !less && !m.zf, "S": m.sf,
		"NS": !m.sf}[strings.TrimPrefix(strings.TrimPrefix(name, "SET"), "J")]
	switch {
	case !ok || !m.flags.known || !set && !in.Conditional():
		return false
	case !set && taken:
		m.f.PC, _ = in.Target()
	case set:
		v := uint64(0)
		if taken {
			v = 1
		}
		return m.set(in, in.Args[0], v, true)
	}
	return true
}
