package tracer

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer/bare"
)

// A chain is a stack in the test's own memory with records in it.
type chain struct {
	words []uintptr
	stack Stack
	first uintptr
}

const chainText = 0x40_0000

func newChain(words int) *chain {
	c := &chain{words: make([]uintptr, words)}
	c.stack.Lo = uintptr(unsafe.Pointer(&c.words[0]))
	c.stack.Hi = c.stack.Lo + uintptr(words)*8
	return c
}

func (c *chain) at(i int) uintptr { return c.stack.Lo + uintptr(i)*8 }

// fill makes n records, each gap words above the one before, and the entry stub's zeros.
func (c *chain) fill(n, gap int) {
	top := len(c.words) - 2
	c.words[top], c.words[top+1] = 0, 0
	next := c.at(top)
	for i := n - 1; i >= 0; i-- {
		k := top - (n-i)*gap
		c.words[k], c.words[k+1] = next, chainText+uintptr(i)
		next = c.at(k)
	}
	c.first = next
}

func (c *chain) capture(limit int) *Capture {
	p := &Capture{Records: make([]Record, limit)}
	p.Set(&c.stack, chainText, chainText+0x1000)
	return p
}

func TestCapture(t *testing.T) {
	for n := 0; n < 70; n++ {
		c := newChain(512)
		c.fill(n, 5)
		p := c.capture(64)
		want, end := n, EndZero
		if n >= 64 {
			want, end = 64, EndLimit
		}
		if p.Walk(c.first); p.N != want {
			t.Fatalf("Walk of %d records: N = %d; want %d", n, p.N, want)
		}
		if e, _ := p.Stop(); e != end {
			t.Errorf("%d records: Stop = %v; want %v", n, e, end)
		}
		for i, r := range p.Records[:p.N] {
			if r.RA != chainText+uintptr(i) {
				t.Fatalf("record %d of %d: RA = %#x; want %#x", i, n, r.RA, chainText+i)
			}
		}
		if n > 0 && !p.Again(c.first) {
			t.Errorf("Again of %d records found a change", n)
		}
		for i := range min(n, 64) {
			// A change in either word is noticed, and the remaining records are walked.
			for word := range 2 {
				q := c.capture(64)
				q.Walk(c.first)
				k := (c.stack.Hi-c.first)/8 - uintptr((i)*5)
				at := len(c.words) - int(k) + word
				old := c.words[at]
				c.words[at] = [2]uintptr{old ^ 1, old + 0x800}[word]
				if q.Again(c.first) {
					t.Errorf("Again of %d records did not find a change in word %d of record %d", n, word, i)
				}
				if want := i + word*(want-i); q.N != want+1-word {
					t.Errorf("after a change in word %d of record %d of %d: %d records; want %d", word, i, n, q.N, want+1-word)
				}
				c.words[at] = old
			}
		}
		runtime.KeepAlive(c)
	}
}

// TestCaptureStops compares a Capture with a Walker: on random memory both see the same records,
// and stop for the same reason.
func TestCaptureStops(t *testing.T) {
	ends := map[End]int{}
	for seed := range uint64(200_000) {
		r := rand.New(rand.NewPCG(seed, 4))
		c := newChain(96)
		for i := range c.words {
			c.words[i] = uintptr(r.Uint64()) >> r.IntN(64)
		}
		// Records, from the top down, some of them damaged.
		next := []uintptr{0, c.at(94), c.at(95), c.at(96)}[r.IntN(4)]
		if r.IntN(4) > 0 {
			c.words[94], c.words[95] = 0, 0
			next = c.at(94)
		}
		for k := 92; k > 2; k -= 2 + r.IntN(6) {
			c.words[k], c.words[k+1] = next, chainText+uintptr(r.IntN(0x1000))
			next = c.at(k)
		}
		if r.IntN(2) > 0 {
			c.words[r.IntN(96)] = []uintptr{0, 1, c.at(r.IntN(96)), c.at(r.IntN(96)) + 4, chainText, TrapMark, 1 << 63}[r.IntN(7)]
		}
		p := c.capture(4 * (1 + r.IntN(6)))
		w := Walker{Stacks: []Stack{c.stack}, TextLo: chainText, TextHi: chainText + 0x1000, Frames: make([]Frame, len(p.Records)+1)}
		w.WalkCaller(chainText, next, next)
		p.Walk(next)
		end, value := p.Stop()
		ends[end]++
		if p.N > 1 && overlaps(p, next) {
			continue // the one guard in which they differ
		}
		for i, f := range w.Frames[:w.N] {
			if f.Kind == Trap {
				w.N, w.End, w.EndValue = i, EndText, TrapMark // a Capture ends there
				break
			}
		}
		got, want := []uintptr{}, []uintptr{}
		for _, r := range p.Records[:p.N] {
			got = append(got, r.RA)
		}
		for _, f := range w.Frames[1:w.N] {
			want = append(want, f.Addr)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: records %x, end %v; want %x, %v", seed, got, end, want, w.End)
		}
		if (end != w.End || value != w.EndValue) && end != EndLimit && w.End != EndLimit && value != TrapMark {
			t.Fatalf("seed %d: end %v %#x; want %v %#x, after %d records from %#x, stack %#x", seed, end, value, w.End, w.EndValue, p.N, next, c.stack.Lo)
		}
		runtime.KeepAlive(c)
	}
	for _, e := range []End{EndZero, EndMisaligned, EndOutside, EndBackward, EndText, EndLimit} {
		if ends[e] < 100 {
			t.Errorf("only %d of the stacks ended as %v", ends[e], e)
		}
	}
}

// overlaps reports whether a record begins in the one before.
func overlaps(p *Capture, fp uintptr) bool {
	for _, r := range p.Records[:p.N] {
		if r.FP == fp+8 {
			return true
		}
		fp = r.FP
	}
	return false
}

var captureSink int

func BenchmarkCapture(b *testing.B) {
	for _, d := range []struct {
		name string
		n    int
	}{{"32", 32}, {"128", 128}} {
		c := newChain(8192)
		c.fill(d.n, 12)
		b.Run("bare/"+d.name, func(b *testing.B) {
			out := make([]uintptr, 256)
			for b.Loop() {
				captureSink += bare.Chase(c.first, &out[0])
			}
		})
		b.Run("walk/"+d.name, func(b *testing.B) {
			p := c.capture(128)
			for b.Loop() {
				p.Walk(c.first)
			}
			if p.N != d.n {
				b.Fatal(p.N)
			}
		})
		b.Run("again/"+d.name, func(b *testing.B) {
			p := c.capture(128)
			p.Walk(c.first)
			for b.Loop() {
				if !p.Again(c.first) {
					b.Fatal("changed")
				}
			}
		})
	}
	b.Run("callers/32", func(b *testing.B) {
		out := make([]uintptr, 128)
		captureSink += nested(30, func() int {
			for b.Loop() {
				captureSink += runtime.Callers(0, out)
			}
			return 0
		})
	})
}

//go:noinline
func nested(n int, f func() int) int {
	if n == 0 {
		return f()
	}
	return nested(n-1, f) + 1
}
