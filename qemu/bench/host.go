package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer"
)

// What a capture, paint and a scan cost on this machine's processor, next to the
// plainest code that does the same work. The two are timed by turns, in windows of some
// ten microseconds, so that what else the machine does hits both alike.

// A side is one of two things that are timed by turns: it does its work n times.
type side func(n int)

// A pair is a window of one side between two of the other.
type pair struct {
	ratio float64
	total time.Duration
}

// faster returns how many times longer a takes than b, n times each. Windows of either side
// follow one another, and each of b is held against those of a before and behind it, so
// that both sides of a ratio have had the same clock frequency and the same neighbours. A
// pair whose two windows of a differ is left out: something has come in between. Of the
// others the quickest hundred count, since they had the processor to themselves, by their
// median. The pairs are taken in groups with pauses between them: who has slept gets a
// whole slice of time next, and what a neighbour does for a while is in some groups only.
// Where the hundred are not of one length, there have been too few, and more are taken.
func faster(a, b side, n int) float64 {
	const rounds, groups, inGroup, best, differ = 6, 200, 25, 100, 1.02
	timed := func(s side) time.Duration {
		begin := time.Now()
		s(n)
		return time.Since(begin)
	}
	var all, equal []pair
	for range rounds {
		for range groups {
			time.Sleep(2 * time.Millisecond)
			timed(a)
			timed(b)
			before := timed(a)
			for range inGroup {
				took, behind := timed(b), timed(a)
				p := pair{float64(before+behind) / 2 / float64(took), before + behind + took}
				all = append(all, p)
				if float64(max(before, behind)) <= differ*float64(min(before, behind)) {
					equal = append(equal, p)
				}
				before = behind
			}
		}
		slices.SortFunc(equal, func(x, y pair) int { return cmp.Compare(x.total, y.total) })
		if len(equal) >= best && float64(equal[best-1].total) <= differ*float64(equal[0].total) {
			break
		}
	}
	if len(equal) < best {
		equal = all
	}
	var ratios []float64
	for _, p := range equal[:best] {
		ratios = append(ratios, p.ratio)
	}
	return median(ratios)
}

// host measures what runs as well on this machine as in the guest.
func (b *bench) host() error {
	// The collector would come in between, and move stacks.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, step := range []func() error{b.captures, b.callers, b.scans} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

//lint:ignore U1000 keeps what is computed alive
var sink uintptr

// scans holds paint against the memclr that Go's runtime clears memory with, and the
// scan for a high-water mark against a loop in Go.
func (b *bench) scans() error {
	// Half of a cache of 32 KiB: what fills the whole of it is in it by chance, and a ratio
	// would be one of two.
	const words = 16 << 10 / 8
	b.progress("paint.speed: how fast 16 KiB are painted, without vector registers, against Go's clear of the same; " +
		"scan.speed: how fast paint is searched for a mark, against a loop in Go")
	memory := make([]uintptr, words)
	lo := uintptr(unsafe.Pointer(&memory[0]))
	hi := lo + words*8
	speed := faster(
		func(times int) {
			for range times {
				clear(memory)
			}
		},
		func(times int) {
			for range times {
				tracer.Paint(lo, hi)
			}
		}, 20)
	b.atLeast("paint.speed", speed, 0.98)

	tracer.Paint(lo, hi)
	memory[words-1] = 0 // the last word: both have to look at all
	if u := tracer.HighWater(lo, hi); u != 8 || plainScan(memory) != words-1 {
		return fmt.Errorf("scans: a mark of %d bytes; want 8, as the loop in Go has it", u)
	}
	speed = faster(
		func(times int) {
			for range times {
				sink += uintptr(plainScan(memory))
			}
		},
		func(times int) {
			for range times {
				sink += tracer.HighWater(lo, hi)
			}
		}, 20)
	b.atLeast("scan.speed", speed, 2.4)
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
