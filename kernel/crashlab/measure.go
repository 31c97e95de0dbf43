package main

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/bare"
)

// No crash but a measurement of the cost of a walk. Under qemu -icount shift=0 a tick of the time
// stamp counter is an instruction, the same in every run. Elsewhere the numbers are ticks of that
// machine.

//go:noinline
func measureA() { measureB(); sink++ }

//go:noinline
func measureB() { measureC(depth() - shallow); sink++ }

// measureC calls itself n times more, then measures.
//
//go:noinline
func measureC(n int) {
	if n == 0 {
		measure()
		return
	}
	measureC(n - 1)
	sink++
}

// bareFrames receives the return addresses of the bare walk. Crash lab only.
var bareFrames [128]uintptr

//go:noinline
func measure() {
	// The walk starts at the caller, so that measure's own frame does not count.
	fp := arch.FramePointer()
	saved, ra := arch.FrameRecord(fp)

	t0 := arch.ReadCounter()
	t1 := arch.ReadCounter()
	base := t1 - t0

	t0 = arch.ReadCounter()
	w := stack.Walk(ra, fp+16, saved, false)
	t1 = arch.ReadCounter()
	result("walk.plain", t1-t0-base)
	result("walk.frames", uint64(w.N))
	result("walk.complete", is(w.End == tracer.EndZero))

	t0 = arch.ReadCounter()
	w = stack.Walk(ra, fp+16, saved, true)
	t1 = arch.ReadCounter()
	result("walk.tables", t1-t0-base)
	result("walk.tables.frames", uint64(w.N))

	t0 = arch.ReadCounter()
	n := bare.Chase(saved, &bareFrames[0])
	t1 = arch.ReadCounter()
	result("bare", t1-t0-base)
	result("bare.frames", uint64(n)) // the first, which needs no walk, stands for the zeros

	t0 = arch.ReadCounter()
	used := tracer.HighWater(boot.StackLo, boot.StackHi)
	t1 = arch.ReadCounter()
	result("scan", t1-t0-base)
	result("scan.bytes", uint64(boot.StackSize-used))

	measureCapture(saved, base)
	measurePages(base)
	measureUse()
	measureCheck(base)
}

// measureCheck measures the check of the stacks' limits: the most expensive of a round.
func measureCheck(base uint64) {
	most, over := uint64(0), false
	for range 2 * stack.Count {
		t0 := arch.ReadCounter()
		s, _ := stack.FirstOver(0)
		t1 := arch.ReadCounter()
		most, over = max(most, t1-t0-base), over || s != nil
	}
	result("check", most)
	result("check.over", is(over))
}

var capture = tracer.Capture{Records: []tracer.Record{127: {}}} // crash lab only

// measureCapture measures capturing a stack, without reporting it.
func measureCapture(fp uintptr, base uint64) {
	stack.SetCapture(&capture, stack.Of(fp))
	for range 2 { // the first run sets the pages' accessed bits
		t0 := arch.ReadCounter()
		capture.Walk(fp)
		t1 := arch.ReadCounter()
		result("capture", t1-t0-base)
		result("capture.frames", uint64(capture.N))
	}
	t0 := arch.ReadCounter()
	same := capture.Again(fp)
	t1 := arch.ReadCounter()
	result("again", t1-t0-base)
	result("again.same", is(same))
}

// large is for a stack of 376 KiB. Crash lab only.
var large [(376 + 4) << 10]byte

func measurePages(base uint64) {
	lo := (uintptr(unsafe.Pointer(&large)) + arch.PageSize - 1) &^ (arch.PageSize - 1)
	hi := lo + 376<<10
	tracer.Paint(lo, hi)
	for p := lo; p < hi; p += arch.PageSize {
		mem.SetDirty(p, false)
	}
	*(*uint64)(arch.Pointer(hi - 5000)) = 1 // the two topmost pages are used
	*(*uint64)(arch.Pointer(hi - 8)) = 1
	t0 := arch.ReadCounter()
	full := tracer.HighWater(lo, hi)
	t1 := arch.ReadCounter()
	result("large.full", t1-t0-base)
	t0 = arch.ReadCounter()
	quick := tracer.HighWaterPages(lo, hi, arch.PageSize, mem.NextDirty)
	t1 = arch.ReadCounter()
	result("large.pages", t1-t0-base)
	result("large.full.used", uint64(full))
	result("large.pages.used", uint64(quick))

	// Three records, the last of which lies in an unmapped page; then also the second, which a
	// capture had found.
	record := func(at, next uintptr) {
		*(*tracer.Record)(arch.Pointer(at)) = tracer.Record{FP: next, RA: capture.Records[0].RA}
	}
	third, second := lo+20*arch.PageSize, lo+10*arch.PageSize
	record(lo, second)
	record(second, third)
	mem.Unmap(third)
	stack.SetCapture(&capture, &tracer.Stack{Lo: lo, Hi: hi})
	capture.Walk(lo)
	result("fault.frames", uint64(capture.N))
	end, _ := capture.Stop()
	result("fault.unreadable", is(end == tracer.EndUnreadable))
	mem.Unmap(second)
	result("fault.same", is(capture.Again(lo)))
	result("fault.frames.again", uint64(capture.N))
}

func is(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// result prints a line "measure NAME VALUE".
func result(name string, v uint64) {
	console.String("measure ")
	console.String(name)
	console.Printf(" %d\n", v)
}

// burn uses slightly more than 8 KiB of stack.
//
//go:noinline
func burn() {
	var block [8 << 10]byte
	for i := range block {
		block[i] = byte(i)
	}
	sink += uint64(block[sink%uint64(len(block))])
}

// measureUse burns stack: it measures the use of the call, the mark after it, and that a reset
// lowers the mark.
func measureUse() {
	mark := func() uint64 { return uint64(stack.All()[0].Used) } // the first is boot's
	bytes, ok := stack.MeasureCall(burn)
	result("use.call", uint64(bytes)*is(ok))
	result("use.need", is(tracer.Need(8<<10))+is(tracer.Need(64<<10)))
	burn()
	after := mark()
	result("use.burnt", is(after >= 8<<10))
	result("use.reset", is(stack.Reset()))
	fresh := mark()
	result("use.fresh", is(fresh < after-7<<10))
	burn()
	result("use.again", is(mark() >= fresh+6<<10))
}
