package golab

import (
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/smp"
)

// Another CPU dies while the first one runs the program.

//go:noinline
func otherCPUA() { otherCPUB(); sink++ }

//go:noinline
func otherCPUB() {
	last := percpu.Count() - 1
	if last == 0 {
		say("go.cpu needs a machine with several CPUs (zf run -smp N)")
	} else {
		smp.Begin(last, divideOnCPU)
	}
	otherCPUC()
	sink++
}

//go:noinline
func otherCPUC() {
	for zero == 0 {
		sink++
	}
}

// divideOnCPU is what dies, in kernel context.
//
//go:noinline
func divideOnCPU() { sink = uint64(five / zero) }
