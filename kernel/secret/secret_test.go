package secret

import "testing"

// ranges returns the marked ranges.
func ranges() (all [][2]uintptr) {
	for i := 0; ; i++ {
		lo, hi, ok := Range(i)
		if !ok {
			return all
		}
		if lo != hi {
			all = append(all, [2]uintptr{lo, hi})
		}
	}
}

func TestMark(t *testing.T) {
	a, b := make([]byte, 10), make([]byte, 20)
	if !Mark(a) || !Mark(b) || !Mark(nil) || len(ranges()) != 2 || ranges()[1][0] != address(b) || ranges()[1][1]-address(b) != 20 {
		t.Fatalf("marked: %x", ranges())
	}
	Forget(a)
	Forget(a[:5])
	if r := ranges(); len(r) != 1 || r[0][0] != address(b) {
		t.Fatalf("marked: %x", r)
	}
	Forget(b)
	if Mark(make([]byte, MaxBytes+1)) || len(ranges()) != 0 {
		t.Error("more than MaxBytes is taken")
	}
	kept := make([][]byte, MaxRanges)
	for i := range kept {
		if kept[i] = make([]byte, 1+i); !Mark(kept[i]) {
			t.Fatalf("range %d is refused", i)
		}
	}
	if Mark(a) {
		t.Error("more than MaxRanges are taken")
	}
	for _, b := range kept {
		Forget(b)
	}
	if len(ranges()) != 0 || marked.Load() != 0 {
		t.Errorf("%d ranges, %d bytes are left", len(ranges()), marked.Load())
	}
}

// TestOffStack: a marked value lies where it cannot move.
func TestOffStack(t *testing.T) {
	if n := testing.AllocsPerRun(10, func() {
		var local [64]byte
		Mark(local[:])
		Forget(local[:])
	}); n != 1 {
		t.Errorf("%v allocations; want the array to be in the heap", n)
	}
}
