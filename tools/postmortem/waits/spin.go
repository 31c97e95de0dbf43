package waits

import (
	"maps"
	"strings"

	"github.com/zeroframe/zeroframe/tools/postmortem/locks"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// registers are Delve's names of the registers, by x86's numbers, and of the flags.
var registers = [...]string{"Rax", "Rcx", "Rdx", "Rbx", "Rsp", "Rbp", "Rsi", "Rdi", "R8", "R9",
	"R10", "R11", "R12", "R13", "R14", "R15", "Rflags"}

// flagsRegister is the number of the flags among registers.
const flagsRegister = 16

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
	known, _ := p.registers(g, i)
	for n, v := range known {
		if n == flagsRegister {
			f.Flags, f.FlagsKnown = v, true
		} else {
			f.Regs[n], f.Known[n] = v, true
		}
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

// saved are the registers, by their numbers, that runtime.asyncPreempt stores from its stack
// pointer up (runtime/preempt_amd64.s, since Go 1.14).
var saved = [...]int{0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// registers returns what is known of the registers with which frame i goes on, by their numbers,
// and whether its pc is a return address. What the runtime saves of a goroutine that it stops
// between any two instructions lies on the stack, from its frame down:
//
//	pc of the frame | BP | flags | ... | R15 ... AX | pc of asyncPreempt
func (p *program) registers(g *Goroutine, i int) (known map[int]uint64, returns bool) {
	x, k := &g.frames[i], g.callee(i)
	begins := x.Current.Fn != nil && x.Current.PC == x.Current.Fn.Entry
	if k < 0 && (g.status == gRunning || begins) {
		return g.registers(), false
	}
	known, returns = make(map[int]uint64), !begins
	if k >= 0 && lookup.Injected(funcName(&g.frames[k])) {
		callee := &g.frames[k]
		returns = false
		switch entry := callee.Current.Fn.Entry; {
		case callee.Current.PC == entry && g.status == gRunning && g.callee(k) < 0:
			known = g.registers() // it has changed none yet
		case callee.Current.Fn.Name == "runtime.asyncPreempt" && callee.Current.PC != entry:
			add := func(n int, addr uint64) {
				if v, ok := p.readWord(addr); ok {
					known[n] = v
				}
			}
			add(flagsRegister, uint64(callee.Regs.CFA)-24)
			for at, n := range saved {
				add(n, callee.Regs.SP()+8*uint64(at))
			}
		}
	}
	maps.Copy(known, map[int]uint64{4: x.Regs.SP(), 5: x.Regs.BP(), 14: g.g})
	return known, returns
}

// registers returns those of the thread that runs the goroutine, by x86's numbers, as far as they
// are known.
func (g *Goroutine) registers() map[int]uint64 {
	known := make(map[int]uint64)
	if g.proc.Thread == nil {
		maps.Copy(known, g.regs)
		return known
	}
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
