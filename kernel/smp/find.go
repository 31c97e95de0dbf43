package smp

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// The result of Find. Set once at boot.
var (
	ids      [arch.MaxCPUs]uint32
	numIDs   int  // number of CPUs in ids
	moreCPUs int  // number of CPUs for which ids has no room
	farCPUs  int  // number of CPUs whose number this interrupt controller cannot address
	byACPI   bool // ACPI listed them
	noRAM    bool // there was no RAM for a CPU's stacks
)

// Find finds the CPUs. root is where the loader says that ACPI's tables begin, or 0. Early context,
// while the first page tables are in use.
func Find(root uintptr) { numIDs, moreCPUs, farCPUs, byACPI = arch.FindCPUs(root, &ids) }

// Print prints the line of the boot report, if there is more than one CPU. It begins with the line
// break that ends the previous line.
func Print() {
	all := uint64(numIDs + moreCPUs + farCPUs)
	if all < 2 {
		return
	}
	console.Printf("\ncpus    %d of %d", uint64(percpu.Count()), all)
	if byACPI {
		console.String(" by ACPI")
	} else {
		console.String(" by the MP table")
	}
	switch {
	case !arch.LocalInterrupts():
		console.String("; without a local interrupt controller the others cannot be started")
	case noRAM:
		console.String("; there is not enough RAM behind the image for the stacks of more (QEMU: -m)")
	case silent != 0:
		console.Printf("; no answer within 100 ms from %d", uint64(silent))
		printSilent()
	}
	if moreCPUs != 0 {
		console.Printf("; the kernel takes %d", arch.MaxCPUs)
	}
	printSkew()
	if farCPUs != 0 {
		console.Printf("; without x2APIC none can be reached that has a number above 254: %d",
			uint64(farCPUs))
	}
}

// printSilent says how far the first CPU without an answer has come.
func printSilent() {
	switch {
	case silentStage == boot.APNone:
		console.String(", which has executed nothing")
		return
	case silentFault:
		console.String(", which has faulted in ")
	default:
		console.String(", which has come to ")
	}
	switch silentStage {
	case boot.AP16:
		console.String("16-bit code")
	case boot.AP32:
		console.String("32-bit code")
	default:
		console.String("64-bit code")
	}
}
