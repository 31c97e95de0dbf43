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
	console.String("kernel lock                taken  waited   held/us   longest   wait/us   longest\n")
	for g := range percpu.Gate(percpu.NumGates) {
		if c := percpu.Counts(g); c.Taken != 0 {
			reportGate(gateName(g), c)
		}
	}
	reportGate("all", &all)
	console.Dec(percpu.Flushes)
	console.String(" changes of page tables for other CPUs, ")
	console.Dec(percpu.FlushesSent)
	console.String(" interrupts sent for them\n")
	console.Dec(mem.Filled())
	console.String(" pages given at a fault without the lock\ninterrupts of devices, by CPU:")
	for n := range percpu.Count() {
		console.String(" ")
		console.Dec(percpu.At(n).Devices)
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
		console.String("CPU ")
		console.Dec(uint64(owner.CPU - 1))
		console.String(" has the kernel lock")
		sayGate(owner.Gate, owner.PC, now-owner.Since-percpu.At(owner.CPU-1).CounterOffset)
	}
	for n := range percpu.Count() {
		if r := percpu.At(n); r.WaitSince != 0 {
			console.String("; CPU ")
			console.Dec(uint64(n))
			console.String(" waits for it")
			sayGate(r.WaitGate, r.WaitPC, now-r.WaitSince-r.CounterOffset)
		}
	}
	console.String("\n")
}

func sayGate(g percpu.Gate, pc uintptr, ticks uint64) {
	console.String(" for ")
	console.String(gateName(g))
	if pc != 0 {
		console.String(" at ")
		console.Hex(uint64(pc))
	}
	console.String(" since ")
	console.Dec(clock.Nanos(ticks) / 1000)
	console.String(" us")
}

func reportGate(name string, c *percpu.GateCount) {
	console.String(name)
	for n := len(name); n < 23; n++ {
		console.String(" ")
	}
	console.DecPad(c.Taken, 9)
	console.DecPad(c.Waited, 8)
	for _, ticks := range [...]uint64{c.Held, c.Longest, c.Waiting, c.LongestWaiting} {
		console.String(" ")
		console.DecPad(clock.Nanos(ticks)/1000, 9)
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
