package main

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/bare"
)

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

// captures holds the guarded walk, and the comparison with what a walk found before,
// against a loop that follows frame pointers and believes them. Each walk begins where
// the one before it tells: otherwise the processor would do several at a time.
func (b *bench) captures() error {
	b.progress("capture.d*.ratio, again.d*.ratio: a Capture's walk of 32 and 128 frames, and a capture of the same stack again, " +
		"in the time of a loop in assembly that follows frame pointers and believes all (tracer/bare); each begins where the one before ended")
	const each = 100 // walks in a window
	var walks, agains []float64
	for _, n := range []int{32, 128} {
		c := newChain(n)
		walked, again := c.capture(n), c.capture(n)
		if walked.Walk(c.first); walked.N != n {
			return fmt.Errorf("captures: %d records of %d", walked.N, n)
		}
		if again.Walk(c.first); !again.Again(c.first) {
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
		walk := c.walker(walked)
		changed := false
		same := func(times int) {
			fp := c.first
			for range times {
				changed = changed || !again.Again(fp)
				fp = c.first + again.Records[again.N-1].FP - top
			}
			sink += fp
		}
		walks = append(walks, faster(walk, chase, each))
		agains = append(agains, faster(same, chase, each))
		if walked.N != n || again.N != n || changed {
			return fmt.Errorf("captures: after the measurement %d and %d records of %d, changed %v", walked.N, again.N, n, changed)
		}
		runtime.KeepAlive(c)
	}
	b.atMost("capture.d32.ratio", walks[0], 1.03)
	b.atMost("capture.d128.ratio", walks[1], 1.03)
	b.atMost("again.d32.ratio", agains[0], 0.5)
	b.atMost("again.d128.ratio", agains[1], 0.5)
	return nil
}

// walker returns a function that walks the chain so often.
func (c *chain) walker(p *tracer.Capture) func(times int) {
	top := p.Records[p.N-1].FP
	return func(times int) {
		fp := c.first
		for range times {
			p.Walk(fp)
			fp = c.first + p.Records[p.N-1].FP - top
		}
		sink += fp
	}
}

func (c *chain) capture(n int) *tracer.Capture {
	p := &tracer.Capture{Records: make([]tracer.Record, n+4)}
	p.Set(&c.stack, chainText, chainText+0x1000)
	return p
}
