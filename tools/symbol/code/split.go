package code

// Where one function ends and the next one begins, between the starts that are
// certain.

import "sort"

// split finds the functions of a part, given the starts that are certain.
func (p *part) split() []Func {
	var starts []int // indices of instructions
	var bound int    // offset of the next certain start
	nextBound := func(k int) int {
		for k++; k < len(p.insts); k++ {
			if p.marks[p.insts[k].off]&certain != 0 {
				return int(p.insts[k].off)
			}
		}
		return len(p.Bytes)
	}
	reach := -1   // the last offset that a jump of the function leads to
	open := false // it has a jump to nobody knows where
	begin := func(k int) {
		starts = append(starts, k)
		reach, open = -1, false
	}
	for k := 0; k < len(p.insts); k++ {
		i := &p.insts[k]
		off := int(i.off)
		if p.marks[off]&certain != 0 {
			begin(k)
		} else if len(starts) == 0 && !i.fills() && i.op != Bad {
			begin(k)
		}
		if off >= bound {
			bound = nextBound(k)
		}
		switch i.op {
		case Branch, Jump:
			if to := i.target(); to > off && to < bound && to > reach && !p.leaves(i, to) {
				reach = to
			}
		case JumpIndirect, JumpTable:
			open = true
		}
		// Behind this instruction: the end of the function?
		if len(starts) == 0 || k+1 >= len(p.insts) {
			continue
		}
		calls := i.op == Call || i.op == CallIndirect
		if i.op == Break || !i.ends() && !calls {
			continue
		}
		j, filled, breaks := k+1, false, false
		for ; j < len(p.insts) && p.insts[j].fills(); j++ {
			filled = true
			if p.insts[j].op == Break {
				breaks = true
			} else if breaks {
				break // a function may begin with a NOP
			}
		}
		if j == len(p.insts) {
			break
		}
		n := int(p.insts[j].off)
		m := p.marks[n]
		if n >= bound || m&(inner|certain|framed) != 0 {
			continue
		}
		if p.breaks && !breaks {
			filled = false // the linker fills with INT3, so this is of the compiler
		}
		if calls && !breaks && !p.behindCall(i, n, filled) {
			continue // the call returns
		}
		// A jump from before leads beyond the end: it is none, or the jump is
		// a tail call.
		if reach > off && (m&branched != 0 || !filled || !p.aligned(n) || !breaks && !p.prologue(n)) {
			continue
		}
		if p.looks(n, filled, open) {
			p.marks[n] |= certain
		}
	}
	return p.functions(starts)
}

// behindCall reports whether a function begins at offset n, behind the call i,
// with filling between them or not: the call does not return, or what follows is
// so much like a function that it probably does not.
func (p *part) behindCall(i *inst, n int, filled bool) bool {
	m := p.marks[n]
	switch {
	case p.aligned(n) && m&branched == 0:
		return i.last && filled || (i.last || filled) && p.prologue(n)
	case p.loose:
		return i.last && m&taken != 0
	}
	return false
}

// looks reports whether what begins at offset n, where nothing runs to, has the
// looks of a function: it is aligned, has filling before it, begins like one, or
// its address is somewhere. open says that the function before it has a jump to
// nobody knows where, which may lead there.
func (p *part) looks(n int, filled, open bool) bool {
	taken := p.marks[n]&taken != 0
	switch {
	case p.aligned(n):
		return filled || !open && !p.breaks || taken || p.prologue(n)
	case p.loose:
		return !open || taken || p.prologue(n)
	}
	return taken && p.prologue(n)
}

// leaves reports whether the jump i is a tail call: to what looks like a function
// and is not reached otherwise.
func (p *part) leaves(i *inst, to int) bool {
	if i.op != Jump || p.marks[to]&first == 0 || !p.aligned(to) || p.marks[to]&inner != 0 {
		return false
	}
	k := sort.Search(len(p.insts), func(k int) bool { return int(p.insts[k].off) >= to })
	ends, _, _ := p.before(k)
	return ends && (p.prologue(to) || p.insts[max(k-1, 0)].op == Break)
}

// functions makes functions of the starts.
func (p *part) functions(starts []int) []Func {
	funcs := make([]Func, 0, len(starts))
	for n, k := range starts {
		end := len(p.insts)
		if n+1 < len(starts) {
			end = starts[n+1]
		}
		for end > k+1 && p.insts[end-1].fills() {
			// Behind a call that does not return, a NOP keeps the return
			// address in the function.
			if i := &p.insts[end-1]; i.op == Nop && i.len == 1 && p.insts[end-2].op == Call {
				break
			}
			end--
		}
		last := &p.insts[end-1]
		funcs = append(funcs, Func{
			Start: p.Addr + uint64(p.insts[k].off),
			End:   p.Addr + uint64(last.off) + uint64(last.len),
		})
	}
	return funcs
}
