package tracer

// The branches that a CPU took last before it died, as far as it records them. They follow a
// trace's events: as branch lines, or in the compact form as words of memory from BranchMark
// upwards (wire.go).

// BranchMark is the address at which the compact form puts the branches, BranchWords for each. It
// is no address of memory.
const BranchMark uintptr = 0xf1_6272_616e_6300

// BranchWords is the number of words of a branch there: the source, the target, and its cycles from
// bit 8 on, with bit 0 set if it was mispredicted.
const BranchWords = 3

// Branch is a branch that was taken.
type Branch struct {
	From, To uint64 // the instruction that branched, and its target
	Cycles   uint32 // since the previous branch; 0: not known
	Missed   bool   // it was mispredicted
}

// Words returns the branch as words of the compact form.
func (b *Branch) Words() [BranchWords]uintptr {
	more := uintptr(b.Cycles) << 8
	if b.Missed {
		more |= 1
	}
	return [...]uintptr{uintptr(b.From), uintptr(b.To), more}
}

// Branch writes a branch.
func (w *Writer) Branch(b *Branch) {
	w.str("zf1 branch")
	w.field("from")
	w.hex(b.From)
	w.field("to")
	w.hex(b.To)
	if b.Cycles != 0 {
		w.field("cycles")
		w.dec(uint64(b.Cycles))
	}
	if b.Missed {
		w.field("missed")
		w.dec(1)
	}
	w.eol()
}
