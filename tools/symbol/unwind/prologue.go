package unwind

// The last resort: no table knows the code, but its start is known. The
// instructions from there up to the pc are followed in the order of their
// addresses, and only what they do to RSP, RBP and the registers that functions
// keep is noted. Where a jump leads forwards, its target has the stack of the jump.
// What is behind a return or a jump, and no jump before leads to, is taken to run
// with the stack as it was before the epilogue there. So the answer is a good guess
// and no proof, which is what the Source says.

import (
	"bytes"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tools/symbol/flow"
)

// maxPrologue bounds the code that is read, maxInst is the length of an
// instruction, both in bytes.
const (
	maxPrologue = 16 << 10
	maxInst     = 15
)

// frameState is what the instructions so far have done.
type frameState struct {
	depth   int64          // CFA - RSP
	known   bool           // depth is known
	frame   int64          // CFA - RBP, if RBP is a frame pointer (framed)
	framed  bool           // RBP points into the frame
	saved   [NumRegs]int64 // CFA - address of the saved register, or 0
	changed [NumRegs]bool  // no longer the caller's value
}

// prologueRow returns the row at pc of the function that starts at start.
func (t *Tables) prologueRow(start, pc uint64) (row Row, ok bool) {
	if pc < start || pc-start > maxPrologue {
		return row, false
	}
	n := int(pc - start)
	b, ok := t.f.BytesAt(start, uint64(n)+maxInst) // the last instruction may go on behind pc
	if !ok {
		b, ok = t.f.BytesAt(start, uint64(n))
	}
	if !ok {
		return row, false
	}
	s := frameState{depth: 8, known: true}
	body, leaving := s, false
	jumps := make(map[int]frameState) // by their targets
	behind := false                   // an instruction that does not go on here
	for at := 0; at < n; {
		if from, ok := jumps[at]; ok && behind {
			s, leaving = from, false
		}
		i := code.Decode(b[at:])
		behind = i.Op.Ends() || behind && i.Op == code.Nop
		if to := int64(at+i.Len) + i.Rel; (i.Op == code.Jump || i.Op == code.Branch) && to > int64(at) &&
			to <= int64(n) {
			if _, ok := jumps[int(to)]; !ok {
				jumps[int(to)] = s
			}
		}
		if at += i.Len; at > n {
			break // pc is inside of a call, before its return
		}
		if i.Op == code.Bad {
			return row, false
		}
		inst, err := x86asm.Decode(b[at-i.Len:at], 64)
		if err != nil || inst.Len != i.Len || inst.Op == 0 {
			continue // none of those that step looks at
		}
		switch inst.Op {
		case x86asm.POP, x86asm.LEAVE, x86asm.ADD:
			if !leaving && (inst.Op != x86asm.ADD || inst.Args[0] == x86asm.RSP) {
				body, leaving = s, true
			}
		case x86asm.PUSH, x86asm.SUB, x86asm.CALL:
			leaving = leaving && inst.Op == x86asm.SUB && inst.Args[0] != x86asm.RSP
		case x86asm.RET, x86asm.JMP, x86asm.UD2, x86asm.HLT:
			if leaving {
				s, leaving = body, false
			}
			continue
		}
		s.step(&inst)
	}
	if from, ok := jumps[n]; ok && behind {
		s = from
	}
	return s.row(start, pc)
}

func (s *frameState) row(start, pc uint64) (row Row, ok bool) {
	row = Row{Start: pc, End: pc + 1, Column: RA, Source: Prologue}
	switch {
	case s.known:
		row.CFA = Rule{Kind: InReg, Reg: RSP, Off: s.depth}
	case s.framed:
		row.CFA = Rule{Kind: InReg, Reg: RBP, Off: s.frame}
	default:
		return row, false
	}
	row.Regs[RA] = Rule{Kind: AtCFA, Off: -8}
	for r := range Reg(NumRegs) {
		switch {
		case r == RA || !r.kept():
		case s.changed[r] && s.saved[r] != 0:
			row.Regs[r] = Rule{Kind: AtCFA, Off: -s.saved[r]}
		case s.changed[r]:
			row.Regs[r].Kind = Undefined
		default:
			row.Regs[r].Kind = Same
		}
	}
	return row, pc >= start
}

// step notes what an instruction does.
func (s *frameState) step(inst *x86asm.Inst) {
	dst, isReg := register(inst.Args[0])
	switch inst.Op {
	case x86asm.PUSH, x86asm.PUSHFQ:
		s.depth += 8
		if isReg && s.known && !s.changed[dst] && s.saved[dst] == 0 {
			s.saved[dst] = s.depth
		}
		return
	case x86asm.POPFQ:
		s.depth -= 8
		return
	case x86asm.POP:
		if isReg && s.known && s.saved[dst] == s.depth {
			s.depth -= 8
			s.changed[dst], s.saved[dst] = false, 0
			if dst == RBP {
				s.framed = false
			}
			return
		}
		s.depth -= 8
	case x86asm.LEAVE:
		if s.known = s.framed; s.framed {
			s.depth = s.frame - 8
			if s.saved[RBP] == s.frame {
				s.changed[RBP], s.saved[RBP] = false, 0
			}
		}
		s.framed = false
		return
	case x86asm.CALL, x86asm.CMP, x86asm.TEST, x86asm.NOP, x86asm.BT:
		return
	}
	if r, ok := register(inst.Args[1]); ok && inst.Op == x86asm.XCHG {
		s.lose(r)
	}
	if !isReg {
		return
	}
	if dst == RSP {
		s.stackPointer(inst)
		return
	}
	if dst == RBP && inst.Op == x86asm.MOV && inst.Args[1] == x86asm.RSP && s.known {
		s.changed[RBP], s.framed, s.frame = true, true, s.depth
		return
	}
	if dst == RBP && inst.Op == x86asm.LEA && s.known {
		if m, ok := inst.Args[1].(x86asm.Mem); ok && m.Base == x86asm.RSP && m.Index == 0 {
			s.changed[RBP], s.framed, s.frame = true, true, s.depth-m.Disp
			return
		}
	}
	s.lose(dst)
}

func (s *frameState) lose(r Reg) {
	s.changed[r] = true
	if r == RBP {
		s.framed = false
	}
	if r == RSP {
		s.known = false
	}
}

// stackPointer notes an instruction that writes RSP.
func (s *frameState) stackPointer(inst *x86asm.Inst) {
	switch inst.Op {
	case x86asm.SUB, x86asm.ADD:
		if n, ok := inst.Args[1].(x86asm.Imm); ok {
			if inst.Op == x86asm.SUB {
				s.depth += int64(n)
			} else {
				s.depth -= int64(n)
			}
			return
		}
	case x86asm.LEA:
		if m, ok := inst.Args[1].(x86asm.Mem); ok && m.Index == 0 {
			switch {
			case m.Base == x86asm.RSP:
				s.depth -= m.Disp
				return
			case m.Base == x86asm.RBP && s.framed:
				s.depth, s.known = s.frame-m.Disp, true
				return
			}
		}
	case x86asm.MOV:
		if inst.Args[1] == x86asm.RBP && s.framed {
			s.depth, s.known = s.frame, true
			return
		}
	}
	s.known = false
}

// register returns the register that an argument is, or is a part of.
func register(a x86asm.Arg) (r Reg, ok bool) {
	// The numbers of the CPU's own order, which is not DWARF's.
	order := [16]Reg{RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15}
	n, _, ok := flow.Register(a)
	if !ok || n >= len(order) {
		return 0, false
	}
	return order[n], true
}

// pltRow returns the row at pc if that is the jump of a linker's stub for a
// function elsewhere: a linker writes call frame information for most of them, but
// not for those of functions that are chosen at the start (IFUNC).
func (t *Tables) pltRow(pc uint64) (row Row, ok bool) {
	if name, _, _ := t.f.Section(pc); !strings.HasPrefix(name, ".plt") && name != ".iplt" {
		return row, false
	}
	b, _ := t.f.BytesAt(pc, maxInst)
	if bytes.HasPrefix(b, []byte{0xf3, 0x0f, 0x1e, 0xfa}) { // ENDBR64
		b = b[4:]
	}
	if code.Decode(b).Op != code.JumpIndirect {
		return row, false
	}
	return (&frameState{depth: 8, known: true}).row(pc, pc)
}
