package main

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/bare"
)

// No death but a measurement: what a walk costs. Under qemu -icount shift=0 a
// tick of the time stamp counter is an instruction, the same in every run.
// Elsewhere the numbers are ticks of that machine.

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

// bareFrames receives the return addresses of the bare walk.
var bareFrames [128]uintptr

//go:noinline
func measure() {
	// The walk starts at the caller, so that measure's own frame does not count.
	fp := amd64.FramePointer()
	saved, ra := amd64.FrameRecord(fp)

	t0 := amd64.ReadTSC()
	t1 := amd64.ReadTSC()
	base := t1 - t0

	t0 = amd64.ReadTSC()
	w := kernel.Walk(ra, fp+16, saved, false)
	t1 = amd64.ReadTSC()
	result("walk.plain", t1-t0-base)
	result("walk.frames", uint64(w.N))
	result("walk.complete", is(w.End == tracer.EndZero))

	t0 = amd64.ReadTSC()
	w = kernel.Walk(ra, fp+16, saved, true)
	t1 = amd64.ReadTSC()
	result("walk.tables", t1-t0-base)
	result("walk.tables.frames", uint64(w.N))

	t0 = amd64.ReadTSC()
	n := bare.Chase(saved, &bareFrames[0])
	t1 = amd64.ReadTSC()
	result("bare", t1-t0-base)
	result("bare.frames", uint64(n)) // with the first, which needs no walk, for the zeros

	t0 = amd64.ReadTSC()
	used := tracer.HighWater(boot.StackLo, boot.StackHi)
	t1 = amd64.ReadTSC()
	result("scan", t1-t0-base)
	result("scan.bytes", uint64(boot.StackSize-used))

	measureCapture(saved, base)
	measurePages(base)
	measureUse()
}

var capture = tracer.Capture{Records: []tracer.Record{127: {}}}

// measureCapture measures what keeps a stack without saying anything of it.
func measureCapture(fp uintptr, base uint64) {
	kernel.SetCapture(&capture, kernel.StackOf(fp))
	for range 2 { // the first makes the pages' accessed bits
		t0 := amd64.ReadTSC()
		capture.Walk(fp)
		t1 := amd64.ReadTSC()
		result("capture", t1-t0-base)
		result("capture.frames", uint64(capture.N))
	}
	t0 := amd64.ReadTSC()
	same := capture.Again(fp)
	t1 := amd64.ReadTSC()
	result("again", t1-t0-base)
	result("again.same", is(same))
}

// large is for a stack of 376 KiB.
var large [(376 + 4) << 10]byte

func measurePages(base uint64) {
	lo := (uintptr(unsafe.Pointer(&large)) + amd64.PageSize - 1) &^ (amd64.PageSize - 1)
	hi := lo + 376<<10
	tracer.Paint(lo, hi)
	for p := lo; p < hi; p += amd64.PageSize {
		mm.SetDirty(p, false)
	}
	*(*uint64)(amd64.Pointer(hi - 5000)) = 1 // the two topmost pages are used
	*(*uint64)(amd64.Pointer(hi - 8)) = 1
	t0 := amd64.ReadTSC()
	full := tracer.HighWater(lo, hi)
	t1 := amd64.ReadTSC()
	result("large.full", t1-t0-base)
	t0 = amd64.ReadTSC()
	quick := tracer.HighWaterPages(lo, hi, amd64.PageSize, mm.NextDirty)
	t1 = amd64.ReadTSC()
	result("large.pages", t1-t0-base)
	result("large.full.used", uint64(full))
	result("large.pages.used", uint64(quick))

	// Three records, of which the last lies in a page that is not there; then also the
	// second, which a capture had found.
	record := func(at, next uintptr) {
		*(*tracer.Record)(amd64.Pointer(at)) = tracer.Record{FP: next, RA: capture.Records[0].RA}
	}
	third, second := lo+20*amd64.PageSize, lo+10*amd64.PageSize
	record(lo, second)
	record(second, third)
	mm.Unmap(third)
	kernel.SetCapture(&capture, &tracer.Stack{Lo: lo, Hi: hi})
	capture.Walk(lo)
	result("fault.frames", uint64(capture.N))
	end, _ := capture.Stop()
	result("fault.unreadable", is(end == tracer.EndUnreadable))
	mm.Unmap(second)
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
	console.String(" ")
	console.Dec(v)
	console.String("\n")
}

// burn uses 8 KiB of stack and a little.
//
//go:noinline
func burn() {
	var block [8 << 10]byte
	for i := range block {
		block[i] = byte(i)
	}
	sink += uint64(block[sink%uint64(len(block))])
}

// measureUse burns stack: what the call takes, what the mark says of it, and that a reset
// takes it back.
func measureUse() {
	mark := func() uint64 { return uint64(kernel.Stacks()[0].Used) } // the first is boot's
	bytes, ok := kernel.MeasureCall(burn)
	result("use.call", uint64(bytes)*is(ok))
	result("use.need", is(tracer.Need(8<<10))+is(tracer.Need(64<<10)))
	burn()
	after := mark()
	result("use.burnt", is(after >= 8<<10))
	result("use.reset", is(kernel.ResetStacks()))
	fresh := mark()
	result("use.fresh", is(fresh < after-7<<10))
	burn()
	result("use.again", is(mark() >= fresh+6<<10))
}
