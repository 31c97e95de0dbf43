package main

import (
	_ "unsafe" // for linkname

	_ "github.com/zeroframe/zeroframe/kernel"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/crashlab/golab"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/option"
)

// crash is a kind of crash. Its name is early.NAME in early context, go.NAME in a goroutine, and
// cpu.NAME in early context on the last CPU.
type crash struct {
	name string
	run  func()
	in   context
	help string
}

// context is where a chain may run: most chains need early context, the others crash in a
// goroutine, too.
type context bool

const (
	early    context = false
	anywhere context = true
)

// crashes is the table of kinds, laid out in the source, because nothing has run yet that could
// fill it. Those for goroutines only are in package golab. Crash lab only.
var crashes = [...]crash{
	{"panic", panicA, anywhere, "panic with a string"},
	{"panic-type", panicTypeA, anywhere, "panic with a value of a type of its own"},
	{"runtime", runtimeA, early, "a call into the Go runtime: make"},
	{"kernel-panic", kernelPanicA, anywhere, "fault.Panic"},
	{"nil-read", nilReadA, anywhere, "read through a nil pointer"},
	{"nil-write", nilWriteA, anywhere, "write through a nil pointer"},
	{"nil-call", nilCallA, anywhere, "call of a nil function"},
	{"bounds", boundsA, anywhere, "index out of range"},
	{"slice", sliceA, anywhere, "slice bounds out of range"},
	{"div0", divideA, anywhere, "integer division by zero"},
	{"ud2", undefinedA, anywhere, "invalid opcode"},
	{"gp", protectionA, anywhere, "read of a non-canonical address"},
	{"ro-write", readOnlyA, anywhere, "write to the kernel's text"},
	{"nx", noExecA, anywhere, "jump into data"},
	{"int3", breakpointA, anywhere, "breakpoint: traced, then continues; a signal in a goroutine"},
	{"overflow", overflowA, early, "recursion into the guard page of the stack"},
	{"overflow-check", checkedA, early, "recursion that the stack check stops"},
	{"mutual", mutualA, early, "two functions that call each other until the stack ends"},
	{"many", manyA, early, "a panic crash.depth=N frames deep (32), of which no two in a row are the same"},
	{"overflow-irq", irqOverflowA, anywhere, "recursion into the guard page inside an interrupt"},
	{"double-fault", doubleA, anywhere, "a fault while a fault is delivered"},
	{"rbp-misaligned", misalignedA, anywhere, "a saved frame pointer that is odd"},
	{"rbp-outside", outsideA, anywhere, "a saved frame pointer in no stack"},
	{"rbp-backward", backwardA, early, "a saved frame pointer that leads down"},
	{"rbp-cycle", cycleA, anywhere, "a saved frame pointer that leads to itself"},
	{"rbp-zero", zeroFPA, anywhere, "a saved frame pointer of 0, far from the stack's top"},
	{"record-zero", zeroRecordA, early, "a frame record of two zeros, far from the stack's top"},
	{"rbp-unmapped", unmappedA, early, "a saved frame pointer into an unmapped page of the stack"},
	{"rbp-noncanonical", nonCanonicalA, early, "a saved frame pointer that is no address"},
	{"rbp-reused", reusedA, early, "assembly that uses RBP for a value of its own"},
	{"rsp-noncanonical", badSPA, early, "a stack pointer that is no address"},
	{"ra-smashed", smashedA, anywhere, "a return address that is not in the text"},
	{"ra-zero", zeroA, early, "a return address of 0"},
	{"nested", nestedA, early, "a fault inside the panic path; crash.stage=1|2|3, for any kind, says how deep"},
	{"network", networkA, early, "a fault when the trace is sent by netconsole=, if it is"},
	{"dump", dumpA, early, "a fault when the memory is sent by core=, if it is"},
	{"leaf", leafA, anywhere, "a fault in a function that never pushed RBP"},
	{"in-irq", inIRQA, anywhere, "a fault in an interrupt handler"},
	{"spin", spinA, early, "an endless loop, for an NMI from outside"},
	{"spin-unmapped", spinUnmappedA, early, "the same, with a frame pointer into an unmapped page"},
	{"watermark", watermarkA, early, "more stack used than the stack's limit"},
	{"deep", deepA, early, "a panic crash.depth=N frames deep (32), for measurements"},
	{"step", stepA, early, "no crash: a trace at each instruction of a tree of calls"},
	{"moves", movesA, early, "no crash: a trace at each instruction of assembly that moves the stack pointer by hand"},
	{"on-return", onReturnA, early, "hooks on the return of functions, traced at each instruction, then a panic in one"},
	{"measure", measureA, early, "no crash: counts ticks of walks crash.depth=N frames deep"},
	{"repeat", repeatA, early, "no crash: the same trace, crash.depth=N frames deep, three times"},
	{"random", randomA, early, "no crash: random stacks are walked and traced; crash.seed=N, crash.count=M"},
	{"wreck", wreckA, early, "crash with random registers; crash.seed=N"},
	{"triple", tripleA, anywhere, "a triple fault: the machine resets without a word"},
}

//go:linkname earlyHook github.com/zeroframe/zeroframe/kernel.earlyHook
var earlyHook = lab // crash lab only

// lab dies as the option crash= says.
//
//go:noinline
func lab() {
	kind, ok := wanted()
	if !ok {
		return
	}
	if _, ok := option.Word("crash.branches"); ok {
		fakeBranches()
	}
	if stage, ok := option.Number("crash.stage"); ok {
		faultUpTo(fault.Stage(stage))
	}
	for i := range crashes {
		if c := &crashes[i]; named(kind, "early.", c.name) {
			c.run()
			return
		} else if c.in == anywhere && named(kind, "go.", c.name) {
			return // that is main's task
		} else if c.in == anywhere && named(kind, "cpu.", c.name) {
			runOnCPU(c.run)
		}
	}
	for i := range crashesOfCPUs {
		if c := &crashesOfCPUs[i]; named(kind, "cpu.", c.name) {
			runOnCPUs(c)
		}
	}
	if startKind(kind) != nil { // the CPU was left out
		undefinedA()
	}
	for i := range golab.Crashes {
		if ascii.Same(kind, golab.Crashes[i].Kind) {
			return
		}
	}
	listKinds(kind)
	fault.Exit(2)
}

// listKinds says that there is no such kind, and lists all kinds.
func listKinds(kind []byte) {
	console.String("crash=")
	console.Bytes(kind)
	console.String(" is no kind of crash; the kinds are\n")
	for i := range crashes {
		row("early.", crashes[i].name, crashes[i].help)
	}
	for i := range crashes {
		if crashes[i].in == anywhere {
			row("go.", crashes[i].name, crashes[i].help)
		}
	}
	for i := range crashes {
		if crashes[i].in == anywhere {
			row("cpu.", crashes[i].name, crashes[i].help)
		}
	}
	for i := range crashesOfCPUs {
		row("cpu.", crashesOfCPUs[i].name, crashesOfCPUs[i].help)
	}
	for i := range startCrashes {
		row("cpu.", startCrashes[i].name, startCrashes[i].help)
	}
	for i := range golab.Crashes {
		row("", golab.Crashes[i].Kind, golab.Crashes[i].Help)
	}
	console.String("the options are\n")
	for i := range options {
		row(options[i].Name, "=", options[i].Help)
	}
}

// wanted returns the kind of the option crash=. If the previous boot died and there is the option
// crash.then=, it returns that kind instead; "none" means none. So a machine that resets when it
// dies need not do so for ever.
func wanted() (kind []byte, ok bool) {
	if fault.PreviousCrashed() {
		if then, ok := option.Value("crash.then"); ok {
			return then, !ascii.Same(then, "none")
		}
	}
	return option.Value("crash")
}

// named reports whether kind is prefix followed by name.
func named(kind []byte, prefix, name string) bool {
	return ascii.HasPrefix(kind, prefix) && ascii.Same(kind[len(prefix):], name)
}

// row writes a line of the list of kinds.
func row(prefix, name, help string) {
	console.String("  ")
	console.String(prefix)
	console.String(name)
	for n := len(prefix) + len(name); n < 24; n++ {
		console.String(" ")
	}
	console.Line(help)
}

func main() {
	kind, ok := wanted()
	if !ok {
		return
	}
	for i := range crashes {
		if c := &crashes[i]; c.in == anywhere && named(kind, "go.", c.name) {
			golab.InGoroutine(c.run)
		}
	}
	golab.Main(string(kind))
}
