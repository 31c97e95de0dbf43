package unwind

// Rules for Go functions. The pc tables say how far SP is from the return address
// at every instruction, so the CFA is known everywhere but behind an instruction
// that loads SP with a computed value. Go's functions keep no register but RBP,
// which those with a frame save right below the return address, by the first
// instruction that moves SP:
//
//	PUSHQ BP; MOVQ SP, BP; SUBQ $n, SP
//
// Source: cmd/internal/obj/x86/obj6.go, preprocess, of Go 1.26.

import (
	"bytes"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// maxGoPrologue is how far into a function the PUSHQ BP is looked for, in bytes:
// the stack check comes before it.
const maxGoPrologue = 96

var movSPBP = []byte{0x48, 0x89, 0xe5} // MOVQ SP, BP

func (t *Tables) goRow(g *lookup.GoFunc, pc uint64) (row Row, ok bool) {
	row = Row{Start: pc, End: pc + 1, Column: RA, Source: PCSP, Top: g.Top}
	row.Exact = g.Name == "runtime.sigpanic" || g.Name == "runtime.asyncPreempt"
	delta, ok := g.SPDelta(pc)
	if !ok || g.SPWrite && pc != g.Entry {
		return row, g.Top // there is nothing behind it to be found
	}
	row.CFA = Rule{Kind: InReg, Reg: RSP, Off: int64(delta) + 8}
	for r := range row.Regs {
		row.Regs[r].Kind = Undefined
	}
	row.Regs[RSP].Kind = Unspecified
	row.Regs[RA] = Rule{Kind: AtCFA, Off: -8}
	pushed, framed := t.goFrame(g)
	switch {
	case delta == 0 && (framed || !g.Asm):
		row.Regs[RBP].Kind = Same
	case framed && delta >= 8:
		row.Regs[RBP] = Rule{Kind: AtCFA, Off: -16}
		row.FP = !g.Asm && (pc < pushed || pc >= pushed+uint64(len(movSPBP)))
	default:
		// Assembly that does it by hand.
		if p, ok := t.prologueRow(g.Entry, pc); ok && p.CFA.Kind == InReg && p.CFA.Reg == RSP &&
			p.CFA.Off == row.CFA.Off {
			row.Regs[RBP] = p.Regs[RBP]
		}
	}
	return row, true
}

// goFrame returns where a function has pushed RBP as the first thing on its
// stack: the address behind that instruction.
func (t *Tables) goFrame(g *lookup.GoFunc) (pushed uint64, ok bool) {
	code, _ := t.f.BytesAt(g.Entry, min(maxGoPrologue, g.End-g.Entry))
	for i := 1; i+len(movSPBP) <= len(code); i++ {
		if code[i-1] != 0x55 || !bytes.HasPrefix(code[i:], movSPBP) {
			continue
		}
		at := g.Entry + uint64(i)
		before, ok0 := g.SPDelta(at - 1)
		behind, ok1 := g.SPDelta(at)
		return at, ok0 && ok1 && before == 0 && behind == 8
	}
	return 0, false
}
