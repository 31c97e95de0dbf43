package wire

// The branches that a CPU took last, before it died: branch lines, or words at tracer.BranchMark in
// the compact form.

import (
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// MaxBranches is the largest number of branches that a trace keeps.
const MaxBranches = 256

// Branch is a branch that the CPU of a trace has taken before it.
type Branch struct {
	tracer.Branch
	// FromCalls and ToCalls are the functions at its ends, as those of a frame.
	FromCalls, ToCalls []lookup.Call
}

// branch reads "from=0xADDR to=0xADDR key=value ...".
func (r *Record) branch(f []string) bool {
	b := &r.Branch
	ends := 0
	for _, w := range f {
		k, v, _ := strings.Cut(w, "=")
		n, ok := number(v)
		switch k {
		case "from":
			b.From = n
			ends++
		case "to":
			b.To = n
			ends++
		case "cycles":
			b.Cycles = uint32(n)
			ok = ok && n>>32 == 0
		case "missed":
			b.Missed = n != 0
		default:
			ok = true
		}
		if !ok {
			return false
		}
	}
	return ends == 2
}

// branchString is String for a branch.
func (r *Record) branchString() string {
	return asWritten(func(w *tracer.Writer) { w.Branch(&r.Branch.Branch) })
}

// branchesOf makes records of the words of a memory dump, if it is at tracer.BranchMark.
func branchesOf(addr uint64, words []uint64) (records []Record, ok bool) {
	if addr-uint64(tracer.BranchMark) >= MaxBranches*tracer.BranchWords*8 ||
		len(words)%tracer.BranchWords != 0 {
		return nil, false
	}
	for ; len(words) > 0; words = words[tracer.BranchWords:] {
		b := tracer.Branch{From: words[0], To: words[1], Cycles: uint32(words[2] >> 8),
			Missed: words[2]&1 != 0}
		records = append(records, Record{Op: OpBranch, Branch: Branch{Branch: b}})
	}
	return records, true
}
