package main

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/tracer"
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
	result("walk.complete", complete(w))

	t0 = amd64.ReadTSC()
	w = kernel.Walk(ra, fp+16, saved, true)
	t1 = amd64.ReadTSC()
	result("walk.tables", t1-t0-base)
	result("walk.tables.frames", uint64(w.N))

	t0 = amd64.ReadTSC()
	n := bareWalk(saved, &bareFrames)
	t1 = amd64.ReadTSC()
	result("bare", t1-t0-base)
	result("bare.frames", n+1) // and the first, which needs no walk

	t0 = amd64.ReadTSC()
	used := tracer.HighWater(boot.StackLo, boot.StackHi)
	t1 = amd64.ReadTSC()
	result("scan", t1-t0-base)
	result("scan.bytes", uint64(boot.StackSize-used))
}

func complete(w *tracer.Walker) uint64 {
	if w.End == tracer.EndZero {
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

// bareWalk stores the return addresses of the records from fp up until a frame
// pointer is 0 and returns their number. It believes everything; the guards
// of the real walk are measured against it.
//
//go:noescape
func bareWalk(fp uintptr, out *[128]uintptr) (n uint64)
