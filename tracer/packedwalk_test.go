//go:build amd64

package tracer

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// units returns the units in p.
func units(p *Packed) (all []uint32) {
	for i := range p.N() {
		all = append(all, p.Unit(i))
	}
	return all
}

// TestPackedWalk: the assembly loop finds the frames of the plain loop, and stops where it stops,
// on chains with every kind of bad record.
func TestPackedWalk(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const textLo, textHi = 0x200000, 0x300000
	words := make([]uintptr, 700)
	base := uintptr(unsafe.Pointer(&words[0]))
	for range 20_000 {
		at := base
		for i := range words {
			words[i] = uintptr(r.Uint64N(1 << 30))
		}
		first := base + 8*uintptr(r.IntN(4))
		for at = first; at+16 <= base+8*uintptr(len(words)); {
			i := (at - base) / 8
			next := at + 16 + 8*uintptr(r.IntN(6))
			words[i], words[i+1] = next, textLo+uintptr(r.Uint64N(textHi-textLo))
			if r.IntN(60) == 0 {
				switch r.IntN(5) {
				case 0:
					words[i] += 1 + uintptr(r.Uint64N(7))
				case 1:
					words[i] = at
				case 2:
					words[i] = base
				case 3:
					words[i+1] = textHi
				case 4:
					words[i] = 0
				}
			}
			at = next
		}
		lo, hi := base, base+8*uintptr(len(words)-r.IntN(100))
		floor := base + uintptr(r.IntN(40))
		if r.IntN(50) == 0 {
			first++
		}
		var fast, slow Packed
		width := uintptr(3 + r.IntN(2))
		fast.Reset(width, textLo, textHi)
		slow.Reset(width, textLo, textHi)
		fast.Walk(lo, hi, floor, first)
		slow.fp, slow.above, slow.top = first, max(lo, floor)-1, hi-15
		packSlow(&slow)
		if fast.Last() != slow.Last() || fast.Hash != slow.Hash || fast.Full() != slow.Full() || !slices.Equal(units(&fast), units(&slow)) {
			t.Fatalf("from %#x of %#x to %#x, not below %#x: %d units, then %#x, full %v; want %d, %#x, %v",
				first, lo, hi, floor, fast.N(), fast.Last(), fast.Full(), slow.N(), slow.Last(), slow.Full())
		}
	}
}

// TestPackedHooks: a Packed holds the return addresses that OnReturn has replaced on that stack,
// and the walk of any other stack is the fast one.
func TestPackedHooks(t *testing.T) {
	const textLo = 0x200000
	words := make([]uintptr, 64)
	base := uintptr(unsafe.Pointer(&words[0]))
	hi := base + 8*uintptr(len(words))
	for i := 0; i+2 < len(words); i += 2 {
		words[i], words[i+1] = base+8*uintptr(i+2), textLo+uintptr(i)
	}
	// The thunk is also in the text.
	textHi := exitThunkPC() + 0x1000
	walk := func() []uint32 {
		var p Packed
		p.Reset(4, textLo, textHi)
		p.Walk(base, hi, 0, base)
		return units(&p)
	}
	want := walk()
	defer func() { numExits = 0 }()
	for _, i := range []int{5, 5, 9, 31} {
		if OnReturnAt(base+8*uintptr(i), hook, 1) != "" {
			t.Fatalf("no hook on word %d", i)
		}
	}
	if got := walk(); !slices.Equal(got, want) {
		t.Errorf("with hooks the units are %#x; want %#x", got, want)
	}
	if !hooked(base, hi) || hooked(hi, hi+4096) || hooked(base, base+8*5) {
		t.Error("hooked names another stack")
	}
}

// TestPackedMovesInWalk: frames that a walk adds are not lost when the stack with the Packed moves
// at any point of the walk.
func TestPackedMovesInWalk(t *testing.T) {
	const textLo, n = 0x200000, 12
	words := make([]uintptr, 2*n+2)
	base := uintptr(unsafe.Pointer(&words[0]))
	var want []uint32
	for i := range n {
		words[2*i], words[2*i+1] = base+16*uintptr(i+1), textLo+uintptr(i)
		want = append(want, uint32(i))
	}
	// With a hook on that stack.
	defer func() { numExits = 0 }()
	if OnReturnAt(base+8, hook, 1) != "" {
		t.Fatal("no hook")
	}
	textHi := exitThunkPC() + 0x1000
	moved := 0
	for depth := range 600 {
		done := make(chan bool)
		go func() {
			defer close(done)
			below(depth, func() {
				var p Packed
				p.Reset(4, textLo, textHi)
				was := p.Buffer()
				p.Walk(base, base+8*uintptr(len(words)), 0, base)
				if p.Buffer() != was {
					moved++
				}
				got := make([]uint32, 0, n)
				for i := range p.N() {
					got = append(got, p.Unit(i))
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d calls deep: %v; want %v", depth, got, want)
				}
			})
		}()
		<-done
	}
	if moved == 0 {
		t.Error("no stack has moved in a walk")
	}
}

// below calls f that many calls deep.
//
//go:noinline
func below(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	below(n-1, f)
}
