package why

import "golang.org/x/arch/x86/x86asm"

// bound reports whether a function always comes to an instruction: each way from start through its
// code does, or never leaves it, or ends in a report of the runtime's, such as that of an index out
// of range, which would have been another death. Where the code does not tell, as at a jump by a
// register, the answer is no. Other functions that are called are taken to return, but for a panic.
func (w *Why) bound(start, to uint64, decode func(pc uint64) x86asm.Inst) bool {
	seen := map[uint64]bool{to: true}
	function, _ := w.file.FuncStart(start)
	for ways := []uint64{start}; len(ways) > 0; {
		pc := ways[len(ways)-1]
		ways = ways[:len(ways)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		if s, ok := w.file.FuncStart(pc); !ok || s != function {
			return false // the way leaves the function
		}
		in := decode(pc)
		next := pc + uint64(in.Len)
		rel, direct := in.Args[0].(x86asm.Rel)
		target := next + uint64(int64(rel))
		switch op := in.Op.String(); {
		case in.Op == 0, in.Op == x86asm.RET, in.Op == x86asm.UD2, in.Op == x86asm.INT:
			return false
		case in.Op == x86asm.CALL:
			callee := ""
			if direct {
				callee = w.function(target, false)
			}
			switch {
			case callee == fnPanic:
				return false
			case !reports(callee):
				ways = append(ways, next)
			}
		case in.Op == x86asm.JMP && !direct:
			return false
		case in.Op == x86asm.JMP:
			ways = append(ways, target)
		case op[0] == 'J':
			ways = append(ways, target, next)
		default:
			ways = append(ways, next)
		}
	}
	return true
}
