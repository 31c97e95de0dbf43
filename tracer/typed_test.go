package tracer

import (
	"strings"
	"testing"
)

// typedLines returns the lines that the calls of f make.
func typedOf(f func(t *Typed, take func())) (lines []string) {
	var t Typed
	t.TextLo, t.TextHi = 0x201000, 0x300000
	f(&t, func() {
		for i := range t.Lines() {
			lines = append(lines, string(t.Line(i)))
		}
	})
	return lines
}

func TestTyped(t *testing.T) {
	got := typedOf(func(w *Typed, take func()) {
		frame := func(f Frame) { w.Frame(&f); take() }
		w.Begin(KindFault, ContextGoroutine, []byte{0x9c, 0x2e, 0x0e, 0x91, 0x74})
		take()
		frame(Frame{Kind: PC, Addr: 0x286646})
		frame(Frame{Kind: RA, Addr: 0x201000})
		frame(Frame{Kind: RA, Addr: 0x201000})
		frame(Frame{Kind: RA, Addr: 0x201000})
		frame(Frame{Kind: Trap, Vector: VectorSyscall, Error: 0x1e7})
		frame(Frame{Kind: PC, Addr: 0})
		frame(Frame{Kind: RA, Addr: 0xdead0000beef})
		w.Stop(EndOutside, 0x1234567890)
		take()
	})
	// Without the checks, which TestTypedCheck is about.
	want := []string{"00 0 5 9K2W 0W91", "01 1 85646", "02 2 0", "03 7 2", "04 5 101 1W7", "05 9 0", "06 6 PWEP", "07 E HWWY", "08 6 12", "09 P 3456 7890", "0E 8 3"}
	if len(got) != len(want) {
		t.Fatalf("%d lines; want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
	for i, l := range got {
		if !strings.HasPrefix(squeeze(l), squeeze(want[i])) || len(l) > TypedWidth {
			t.Errorf("line %d = %q; want %q and a check, in %d columns at most", i, l, want[i], TypedWidth)
		}
	}
	if got[0][:16] != want[0] || got[1][:10] != want[1] {
		t.Errorf("the lines look like %q, %q; want %q, %q", got[0], got[1], want[0], want[1])
	}
}

// TestTypedEnd: whatever a walk brings, there is an end, and all numbers have two digits.
func TestTypedEnd(t *testing.T) {
	got := typedOf(func(w *Typed, take func()) {
		w.Begin(KindPanic, ContextEarly, nil)
		take()
		for i := range 1000 {
			w.Frame(&Frame{Kind: RA, Addr: uintptr(1+i/3) << 33})
			take()
		}
		w.Stop(EndLimit, 1<<40)
		take()
	})
	if len(got) > TypedLines || len(got) < TypedLines-8 {
		t.Errorf("%d lines; want nearly %d", len(got), TypedLines)
	}
	if last := got[len(got)-1]; last[3] != '8' {
		t.Errorf("the last line is %q; want an end", last)
	}
}

// TestTypedCheck: one wrong digit is noticed and told from any other, two are noticed, and
// so is a digit that is missing or too much at the front.
func TestTypedCheck(t *testing.T) {
	line := []byte{0, 7, 2, 8, 6, 6, 4, 6, 0, 0, 15, 1}
	for n := 4; n <= len(line); n++ {
		msg := line[:n]
		a, b := TypedCheck(msg)
		code := append(append([]byte(nil), msg...), a, b)
		// syndrome is what a change does to the check.
		syndrome := func(c []byte) byte {
			a, b := TypedCheck(c[:n])
			return (a^c[n])<<4 | b ^ c[n+1]
		}
		seen := map[byte]bool{0: true}
		for i := range code {
			for e := byte(1); e < 16; e++ {
				c := append([]byte(nil), code...)
				c[i] ^= e
				s := syndrome(c)
				if seen[s] {
					t.Fatalf("length %d: digit %d changed by %d cannot be told", n, i, e)
				}
				seen[s] = true
				for j := range i {
					for e := byte(1); e < 16; e++ {
						d := append([]byte(nil), c...)
						if d[j] ^= e; syndrome(d) == 0 {
							t.Fatalf("length %d: two changes, at %d and %d, are not noticed", n, i, j)
						}
					}
				}
			}
		}
		if a2, b2 := TypedCheck(code[1:n]); n > 4 && a2 == a && b2 == b {
			t.Errorf("length %d: a missing zero at the front is not noticed", n)
		}
	}
}

// TestTypedDigits: no two digits look alike.
func TestTypedDigits(t *testing.T) {
	for _, class := range []string{"0ODQ", "1IL", "2Z", "4A", "5S", "6G", "7T", "8B", "EF", "HNM", "KX", "PR", "VY"} {
		n := 0
		for _, c := range class {
			if strings.ContainsRune(TypedDigits, c) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d of %s are digits; want 1", n, class)
		}
	}
	if len(TypedDigits) != 16 {
		t.Errorf("%d digits", len(TypedDigits))
	}
}
