package tracer

import "testing"

// TestNoWayDown: findings of the random worlds. Each walk once showed a frame, or an end, that
// nothing proved.
func TestNoWayDown(t *testing.T) {
	const a, b, c = testTextLo + 0x10, testTextLo + 0x20, testTextLo + 0x30
	for _, tt := range []struct {
		name  string
		build func(w *world, wk *Walker) (kind Kind, pc, sp, fp uintptr)
		want  string
	}{
		{"a record below the return address of the function that it would be the caller of", func(w *world, wk *Walker) (Kind, uintptr, uintptr, uintptr) {
			wk.SPDelta = func(uintptr) (uintptr, bool) { return 10 * 8, true }
			w.put(0, 18, a)
			w.put(0, 10, w.at(0, 62), b)
			w.put(0, 62, 0, 0)
			return PC, testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 backward"},
		{"a return address below the trap that has interrupted the function", func(w *world, wk *Walker) (Kind, uintptr, uintptr, uintptr) {
			wk.SPDelta = func(uintptr) (uintptr, bool) { return 0, true }
			w.put(0, 10, a)
			w.trap(0, 20, 14, 0, b, w.at(0, 10), w.at(0, 62))
			w.put(0, 62, 0, 0)
			return PC, testPC, w.at(0, 19), w.at(0, 20)
		}, "pc:210000 trap:200020 pc:200020 zero"},
		{"tables that lead down", func(w *world, wk *Walker) (Kind, uintptr, uintptr, uintptr) {
			wk.SPDelta = func(uintptr) (uintptr, bool) { return ^uintptr(15), true }
			w.put(0, 6, a)
			w.put(0, 62, 0, 0)
			return PC, testPC, w.at(0, 8), w.at(0, 62)
		}, "pc:210000 zero"},
		{"a switch back below the trap", func(w *world, wk *Walker) (Kind, uintptr, uintptr, uintptr) {
			wk.Marks = testMarks
			wk.Switching = func(pc, sp, fp uintptr) (ra, rsp, rbp uintptr, ok bool) {
				return a, w.at(0, 8), w.at(0, 10), pc == inSaved+4
			}
			w.put(0, 10, w.at(0, 20), b)
			w.trap(0, 20, 14, 0, inSaved+4, w.at(0, 40), 0)
			return PC, testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200020 trap:280044 pc:280044 ra:200010 backward"},
		{"a zero of the trap's own, near the top", func(w *world, wk *Walker) (Kind, uintptr, uintptr, uintptr) {
			w.trap(0, 55, 14, 0, b, w.at(0, 58), 0)
			return PC, testPC, w.at(0, 8), w.at(0, 55)
		}, "pc:210000 trap:200020 pc:200020 outside"},
		{"the restorer, where there is room for one frame more", func(w *world, wk *Walker) (Kind, uintptr, uintptr, uintptr) {
			wk.Marks, wk.Frames = testMarks, wk.Frames[:3]
			w.put(0, 10, w.at(0, 20), a)
			w.put(0, 20, w.at(0, 30), inRestorer)
			w.trap(0, 30, VectorSignal, 23, b, w.at(0, 60), 0)
			return PC, testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 trap:200020 limit"},
		{"a restorer that a trap record names", func(w *world, wk *Walker) (Kind, uintptr, uintptr, uintptr) {
			wk.Marks = testMarks
			w.trap(0, 10, VectorCall, 0, inRestorer, w.at(0, 20), w.at(0, 30))
			w.trap(0, 30, 14, 0, b, w.at(0, 40), w.at(0, 62))
			w.put(0, 62, 0, 0)
			return PC, testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 trap:280060 ra:280060 trap:200020 pc:200020 zero"},
		{"a stack that has been moved, and no code", func(w *world, wk *Walker) (Kind, uintptr, uintptr, uintptr) {
			wk.SPDelta = func(uintptr) (uintptr, bool) { return 8, true }
			w.put(0, 9, w.at(0, 62), a)
			w.put(0, 62, 0, 0)
			return RA, 0x1234, w.at(0, 10), w.at(0, 9) - 3*stackGranule
		}, "ra:1234 ra:200010 outside"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 512, 512)
			for i, wk := range w.walkers {
				kind, pc, sp, fp := tt.build(w, wk)
				wk.walk(kind, pc, sp, fp, 0)
				if got := ends(wk); got != tt.want {
					t.Errorf("walker %d: %s; want %s", i, got, tt.want)
				}
			}
		})
	}
}

// TestCaptureStopReadsTheStackOnly: a capture whose last record is the last of its stack, with a
// frame pointer of 0, and an empty capture. The memory beyond is not mapped.
func TestCaptureStopReadsTheStackOnly(t *testing.T) {
	w := newWorld(t, 512)
	w.put(0, 62, 0, testTextLo)
	c := Capture{Records: make([]Record, 8)}
	c.Set(&w.stacks[0], testTextLo, testTextHi)
	for _, tt := range []struct {
		fp uintptr
		n  int
	}{{w.at(0, 62), 1}, {0, 0}} {
		c.Walk(tt.fp)
		if e, v := c.Stop(); c.N != tt.n || e != EndOutside || v != 0 {
			t.Errorf("from %#x: %d records, %v %#x; want %d, %v 0x0", tt.fp, c.N, e, v, tt.n, EndOutside)
		}
	}
}
