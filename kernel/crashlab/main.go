package main

import (
	_ "unsafe" // for linkname

	"github.com/zeroframe/zeroframe/kernel"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/crashlab/golab"
)

// crash is a way to die.
type crash struct {
	kind string
	run  func()
	help string
}

// crashes is the table of kinds, complete in the source: nothing has run yet
// that could fill it.
var crashes = [...]crash{
	{"early.panic", panicA, "panic with a string"},
	{"early.panic-type", panicTypeA, "panic with a value of a type of its own"},
	{"early.runtime", runtimeA, "a call into the Go runtime: make"},
	{"early.kernel-panic", kernelPanicA, "kernel.Panic"},
	{"early.nil-read", nilReadA, "read through a nil pointer"},
	{"early.nil-write", nilWriteA, "write through a nil pointer"},
	{"early.nil-call", nilCallA, "call of a nil function"},
	{"early.bounds", boundsA, "index out of range"},
	{"early.slice", sliceA, "slice bounds out of range"},
	{"early.div0", divideA, "integer division by zero"},
	{"early.ud2", undefinedA, "invalid opcode"},
	{"early.gp", protectionA, "read of a non-canonical address"},
	{"early.ro-write", readOnlyA, "write to the kernel's text"},
	{"early.nx", noExecA, "jump into data"},
	{"early.int3", breakpointA, "breakpoint: traced, then continues"},
	{"early.overflow", overflowA, "recursion into the guard page of the stack"},
	{"early.overflow-check", checkedA, "recursion that the stack check stops"},
	{"early.overflow-irq", irqOverflowA, "the same inside an interrupt"},
	{"early.double-fault", doubleA, "a fault while a fault is delivered"},
	{"early.rbp-misaligned", misalignedA, "a saved frame pointer that is odd"},
	{"early.rbp-outside", outsideA, "a saved frame pointer in no stack"},
	{"early.rbp-backward", backwardA, "a saved frame pointer that leads down"},
	{"early.rbp-cycle", cycleA, "a saved frame pointer that leads to itself"},
	{"early.rbp-zero", zeroFPA, "a saved frame pointer of 0, far from the stack's top"},
	{"early.record-zero", zeroRecordA, "a frame record of two zeros, far from the stack's top"},
	{"early.rbp-unmapped", unmappedA, "a saved frame pointer into an unmapped page of the stack"},
	{"early.rbp-noncanonical", nonCanonicalA, "a saved frame pointer that is no address"},
	{"early.rbp-reused", reusedA, "assembly that uses RBP for a value of its own"},
	{"early.rsp-noncanonical", badSPA, "a stack pointer that is no address"},
	{"early.ra-smashed", smashedA, "a return address that is not in the text"},
	{"early.ra-zero", zeroA, "a return address of 0"},
	{"early.nested", nestedA, "a fault inside the panic path; crash.rung=1|2|3, for any kind, says how deep"},
	{"early.network", networkA, "a fault when the trace is sent by netconsole=, if it is"},
	{"early.leaf", leafA, "a fault in a function that never pushed RBP"},
	{"early.in-irq", inIRQA, "a fault in an interrupt handler"},
	{"early.spin", spinA, "an endless loop, for an NMI from outside"},
	{"early.spin-unmapped", spinUnmappedA, "the same, with a frame pointer into an unmapped page"},
	{"early.watermark", watermarkA, "more stack used than the stack's limit"},
	{"early.deep", deepA, "a panic crash.depth=N frames deep (32), for measurements"},
	{"early.step", stepA, "no death: a trace at each instruction of a tree of calls"},
	{"early.on-return", onReturnA, "hooks on the return of functions, traced at each instruction, then a panic in one"},
	{"early.measure", measureA, "no death: counts ticks of walks crash.depth=N frames deep"},
	{"early.repeat", repeatA, "no death: the same trace, crash.depth=N frames deep, three times"},
	{"early.random", randomA, "no death: random stacks are walked and traced; crash.seed=N, crash.count=M"},
	{"early.wreck", wreckA, "death with random registers; crash.seed=N"},
	{"early.triple", tripleA, "a triple fault: the machine resets without a word"},
}

//go:linkname earlyHook github.com/zeroframe/zeroframe/kernel.earlyHook
var earlyHook = lab

// lab dies as the option crash= says.
//
//go:noinline
func lab() {
	kind, ok := wanted()
	if !ok {
		return
	}
	if v, ok := kernel.Option("crash.rung"); ok && len(v) == 1 {
		faultUpTo(int(v[0] - '0'))
	}
	for i := range crashes {
		if kernel.Same(kind, crashes[i].kind) {
			crashes[i].run()
			return
		}
	}
	for i := range goCrashes {
		if kernel.Same(kind, goCrashes[i].Kind) {
			return // that is for main
		}
	}
	for i := range golab.Crashes {
		if kernel.Same(kind, golab.Crashes[i].Kind) {
			return
		}
	}
	console.String("crash=")
	console.Bytes(kind)
	console.String(" is no kind of crash; the kinds are\n")
	for i := range crashes {
		row(crashes[i].kind, crashes[i].help)
	}
	for i := range goCrashes {
		row(goCrashes[i].Kind, goCrashes[i].Help)
	}
	for i := range golab.Crashes {
		row(golab.Crashes[i].Kind, golab.Crashes[i].Help)
	}
	kernel.Exit(2)
}

// wanted returns the kind of the option crash=; or, if the boot before this one has died
// and there is the option crash.then=, the kind that this one says, "none" being none. So
// a machine that resets when it dies need not do so for ever.
func wanted() (kind []byte, ok bool) {
	if kernel.PreviousDeath() {
		if then, ok := kernel.Option("crash.then"); ok {
			return then, !kernel.Same(then, "none")
		}
	}
	return kernel.Option("crash")
}

// row writes a line of the list of kinds.
func row(kind, help string) {
	console.String("  ")
	console.String(kind)
	for n := len(kind); n < 24; n++ {
		console.String(" ")
	}
	console.String(help)
	console.String("\n")
}
