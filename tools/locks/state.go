package locks

import (
	"encoding/binary"
	"maps"
)

// A hold is a lock that was taken: in which way, where, by which instruction.
type hold struct {
	mode Mode
	addr value
	at   uint64
}

// place is a register, or a word of the stack by its distance from SP at the entry, slotBias above.
type place int32

// Registers by x86's numbers; a stack word's place is apart from them.
const (
	regSP    = 4
	regBP    = 5
	regG     = 14
	numRegs  = 16
	slotBias = 1 << 30
)

// state is what is known before an instruction.
type state struct {
	regs  [numRegs]value
	slots map[int64]value // by distance from SP at the entry; one that is not there is as it was then
	held  map[hold]bool   // taken and not given back: on each way here, or on some
	freed map[hold]bool   // given back without being taken here; hold.at is 0
	calls map[path]value  // calls that name no function, on some way here: where they led
}

// path is where a call stands: its address and, before it, those of the calls that lead to its
// function, each as eight bytes.
type path string

func at(pc uint64) path { return path(binary.BigEndian.AppendUint64(nil, pc)) }

func (s *state) clone() *state {
	c := *s
	c.slots, c.held, c.freed = maps.Clone(s.slots), maps.Clone(s.held), maps.Clone(s.freed)
	c.calls = maps.Clone(s.calls)
	return &c
}

// slot returns what the stack word at n holds.
func (s *state) slot(t *values, n int64) value {
	if v, ok := s.slots[n]; ok {
		return v
	}
	return t.mem(t.frame(n))
}

// forget makes each value unknown that has part in it: part is about to be something else.
func (s *state) forget(t *values, part value) { s.replace(t, part, 0) }

// replace puts by in the place of part in all values.
func (s *state) replace(t *values, part, by value) {
	for i, v := range s.regs {
		s.regs[i] = t.replace(v, part, by)
	}
	for n, v := range s.slots {
		s.slots[n] = t.replace(v, part, by)
	}
	for n, v := range s.calls {
		s.calls[n] = t.replace(v, part, by)
	}
	for _, m := range []map[hold]bool{s.held, s.freed} {
		for h, must := range m {
			if t.contains(h.addr, part) {
				delete(m, h)
				h.addr = t.replace(h.addr, part, by)
				m[h] = must
			}
		}
	}
}

// define gives the result of an instruction its number, which it may have had before: in an
// earlier round of a loop it was another value.
func (s *state) define(t *values, n node) value {
	v, old := t.ids[n]
	if old {
		s.forget(t, v)
		return v
	}
	return t.intern(n)
}

// join adds a way by which the block at pc is entered, and reports whether s has changed.
func (s *state) join(t *values, in *state, pc uint64) bool {
	in = in.clone()
	name := func(p place) node { return node{kind: phi, b: value(p), n: int64(pc)} }
	// A value of the block that comes back as another is stale wherever else it is.
	stale := func(p place, have, now value) {
		if f := t.ids[name(p)]; f != 0 && have == f && now != f {
			in.forget(t, f)
		}
	}
	slots := make(map[int64]bool)
	for n := range s.slots {
		slots[n] = true
	}
	for n := range in.slots {
		slots[n] = true
	}
	for i := range s.regs {
		stale(place(i), s.regs[i], in.regs[i])
	}
	for n := range slots {
		stale(place(n+slotBias), s.slot(t, n), in.slot(t, n))
	}
	changed := false
	merge := func(p place, have, now value) (value, bool) {
		if have == now || have == 0 {
			return have, false
		}
		if f := t.intern(name(p)); have != f {
			changed = true
			return f, true
		}
		return have, false
	}
	for i := range s.regs {
		s.regs[i], _ = merge(place(i), s.regs[i], in.regs[i])
	}
	for n := range slots {
		if v, diff := merge(place(n+slotBias), s.slot(t, n), in.slot(t, n)); diff {
			s.slots[n] = v
		}
	}
	// A lock that each way has taken, elsewhere, is taken on each way.
	for h, must := range s.held {
		if _, both := in.held[h]; both || !must || h.addr == 0 {
			continue
		}
		for k, must := range in.held {
			if _, both := s.held[k]; !both && must && k.mode == h.mode && k.addr == h.addr {
				one := h
				one.at = min(h.at, k.at)
				delete(in.held, k)
				in.held[one] = true
				if one != h {
					delete(s.held, h)
					s.held[one] = true
					changed = true
				}
				break
			}
		}
	}
	union := func(have, now map[hold]bool) {
		for h, must := range have {
			if must && !now[h] {
				have[h] = false
				changed = true
			}
		}
		for h := range now {
			if _, ok := have[h]; !ok {
				have[h] = false
				changed = true
			}
		}
	}
	union(s.held, in.held)
	union(s.freed, in.freed)
	for n, v := range in.calls {
		have, ok := s.calls[n]
		if ok && have != v {
			v = 0
		}
		changed = changed || !ok || have != v
		s.calls[n] = v
	}
	return changed
}

// doubt makes all that is held uncertain.
func (s *state) doubt() {
	for h := range s.held {
		s.held[h] = false
	}
}

// take notes that a lock is held from now on.
func (s *state) take(h hold, must bool) {
	s.held[h] = must
	if must {
		delete(s.freed, hold{h.mode, h.addr, 0})
	}
}

// give notes that a lock is given back. Of several read locks of one mutex, one.
func (s *state) give(mode Mode, addr value, must bool) {
	found := false
	var last hold
	for h := range s.held {
		if h.mode != mode || h.addr != addr || addr == 0 {
			continue
		}
		if mode == Write {
			s.drop(h, must)
		} else if h.at > last.at {
			last = h
		}
		found = true
	}
	switch {
	case last.at != 0:
		s.drop(last, must)
	case !found:
		s.freed[hold{mode, addr, 0}] = must
	}
}

func (s *state) drop(h hold, must bool) {
	if must {
		delete(s.held, h)
	} else {
		s.held[h] = false
	}
}
