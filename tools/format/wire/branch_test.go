package wire

import (
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tracer"
)

// TestBranches: a branch is read as it was written, from a line and from words.
func TestBranches(t *testing.T) {
	for _, tt := range []struct {
		b    tracer.Branch
		line string
	}{
		{tracer.Branch{From: 0x201000, To: 0x202000}, "from=0x201000 to=0x202000"},
		{tracer.Branch{From: 1<<64 - 8, To: 0, Cycles: 65535, Missed: true}, "from=0xfffffffffffffff8 to=0x0 cycles=65535 missed=1"},
		{tracer.Branch{From: 0, To: 0x10, Missed: true}, "from=0x0 to=0x10 missed=1"},
	} {
		var s strings.Builder
		w := tracer.Writer{Put: func(c byte) { s.WriteByte(c) }}
		w.Branch(&tt.b)
		if got := s.String(); got != "zf1 branch "+tt.line+"\r\n" {
			t.Errorf("%+v is written %q; want %q", tt.b, got, tt.line)
		}
		if r := ParseLine("branch " + tt.line + " later=x"); r.Op != OpBranch || r.Bad || r.Branch.Branch != tt.b {
			t.Errorf("%q is read as %+v; want %+v", tt.line, r, tt.b)
		}
		var words []uint64
		for _, v := range tt.b.Words() {
			words = append(words, uint64(v))
		}
		records, ok := branchesOf(uint64(tracer.BranchMark)+24, words)
		if !ok || len(records) != 1 || records[0].Branch.Branch != tt.b {
			t.Errorf("the words %x are read as %+v", words, records)
		} else if got := records[0].String(); got != "branch "+tt.line {
			t.Errorf("the words %x are shown as %q; want %q", words, got, tt.line)
		}
	}
	for _, bad := range []string{"", "from=0x1", "from=0x1 to=x", "from=0x1 to=0x2 cycles=4294967296", "0x1 0x2"} {
		if r := ParseLine("branch " + bad); !r.Bad {
			t.Errorf("%q is read as %+v", bad, r)
		}
	}
	for _, tt := range []struct {
		addr  uint64
		words []uint64
	}{{uint64(tracer.BranchMark), []uint64{1, 2}}, {uint64(tracer.BranchMark) - 8, []uint64{1, 2, 3}}, {uint64(tracer.EventMark), []uint64{1, 2, 3}}} {
		if records, ok := branchesOf(tt.addr, tt.words); ok {
			t.Errorf("the words %d at %#x are read as %+v", tt.words, tt.addr, records)
		}
	}
}
