package foreign

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// image has one function.
type image struct{}

func (image) BuildID() string               { return "" }
func (image) SPDelta(uint64) (uint64, bool) { return 0, false }
func (image) IsText(a uint64) bool          { return a-0x200000 < 0x100 }
func (image) Nearest(uint64) string         { return "" }
func (i image) Lookup(a uint64, ret bool) []lookup.Call {
	if !i.IsText(a) {
		return nil
	}
	return []lookup.Call{{Function: "main.f", Offset: a - 0x200000}}
}

// TestBounds: what is kept of a stream is bounded.
func TestBounds(t *testing.T) {
	x := New(Options{Log: &bytes.Buffer{}, Images: func() *lookup.Images { return &lookup.Images{Given: []lookup.Resolver{image{}}} }})
	for i := range 3 * maxMaps {
		for _, l := range []string{"{{{module:%d:m:elf:%[1]x}}}\n", "{{{mmap:%#x:0x10:load:1:r:0x0}}}\n", "{{{pc:%#x}}}\n", "x+0x1/0x2 [m%d]\n"} {
			x.Add(fmt.Appendf(nil, l, i))
		}
	}
	x.Add(bytes.Repeat([]byte("pc=0x200010 "), 10000))
	x.Add(bytes.Repeat([]byte("pc=0x200010 "), 10000))
	if len(x.markup.modules) > maxModules || len(x.markup.maps) > maxMaps || len(x.said) > maxSaid || cap(x.Line) > 2*maxForeignLine {
		t.Errorf("kept: %d modules, %d maps, %d messages, %d bytes of a line", len(x.markup.modules), len(x.markup.maps), len(x.said), cap(x.Line))
	}
	if hits, _ := x.Add([]byte("\n")); len(hits) > 0 {
		t.Errorf("a line that is too long gave %d addresses; want none", len(hits))
	}
	if hits, _ := x.Add([]byte(strings.Repeat("pc=0x200010 ", 500) + "\n")); len(hits) != maxHits {
		t.Errorf("a line of 500 addresses gave %d; want %d", len(hits), maxHits)
	}
}

// TestAnchor: the words of a line that says why are no prefix of its own.
func TestAnchor(t *testing.T) {
	for line, want := range map[string]int{
		"watchdog: BUG: soft lockup - CPU#0": 0, "x: watchdog: BUG: soft lockup": 3, "BUG: KASAN: WARNING: x": 0, "no trace": -1,
		"rcu: INFO: rcu_preempt detected stalls": 0, "a goroutine 1 is here": -1, "a: goroutine 1 [running]:": 3,
		strings.Repeat("x", 200) + " BUG: far": -1,
	} {
		if got := anchorAt(line); got != want {
			t.Errorf("%q: %d; want %d", line, got, want)
		}
	}
}

// TestShapeEnd: the end of a prefix is found behind another of its shape.
func TestShapeEnd(t *testing.T) {
	for _, tt := range []struct{ prefix, line, rest string }{
		{"[    1.5] c0  123", "[   10.5] c1 45 foo+0x1", " foo+0x1"},
		{"a|", "a|a|x", "a|x"},
		{"a|", "b|x", "b|x"},
		{"12 34", "5 6", "5 6"}, // nothing is behind it
		{"n1:", "n123:", "n123:"},
		{"n1:", "n123: ", " "},
	} {
		if at := shapeEnd(tt.line, wire.Shape([]byte(tt.prefix))); tt.line[at:] != tt.rest {
			t.Errorf("behind %q in %q is %q; want %q", tt.prefix, tt.line, tt.line[at:], tt.rest)
		}
	}
}
