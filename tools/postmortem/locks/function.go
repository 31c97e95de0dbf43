package locks

import (
	"encoding/binary"
	"maps"

	"github.com/zeroframe/zeroframe/tools/symbol/flow"
)

type value = flow.Value

// function is a function that is followed, with what it does to locks.
type function struct {
	*flow.Function
	p        *Program
	short    map[uint64]uint64      // of a call of a long way: the instruction of the short one
	atReturn *flow.State            // nil if it never returns
	ops      map[uint64][]Operation // by the call's address
	calls    map[path]value         // those that name no function: where each led last
	targets  map[path]uint64        // the functions of these, as a stack has it; nil if none was asked
}

// A hold is a lock that was taken: in which way, where, by which instruction.
type hold struct {
	mode Mode
	addr value
	at   uint64
}

// path is where a call stands: its address and, before it, those of the calls that lead to its
// function, each as eight bytes.
type path string

func at(pc uint64) path { return path(binary.BigEndian.AppendUint64(nil, pc)) }

// state is what is known of locks before an instruction.
type state struct {
	held  map[hold]bool  // taken and not given back: on each way here, or on some
	freed map[hold]bool  // given back without being taken here; hold.at is 0
	calls map[path]value // calls that name no function, on some way here: where they led
}

func newState() *state {
	return &state{make(map[hold]bool), make(map[hold]bool), make(map[path]value)}
}

// of returns what is known of locks in a state.
func of(s *flow.State) *state { return s.More.(*state) }

// Clone, Replace and Join make it a flow.More.
func (s *state) Clone() flow.More {
	return &state{maps.Clone(s.held), maps.Clone(s.freed), maps.Clone(s.calls)}
}

func (s *state) Replace(by func(value) value) {
	for n, v := range s.calls {
		s.calls[n] = by(v)
	}
	for _, m := range []map[hold]bool{s.held, s.freed} {
		for h, must := range m {
			if v := by(h.addr); v != h.addr {
				delete(m, h)
				h.addr = v
				m[h] = must
			}
		}
	}
}

func (s *state) Join(more flow.More) (changed bool) {
	in := more.(*state)
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

// doubt makes those locks that are held uncertain for which that is true.
func (s *state) doubt(which func(h hold) bool) {
	for h := range s.held {
		if which == nil || which(h) {
			s.held[h] = false
		}
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

// Begin, Before, After and Return make the function a flow.Hooks.
func (f *function) Begin(*flow.Function) flow.More {
	f.atReturn, f.ops, f.calls = nil, make(map[uint64][]Operation), make(map[path]value)
	return newState()
}

func (f *function) Return(s *flow.State, in *flow.Inst) {
	if to, ok := in.Target(); ok { // a tail call
		if d, ok := f.CFA(in.PC); ok {
			f.called(s, in, to, 8-d)
		}
	}
	if f.atReturn == nil {
		f.atReturn = s.Clone()
	} else {
		f.Join(f.atReturn, s, ^uint64(0))
	}
}
