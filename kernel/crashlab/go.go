package main

import "github.com/zeroframe/zeroframe/kernel/crashlab/golab"

// The chains of the early context that die in a goroutine as well. Their functions are
// the same, so they keep to the rules of the early context.

// goCrashes is the table of those kinds. The others are in package golab.
var goCrashes = [...]golab.Crash{
	{Kind: "go.panic", Run: panicA, Help: "panic with a string"},
	{Kind: "go.panic-type", Run: panicTypeA, Help: "panic with a value of a type of its own"},
	{Kind: "go.nil-read", Run: nilReadA, Help: "read through a nil pointer"},
	{Kind: "go.nil-write", Run: nilWriteA, Help: "write through a nil pointer"},
	{Kind: "go.nil-call", Run: nilCallA, Help: "call of a nil function"},
	{Kind: "go.bounds", Run: boundsA, Help: "index out of range"},
	{Kind: "go.slice", Run: sliceA, Help: "slice bounds out of range"},
	{Kind: "go.div0", Run: divideA, Help: "integer division by zero"},
	{Kind: "go.ud2", Run: undefinedA, Help: "invalid opcode"},
	{Kind: "go.gp", Run: protectionA, Help: "read of a non-canonical address"},
	{Kind: "go.ro-write", Run: readOnlyA, Help: "write to the kernel's text"},
	{Kind: "go.nx", Run: noExecA, Help: "jump into data"},
	{Kind: "go.int3", Run: breakpointA, Help: "breakpoint, which is a signal here"},
	{Kind: "go.leaf", Run: leafA, Help: "a fault in a function that never pushed RBP"},
	{Kind: "go.double-fault", Run: doubleA, Help: "a fault while a fault is delivered"},
	{Kind: "go.in-irq", Run: inIRQA, Help: "a fault in an interrupt handler, which a goroutine has called for"},
	{Kind: "go.overflow-irq", Run: irqOverflowA, Help: "recursion into the guard page inside an interrupt"},
	{Kind: "go.rbp-misaligned", Run: misalignedA, Help: "a saved frame pointer that is odd"},
	{Kind: "go.rbp-outside", Run: outsideA, Help: "a saved frame pointer in no stack"},
	{Kind: "go.rbp-cycle", Run: cycleA, Help: "a saved frame pointer that leads to itself"},
	{Kind: "go.rbp-zero", Run: zeroFPA, Help: "a saved frame pointer of 0, far from the stack's top"},
	{Kind: "go.ra-smashed", Run: smashedA, Help: "a return address that is not in the text"},
	{Kind: "go.kernel-panic", Run: kernelPanicA, Help: "kernel.Panic, called by a driver"},
	{Kind: "go.triple", Run: tripleA, Help: "a triple fault: the machine resets without a word"},
}

func main() {
	if kind, ok := wanted(); ok {
		golab.Main(string(kind), goCrashes[:])
	}
}
