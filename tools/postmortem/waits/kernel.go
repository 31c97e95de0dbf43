package waits

import (
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tracer"
)

// Where threads run on several CPUs, one at a time is in Zeroframe's kernel: who waits for its lock
// is at a gate, such as a system call or a page fault. The kernel's own records say so
// (kernel/percpu).

// kernelPath is where they are.
const kernelPath = "github.com/zeroframe/zeroframe/kernel/"

// A Gate is a CPU that has the kernel lock, or waits for it.
type Gate struct {
	CPU int `json:"cpu"`
	// For is the system call, or in brackets what else led into the kernel; PC is what was
	// interrupted, or made the call, 0 if it is not known.
	For string      `json:"for"`
	PC  inspect.Hex `json:"pc,omitempty"`
	// Goroutine is whose thread it is for, 0 if for none's.
	Goroutine int64 `json:"goroutine,omitempty"`
}

// KernelLock is who has the kernel lock.
type KernelLock struct {
	Holder  *Gate  `json:"kernel_lock"` // nil: nobody
	Waiting []Gate `json:"waiting"`
}

// mostCPUs bounds what is believed of their number.
const mostCPUs = 64

// kernelLock reads who has the kernel lock, nil where there is none, or threads run on one CPU.
func (p *program) kernelLock(all []*Goroutine) *KernelLock {
	records, count, holder, many := p.globals[kernelPath+"percpu.records"],
		p.globals[kernelPath+"percpu.numRecords"],
		p.globals[kernelPath+"percpu.holder"], p.globals[kernelPath+"percpu.Many"]
	if records == nil || count == nil || holder == nil || many == nil || p.uint(many.Addr, 1) == 0 {
		return nil
	}
	on := make(map[uint64]int64) // of a thread: the goroutine
	for _, g := range all {
		if m := p.get(g.g, "runtime.g.m"); m != 0 && (g.status == gRunning || g.status == gSyscall) {
			on[p.get(m, "runtime.m.procid")] = g.ID
		}
	}
	l := &KernelLock{Waiting: []Gate{}}
	has := p.get(holder.Addr, kernelPath+"percpu.Holder.CPU")
	for n := range min(p.uint(count.Addr, 4), mostCPUs) {
		r := p.word(records.Addr + 8*n)
		if !p.has(r, kernelPath+"percpu.Record.WaitSince") {
			continue
		}
		gate := Gate{CPU: int(n), Goroutine: on[p.get(r, kernelPath+"percpu.Record.Thread")]}
		switch {
		case n+1 == has:
			gate.For = p.gate(p.get(holder.Addr, kernelPath+"percpu.Holder.Gate"))
			gate.PC = inspect.Hex(p.get(holder.Addr, kernelPath+"percpu.Holder.PC"))
			l.Holder = &gate
		case p.get(r, kernelPath+"percpu.Record.WaitSince") != 0:
			gate.For = p.gate(p.get(r, kernelPath+"percpu.Record.WaitGate"))
			gate.PC = inspect.Hex(p.get(r, kernelPath+"percpu.Record.WaitPC"))
			l.Waiting = append(l.Waiting, gate)
		}
	}
	return l
}

// gate names a way into the kernel, as it does itself: the number of a system call, or one of the
// last ones (kernel/percpu/lock.go).
func (p *program) gate(n uint64) string {
	const gates = 512
	if others := []string{"(interrupt)", "(page fault)", "(fault of the program)",
		"(idle)"}; gates-1-n < uint64(len(others)) {
		return others[gates-1-n]
	}
	if name := tracer.CallName(uint32(n)); name != "" && n < gates {
		return name
	}
	return fmt.Sprintf("(system call %d)", n)
}

// waitForKernel makes it a goroutine's wait that its CPU waits for the kernel lock.
func (g *Graph) waitForKernel() {
	if g.Kernel == nil {
		return
	}
	for i := range g.Kernel.Waiting {
		x := g.byID[g.Kernel.Waiting[i].Goroutine]
		if x == nil {
			continue
		}
		o := &Object{Kind: Kernel, Name: "the kernel lock", State: "for " + g.Kernel.Waiting[i].For}
		if h := g.Kernel.Holder; h != nil && g.byID[h.Goroutine] != nil {
			o.Holders, o.Certain = []int64{h.Goroutine}, true
		}
		x.Wait = &Wait{Kind: Kernel, Objects: []*Object{o}}
	}
}

// write says who has the kernel lock, and who waits for it; nothing if that is not known.
func (l *KernelLock) write(b *strings.Builder, g *Graph) {
	line := func(x *Gate, what string) {
		fmt.Fprintf(b, "CPU %d %s for %s", x.CPU, what, x.For)
		if x.PC != 0 {
			fmt.Fprintf(b, " at %#x", uint64(x.PC))
		}
		if y := g.byID[x.Goroutine]; y != nil {
			b.WriteString(", " + y.label())
		}
		b.WriteByte('\n')
	}
	switch {
	case l == nil:
		return
	case l.Holder == nil:
		b.WriteString("nobody has the kernel lock\n")
	default:
		line(l.Holder, "has the kernel lock")
	}
	for i := range l.Waiting {
		line(&l.Waiting[i], "waits for it")
	}
}
