package waits

import (
	"strings"

	"github.com/zeroframe/zeroframe/tools/postmortem/locks"
)

// registers are Delve's names of the registers, by x86's numbers.
var registers = [...]string{"Rax", "Rcx", "Rdx", "Rbx", "Rsp", "Rbp", "Rsi", "Rdi", "R8", "R9",
	"R10", "R11", "R12", "R13", "R14", "R15"}

// spinWait finds out whether a goroutine that runs, or would if it got a CPU, waits in a loop
// for a variable to change.
func (p *program) spinWait(g *Goroutine) *Wait {
	if p.code == nil || g.System {
		return nil
	}
	i := 0
	for i < len(g.frames) && (g.frames[i].SystemStack ||
		strings.HasPrefix(funcName(&g.frames[i]), "runtime.")) {
		i++
	}
	for i+1 < len(g.frames) && g.frames[i].Inlined {
		i++ // the physical frame
	}
	if i >= len(g.frames) {
		return nil
	}
	x := &g.frames[i]
	f := locks.Frame{PC: x.Current.PC, StackLow: p.get(g.g, "runtime.g.stack.lo"),
		StackHigh: p.get(g.g, "runtime.g.stack.hi")}
	set := func(n int, v uint64) { f.Regs[n], f.Known[n] = v, true }
	if !g.returns(i) {
		for n, v := range g.registers() {
			set(n, v)
		}
	} else {
		set(4, x.Regs.SP())
		set(5, x.Regs.BP())
		set(14, g.g)
	}
	reads, spins := p.code.Spins(f, func(addr uint64, b []byte) bool {
		n, err := p.mem.ReadMemory(b, addr)
		return err == nil && n == len(b)
	})
	if !spins {
		return nil
	}
	w := &Wait{Kind: Spin}
	for _, addr := range reads {
		// What the code of a loop reads besides: its own g, for the bound of its stack.
		if addr-g.g > 512 {
			w.Objects = append(w.Objects, &Object{Kind: Spin, Addr: addr})
		}
	}
	if len(w.Objects) == 0 {
		w.Why = "for ever: its loop reads nothing that changes"
	}
	return w
}

// registers returns those of the thread that runs the goroutine, by x86's numbers, as far as they
// are known.
func (g *Goroutine) registers() map[int]uint64 {
	if g.proc.Thread == nil {
		return g.regs
	}
	known := make(map[int]uint64)
	regs, err := g.proc.Thread.Registers()
	if err != nil {
		return known
	}
	all, err := regs.Slice(false)
	if err != nil {
		return known
	}
	for _, r := range all {
		for n, name := range registers {
			if strings.EqualFold(r.Name, name) && r.Reg != nil {
				known[n] = r.Reg.Uint64Val
			}
		}
	}
	return known
}
