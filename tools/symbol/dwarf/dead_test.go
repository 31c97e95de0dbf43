package dwarf

import (
	"slices"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// TestTombstones: what linkers put where the base of a list or a line sequence was dropped does
// not come around to text: 1 (binutils), -1 and -2 (lld), of 4 and 8 bytes.
func TestTombstones(t *testing.T) {
	f := openProgram(t)
	text := f.TextSpans()[0].Low
	for _, tt := range []struct {
		base uint64
		size int
		live bool
	}{
		{text, 8, true}, {text, 4, true}, {lastDead, 8, false},
		{1<<64 - 1, 8, false}, {1<<64 - 2, 8, false}, {1<<32 - 1, 4, false}, {1<<32 - 2, 4, false},
	} {
		// Both ends are counted from the base, and come to text+2 and text+4, if they wrap.
		var b5, b4 []byte
		number := func(n uint64) (b []byte) {
			for i := range tt.size {
				b = append(b, byte(n>>(8*i)))
			}
			return b
		}
		uleb := func(n uint64) (b []byte) {
			for ; n >= 0x80; n >>= 7 {
				b = append(b, byte(n)|0x80)
			}
			return append(b, byte(n))
		}
		mask := ^uint64(0) >> (64 - 8*tt.size)
		low, high := (text+2-tt.base)&mask, (text+4-tt.base)&mask
		b5 = slices.Concat([]byte{5}, number(tt.base), []byte{4}, uleb(low), uleb(high), []byte{0})
		b4 = slices.Concat(number(mask), number(tt.base), number(low), number(high), number(0), number(0))
		lists := []*elf.Contents{elf.FixedContents(f, b4), elf.FixedContents(f, b5)}
		r := (&Data{File: f, ranges: lists[0], rnglists: lists[1], total: 100}).NewReader()
		u := &unit{format: format{addrSize: tt.size}}
		for i, read := range []func(*unit, uint64){r.rangeList4, r.rangeList5} {
			r.Allow()
			r.rangePages.Use(lists[i])
			read(u, 0)
			var want []elf.Span
			if tt.live {
				want = []elf.Span{{Low: text + 2, High: text + 4}}
			}
			if !slices.Equal(r.spans, want) {
				t.Errorf("base %#x, DWARF %d: %x", tt.base, 4+i, r.spans)
			}
		}
		begin := slices.Concat([]byte{0, byte(1 + tt.size), 2}, number(tt.base), []byte{2}, uleb(low))
		table := readTable(f, lineProgram(slices.Concat(begin, []byte{1}, endAt(2))...), AllLines)
		// No linker puts 1 into line tables.
		if _, got := table.at(text + 3); got != tt.live && tt.base != lastDead {
			t.Errorf("base %#x: lines %v", tt.base, table.Seqs)
		}
	}
}

// TestSameFunc: the names of symbols and of debug information.
func TestSameFunc(t *testing.T) {
	for _, tt := range []struct {
		symbol, name string
		want         bool
	}{
		{"f", "f", true}, {"_f", "f", true}, {"f.cold", "f", true}, {"f.constprop.0", "f", true}, {"f@@V1", "f", true},
		{"_ZL1fi", "f", true}, {"_ZN12_GLOBAL__N_13maxIiEET_S1_S1_", "max<int>", true}, {"_ZZ4mainENKUlvE_clEv", "operator()", true},
		{"_Z1fi", "_Z1fi", true}, {"_Z1fi", "_Z1gi", false}, {"ff", "f", false}, {"g", "f", false}, {"", "f", false}, {"f", "", false}, {"_ZL1gi", "f", false},
	} {
		if got := sameFunc(tt.symbol, tt.name); got != tt.want {
			t.Errorf("sameFunc(%q, %q) = %t", tt.symbol, tt.name, got)
		}
	}
}
