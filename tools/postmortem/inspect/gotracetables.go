package inspect

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// longestText is how long a string gets at most, as in Go.
const longestText = 1 << 10

// traceTables are the strings and the stacks of a generation.
type traceTables struct {
	strings map[string]uint64     // their numbers
	last    uint64                // the last of them
	places  map[tracePlace]uint64 // the pcs that stand for them
	pcs     map[uint64]bool       // those that are taken
	texts   table
	frames  table
}

// tracePlace is where a frame is in the program.
type tracePlace struct {
	function, file string
	line           int
}

// traceFrame is a frame of a stack.
type traceFrame struct {
	lookup.Call
	PC uint64 // 0: it is nowhere in the program
}

// newTraceTables returns empty tables. Strings get numbers behind last.
func newTraceTables(last uint64) *traceTables {
	return &traceTables{strings: map[string]uint64{}, last: last, places: map[tracePlace]uint64{},
		pcs: map[uint64]bool{}}
}

// Text returns the number of a string.
func (t *traceTables) Text(s string) uint64 {
	if s == "" {
		return 0
	}
	s = s[:min(len(s), longestText)]
	n, ok := t.strings[s]
	if !ok {
		t.last++
		n = t.last
		t.strings[s] = n
		t.texts.add(evStrings, append(appendEvent(nil, evString, n, uint64(len(s))), s...))
	}
	return n
}

// putStack adds a stack that has a number already.
func (t *traceTables) putStack(number uint64, frames []traceFrame) {
	b := appendEvent(nil, evStack, number, uint64(len(frames)))
	for _, f := range frames {
		p := tracePlace{cmp.Or(f.Function, "?"), cmp.Or(f.File, "?"), max(f.Line, 0)}
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
	t.frames.add(evStacks, b)
}

// AppendTo appends the tables' batches.
func (t *traceTables) AppendTo(b []byte, generation, at uint64) []byte {
	for _, part := range slices.Concat(t.frames, t.texts) {
		b = appendBatch(b, generation, noThread, at, part)
	}
	return b
}

// table is a table in parts, each for a batch, which begins with the event of its kind.
type table [][]byte

func (t *table) add(kind byte, entry []byte) {
	n := len(*t) - 1
	if n < 0 || len((*t)[n])+len(entry) > 1+maxBatch {
		*t = append(*t, []byte{kind})
		n++
	}
	(*t)[n] = append((*t)[n], entry...)
}
