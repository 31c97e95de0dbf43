package why

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
)

// A path: the instructions that were run on the way to one of them, without what has interrupted
// them.

// state is the CPU between two instructions.
type state struct {
	gpr    [16]uint64
	vector [16]uint64 // the lower eight bytes of XMM0 to XMM15
	flags  uint64
	fs, gs uint64
}

// entry is an instruction of the path: the state in front of it.
type entry struct {
	state
	pc    uint64
	inst  x86asm.Inst // Op is 0 if it is not known
	count uint64      // instructions before it
	// what its operand in memory holds, where that is not moved but computed with or compared
	mem uint64
	// what interrupts and page faults have run right in front of it: the kernel, other threads
	between []entry
}

// pathTo returns the last n instructions before the machine has run count of them, and the state
// then. The machine is kept for its memory.
func (w *Why) pathTo(count, n uint64) ([]entry, error) {
	return w.pathOver(count, n, func(e *entry) bool { return e.count >= count })
}

// pathOver is pathTo, but that the path goes on to an entry of which over is true.
func (w *Why) pathOver(count, n uint64, over func(*entry) bool) ([]entry, error) {
	w.say("the %d instructions before instruction %d", n, count)
	m, begin := w.next, count-min(n, count)
	w.next = nil
	if m != nil {
		w.Replays++
		if at, err := m.VM.Instructions(); err != nil || at > begin {
			m.End()
			m = nil
			w.Replays--
		}
	}
	if m == nil {
		var err error
		if m, err = w.start(); err != nil {
			return nil, err
		}
	}
	if w.at != nil {
		w.at.End()
	}
	w.at = m
	if err := m.To(begin); err != nil {
		return nil, err
	}
	path, err := m.walk(over)
	if err == nil {
		w.stands = path[len(path)-1].count
	}
	return path, err
}

// walk steps from where the machine is to an entry of which over is true: that is the last one.
// Interrupts that have ended are not in it, but between two of its entries. An error wraps
// [memory.ErrEnded] if the recording ends before.
func (m *machine) walk(over func(*entry) bool) (all []entry, err error) {
	for {
		e, err := m.now()
		if err != nil {
			return nil, err
		}
		if n := len(all); n > 0 && n%512 != 0 && all[n-1].leadsTo(&e) {
			e.count = all[n-1].count + 1
		} else if e.count, err = m.VM.Instructions(); err != nil { // the stub's own count is the truth
			return nil, err
		} else if n >= 512 && e.count <= all[n-512].count {
			return nil, memory.ErrEnded // it stops again and again
		}
		m.readOperand(&e)
		if all = append(all, e); over(&e) {
			return uninterrupted(all), nil
		}
		if err := m.Step(m.ctx); err != nil {
			return nil, err
		}
	}
}

// leadsTo reports whether the instruction at e has led to next by what it is. If it has not, the
// step may have delivered an interrupt or an exception, and have run no instruction: that switches
// to another stack, or pushes more than a call does (SDM volume 3, section 6.14).
func (e *entry) leadsTo(next *entry) bool {
	grown := next.gpr[rsp] - e.gpr[rsp]
	switch op := e.inst.Op.String(); {
	case next.pc == e.next():
		return true
	case e.inst.Op == x86asm.CALL:
		return int64(grown) == -8
	case e.inst.Op == x86asm.RET:
		return grown == 8
	default:
		return (op[0] == 'J' || next.pc == e.pc) && grown == 0 // or it repeats itself
	}
}

// ran reports whether path[i] was run, and was not in front of an interrupt or an exception.
func ran(path []entry, i int) bool {
	return i+1 >= len(path) || path[i+1].count > path[i].count
}

// uninterrupted takes out of a path what interrupts and page faults have run, if the code has gone
// on as if there had been none: with the same registers. That is then between.
func uninterrupted(path []entry) (all []entry) {
	from := map[int]int{} // by where the code has gone on: where it was interrupted
	for u := range path {
		if ran(path, u) {
			continue
		}
		for k := u + 1; k < len(path); k++ {
			a, b := &path[u], &path[k]
			if a.pc == b.pc && a.gpr[rsp] == b.gpr[rsp] {
				if a.gpr == b.gpr && a.vector == b.vector {
					from[k] = u
				}
				break
			}
		}
	}
	if len(from) == 0 {
		return path
	}
	for i := len(path) - 1; i >= 0; i-- {
		e, end := path[i], i
		for u, ok := from[i]; ok; u, ok = from[i] {
			i = u // there may have been another one right before
		}
		e.between = path[i+min(1, end-i) : end]
		all = append(all, e)
	}
	slices.Reverse(all)
	return all
}

// meanwhile reports whether a place in memory was written in front of an instruction by what has
// interrupted the code there.
func (e *entry) meanwhile(p place) bool {
	if p.kind != inMemory {
		return false
	}
	for i := range e.between {
		if !ran(e.between, i) {
			continue
		}
		after := &e.state
		if i+1 < len(e.between) {
			after = &e.between[i+1].state
		}
		by := &e.between[i]
		fx := by.effects(after)
		if by.inst.Op == 0 {
			fx = by.changed(after)
		}
		if slices.ContainsFunc(fx, func(f effect) bool { return f.to.overlaps(p) }) {
			return true
		}
	}
	return false
}
