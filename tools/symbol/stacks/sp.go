package stacks

// Where SP is, from the instructions themselves: for assembly, and for code of which
// the tables say where the frame begins but not where it ends. Each instruction is
// looked at in the deepest state in which it is reached.

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/symbol/code"
)

// spState is where SP and RBP are, in bytes below the return address.
type spState struct {
	depth  int64
	known  bool // SP is on the caller's stack, or on the fresh one
	bp     int64
	framed bool // RBP points into the frame
}

// deeper returns what holds where both states lead: the deeper one. RBP is known if
// it is in both.
func (s spState) deeper(o spState) spState {
	if !s.known {
		return o // where the function has left its stack there is nothing to count
	}
	if !o.known {
		return s
	}
	s.framed = s.framed && o.framed && s.bp == o.bp
	s.depth = max(s.depth, o.depth)
	return s
}

// spWalk follows a function's instructions.
type spWalk struct {
	fresh bool // a load of SP begins the stack
	// ends, if not nil, reports whether a function does not return.
	ends func(target uint64) bool
	// loads is set by what gives SP a value that is not known; variable when the
	// frame has no fixed size.
	loads, variable, grows uint64 // addresses, 0 for none
}

// maxVisits bounds how often an instruction is looked at again since SP is deeper.
const maxVisits = 32

// follow returns the state before each instruction of a function, which may have several
// parts, the one with its entry first. row, if not nil, gives the state that a table
// knows for an instruction.
func (w *spWalk) follow(m *code.Image, bytesAt func(addr, n uint64) ([]byte, bool),
	fns []*code.Func, row func(pc uint64, s *spState) bool) map[uint64]spState {
	type inst struct {
		code.Inst
		asm x86asm.Inst
	}
	insts := map[uint64]*inst{}
	var order []uint64
	for _, fn := range fns {
		m.Insts(fn, func(pc uint64, i code.Inst) bool {
			insts[pc] = &inst{Inst: i}
			order = append(order, pc)
			return true
		})
	}
	states := map[uint64]spState{}
	visits := map[uint64]int{}
	var todo []uint64
	reach := func(pc uint64, s spState) {
		if insts[pc] == nil {
			return
		}
		if row != nil {
			row(pc, &s)
		}
		if old, ok := states[pc]; ok {
			if s = old.deeper(s); s == old {
				return
			}
			if visits[pc]++; visits[pc] > maxVisits {
				w.grows = pc
				return
			}
		}
		states[pc] = s
		todo = append(todo, pc)
	}
	deepest := spState{known: !w.fresh}
	run := func() {
		for len(todo) > 0 {
			pc := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			i, s := insts[pc], states[pc]
			if i.asm.Len == 0 {
				b, _ := bytesAt(pc, uint64(i.Len))
				i.asm, _ = x86asm.Decode(b, 64)
				i.asm.Len = i.Len
			}
			w.step(pc, &i.asm, &s)
			deepest = deepest.deeper(s)
			next := pc + uint64(i.Len)
			switch i.Op {
			case code.Jump:
				reach(i.Target(pc), s)
			case code.Branch:
				reach(i.Target(pc), s)
				reach(next, s)
			case code.Return, code.JumpIndirect, code.JumpTable, code.Trap, code.Break:
			default:
				if i.Op == code.Call && w.ends != nil && w.ends(i.Target(pc)) {
					s.known = false
				}
				reach(next, s)
			}
		}
	}
	reach(fns[0].Start, spState{known: !w.fresh})
	run()
	// What only a table of jumps leads to, or nothing: as deep as it can be.
	for _, pc := range order {
		if _, ok := states[pc]; !ok && insts[pc].Op != code.Nop && insts[pc].Op != code.Break {
			reach(pc, deepest)
			run()
		}
	}
	return states
}

// step does to the state what the instruction does.
func (w *spWalk) step(pc uint64, i *x86asm.Inst, s *spState) {
	move := func(n int64) {
		if s.known {
			s.depth += n
		}
	}
	mem, isMem := i.Args[1].(x86asm.Mem)
	imm, isImm := i.Args[1].(x86asm.Imm)
	toSP := i.Args[0] == x86asm.RSP || i.Args[0] == x86asm.ESP || i.Args[0] == x86asm.SP
	switch i.Op {
	case x86asm.PUSH, x86asm.PUSHF, x86asm.PUSHFQ:
		move(8)
		return
	case x86asm.POP, x86asm.POPF, x86asm.POPFQ:
		move(-8)
	case x86asm.ENTER:
		w.variable = pc
	case x86asm.LEAVE:
		w.load(pc, s, s.bp-8, s.framed)
		s.framed = false
		return
	case x86asm.CMP, x86asm.TEST:
		return
	}
	switch {
	case toSP && (i.Op == x86asm.SUB || i.Op == x86asm.ADD):
		n := int64(imm)
		if i.Op == x86asm.ADD {
			n = -n
		}
		if !isImm {
			if s.known {
				w.variable = pc
			}
			return
		}
		move(n)
	case toSP && i.Op == x86asm.AND && isImm && imm < 0:
		move(max(-int64(imm)-8, 0)) // SP is a multiple of 8
	case toSP && i.Op == x86asm.MOV && i.Args[1] == x86asm.RBP:
		w.load(pc, s, s.bp, s.framed)
	case toSP && i.Op == x86asm.LEA && isMem && mem.Index == 0 && mem.Base == x86asm.RSP:
		move(-mem.Disp)
	case toSP && i.Op == x86asm.LEA && isMem && mem.Index == 0 && mem.Base == x86asm.RBP && s.framed:
		w.load(pc, s, s.bp-mem.Disp, true)
	case toSP && w.fresh && !s.known && i.Op == x86asm.LEA && isMem && mem.Index == 0:
		s.known, s.depth = true, -mem.Disp
	case toSP && w.fresh && !s.known && i.Op == x86asm.MOV:
		s.known, s.depth = true, 0
	case toSP:
		w.load(pc, s, 0, false)
	}
	s.stepFrame(i)
}

// stepFrame does to what is known of RBP what the instruction does.
func (s *spState) stepFrame(i *x86asm.Inst) {
	mem, isMem := i.Args[1].(x86asm.Mem)
	switch {
	case i.Args[0] != x86asm.RBP && i.Args[0] != x86asm.EBP:
	case i.Op == x86asm.MOV && i.Args[1] == x86asm.RSP:
		s.bp, s.framed = s.depth, s.known
	case i.Op == x86asm.LEA && isMem && mem.Base == x86asm.RSP && mem.Index == 0:
		s.bp, s.framed = s.depth-mem.Disp, s.known
	default:
		s.framed = false
	}
}

// load gives SP another value.
func (w *spWalk) load(pc uint64, s *spState, depth int64, known bool) {
	if !known && s.known {
		w.loads = pc
	}
	s.depth, s.known = depth, known && (s.known || depth >= 0)
}

// redZone returns how many bytes below SP the instruction uses: code of the System V
// ABI may, where it calls nothing.
func redZone(b []byte) int64 {
	i, err := x86asm.Decode(b, 64)
	if err != nil {
		return 0
	}
	below := int64(0)
	for _, a := range i.Args {
		if m, ok := a.(x86asm.Mem); ok && m.Base == x86asm.RSP && i.Op != x86asm.LEA {
			below = max(below, -m.Disp)
		}
	}
	return below
}
