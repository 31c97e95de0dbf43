package percpu_test

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
)

// Models of the protocols between CPUs, explored exhaustively: from the first state, every step
// that a CPU or the hardware can make in a state is made, until there are no new states.
//
//	model_lock_test.go   the kernel lock (lock.go)
//	model_idle_test.go   idle CPUs and ready threads (package thread)
//	model_fill_test.go   pages that are filled without the lock (mem/fill.go)
//	model_flush_test.go  the TLB shoot-down (flush.go)
//	model_stop_test.go   a death, and the monitor (package fault, cpus.go)
//
// A step is one access to what CPUs share, in the order of the code; what a CPU does with its own
// registers goes with the access before. Stores that are not locked stay in the CPU's store buffer
// for a while, as on x86: its own loads see them, other CPUs do not (x86-TSO). arch.Store32 is one
// of them. Locked instructions (arch.CompareAndSwap, arch.FetchAdd) and IRET wait until the buffer
// is empty. So that an interrupt's delay is seen, too, sending one goes through the buffer, behind
// the stores before it. An interrupt comes in only where a CPU lets it: while it runs the program,
// and between STI and CLI in arch.WaitForInterrupt; STI's shadow has none come in before the CPU
// halts. Timers that only cover up for what has been lost are left out.
//
// Each model has faults that can be switched on. The tests hold that they are found.

// numCPUs is how many CPUs the models have.
const numCPUs = 3

// A model is a set of states and of steps between them.
type model[S comparable] struct {
	start S
	// steps emits the result of each step that can be made in s.
	steps func(s S, emit func(to S, cpu int, what string))
	// same turns s into the one state that stands for all states that differ only by the numbers of
	// the CPUs; nil if the CPUs of a model differ.
	same func(s *S)
	swap func(s *S, a, b int) // gives two CPUs each other's number
	// broken returns the property that does not hold in s, or "".
	broken func(s *S) string
	// final reports whether nothing more need be done in s.
	final func(s *S) bool
}

// mostStates is the largest number of states that is explored: some 400 MB.
const mostStates = 3_000_000

// The properties that all models have.
const (
	deadlock = "deadlock"             // a state that is not final has no step
	noEnd    = "no final state ahead" // no steps lead from a state to a final one
)

// result is what a model's exploration has found.
type result struct {
	states int
	broken string   // the property that does not hold, or ""
	path   []string // the shortest steps to where it does not
}

// explore makes all steps, breadth first. It ends at the first property that does not hold.
func explore[S comparable](m model[S]) result {
	if m.same == nil {
		m.same = func(*S) {}
	}
	m.same(&m.start)
	var (
		seed   = maphash.MakeSeed()
		states = []S{m.start}
		parent = []uint32{0}
		table  = make([]uint32, 1<<12) // 1 + the index of a state, by its hash
		edges  []uint32                // the results of the steps, by state
		first  = []uint32{0}           // where a state's edges begin
	)
	place := func(s S) *uint32 {
		for h := maphash.Comparable(seed, s); ; h++ {
			p := &table[h&uint64(len(table)-1)]
			if *p == 0 || states[*p-1] == s {
				return p
			}
		}
	}
	*place(m.start) = 1
	end := func(i uint32, broken string) result {
		return result{len(states), broken, m.path(states, parent, i)}
	}
	broken := m.broken(&m.start)
	for i := uint32(0); int(i) < len(states); i++ {
		if len(states) > mostStates {
			return end(0, "too many states")
		}
		m.steps(states[i], func(to S, _ int, _ string) {
			m.same(&to)
			p := place(to)
			if *p == 0 {
				states, parent = append(states, to), append(parent, i)
				*p = uint32(len(states))
				if broken == "" {
					if broken = m.broken(&to); broken != "" {
						return
					}
				}
				if len(states)*2 > len(table) {
					table = make([]uint32, 2*len(table))
					for n := range states {
						*place(states[n]) = uint32(n + 1)
					}
					p = place(to)
				}
			}
			if broken == "" {
				edges = append(edges, *p-1)
			}
		})
		if broken != "" {
			for n := len(states) - 1; ; n-- { // steps may have been made after the one that broke it
				if m.broken(&states[n]) != "" {
					return end(uint32(n), broken)
				}
			}
		}
		if int(first[i]) == len(edges) && !m.final(&states[i]) {
			return end(i, deadlock)
		}
		first = append(first, uint32(len(edges)))
	}
	if i, ok := m.withoutEnd(states, first, edges); ok {
		return end(i, noEnd)
	}
	return result{states: len(states)}
}

// withoutEnd goes back from the final states, and returns the first state that it does not reach.
func (m *model[S]) withoutEnd(states []S, first, edges []uint32) (uint32, bool) {
	// from has the states with steps to state n, beginning at begin[n].
	begin := make([]uint32, len(states)+1)
	for _, to := range edges {
		begin[to+1]++
	}
	for n := range states {
		begin[n+1] += begin[n]
	}
	from, filled := make([]uint32, len(edges)), make([]uint32, len(states))
	for n := range states {
		for _, to := range edges[first[n]:first[n+1]] {
			from[begin[to]+filled[to]] = uint32(n)
			filled[to]++
		}
	}
	var todo []uint32
	ends := make([]bool, len(states))
	for n := range states {
		if m.final(&states[n]) {
			ends[n] = true
			todo = append(todo, uint32(n))
		}
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, f := range from[begin[n]:begin[n+1]] {
			if !ends[f] {
				ends[f] = true
				todo = append(todo, f)
			}
		}
	}
	for n := range ends {
		if !ends[n] {
			return uint32(n), true
		}
	}
	return 0, false
}

// path returns the steps from the first state to state i, a line each.
func (m *model[S]) path(states []S, parent []uint32, i uint32) (lines []string) {
	var way []uint32
	for ; i != 0; i = parent[i] {
		way = append(way, i)
	}
	at := m.start
	for n := len(way) - 1; n >= 0; n-- {
		next, line := at, "?"
		m.steps(at, func(to S, cpu int, what string) {
			if line == "?" && m.alike(to, states[way[n]]) {
				next, line = to, fmt.Sprintf("CPU %d: %s", cpu, what)
			}
		})
		at, lines = next, append(lines, line)
	}
	return lines
}

// alike reports whether two states differ by no more than the numbers of the CPUs.
func (m *model[S]) alike(a, b S) bool {
	m.same(&a)
	for n := range 6 { // all orders of three
		if a == b {
			return true
		}
		if m.swap != nil {
			m.swap(&a, n%2, n%2+1)
		}
	}
	return false
}

// holds fails the test if a property of the model does not hold.
func holds[S comparable](t *testing.T, m model[S]) {
	t.Helper()
	r := explore(m)
	t.Logf("%d states", r.states)
	if r.broken != "" {
		t.Errorf("%s:\n%s", r.broken, strings.Join(r.path, "\n"))
	}
}

// breaks fails the test if the property holds, or another one does not.
func breaks[S comparable](t *testing.T, m model[S], property string) {
	t.Helper()
	r := explore(m)
	t.Logf("%d states, %d steps to: %s", r.states, len(r.path), r.broken)
	if r.broken != property {
		t.Errorf("broken is %q; want %q:\n%s", r.broken, property, strings.Join(r.path, "\n"))
	}
}

// memory holds the words that the CPUs share, a byte each, and the stores on their way to them.
// Word 0 is none.
type memory struct {
	words  [20]uint8
	stores [numCPUs][2]store // oldest first
}

// store is a store in a CPU's store buffer: of a value, or, if raise is set, of bits that are set,
// as for an interrupt that was sent.
type store struct{ word, value uint8 }

const raise = 0x80

// load returns the value that a CPU stored last, or the value in memory.
func (m *memory) load(cpu int, word uint8) uint8 {
	b := &m.stores[cpu]
	for i := len(b) - 1; i >= 0; i-- {
		if b[i].word == word {
			return b[i].value
		}
	}
	return m.words[word]
}

// store puts a store into a CPU's buffer. It returns false if the buffer is full: then the step
// waits.
func (m *memory) store(cpu int, word, value uint8) bool {
	b := &m.stores[cpu]
	for i := range b {
		if b[i].word == 0 {
			b[i] = store{word, value}
			return true
		}
	}
	return false
}

// send sends interrupts, which are bits in a word of the CPU that gets them.
func (m *memory) send(cpu int, word, bits uint8) bool { return m.store(cpu, word|raise, bits) }

// drained reports whether a CPU's stores are all in memory.
func (m *memory) drained(cpu int) bool { return m.stores[cpu][0].word == 0 }

// swap is a locked compare-and-exchange; drained is set.
func (m *memory) swap(word, old, new uint8) bool {
	if m.words[word] != old {
		return false
	}
	m.words[word] = new
	return true
}

// commit takes the oldest store of a CPU to memory.
func (m *memory) commit(cpu int) {
	b := &m.stores[cpu]
	if s := b[0]; s.word&raise != 0 {
		m.words[s.word&^raise] |= s.value
	} else {
		m.words[s.word] = s.value
	}
	copy(b[:], b[1:])
	b[len(b)-1] = store{}
}
