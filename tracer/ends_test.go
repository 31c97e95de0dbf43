package tracer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Both ends of a deep stack are compared with a walk of the same stack that has room for all
// frames.

// deepWorld puts records on the first stack, with the addresses that addr gives, and zeros on top.
// gap gives the number of words between two records.
func deepWorld(t testing.TB, n int, addr func(i int) uintptr, gap func(i int) int) (w *world, fp uintptr) {
	words := 16
	for i := range n {
		words += 2 + gap(i)
	}
	w = newWorld(t, words*8, 4096)
	at := 4
	for i := range n {
		next := at + 2 + gap(i)
		if i == n-1 {
			next = words - 2
		}
		w.put(0, at, w.at(0, next), addr(i))
		at = next
	}
	w.put(0, words-2, 0, 0)
	return w, w.at(0, 4)
}

// unfold returns the frames that both ends stand for, with empty ones for those left out.
func unfold(t *testing.T, w *Walker) (all []Frame) {
	for i := range w.Frames[:w.N] {
		f := w.Frames[i]
		if i == w.inner() {
			all = append(all, make([]Frame, w.LeftOut)...)
		}
		n, step := f.Repeat, uintptr(f.Step)*8
		f.Repeat, f.Step = 0, 0
		for range n + 1 {
			all = append(all, f)
			f.FP += step
		}
		if n > 0 && n < minFold {
			t.Errorf("frame %d repeats %d times; want %d at least", i, n, minFold)
		}
	}
	return all
}

// checkEnds walks with room for all frames, and compares both ends with that.
func checkEnds(t *testing.T, w *world, walk func(wk *Walker), inner, outer int) (ends *Walker) {
	t.Helper()
	for i := range w.walkers {
		whole, some := *w.walkers[i], *w.walkers[i]
		whole.Frames = make([]Frame, 1<<16)
		some.Frames, some.Outer = make([]Frame, inner+2*outer), outer
		walk(&whole)
		walk(&some)
		if whole.End != some.End || whole.EndValue != some.EndValue {
			t.Errorf("walker %d ends with %v %#x; want %v %#x", i, some.End, some.EndValue, whole.End, whole.EndValue)
		}
		got := unfold(t, &some)
		if len(got) != whole.N {
			t.Fatalf("walker %d: %d frames, %d of them left out; want %d", i, len(got), some.LeftOut, whole.N)
		}
		if some.N > inner+outer || whole.N <= inner+outer && some.N != whole.N {
			t.Errorf("walker %d: %d frames of %d", i, some.N, whole.N)
		}
		if some.LeftOut > 0 && some.N != inner+outer {
			t.Errorf("walker %d: %d frames, and %d left out; want %d", i, some.N, some.LeftOut, inner+outer)
		}
		for k, f := range got {
			if f.Kind != 0 && f != whole.Frames[k] {
				t.Fatalf("walker %d: frame %d of %d = %+v; want %+v", i, k, len(got), f, whole.Frames[k])
			}
		}
		ends = &some
	}
	return ends
}

// shape describes the frames in short: the number of entries, and how many are folded and left out.
func shape(w *Walker) string {
	var b strings.Builder
	plain := 0
	flush := func() {
		if plain > 0 {
			fmt.Fprintf(&b, " %d", plain)
		}
		plain = 0
	}
	for i, f := range w.Frames[:w.N] {
		if i == w.inner() && w.LeftOut > 0 {
			flush()
			fmt.Fprintf(&b, " ...%d", w.LeftOut)
		}
		if f.Repeat > 0 {
			flush()
			fmt.Fprintf(&b, " x%d", f.Repeat+1)
		} else {
			plain++
		}
	}
	flush()
	return strings.TrimSpace(b.String())
}

func TestEnds(t *testing.T) {
	const base = uintptr(testTextLo)
	narrow := func(int) int { return 0 }
	for _, tt := range []struct {
		name  string
		n     int
		addr  func(i int) uintptr
		gap   func(i int) int
		shape string
	}{
		{"as many frames as are kept", 95, func(i int) uintptr { return base + uintptr(i) }, narrow, "96"},
		{"one more", 96, func(i int) uintptr { return base + uintptr(i) }, narrow, "64 ...1 32"},
		{"deep, each frame another", 5000, func(i int) uintptr { return base + uintptr(i) }, narrow, "64 ...4905 32"},
		{"a shallow recursion", 95, func(int) uintptr { return base + 8 }, narrow, "96"},
		{"a recursion that has run away", 20000, func(i int) uintptr { return base + uintptr(max(i-19990, 0)) }, narrow, "1 x19991 9"},
		{"two functions that call each other", 20001, func(i int) uintptr { return base + uintptr(i%2) }, narrow, "64 ...19906 32"},
		{"one frame that differs, far within", 20000, func(i int) uintptr {
			if i == 7000 || i == 19999 {
				return base + 1
			}
			return base
		}, narrow, "1 x7000 1 x12998 1"},
		{"one frame that is larger", 5000, func(int) uintptr { return base + 8 }, func(i int) int {
			if i == 3000 {
				return 2
			}
			return 0
		}, "1 x3000 x1999 1"},
		{"runs of three", 6000, func(i int) uintptr { return base + uintptr(i/3) }, narrow, ""},
		{"runs of two", 6000, func(i int) uintptr { return base + uintptr(i/2) }, narrow, "64 ...5905 32"},
		{"frames too large for a step", 130, func(i int) uintptr { return base }, func(int) int { return 1 << 16 }, "64 ...35 32"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, fp := deepWorld(t, tt.n, tt.addr, tt.gap)
			got := checkEnds(t, w, func(wk *Walker) { wk.Walk(testPC, w.at(0, 0), fp) }, 64, 32)
			if s := shape(got); tt.shape != "" && s != tt.shape {
				t.Errorf("%s; want %s", s, tt.shape)
			}
		})
	}
}

// TestEndsRandom is TestEnds with runs of random lengths, traps between them, functions
// with rules, hooks on returns and little room.
func TestEndsRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + r.IntN(1500)
		addrs, gaps := make([]uintptr, n), make([]int, n)
		for i := 0; i < n; {
			a, g := testTextLo+uintptr(1+r.IntN(4)), r.IntN(3)
			for run := 1 + r.IntN(1+r.IntN(200)); run > 0 && i < n; run-- {
				addrs[i], gaps[i] = a, g
				i++
			}
		}
		w, fp := deepWorld(t, n, func(i int) uintptr { return addrs[i] }, func(i int) int { return gaps[i] })
		start, sp := fp, w.at(0, 0)
		if r.IntN(2) == 0 { // from another stack, by a trap
			w.put(1, 8, w.at(1, 20), testTextLo+0x50)
			w.trap(1, 20, 14, 2, testPC, w.at(0, 0), fp)
			start, sp = w.at(1, 8), w.at(1, 0)
		}
		for _, wk := range w.walkers {
			if r.IntN(2) == 0 {
				wk.Marks = []Mark{{Lo: testTextLo + 4, Hi: testTextLo + 5, Rule: RuleExact}}
			}
			if r.IntN(4) == 0 {
				wk.SPDelta = func(uintptr) (uintptr, bool) { return uintptr(r.IntN(3)) * 8, true }
			}
		}
		if t.Failed() {
			return
		}
		checkEnds(t, w, func(wk *Walker) {
			if wk.SPDelta != nil { // the same answers for both walks
				d := uint64(n)
				wk.SPDelta = func(pc uintptr) (uintptr, bool) { return uintptr((uint64(pc)+d)%3) * 8, true }
			}
			wk.Walk(testPC, sp, start)
		}, 2+r.IntN(64), 3+r.IntN(32))
	}
}

func TestWriteEnds(t *testing.T) {
	run := &Frame{Kind: RA, Addr: 0x200800, FP: 0x9050, Step: 4, Repeat: 21840}
	var got []byte
	w := Writer{Put: func(b byte) { got = append(got, b) }}
	w.Frame(1, run, "boot")
	w.LeftOut(21846)
	w.LeftOut(999)
	w.LeftOut(1000000)
	const want = "zf1 #1 ra 0x200800 fp 0x9050 boot\r\n" +
		"zf1 repeat 21840 fp 0xb3a50\r\n" +
		"zf1 ... 21,846 frames left out\r\n" +
		"zf1 ... 999 frames left out\r\n" +
		"zf1 ... 1,000,000 frames left out\r\n"
	if string(got) != want {
		t.Errorf("%q; want %q", got, want)
	}
}
