package trace

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tracer"
)

func seeds(f *testing.F) {
	for _, form := range forms {
		b := form.write(sample())
		f.Add(b, uint8(7))
		f.Add(b[:len(b)/2], uint8(1))
		f.Add(filter(f, Options{Symbols: testImage()}, b).out.Bytes(), uint8(2)) // resolved already
		f.Add(append(b[:100:100], b...), uint8(200))
	}
	for _, form := range forms {
		f.Add(form.write(sampleGo()), uint8(7))
	}
	f.Add(deepTrace(tracer.Text), uint8(7))
	f.Add(deepTrace(tracer.Compact), uint8(7))
	f.Add(lines("zf1 #0 ra 0x200210 fp 0x10 boot", "zf1 repeat 18446744073709551615 fp 0x0", "zf1 ... 9,999,999 frames left out", "zf1 repeat 1"), uint8(3))
	f.Add(lines("zf1 last panic 0x1 x", "zf1 #0 scan 0x0", "{{{reset}}}"), uint8(3))
	f.Add(bootOfTraces(), uint8(9))
	for _, c := range collectors {
		f.Add(behind(textForm(sample(), true), c.prefix), uint8(30))
	}
}

// FuzzFilter: the output does not depend on how the input comes in, holds all
// of it in the same order, and shows no control character.
func FuzzFilter(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		var parts [][]byte
		for b := in; len(b) > 0; {
			k := min(len(b), int(step)+1)
			parts, b = append(parts, b[:k]), b[k:]
		}
		whole := filter(t, Options{Symbols: testImage(), Force: true}, in)
		split := filter(t, Options{Symbols: testImage(), Force: true}, parts...)
		if !bytes.Equal(whole.out.Bytes(), split.out.Bytes()) || !bytes.Equal(whole.json.Bytes(), split.json.Bytes()) {
			t.Fatalf("in steps of %d: %q; want %q", int(step)+1, split.out.Bytes(), whole.out.Bytes())
		}
		// What was added are insertions: the input is a subsequence.
		rest := in
		for _, c := range whole.out.Bytes() {
			if len(rest) > 0 && rest[0] == c {
				rest = rest[1:]
			}
		}
		if len(rest) > 0 {
			t.Fatalf("out = %q; want all of %q in it", whole.out.Bytes(), in)
		}
		if whole.stats.Traces == 0 && !bytes.Equal(whole.out.Bytes(), in) {
			t.Fatalf("no trace, but out = %q; want %q", whole.out.Bytes(), in)
		}
		whole = filter(t, Options{Symbols: testImage(), Force: true, Foreign: true, Prefixes: true}, in)
		split = filter(t, Options{Symbols: testImage(), Force: true, Foreign: true, Prefixes: true}, parts...)
		if !bytes.Equal(whole.out.Bytes(), split.out.Bytes()) || !bytes.Equal(whole.json.Bytes(), split.json.Bytes()) {
			t.Fatalf("with prefixes, in steps of %d: %q; want %q", int(step)+1, split.out.Bytes(), whole.out.Bytes())
		}
		safe := filter(t, Options{Symbols: testImage(), Force: true, Sanitize: true}, in).out.String()
		for _, c := range safe {
			if terminal.IsControl(c) && !strings.ContainsRune("\n\r\t\b", c) {
				t.Fatalf("%q in %q", c, safe)
			}
		}
	})
}
