package main

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/bare"
	"github.com/zeroframe/zeroframe/tracer/depot"
)

// What a capture, paint and a scan cost on this machine's processor, next to the
// plainest code that does the same work. The two are timed by turns, in windows of some
// ten microseconds, so that what else the machine does hits both alike.

// A side is one of two things that are timed by turns: it does its work n times.
type side func(n int)

// faster returns how many times longer a takes than b, n times each. Windows of either side
// follow one another, and each of b is held against those of a before and after it, so
// that both sides of a ratio have had the same clock frequency and the same neighbours. A
// pair whose two windows of a differ is left out: something has come in between. Of the
// others the quickest hundred count, since they had the processor to themselves, by their
// median. The pairs are taken in groups with pauses between them: who has slept gets a
// whole slice of time next, and what a neighbour does for a while is in some groups only.
// Where the hundred are not of one length, there have been too few, and more are taken.
func (bench *bench) faster(a, b side, n int) float64 {
	const inGroup, best, differ = 25, 100, 1.02
	rounds, groups := 6, 200
	if bench.short {
		rounds, groups = 1, 8
	}
	// A pair is a window of one side between two of the other.
	type pair struct{ ratio, total float64 }
	timed := func(s side) float64 {
		begin := time.Now()
		s(n)
		return float64(time.Since(begin))
	}
	var all, equal []pair
	for range rounds {
		for range groups {
			time.Sleep(2 * time.Millisecond)
			timed(a)
			timed(b)
			before := timed(a)
			for range inGroup {
				took, after := timed(b), timed(a)
				p := pair{(before + after) / 2 / took, before + after + took}
				all = append(all, p)
				if max(before, after) <= differ*min(before, after) {
					equal = append(equal, p)
				}
				before = after
			}
		}
		slices.SortFunc(equal, func(x, y pair) int { return cmp.Compare(x.total, y.total) })
		if len(equal) >= best && equal[best-1].total <= differ*equal[0].total {
			break
		}
	}
	if len(equal) < best {
		equal = all
	}
	quickest := slices.Clone(equal[:best])
	slices.SortFunc(quickest, func(x, y pair) int { return cmp.Compare(x.ratio, y.ratio) })
	return quickest[best/2].ratio
}

// host measures what runs as well on this machine as in the guest.
func (b *bench) host() error {
	// The collector would come in between, and move stacks.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmp.Or(b.captures(), b.callers(), b.scans())
}

//lint:ignore U1000 keeps what is computed alive
var sink uintptr

// chain is a stack of frame records in memory of its own.
type chain struct {
	words []uintptr
	stack tracer.Stack
	first uintptr
}

// chainText is where the return addresses of a chain point to.
const chainText = 0x40_0000

// newChain makes n records of 12 words each, below the zeros of an entry stub.
func newChain(n int) *chain {
	const frame = 12 // words
	c := &chain{words: make([]uintptr, n*frame+64)}
	lo := uintptr(unsafe.Pointer(&c.words[0]))
	c.stack = tracer.Stack{Lo: lo, Hi: lo + uintptr(len(c.words))*8}
	k := len(c.words) - 2
	for i := range n {
		next := lo + uintptr(k)*8
		k -= frame
		c.words[k], c.words[k+1] = next, chainText+uintptr(n-i)
	}
	c.first = lo + uintptr(k)*8
	return c
}

// capture returns a Capture of the chain's n records, and what takes it so often. Each walk
// begins where the one before it tells: otherwise the processor would do several at a time.
func (c *chain) capture(n int) (p *tracer.Capture, walk side, err error) {
	p = &tracer.Capture{Records: make([]tracer.Record, n+4)}
	p.Set(&c.stack, chainText, chainText+0x1000)
	if p.Walk(c.first); p.N != n {
		return p, nil, fmt.Errorf("a Capture has %d records of %d", p.N, n)
	}
	top := p.Records[n-1].FP
	return p, func(times int) {
		fp := c.first
		for range times {
			p.Walk(fp)
			fp = c.first + p.Records[p.N-1].FP - top
		}
		sink += fp
	}, nil
}

// captures holds the guarded walk, and the comparison with what a walk found before,
// against a loop that follows frame pointers and believes them.
func (b *bench) captures() error {
	const each = 100 // walks in a window
	for _, n := range []int{32, 128} {
		c := newChain(n)
		walked, walk, err := c.capture(n)
		again, _, err2 := c.capture(n)
		if err = cmp.Or(err, err2); err != nil {
			return err
		}
		if !again.Again(c.first) {
			return errors.New("captures: an unchanged stack was taken for another")
		}
		top := walked.Records[n-1].FP
		out := make([]uintptr, n+1)
		if k := bare.Chase(c.first, &out[0]); k != n+1 || out[n] != 0 {
			return fmt.Errorf("captures: the bare walk found %d records; want %d", k, n+1)
		}
		chase := func(times int) {
			fp := c.first
			for range times {
				k := bare.Chase(fp, &out[0])
				fp = c.first + out[k-1] // the entry stub's zero
			}
			sink += fp
		}
		changed := false
		same := func(times int) {
			fp := c.first
			for range times {
				changed = changed || !again.Again(fp)
				fp = c.first + again.Records[again.N-1].FP - top
			}
			sink += fp
		}
		b.add(fmt.Sprint("capture.", n), b.faster(walk, chase, each))
		b.add(fmt.Sprint("again.", n), b.faster(same, chase, each))
		if walked.N != n || again.N != n || changed {
			return fmt.Errorf("captures: after the measurement %d and %d records of %d, changed %v",
				walked.N, again.N, n, changed)
		}
		runtime.KeepAlive(c)
	}
	return nil
}

// scans holds paint against the memclr that Go's runtime clears memory with, and the
// scan for a high-water mark against a loop in Go.
func (b *bench) scans() error {
	// Half of a cache of 32 KiB: what fills the whole of it is in it by chance, and a ratio
	// would be one of two.
	const words, each = 16 << 10 / 8, 20
	memory := make([]uintptr, words)
	lo := uintptr(unsafe.Pointer(&memory[0]))
	hi := lo + words*8
	b.add("paint", b.faster(
		func(times int) {
			for range times {
				clear(memory)
			}
		},
		func(times int) {
			for range times {
				tracer.Paint(lo, hi)
			}
		}, each))

	tracer.Paint(lo, hi)
	memory[words-1] = 0 // the last word: both have to look at all
	if u := tracer.HighWater(lo, hi); u != 8 || plainScan(memory) != words-1 {
		return fmt.Errorf("scans: a mark of %d bytes; want 8, as the loop in Go has it", u)
	}
	b.add("scan", b.faster(
		func(times int) {
			for range times {
				sink += uintptr(plainScan(memory))
			}
		},
		func(times int) {
			for range times {
				sink += tracer.HighWater(lo, hi)
			}
		}, each))
	runtime.KeepAlive(memory)
	return nil
}

// plainScan returns the index of the first word that is no paint.
//
//go:noinline
func plainScan(words []uintptr) int {
	for i := range words {
		if words[i] != tracer.Signature {
			return i
		}
	}
	return len(words)
}

// packed is not on a stack, which may move: it has addresses in itself.
var packed tracer.Packed

// depots measures the walk of a stack into a depot that has it, in the time of the walk
// alone, which has the same guards.
func (b *bench) depots() error {
	const each = 100
	for _, n := range []int{32, 128} {
		c := newChain(n)
		walked, walk, err := c.capture(n)
		if err != nil {
			return err
		}
		top := walked.Records[n-1].FP
		memory := make([]uint64, 256<<10/8)
		d := new(depot.Depot)
		if !d.Init(uintptr(unsafe.Pointer(&memory[0])), 256<<10, chainText, chainText+0x1000) {
			return errors.New("no depot")
		}
		p := &packed
		intern := func(fp uintptr) uint32 {
			d.Begin(p)
			p.Walk(c.stack.Lo, c.stack.Hi, 0, fp)
			id, _ := d.Finish(p, tracer.EndZero)
			return id
		}
		// Others that share its tails, so that it lies in four pieces.
		for i := 1; i < 4; i++ {
			intern(walked.Records[i*n/4-1].FP)
		}
		want := intern(c.first)
		wrong := false
		into := func(times int) {
			fp := c.first
			for range times {
				wrong = intern(fp) != want || wrong
				fp = c.first + p.Last() - top
			}
			sink += fp
		}
		b.add(fmt.Sprint("known.", n), b.faster(into, walk, each))
		if wrong || want == 0 || p.N() != n {
			return fmt.Errorf("a known stack of %d frames was not found", n)
		}
		if n == 32 { // longer ones are always compared
			d.TrustHash = true
			b.add("hash.32", b.faster(into, walk, each))
		}
		runtime.KeepAlive(c)
		runtime.KeepAlive(memory)
	}
	return nil
}
