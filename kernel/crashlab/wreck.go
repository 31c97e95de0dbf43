package main

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/stack"
)

// Crashes with random registers. None of the values leads to a frame record outside the chain: so
// everything that the trace shows of it is either right or made up.

// keep stands for a register that early.wreck leaves as it is.
const keep = 0xfeed

//go:noinline
func wreckA() { wreckB(); sink++ }

//go:noinline
func wreckB() { wreckC(); sink++ }

//go:noinline
func wreckC() {
	var d dice
	seed, _ := option.Number("crash.seed")
	d.state = seed*0x5851f42d4c957f2d + 1
	if !layRegions() {
		return
	}
	// Its own frame, and its caller's.
	fp := arch.FramePointer()
	callers, _ := arch.FrameRecord(fp)
	sp, bp, pc := uintptr(keep), uintptr(keep), uintptr(keep)
	if d.n(2) == 0 {
		sp = wrecked(&d)
	}
	switch d.n(6) {
	case 0:
	case 1:
		bp = fp + 4
	case 2:
		bp = callers
	default:
		bp = wrecked(&d)
	}
	if d.n(3) == 0 {
		switch d.n(5) {
		case 0:
			pc = 0
		case 1:
			pc = 1 << 63
		case 2:
			pc = regions[0] // paint, which is no code
		case 3:
			pc = regions[regionGone]
		case 4:
			pc = uintptr(d.roll()) | 1<<46&^(1<<47)
		}
	}
	wreck(sp, bp, pc)
	sink++
}

// wrecked rolls a value that leads to no record: the stacks that it may point to are all paint.
func wrecked(d *dice) uintptr {
	switch d.n(8) {
	case 0:
		return 0
	case 1:
		return regions[0] + uintptr(d.n(regionWords))*8
	case 2:
		return regions[d.n(3)] + uintptr(d.n(regionWords*8))
	case 3:
		return regions[regionGone] + uintptr(d.n(regionWords))*8
	case 4:
		return stack.All()[d.n(11)].Lo - 8 - uintptr(d.n(500))*8
	case 5:
		return uintptr(d.roll()) | 1<<63&^(1<<62)
	case 6:
		return uintptr(d.roll()) >> 17
	}
	return ^uintptr(0) - uintptr(d.n(64))
}

// wreck jumps to pc with other registers, each of which may be kept. In assembly (random_amd64.s).
func wreck(sp, fp, pc uintptr)
func wreckHere()
