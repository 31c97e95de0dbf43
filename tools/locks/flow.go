package locks

import (
	"encoding/binary"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// maxRounds bounds how often a block is gone through, and maxWork how many instructions and stack
// words are looked at in a function altogether.
const (
	maxRounds = 200
	maxWork   = 4 << 20
)

// run goes through a function until nothing new is known at the beginning of any block. A jump
// table may show that a block begins in the middle of another: then it begins again.
func (p *Program) run(f *function) {
	for more := true; more && !f.failed; {
		more = p.pass(f)
	}
}

func (p *Program) pass(f *function) (again bool) {
	first := &state{slots: map[int64]value{}, held: map[hold]bool{}, freed: map[hold]bool{}, calls: map[path]value{}}
	for i := range first.regs {
		first.regs[i] = f.entry(i)
	}
	f.before, f.atReturn = map[uint64]*state{f.start: first}, nil
	f.next, f.ops, f.calls = make(map[uint64][]uint64), make(map[uint64][]op), make(map[path]value)
	work := []uint64{f.start}
	rounds := make(map[uint64]int)
	for len(work) > 0 {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		if rounds[pc]++; rounds[pc] > maxRounds || f.work > maxWork {
			f.failed = true
			return false
		}
		s := f.before[pc].clone()
		f.next[pc] = nil
		p.block(f, s, pc, 0, func(to uint64) {
			if !f.holds(to) {
				return // a tail call
			}
			f.next[pc] = append(f.next[pc], to)
			if !f.leads[to] {
				f.leads[to], again = true, true
			}
			f.work += len(s.slots) + numRegs
			switch have := f.before[to]; {
			case have == nil:
				f.before[to] = s.clone()
				work = append(work, to)
			case have.join(f.values, s, to):
				work = append(work, to)
			}
		})
		if again {
			return true
		}
	}
	return false
}

// block goes from pc, where s holds, to the end of its block or to the instruction at stop, and
// calls leave for each place that may follow the block.
func (p *Program) block(f *function, s *state, pc, stop uint64, leave func(to uint64)) {
	i, ok := f.index(pc)
	if !ok {
		return
	}
	for ; i < len(f.insts); i++ {
		in := &f.insts[i]
		if in.pc != pc && f.leads[in.pc] {
			leave(in.pc)
			return
		}
		f.work++
		p.pre(f, s, in)
		if in.pc == stop {
			return
		}
		p.post(f, s, in)
		switch {
		case in.Op == x86asm.JMP:
			if to, ok := in.target(); ok {
				if !f.holds(to) { // a tail call
					if d, ok := f.spDelta(in.pc); ok {
						p.called(f, s, in, to, f.frame(-int64(d)))
					}
					f.returns(s)
				}
				leave(to)
				return
			}
			for _, to := range p.table(f, s, in) {
				leave(to)
			}
			return
		case in.Op == x86asm.CALL:
			to, _ := in.target()
			if name := p.name(to); noReturn(name) {
				return
			}
		case in.Op == x86asm.RET:
			f.returns(s)
			return
		case in.Op == x86asm.UD2 || in.Op == x86asm.INT || in.Op == x86asm.HLT:
			return
		case in.conditional():
			to, _ := in.target()
			leave(to)
			leave(in.next)
			return
		}
		p.step(f, s, in)
	}
}

// returns adds a way on which the function ends.
func (f *function) returns(s *state) {
	if f.atReturn == nil {
		f.atReturn = s.clone()
	} else {
		f.atReturn.join(f.values, s, ^uint64(0))
	}
}

// noReturn reports whether a function never returns, or, as morestack does, begins the caller anew.
func noReturn(name string) bool {
	switch {
	case strings.HasPrefix(name, "runtime.morestack"), strings.HasPrefix(name, "runtime.panic"),
		strings.HasPrefix(name, "runtime.goPanic"):
		return true
	}
	switch name {
	case "runtime.gopanic", "runtime.throw", "runtime.fatal", "runtime.fatalthrow", "runtime.goexit0", "runtime.block":
		return true
	}
	return false
}

// table returns where an indirect jump leads: the compiler makes one of a large switch, through a
// table of the function's own addresses.
func (p *Program) table(f *function, s *state, in *inst) (to []uint64) {
	m, ok := in.Args[0].(x86asm.Mem)
	if !ok {
		return nil
	}
	m.Index = 0
	base := f.nodes[f.address(s, in, m)]
	if base.kind != konst {
		f.failed = true
		return nil
	}
	for at := uint64(base.n); len(to) < 4096; at += 8 {
		w, ok := p.constant(at)
		if !ok || !f.holds(w) {
			break
		}
		to = append(to, w)
	}
	return to
}

// constant returns a word of the file's read-only data.
func (p *Program) constant(addr uint64) (uint64, bool) {
	for _, s := range p.readOnly {
		if addr >= s.Addr && addr+8 <= s.Addr+uint64(len(s.Bytes)) {
			return binary.LittleEndian.Uint64(s.Bytes[addr-s.Addr:]), true
		}
	}
	return 0, false
}
