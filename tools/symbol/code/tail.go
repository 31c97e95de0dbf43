package code

import "slices"

// Tail calls. A function that ends with a jump to another one leaves no trace on
// the stack, but the jump is in the code. So when it is known which function was
// called and which one runs in its place, the functions between them may be known
// too: if direct jumps lead from the one to the other in one way only.
//
// Not every function on the way may have another way out that the code does not
// tell: a jump through a register may be a tail call as well. (One through a
// table is the switch of a compiler.)

// maxTail bounds the search for a path, in functions.
const maxTail = 256

// TailCalls returns the functions, by their starts, that the function at start
// goes on to by direct jumps, conditional ones too; a jump to its own start is a
// loop. open is set when it may leave by a jump that the code does not tell.
func (m *Image) TailCalls(start uint64) (to []uint64, open bool) {
	f := m.Func(start)
	if f == nil || f.Start != start {
		return nil, true
	}
	var n Node
	m.node(&n, m.index(start))
	for _, s := range n.Tails {
		if s.Func >= 0 && m.funcs[s.Func].Start == s.Target && !slices.Contains(to, s.Target) {
			to = append(to, s.Target)
		}
	}
	return to, len(n.IndirectTails) > 0 || n.Unknown > 0 || n.Cut || len(to) > maxTail
}

// TailPath returns the functions, by their starts, through which direct tail
// jumps lead from the function at from to the one at to: from itself first, to
// left out. unique is false when there is no such path, more than one, or when it
// cannot be told.
func (m *Image) TailPath(from, to uint64) (path []uint64, unique bool) {
	if from == to {
		return nil, false
	}
	// All that can be reached, then which of it leads to the end.
	next := map[uint64][]uint64{}
	open := map[uint64]bool{}
	for todo := []uint64{from}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, seen := next[at]; seen {
			continue
		}
		if len(next) >= maxTail {
			return nil, false
		}
		next[at], open[at] = m.TailCalls(at)
		todo = append(todo, next[at]...)
	}
	leads := map[uint64]bool{to: true}
	for changed := true; changed; {
		changed = false
		for at, list := range next {
			for _, n := range list {
				if leads[n] && !leads[at] {
					leads[at], changed = true, true
				}
			}
		}
	}
	if !leads[from] {
		return nil, false
	}
	for _, n := range next[to] {
		if leads[n] { // a cycle through the end: how often, nobody knows
			return nil, false
		}
	}
	for at := from; at != to; {
		if open[at] || slices.Contains(path, at) {
			return nil, false
		}
		path = append(path, at)
		ways := 0
		for _, n := range next[at] {
			if leads[n] {
				ways++
				at = n
			}
		}
		if ways != 1 {
			return nil, false
		}
	}
	return path, true
}

// addsTable reports whether the instruction is the one before the jump of a switch
// in position-independent code: it adds the table's entry to the table's address.
func (i *Inst) addsTable() bool { return (i.code == 0x01 || i.code == 0x03) && i.modrm>>6 == 3 }
