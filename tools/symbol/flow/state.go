package flow

import "maps"

// The places of a State: the general registers by x86's numbers, the lower halves of the XMM
// registers, the upper ones. A word of the frame is a place, too: its distance from the CFA, slots
// above.
const (
	SP     = 4
	BP     = 5
	G      = 14
	X      = 16
	High   = 32
	places = 48
	slots  = 1 << 30
)

// A Content is a value of which a place holds the lowest bytes.
type Content struct {
	Value Value
	Bytes uint8
}

// State is what is known before an instruction.
type State struct {
	Regs [places]Content
	// by distance from the CFA; one that is not there is as it was at the entry
	Slots map[int64]Content
	// More is what else the hooks know, nil without hooks.
	More More
}

// More is what hooks know before an instruction.
type More interface {
	Clone() More
	// Replace puts another value in the place of each.
	Replace(by func(Value) Value)
	// Join adds a way by which a block is entered, and reports whether that has changed anything.
	Join(More) bool
}

// Clone returns a copy.
func (s *State) Clone() *State {
	c := *s
	if c.Slots = maps.Clone(s.Slots); s.More != nil {
		c.More = s.More.Clone()
	}
	return &c
}

// Reg returns what a general register holds, 0 if not all of its bytes are known.
func (s *State) Reg(n int) Value {
	if c := s.Regs[n]; c.Bytes == 8 {
		return c.Value
	}
	return 0
}

// Slot returns what the word of the frame at a distance from the CFA holds.
func (f *Function) Slot(s *State, at int64) Content {
	if c, ok := s.Slots[at]; ok {
		return c
	}
	if f.Strict && (at < 0 || at%8 != 0) {
		return Content{}
	}
	return Content{f.Mem(f.Frame(at)), 8}
}

// registers returns how many places of registers are followed: where nothing has to be proved, no
// address goes through an XMM register.
func (f *Function) registers() int {
	if f.Strict {
		return places
	}
	return X
}

// replace puts by in the place of part in all values: part is about to be something else.
func (f *Function) replace(s *State, part, by Value) {
	put := func(c Content) Content {
		if v := f.Replace(c.Value, part, by); v != c.Value {
			if c.Value = v; v == 0 {
				c.Bytes = 0
			}
		}
		return c
	}
	for i := range f.registers() {
		s.Regs[i] = put(s.Regs[i])
	}
	for at, c := range s.Slots {
		if d := put(c); d != c {
			s.Slots[at] = d
		}
	}
	if s.More != nil {
		s.More.Replace(func(v Value) Value { return f.Replace(v, part, by) })
	}
}

// define gives what an instruction leaves in a place its number, which it may have had before: in
// an earlier round of a loop it was another value.
func (f *Function) define(s *State, place int, pc uint64) Content {
	n := Node{Kind: Def, B: Value(place), N: int64(pc)}
	v, old := f.ids[n]
	if old {
		f.replace(s, v, 0)
	} else {
		v = f.intern(n)
	}
	return Content{v, 8}
}

// Join adds to s a way by which the block at pc is entered, and reports whether s has changed.
func (f *Function) Join(s, in *State, pc uint64) (changed bool) {
	in = in.Clone()
	phi := func(place int64) Node { return Node{Kind: Phi, B: Value(place), N: int64(pc)} }
	each := func(do func(place int64, have, now Content) Content) {
		for i := range f.registers() {
			s.Regs[i] = do(int64(i), s.Regs[i], in.Regs[i])
		}
		for at, have := range s.Slots {
			if c := do(at+slots, have, f.Slot(in, at)); c != have {
				s.Slots[at] = c
			}
		}
	}
	for at := range in.Slots {
		if _, ok := s.Slots[at]; !ok {
			s.Slots[at] = f.Slot(s, at)
		}
	}
	// A value of the block that comes back as another is stale wherever else it is.
	each(func(p int64, have, now Content) Content {
		if v := f.ids[phi(p)]; v != 0 && have.Value == v && now.Value != v {
			f.replace(in, v, 0)
		}
		return have
	})
	each(func(p int64, have, now Content) Content {
		switch {
		case have.Value == 0 || have == now:
			return have
		case have.Value == now.Value:
			if now.Bytes < have.Bytes {
				changed, have.Bytes = true, now.Bytes
			}
			return have
		}
		c := Content{f.intern(phi(p)), have.Bytes}
		if now.Value != 0 {
			c.Bytes = min(c.Bytes, now.Bytes)
		}
		changed = changed || c != have
		return c
	})
	if s.More != nil && s.More.Join(in.More) {
		changed = true
	}
	return changed
}
