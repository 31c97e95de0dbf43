package main

import (
	"fmt"
	"math/rand/v2"
)

// mostCPUs is how many CPUs a machine has at most.
const mostCPUs = 8

// kinds are the crash lab's kinds that another CPU can die of, and the functions that are in the
// trace. whole is false if the walk cannot come to its end.
var kinds = []struct {
	name, functions string
	whole           bool
}{
	{"panic", "main.panicC main.panicB main.panicA", true},
	{"panic-type", "main.panicTypeC main.panicTypeB main.panicTypeA", true},
	{"kernel-panic", "main.kernelPanicC main.kernelPanicB main.kernelPanicA", true},
	{"nil-read", "main.nilReadC main.nilReadB main.nilReadA", true},
	{"nil-write", "main.nilWriteC main.nilWriteB main.nilWriteA", true},
	{"nil-call", "main.callAddress main.nilCallC main.nilCallB main.nilCallA", true},
	{"bounds", "main.boundsC main.boundsB main.boundsA", true},
	{"slice", "main.sliceC main.sliceB main.sliceA", true},
	{"div0", "main.divideC main.divideB main.divideA", true},
	{"ud2", "main.undefinedC main.undefinedB main.undefinedA", true},
	{"gp", "main.protectionC main.protectionB main.protectionA", true},
	{"ro-write", "main.readOnlyC main.readOnlyB main.readOnlyA", true},
	{"nx", "main.callAddress main.noExecC main.noExecB main.noExecA", true},
	{"double-fault", "main.doubleC main.doubleB main.doubleA", true},
	{"overflow-irq", "main.irqOverflowD main.irqOverflowHandler", true},
	{"in-irq", "main.inIRQE main.inIRQD main.inIRQHandler", true},
	{"leaf", "main.leafC main.leafB main.leafA", true},
	{"rbp-misaligned", "main.smash main.misalignedC", false},
	{"rbp-outside", "main.smash main.outsideC", false},
	{"ra-smashed", "main.smashCaller main.smashedC", false},
}

// A death is a case: how a machine dies.
type death struct {
	kind    int // of kinds
	machine string
	cpus    int
	others  string // what the other CPUs do: "", "spin", "die"
	delay   uint64
	seed    uint64
	form    string // of the traces
	// it dies under a program that keeps all CPUs busy: kind and others are nothing then
	busy bool
	// QEMU runs each CPU as a thread of its own: they run at the same time, and time is the host's
	threads bool
}

// choose returns the case of that number.
func choose(seed uint64, n int) death {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	d := death{
		kind: r.IntN(len(kinds)), machine: pick("q35", "pc", "microvm"), cpus: 1 + r.IntN(mostCPUs),
		others: pick("", "spin", "die", "die"),
		delay:  r.Uint64N(1 << r.IntN(16)), seed: r.Uint64N(1 << 30), form: pick("text", "compact"),
	}
	d.threads = d.others == "die" && r.IntN(2) == 0
	if d.busy = r.IntN(4) == 0; d.busy {
		d.delay, d.threads = r.Uint64N(100_000), r.IntN(2) == 0
	}
	return d
}

// inKernel reports whether the busy program's death is one of the kernel's.
func (d *death) inKernel() bool { return d.seed%2 == 0 && d.cpus > 1 }

// cmdline is the kernel's command line for it.
func (d *death) cmdline() string {
	if d.busy {
		return fmt.Sprintf("report=off trace=%s crash=go.cpu-busy crash.delay=%d crash.seed=%d", d.form,
			d.delay, d.seed)
	}
	name := kinds[d.kind].name
	if d.cpus == 1 {
		return fmt.Sprintf("report=off trace=%s crash=early.%s", d.form, name)
	}
	s := fmt.Sprintf("report=off trace=%s crash=cpu.%s crash.delay=%d crash.seed=%d", d.form, name,
		d.delay, d.seed)
	if d.others != "" {
		s += " crash.others=" + d.others
	}
	return s
}
