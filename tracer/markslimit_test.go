package tracer

// The limits of a walk that has marks: room, memory that cannot be read, no allocation.

import (
	"strings"
	"testing"
)

// TestMarksLimit: whatever the room is, the frames are the first ones of the whole walk, and only
// the whole walk is complete.
func TestMarksLimit(t *testing.T) {
	w := newWorld(t, 512, 512, 512)
	w.put(2, 20, 0, inSaved+4, 0)
	w.put(1, 20, w.at(1, 40), testTextLo+1)
	w.put(1, 40, w.at(0, 10), inSwitch+4)
	w.put(0, 10, w.at(0, 20), inExact+4)
	w.put(0, 20, w.at(0, 30), testTextLo+2)
	w.put(0, 30, 0, inExit+1)
	for i, wk := range w.walkers {
		wk.Marks = testMarks
		wk.Saved = func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
			return testTextLo + 3, w.at(1, 18), w.at(1, 20), true
		}
		const whole = "pc:210000 ra:280044 ra:200003 ra:200001 ra:280034 ra:280014 pc:200002 ra:280001 "
		n := strings.Count(whole, " ")
		words := strings.SplitAfter(whole, " ")
		for room := 0; room <= n+1; room++ {
			wk.Frames = w.frames[i][:room]
			wk.Walk(testPC, w.at(2, 8), w.at(2, 20))
			want := strings.Join(words[:min(room, n)], "") + "limit"
			if room == 7 {
				// The frame that would be patched fits, the next one does not.
				want = strings.Join(words[:7], "") + "limit"
			}
			if room >= n {
				want = whole + "goexit"
			}
			if got := ends(wk); got != want {
				t.Errorf("walker %d with room for %d: %s; want %s", i, room, got, want)
			}
		}
	}
}

// TestMarksUnreadable: a record that cannot be read, after a switch.
func TestMarksUnreadable(t *testing.T) {
	w := newWorld(t, 512, 512)
	w.put(1, 20, w.at(0, 10), inSwitch+4)
	w.put(0, 10, 0, inExit+1)
	w.noRead[w.at(0, 10)] = true
	wk := w.walkers[1]
	wk.Marks = testMarks
	wk.Walk(testPC, w.at(1, 8), w.at(1, 20))
	if got, want := ends(wk), "pc:210000 ra:280034 unreadable"; got != want || wk.EndValue != w.at(0, 10) {
		t.Errorf("Walk = %s at %#x; want %s at %#x", got, wk.EndValue, want, w.at(0, 10))
	}
}

func TestMarksAllocateNothing(t *testing.T) {
	w := newWorld(t, 512, 512)
	w.put(1, 20, w.at(0, 10), inSwitch+4)
	w.put(0, 10, w.at(0, 20), inExact+4)
	w.put(0, 20, 0, inExit+1)
	wk := w.walkers[0]
	wk.Marks = testMarks
	if n := testing.AllocsPerRun(100, func() { wk.Walk(testPC, w.at(1, 8), w.at(1, 20)) }); n != 0 {
		t.Errorf("Walk allocates %v times; want 0", n)
	}
}
