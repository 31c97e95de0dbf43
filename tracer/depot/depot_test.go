package depot_test

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/tools/format/eventstream"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/depot"
)

const textLo, textHi = 0x200000, 0x400000

// memory returns the address of size bytes outside of Go's heap.
func memory(t testing.TB, size int) uintptr {
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(b) })
	return uintptr(unsafe.Pointer(&b[0]))
}

func newDepot(t testing.TB, size int, lo, hi uintptr) *depot.Depot {
	d := new(depot.Depot)
	if !d.Init(memory(t, size), uintptr(size), lo, hi) {
		t.Fatalf("Init with %d bytes and a text of %d failed", size, hi-lo)
	}
	return d
}

func frame(k tracer.Kind, addr uintptr, vector uint32) tracer.Frame {
	return tracer.Frame{Kind: k, Addr: addr, Vector: vector}
}

func pc(a uintptr) tracer.Frame       { return frame(tracer.PC, a, 0) }
func ra(a uintptr) tracer.Frame       { return frame(tracer.RA, a, 0) }
func trap(vector uint32) tracer.Frame { return frame(tracer.Trap, 0, vector) }

// all returns the frames that a cursor finds.
func all(c depot.Cursor) (frames []tracer.Frame, end tracer.End) {
	for {
		k, addr, vector, ok := c.Next()
		if !ok {
			return frames, c.End
		}
		frames = append(frames, frame(k, addr, vector))
	}
}

// image returns the depot in the host's form.
func image(t testing.TB, d *depot.Depot) *eventstream.Depot {
	t.Helper()
	b := make([]byte, d.ImageSize())
	for i := range b {
		b[i] = d.ImageByte(len(b), i)
	}
	m, err := eventstream.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestIntern: an interned stack comes out again, once; shared tails take no room.
func TestIntern(t *testing.T) {
	for _, text := range []uintptr{2 << 20, 512 << 20} { // units of 3 and of 4 bytes
		d := newDepot(t, 64<<10, textLo, textLo+text)
		main := []tracer.Frame{ra(textLo + 0x100), ra(textLo + text - 1)}
		stacks := []struct {
			frames []tracer.Frame
			end    tracer.End
			units  uint64 // that it takes
		}{
			{main, tracer.EndGoexit, 3},
			{main, tracer.EndGoexit, 0},
			{append([]tracer.Frame{pc(textLo), ra(textLo + 0x200)}, main...), tracer.EndGoexit, 3},
			{append([]tracer.Frame{ra(textLo + 0x200)}, main...), tracer.EndGoexit, 0},
			{append([]tracer.Frame{pc(textLo + 1), ra(textLo + 0x200)}, main...), tracer.EndGoexit, 2},
			{append([]tracer.Frame{pc(textLo), ra(textLo + 0x200)}, main...), tracer.EndZero, 5},
			{[]tracer.Frame{pc(textLo + 4), trap(14), pc(textLo + 8), ra(textLo + 7)}, tracer.EndText, 5},
			{[]tracer.Frame{pc(0)}, tracer.EndUnreadable, 2},
			{nil, tracer.EndOutside, 1},
			{nil, tracer.EndOutside, 0},
		}
		ids := map[uint32]int{}
		var list []uint32
		width := d.Stats().Used
		for i, s := range stacks {
			before := d.Stats()
			id, ok := d.Intern(s.frames, s.end)
			if !ok || id == 0 {
				t.Fatalf("Intern of stack %d: ID %d, %v", i, id, ok)
			}
			list = append(list, id)
			after := d.Stats()
			ends := s.units
			if before.Used == after.Used != (ends == 0) {
				t.Errorf("stack %d takes %d bytes; want %d units", i, after.Used-before.Used, ends)
			}
			if s.units > 0 {
				frames := s.units
				if i > 0 && s.units < uint64(len(s.frames)+1) {
					frames-- // a link is in no index
				}
				if got, want := after.Used-before.Used, s.units*width+2*frames; got != want {
					t.Errorf("stack %d takes %d bytes; want %d", i, got, want)
				}
			}
			ids[id]++
		}
		if len(ids) != len(stacks)-2 || list[0] != list[1] || list[8] != list[9] {
			t.Errorf("IDs %d", list)
		}
		m := image(t, d)
		for i, s := range stacks {
			if got, end := all(d.Frames(list[i])); !slices.Equal(got, s.frames) || end != s.end {
				t.Errorf("stack %d with ID %d is %v, %v; want %v, %v", i, list[i], got, end, s.frames, s.end)
			}
			host, end := m.Stack(list[i])
			if len(host) != len(s.frames) || end != s.end {
				t.Fatalf("the image has stack %d as %v, %v; want %v, %v", i, host, end, s.frames, s.end)
			}
			for k, f := range host {
				if w := s.frames[k]; f.Kind != w.Kind || f.Addr != uint64(w.Addr) || f.Vector != w.Vector {
					t.Errorf("the image has frame %d of stack %d as %v; want %v", k, i, f, w)
				}
			}
		}
		if got, end := all(d.Frames(0)); len(got) != 0 || end != 0 {
			t.Errorf("ID 0 has frames %v, end %v", got, end)
		}
	}
}

// random makes stacks like those of programs: calls go from few functions to few others.
func random(r *rand.Rand, depth int) []tracer.Frame {
	f := make([]tracer.Frame, 0, depth)
	at := uintptr(textLo)
	for range depth {
		at = textLo + (at-textLo)*31%0x10000 + uintptr(r.IntN(3))*16 + 16
		f = append(f, ra(at))
	}
	slices.Reverse(f)
	return append([]tracer.Frame{pc(textLo + uintptr(r.IntN(64)))}, f...)
}

// TestFull fills depots: the stacks in them are found and right; a stack without room is refused
// and counted.
func TestFull(t *testing.T) {
	for _, size := range []int{depot.MinSize, 16 << 10, 100_000} {
		d := newDepot(t, size, textLo, textHi)
		r := rand.New(rand.NewPCG(1, uint64(size)))
		known := map[string]uint32{}
		var kept [][]tracer.Frame
		refused := uint64(0)
		for refused < 100 {
			s := random(r, 4+r.IntN(20))
			id, ok := d.Intern(s, tracer.EndGoexit)
			if !ok {
				refused++
				if id != 0 {
					t.Fatalf("refused with ID %d", id)
				}
				continue
			}
			key := string(unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0]))))
			if old := known[key]; old != 0 && old != id {
				t.Fatalf("one stack with IDs %d and %d", old, id)
			} else if old == 0 {
				known[key] = id
				kept = append(kept, s)
			}
		}
		st := d.Stats()
		if st.Full != refused || st.Used > uint64(size) || st.Used < uint64(size)*6/10 || len(kept) < size/150 {
			t.Errorf("%d bytes, %d stacks: %+v, refused %d", size, len(kept), st, refused)
		}
		byID := map[uint32]int{}
		for i, s := range kept {
			id, ok := d.Intern(s, tracer.EndGoexit)
			if !ok {
				t.Fatalf("stack %d is not found in the full depot", i)
			}
			if other, ok := byID[id]; ok {
				t.Fatalf("stacks %d and %d have ID %d", i, other, id)
			}
			byID[id] = i
			if got, end := all(d.Frames(id)); !slices.Equal(got, s) || end != tracer.EndGoexit {
				t.Fatalf("stack %d is %v, %v; want %v", i, got, end, s)
			}
		}
	}
}

// TestLong: a stack with more frames than the room is cut and marked as cut.
func TestLong(t *testing.T) {
	d := newDepot(t, 64<<10, textLo, textHi)
	s := make([]tracer.Frame, 2*tracer.MaxPacked)
	for i := range s {
		s[i] = ra(textLo + uintptr(i))
	}
	id, ok := d.Intern(s, tracer.EndZero)
	if got, end := all(d.Frames(id)); !ok || end != tracer.EndLimit || !slices.Equal(got, s[:tracer.MaxPacked-1]) {
		t.Errorf("%d frames, %v, %v; want %d, limit", len(got), end, ok, tracer.MaxPacked-1)
	}
}

// chain makes a stack of records in memory, each of words words, and returns its bounds
// and the first frame pointer.
func chain(mem uintptr, n, words int) (lo, hi, fp uintptr, frames []tracer.Frame) {
	word := func(a uintptr) *uintptr { return (*uintptr)(*(*unsafe.Pointer)(unsafe.Pointer(&a))) }
	lo = mem
	fp = lo + 64
	at := fp
	for i := range n {
		next := at + 8*uintptr(words)
		if i == n-1 {
			next = 0
		}
		a := uintptr(textLo + 0x1000 + i*16)
		*word(at), *word(at + 8) = next, a
		frames = append(frames, ra(a))
		at += 8 * uintptr(words)
	}
	return lo, at + 64, fp, frames
}

// TestWalk: a walk into a depot finds the stack, and the ID equals Intern's.
func TestWalk(t *testing.T) {
	for _, text := range []uintptr{2 << 20, 512 << 20} {
		for n := 1; n < 40; n++ {
			d := newDepot(t, 64<<10, textLo, textLo+text)
			lo, hi, fp, frames := chain(memory(t, 64<<10), n, 5)
			frames = append([]tracer.Frame{pc(textLo + 5)}, frames...)
			want, _ := d.Intern(frames, tracer.EndGoexit)
			var p tracer.Packed
			d.Begin(&p)
			d.Add(&p, tracer.PC, textLo+5)
			p.Walk(lo, hi, 0, fp)
			if p.N() != n+1 || p.Last() != 0 {
				t.Fatalf("Walk: N %d, Last %#x; want %d, 0", p.N(), p.Last(), n+1)
			}
			if id, ok := d.Finish(&p, tracer.EndGoexit); !ok || id != want {
				t.Fatalf("Finish = %d, %v; want %d", id, ok, want)
			}
		}
	}
}

// TestWalkGuards: each guard ends a walk where it ends a Capture's.
func TestWalkGuards(t *testing.T) {
	mem := memory(t, 64<<10)
	word := func(a uintptr) *uintptr { return (*uintptr)(*(*unsafe.Pointer)(unsafe.Pointer(&a))) }
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		n := 1 + r.IntN(12)
		lo, hi, fp, _ := chain(mem, n, 2+r.IntN(4))
		bad := []uintptr{0, 1, fp, lo, hi, hi - 8, hi - 16, lo - 8, textLo, textHi, textHi - 1, fp + 8, ^uintptr(0)}
		for range r.IntN(3) {
			*word(fp + uintptr(r.IntN(int(hi-fp)/8))*8) = bad[r.IntN(len(bad))]
		}
		var p tracer.Packed
		p.Reset(3, textLo, textHi)
		p.Walk(lo, hi, 0, fp)
		c := tracer.Capture{Records: make([]tracer.Record, 64)}
		c.Set(&tracer.Stack{Lo: lo, Hi: hi}, textLo, textHi)
		c.Walk(fp)
		if c.N != p.N() {
			t.Fatalf("%d frames; a Capture finds %d", p.N(), c.N)
		}
		last := fp
		for i := range c.N {
			if got := uintptr(p.Unit(i)) + textLo; got != c.Records[i].RA {
				t.Fatalf("frame %d: %#x; want %#x", i, got, c.Records[i].RA)
			}
			last = c.Records[i].FP
		}
		if p.Last() != last {
			t.Fatalf("Last %#x; want %#x", p.Last(), last)
		}
	}
}
