package tracer

// The branches that a CPU took last before it died, as far as it records them, behind a trace's events: branch lines, or words of
// memory from BranchMark upwards in the compact form (wire.go).

// BranchMark is the address at which the compact form has the branches, BranchWords to one. It is no address of memory.
const BranchMark uintptr = 0xf1_6272_616e_6300

// BranchWords is how many words a branch takes there: from where, to where, and its cycles from bit 8 on with 1 in the lowest
// bit if it was mispredicted.
const BranchWords = 3

// Branch is a branch that was taken.
type Branch struct {
	From, To uint64 // the instruction that branched, and the one that it went to
	Cycles   uint32 // since the branch before; 0: not known
	Missed   bool   // it was mispredicted
}

// Words returns the branch as the words of the compact form.
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
