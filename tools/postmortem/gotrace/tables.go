package gotrace

import (
	"cmp"
	"encoding/binary"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// longestText is how long a string gets at most, as in Go.
const longestText = 1 << 10

// Tables are the strings and the stacks of a generation.
type Tables struct {
	strings map[string]uint64 // their numbers
	last    uint64            // the last of them
	places  map[place]uint64  // the pcs that stand for them
	pcs     map[uint64]bool   // those that are taken
	stacks  map[string]uint64 // by their frames
	texts   table
	frames  table
}

// place is where a frame is in the program.
type place struct {
	function, file string
	line           int
}

// Frame is a frame of a stack.
type Frame struct {
	lookup.Call
	PC uint64 // 0: it is nowhere in the program
}

// NewTables returns empty tables. Strings get numbers behind last.
func NewTables(last uint64) *Tables {
	return &Tables{strings: map[string]uint64{}, last: last, places: map[place]uint64{},
		pcs: map[uint64]bool{}, stacks: map[string]uint64{}}
}

// Text returns the number of a string.
func (t *Tables) Text(s string) uint64 {
	if s == "" {
		return 0
	}
	s = s[:min(len(s), longestText)]
	n, ok := t.strings[s]
	if !ok {
		t.last++
		n = t.last
		t.strings[s] = n
		t.texts.add(append(AppendEvent(nil, String, n, uint64(len(s))), s...))
	}
	return n
}

// Stack returns the number of a stack, the innermost frame first.
func (t *Tables) Stack(frames []Frame) uint64 {
	b := t.encode(frames)
	n, ok := t.stacks[string(b)]
	if !ok {
		n = uint64(len(t.stacks)) + 1
		t.stacks[string(b)] = n
		t.put(n, len(frames), b)
	}
	return n
}

// PutStack adds a stack that has a number already. Of the tables that Stack numbers there must be
// none.
func (t *Tables) PutStack(number uint64, frames []Frame) {
	t.put(number, len(frames), t.encode(frames))
}

func (t *Tables) put(number uint64, frames int, b []byte) {
	t.frames.add(append(AppendEvent(nil, Stack, number, uint64(frames)), b...))
}

func (t *Tables) encode(frames []Frame) (b []byte) {
	for _, f := range frames {
		p := place{cmp.Or(f.Function, "?"), cmp.Or(f.File, "?"), max(f.Line, 0)}
		pc, ok := t.places[p]
		if !ok {
			// A reader knows a frame by its pc alone: inlined calls need others than their callers.
			for pc = f.PC; pc == 0 || t.pcs[pc]; pc++ {
			}
			t.places[p], t.pcs[pc] = pc, true
		}
		for _, v := range [...]uint64{pc, t.Text(p.function), t.Text(p.file), uint64(p.line)} {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b
}

// AppendTo appends the tables' batches.
func (t *Tables) AppendTo(b []byte, generation, at uint64) []byte {
	for _, part := range t.frames.parts {
		b = AppendBatch(b, generation, NoThread, at, append([]byte{Stacks}, part...))
	}
	for _, part := range t.texts.parts {
		b = AppendBatch(b, generation, NoThread, at, append([]byte{Strings}, part...))
	}
	return b
}

// table is a table in parts, each for a batch.
type table struct{ parts [][]byte }

func (t *table) add(entry []byte) {
	n := len(t.parts) - 1
	if n < 0 || len(t.parts[n])+len(entry) > MaxBatch {
		t.parts = append(t.parts, nil)
		n++
	}
	t.parts[n] = append(t.parts[n], entry...)
}
