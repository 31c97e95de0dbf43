package foreign

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// What scan.go finds by hand.
var (
	placeExpr    = regexp.MustCompile(`([A-Za-z0-9_.$@]+)\+0x([0-9a-f]{1,16})/0x([0-9a-f]{1,16})\b(?: \[([A-Za-z0-9_-]+)(?: ([0-9a-f]{16,40})\b)?[^\]]*\])?`)
	bracketsExpr = regexp.MustCompile(`(?:^| )\[<?([0-9a-f]{8,16})>?\] ?$`)
	stampExpr    = regexp.MustCompile(`^(?:<[0-9]{1,3}>)?\[ *[0-9]+\.[0-9]{3,9}\](?:\[ *[TC][0-9]+\])?(?: |$)`)
)

// FuzzScan: what is found by hand is what the expressions find.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		" f+0x1/0x2 g.cold+0x1f/0x20 [mod] h+0x1/0x2 [mod 0123456789abcdef0123456789abcdef01234567] x", "a+0x1/0x2g a+0x1/0x2 [m x] b",
		"[<ffffffff81000000>] f+0x4c/0x1f0", "[ffffffff81000000] ", "[<81000000] ", "[ffffffff8100000000]", "<6>[    2.104567][  T123] x", "[ 1.123456]", "[1.123][C1]x",
		"f+0x12345678901234567/0x1 f+0x1/0x12345678901234567 $@+0x1/0x2 [", "a+0x1/0x2 [m 0123456789abcdefg] [x]", "a+0x1/0x2 [-_ 0123456789abcdef-]", "f+0x1+0x1/0x2", "<3>12345678", "x kernel: ? 0x12345678 ", "[ 1.5] ffffffff81000000", "\t? 0123456789abcdef",
		"ELR_el1: 0x12", "(pc) : 12345678", "Lr  [<12345678>]", "PC is at 0x1", "ra\t12345678", "a+0x1/0x2b+0x1/0x2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		from := 0
		for _, m := range placeExpr.FindAllStringSubmatchIndex(s, 100) {
			group := func(i int) string {
				if m[2*i] < 0 {
					return ""
				}
				return s[m[2*i]:m[2*i+1]]
			}
			want := placeAt{m[0], m[1], group(1), group(2), group(3), group(4), group(5), m[5]}
			p, ok := nextPlace(s, from)
			if !ok || p != want {
				t.Fatalf("%q from %d: %+v, %v; want %+v", s, from, p, ok, want)
			}
			from = p.end
		}
		if p, ok := nextPlace(s, from); ok && from == 0 {
			t.Fatalf("%q: %+v; want none", s, p)
		}
		before, addr, ok := beforePlace(s)
		if m := bracketsExpr.FindStringSubmatch(s); !strings.HasPrefix(s, before) || m != nil && (!ok || hexWord(addr) != fmt.Sprintf("%016s", m[1])) {
			t.Fatalf("%q: %q, %#x, %v; want %v", s, before, addr, ok, m)
		}
		if marked().MatchString(s) && !mayBeMarked(s) {
			t.Fatalf("%q has a marked address", s)
		}
		if n := len(stampExpr.FindString(s)); stampEnd(s) != n {
			t.Fatalf("%q: %d; want %d", s, stampEnd(s), n)
		}
	})
}
