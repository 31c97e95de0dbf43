package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer"
)

// What a capture, paint and a scan cost on this machine's processor, next to the
// plainest code that does the same work. The two are timed by turns, in windows of some
// ten microseconds, so that what else the machine does hits both alike.

// A side is one of two things that are timed by turns: it does its work n times.
type side func(n int)

// faster returns how many times longer a takes than b, n times each: the median of some
// ratios, each of which is that of the shortest among many windows of either side. What
// another process or a neighbour on the same core takes is in the others.
func faster(a, b side, n int) float64 {
	const ratios, windows = 11, 100
	timed := func(s side) time.Duration {
		begin := time.Now()
		s(n)
		return time.Since(begin)
	}
	var all []float64
	for range ratios {
		bestA, bestB := timed(a), timed(b)
		for range windows {
			bestA, bestB = min(bestA, timed(a)), min(bestB, timed(b))
		}
		all = append(all, float64(bestA)/float64(bestB))
	}
	return median(all)
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

var sink uintptr // keeps what is computed alive

// scans holds paint against the memclr that Go's runtime clears memory with, and the
// scan for a high-water mark against a loop in Go.
func (b *bench) scans() error {
	const words = 32 << 10 / 8
	b.progress("paint.speed: how fast 32 KiB are painted, without vector registers, against Go's clear of the same; " +
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
		}, 10)
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
		}, 10)
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
