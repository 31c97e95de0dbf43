package tracer

import (
	"slices"
	"testing"
)

// A CPU with a link register, on synthetic stacks as Go's compiler makes them for arm64
// (cmd/internal/obj/arm64/obj7.go): a function's frame begins at SP with the saved LR,
// and the saved FP lies in the word below. The frames of the functions here:
//
//	words 9, 10    record of f: f has 6 words
//	words 15, 16   record of g: g has 10 words
//	words 25, 26   record of h
//	words 62, 63   the zeros of the entry stub

func TestLinkRegister(t *testing.T) {
	const f, g, h, leaf = testTextLo + 0x100, testTextLo + 0x200, testTextLo + 0x300, testTextLo + 0x400
	const inF, inG, inH = f + 4, g + 4, h + 4 // return addresses
	sizes := map[uintptr]uintptr{f: 48, f + 3: 48, g: 80, g + 3: 80, h: 0, leaf: 0}
	delta := func(pc uintptr) (uintptr, bool) { d, ok := sizes[pc]; return d, ok }
	const rest = "ra:200204 ra:200304 ra:200304 zero"

	for _, tt := range []struct {
		name string
		walk func(w *world, wk *Walker)
		want string
	}{
		{"a chain of records", func(w *world, wk *Walker) {
			wk.WalkLR(f, w.at(0, 10), w.at(0, 9), 0)
		}, "pc:200100 " + rest},
		{"a leaf, whose caller is in LR", func(w *world, wk *Walker) {
			wk.WalkLR(leaf, w.at(0, 10), w.at(0, 9), inF)
		}, "pc:200400 ra:200104 " + rest},
		{"a leaf, without the tables", func(w *world, wk *Walker) {
			wk.Plain = true
			wk.WalkLR(leaf, w.at(0, 10), w.at(0, 9), inF)
		}, "pc:200400 " + rest},
		{"an LR that is no return address", func(w *world, wk *Walker) {
			wk.WalkLR(leaf, w.at(0, 10), w.at(0, 9), 0x1000)
		}, "pc:200400 " + rest},
		{"a prologue that has saved LR and not FP", func(w *world, wk *Walker) {
			w.put(0, 4, inF)
			wk.WalkLR(f, w.at(0, 4), w.at(0, 9), inF)
		}, "pc:200100 ra:200104 " + rest},
		{"a call of nil", func(w *world, wk *Walker) {
			wk.WalkLR(0, w.at(0, 10), w.at(0, 9), inF)
		}, "pc:0 ra:200104 " + rest},
		{"the caller of a call", func(w *world, wk *Walker) {
			wk.WalkCaller(inF, w.at(0, 10), w.at(0, 9))
		}, "ra:200104 " + rest},
		{"a trap in a leaf, from another stack", func(w *world, wk *Walker) {
			w.put(1, 20, w.at(0, 9), TrapMark, 21, 7, leaf, w.at(0, 10), inF, 5)
			wk.WalkLR(h, w.at(1, 10), w.at(1, 20), 0)
		}, "pc:200300 trap:200400 pc:200400 ra:200104 " + rest},
		{"a trap record that is cut off", func(w *world, wk *Walker) {
			w.put(1, 57, w.at(0, 9), TrapMark, 21, 7, leaf, w.at(0, 10), inF)
			wk.WalkLR(h, w.at(1, 10), w.at(1, 57), 0)
		}, "pc:200300 outside"},
		{"no zeros above the last record", func(w *world, wk *Walker) {
			w.put(0, 25, 0, inH, 0)
			w.put(0, 60, 0, inH, 0) // a pushed return address would be such
			wk.WalkLR(f, w.at(0, 10), w.at(0, 60), 0)
		}, "pc:200100 ra:200204 ra:200304 outside"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 512, 512)
			for i, wk := range w.walkers {
				w.put(0, 9, w.at(0, 15), inG)
				w.put(0, 15, w.at(0, 25), inH)
				w.put(0, 25, w.at(0, 62), inH)
				w.put(0, 62, 0, 0)
				w.put(0, 10, inG)
				wk.Arch, wk.SPDelta = &ARM64, delta
				tt.walk(w, wk)
				if got := ends(wk); got != tt.want {
					t.Errorf("walker %d: %s; want %s", i, got, tt.want)
				}
			}
			for _, f := range w.frames[0][:w.walkers[0].N] {
				if f.Kind == Trap && (f.Vector != 21 || f.Error != 7) {
					t.Errorf("the trap is %+v", f)
				}
			}
		})
	}

	// No instruction of that CPU has an odd address. Only the loop in Go works for it.
	w := newWorld(t, 512)
	w.put(0, 9, w.at(0, 15), inG+1)
	w.walkers[1].Arch = &ARM64
	w.walkers[1].WalkLR(f, w.at(0, 10), w.at(0, 9), 0)
	if got := ends(w.walkers[1]); got != "pc:200100 text" {
		t.Errorf("an odd return address: %s", got)
	}
}

func TestArch(t *testing.T) {
	for _, a := range []*Arch{&AMD64, &ARM64} {
		r := slices.Sorted(slices.Values(a.Registers))
		if len(r) > NumRegisters || len(slices.Compact(r)) != len(a.Registers) {
			t.Errorf("%s: registers %v", a.Name, a.Registers)
		}
		l := a.Trap
		for _, off := range []uintptr{l.PC, l.SP, l.LR} {
			if off != 0 && (off < trapError+8 || off%8 != 0 || off+8 > l.Size) {
				t.Errorf("%s: trap record %+v", a.Name, l)
			}
		}
		if a.LinkRegister != (l.LR != 0) {
			t.Errorf("%s: LR in a trap record at %d", a.Name, l.LR)
		}
		for _, n := range a.CallLengths {
			if uintptr(n)%a.MinInstruction != 0 {
				t.Errorf("%s: a call of %d bytes", a.Name, n)
			}
		}
	}
	if a := Native(); a != &AMD64 && a != &ARM64 {
		t.Errorf("Native() = %v", a)
	}
}
