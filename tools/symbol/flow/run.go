package flow

import "golang.org/x/arch/x86/x86asm"

// Hooks follow something more than values.
type Hooks interface {
	// Begin returns what they know at the entry: the function is gone through from there.
	Begin(f *Function) More
	// Before is called with each instruction before it runs, After once it has run: registers and
	// words of the frame are still those before it.
	Before(s *State, in *Inst)
	After(s *State, in *Inst)
	// Return is called where the function returns, or jumps to another one.
	Return(s *State, in *Inst)
}

// maxRounds bounds how often a block is gone through, and maxWork how many instructions and stack
// words are looked at in a function altogether.
const (
	maxRounds = 200
	maxWork   = 4 << 20
)

// Run follows the function until nothing new is known at the beginning of any block, with hooks,
// which may be nil, and reports whether that can be done. A jump table may show that a block begins
// in the middle of another: then it begins again.
func (f *Function) Run(hooks Hooks) bool {
	f.hooks = hooks
	f.Failed = f.Strict && !f.framed()
	for more := true; more && !f.Failed; {
		more = f.pass()
	}
	return !f.Failed
}

func (f *Function) pass() (again bool) {
	first := &State{Slots: make(map[int64]Content)}
	for i := range min(f.registers(), High) {
		first.Regs[i] = Content{f.Entry(i), 8}
	}
	zero := Content{f.Const(0), 8}
	first.Regs[X+15], first.Regs[High+15] = zero, zero
	f.Before, f.Nexts = map[uint64]*State{f.Start: first}, make(map[uint64][]uint64)
	if f.hooks != nil {
		first.More = f.hooks.Begin(f)
	}
	work, rounds := []uint64{f.Start}, make(map[uint64]int)
	for len(work) > 0 && !again {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		if rounds[pc]++; rounds[pc] > maxRounds || f.work > maxWork || f.Failed {
			f.Failed = true
			return false
		}
		s := f.Before[pc].Clone()
		f.Nexts[pc] = nil
		f.block(s, pc, 0, func(to uint64) {
			if !f.Holds(to) {
				return // a tail call
			}
			f.Nexts[pc] = append(f.Nexts[pc], to)
			if !f.Leads[to] {
				f.Leads[to], again = true, true
			}
			f.work += len(s.Slots) + f.registers()
			if have := f.Before[to]; have == nil {
				f.Before[to] = s.Clone()
				work = append(work, to)
			} else if f.Join(have, s, to) {
				work = append(work, to)
			}
		})
	}
	return again
}

// block follows the instructions from pc on, where s holds, up to the end of the block or up to the
// one at stop, and reports whether it has come to that. leave gets each place that may follow the
// block.
func (f *Function) block(s *State, pc, stop uint64, leave func(to uint64)) (stopped bool) {
	i, ok := f.Index(pc)
	for ; ok && i < len(f.Insts); i++ {
		in := &f.Insts[i]
		if in.PC != pc && f.Leads[in.PC] {
			leave(in.PC)
			return false
		}
		f.work++
		if f.hooks != nil {
			f.hooks.Before(s, in)
		}
		if in.PC == stop {
			return true
		}
		if f.hooks != nil {
			f.hooks.After(s, in)
		}
		to, direct := in.Target()
		switch {
		case in.Op == x86asm.CALL && direct && noReturn(f.program.Name(to)):
			return false
		case in.Conditional():
			leave(to)
			leave(in.Next)
			return false
		case f.hooks != nil && (in.Op == x86asm.RET || in.Op == x86asm.JMP && direct && !f.Holds(to)):
			f.hooks.Return(s, in)
			return false
		case in.Op == x86asm.JMP && direct:
			leave(to)
			return false
		case in.Op == x86asm.JMP:
			f.table(s, in, leave)
			return false
		case in.ends():
			return false
		}
		f.step(s, in)
	}
	return false
}

// table finds where an indirect jump leads: the compiler makes one of a large switch, by a table of
// the function's own addresses.
func (f *Function) table(s *State, in *Inst, leave func(to uint64)) {
	m, ok := in.Args[0].(x86asm.Mem)
	if !ok {
		f.Failed = f.Failed || f.Strict
		return
	}
	m.Index = 0
	base := f.nodes[f.Address(s, in, m)]
	n := 0
	for ; base.Kind == Const && n < 4096; n++ {
		w, ok := f.program.Constant(uint64(base.N) + 8*uint64(n))
		if !ok || !f.Holds(w) {
			break
		}
		leave(w)
	}
	if base.Kind != Const || n == 0 && f.Strict {
		f.Failed = true
	}
}

// At returns what is known before the instruction that has the address pc in it, that instruction,
// and where its block begins; s is nil if the code never comes there.
func (f *Function) At(pc uint64) (s *State, in *Inst, block uint64) {
	i, ok := f.Index(pc)
	if !ok {
		i--
	}
	if i < 0 || pc >= f.Insts[i].Next {
		return nil, nil, 0
	}
	in = &f.Insts[i]
	for b := range f.Before {
		if b <= in.PC && b >= block {
			block = b
		}
	}
	if f.Before[block] == nil {
		return nil, nil, 0
	}
	s = f.Before[block].Clone()
	if !f.block(s, block, in.PC, func(uint64) {}) {
		return nil, nil, 0
	}
	return s, in, block
}
