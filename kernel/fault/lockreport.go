package fault

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// What the kernel lock has cost, by gate: for the option kstat= and the monitor's command locks.

// ReportLock lists what the kernel lock has cost, one line a gate, in µs and in percent of the
// time since threads run on several CPUs.
func ReportLock() {
	all := percpu.GateCount{}
	for g := range percpu.Gate(percpu.NumGates) {
		c := percpu.Counts(g)
		all.Taken, all.Waited, all.Held, all.Waiting = all.Taken+c.Taken, all.Waited+c.Waited,
			all.Held+c.Held, all.Waiting+c.Waiting
		all.Longest, all.LongestWaiting = max(all.Longest, c.Longest),
			max(all.LongestWaiting, c.LongestWaiting)
	}
	console.FreshLine()
	console.String(
		"kernel lock                taken  waited   held/us   longest   wait/us   longest\n")
	for g := range percpu.Gate(percpu.NumGates) {
		if c := percpu.Counts(g); c.Taken != 0 {
			reportGate(gateName(g), c)
		}
	}
	reportGate("all", &all)
	console.Printf("%d changes of page tables for other CPUs, %d interrupts sent for them\n%d pages given at a fault without the lock\ninterrupts of devices, by CPU:",
		percpu.Flushes, percpu.FlushesSent, mem.Filled())
	for n := range percpu.Count() {
		console.Printf(" %d", percpu.At(n).Devices)
	}
	console.String("\n")
}

// sayLock says who has the kernel lock and who waits for it, if threads run on several CPUs.
func sayLock() {
	if !percpu.Many {
		return
	}
	now := clock.Counter()
	console.FreshLine()
	owner := percpu.Owner()
	if owner.CPU == 0 {
		console.String("nobody has the kernel lock")
	} else {
		console.Printf("CPU %d has the kernel lock", uint64(owner.CPU-1))
		sayGate(owner.Gate, owner.PC, now-owner.Since-percpu.At(owner.CPU-1).CounterOffset)
	}
	for n := range percpu.Count() {
		if r := percpu.At(n); r.WaitSince != 0 {
			console.Printf("; CPU %d waits for it", uint64(n))
			sayGate(r.WaitGate, r.WaitPC, now-r.WaitSince-r.CounterOffset)
		}
	}
	console.String("\n")
}

func sayGate(g percpu.Gate, pc uintptr, ticks uint64) {
	console.String(" for ")
	console.String(gateName(g))
	if pc != 0 {
		console.Printf(" at %x", uint64(pc))
	}
	console.Printf(" since %d us", clock.Nanos(ticks)/1000)
}

func reportGate(name string, c *percpu.GateCount) {
	console.String(name)
	for n := len(name); n < 23; n++ {
		console.String(" ")
	}
	console.Printf("%9d%8d", c.Taken, c.Waited)
	for _, ticks := range [...]uint64{c.Held, c.Longest, c.Waiting, c.LongestWaiting} {
		console.Printf(" %9d", clock.Nanos(ticks)/1000)
	}
	console.String("\n")
}

func gateName(g percpu.Gate) string {
	switch g {
	case percpu.Interrupt:
		return "(interrupt)"
	case percpu.PageFault:
		return "(page fault)"
	case percpu.Exception:
		return "(fault of the program)"
	case percpu.Idle:
		return "(idle)"
	case percpu.OtherCalls:
		return "(other calls)"
	}
	return linux.CallName(int(g))
}
