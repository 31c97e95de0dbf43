package render

import (
	"fmt"
	"path"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// The branches that a CPU took last, before it died.

// jsonBranch is a branch.
type jsonBranch struct {
	From   jsonEnd `json:"from"`
	To     jsonEnd `json:"to"`
	Cycles uint32  `json:"cycles,omitempty"` // since the branch before
	Missed bool    `json:"mispredicted,omitempty"`
}

// jsonEnd is an end of a branch: the instruction that branched, or the one that it went to.
type jsonEnd struct {
	Address  string `json:"address"`
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
}

func branchJSON(b *wire.Branch) jsonBranch {
	end := func(addr uint64, calls []lookup.Call) jsonEnd {
		e := jsonEnd{Address: hexString(addr)}
		if len(calls) > 0 {
			e.Function, e.File, e.Line = calls[0].Function, calls[0].File, calls[0].Line
		}
		return e
	}
	return jsonBranch{end(b.From, b.FromCalls), end(b.To, b.ToCalls), b.Cycles, b.Missed}
}

// BranchEnds says where a branch was and where it went: "main.f at main.go:12", or the address
// where nothing is known.
func BranchEnds(b *wire.Branch) (from, to string) {
	end := func(addr uint64, calls []lookup.Call) string {
		if len(calls) == 0 {
			return hexString(addr)
		}
		c := &calls[0]
		s := terminal.Clean(c.Function)
		if c.File != "" {
			s += fmt.Sprintf(" at %s:%d", terminal.Clean(path.Base(c.File)), c.Line)
		}
		return s
	}
	return end(b.From, b.FromCalls), end(b.To, b.ToCalls)
}

// Branches returns the branches that the CPU of the trace took last, the oldest first, a line each;
// nil if the trace has none.
func Branches(t *wire.Trace) (lines []string) {
	if len(t.Branches) == 0 {
		return nil
	}
	lines = append(lines, fmt.Sprintf("the branches that %s took last:", cpuOf(t)))
	for i := range t.Branches {
		b := &t.Branches[i]
		from, to := BranchEnds(b)
		s := "  " + from + " -> " + to
		if b.Cycles != 0 {
			s += fmt.Sprintf(", %d cycles behind the one before", b.Cycles)
		}
		if b.Missed {
			s += ", mispredicted"
		}
		lines = append(lines, s)
	}
	return lines
}
