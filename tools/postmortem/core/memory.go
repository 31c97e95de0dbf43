package core

// The memory of a trace. It carries words of the stack; and what its walk has
// read is known too, although no line says it in so many words: the frame record
// that led from a frame to its caller holds the caller's frame pointer and the
// return address. So a debugger finds the callers even where the words have ended,
// or in a trace that carries none.

import (
	"maps"
	"slices"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// run is a run of words without a gap.
type run struct {
	addr  uint64
	words []uint64
}

// runsOf returns the words in ascending order.
func runsOf(words map[uint64]uint64) (runs []run) {
	for _, a := range slices.Sorted(maps.Keys(words)) {
		if n := len(runs) - 1; n >= 0 {
			switch end := runs[n].addr + uint64(len(runs[n].words))*8; {
			case a == end:
				runs[n].words = append(runs[n].words, words[a])
				continue
			case a < end: // a word across the one before: only a damaged trace has that
				continue
			}
		}
		if a+8 > a {
			runs = append(runs, run{a, []uint64{words[a]}})
		}
	}
	return runs
}

// records adds the words that the walk must have read. What the trace carries counts
// more.
func records(t *wire.Trace, sym Symbols, words map[uint64]uint64) {
	add := func(addr, word uint64) {
		if _, ok := words[addr]; !ok && addr%8 == 0 && addr != 0 {
			words[addr] = word
		}
	}
	var prev *wire.Frame
	for i := range t.Frames {
		f := &t.Frames[i]
		if f.Kind == tracer.Inferred {
			continue // it is not on the stack
		}
		p := prev
		prev = f
		if p == nil || f.Elided > 0 || p.Kind == tracer.Trap || f.Kind != tracer.RA &&
			f.Kind != tracer.PC || f.Stack != p.Stack {
			continue
		}
		switch {
		case f.Kind == tracer.PC: // the call that a signal handler has injected there
			add(f.SP-8, f.Address)
			if p.FP == f.SP-16 {
				add(p.FP, f.FP)
			}
		case p.CFA != 0:
			add(p.CFA-8, f.Address)
		case f.Kind == tracer.RA && f.Source == "" && p.Source == "" && !f.Repaired &&
			p.FP != 0 && (f.FP > p.FP || f.FP == 0):
			at := p.FP
			if p.Repeat > 0 {
				if at = p.LastFP; at <= p.FP || f.FP != 0 && f.FP <= at {
					continue
				}
				folded(p, add)
			}
			add(at, f.FP)
			add(at+8, f.Address)
		case f.Kind == tracer.RA && p.Kind == tracer.RA && f.Source == "" && f.FP == p.FP:
			// p has no record of its own (stackPointer).
			if sp, ok := stackPointer(t, i, sym); ok {
				add(sp-8, f.Address)
			}
		}
	}
}

// maxFolded bounds the frame records that are made of one folded run: each is a piece of
// memory of its own.
const maxFolded = 256

// folded adds the frame records of a run, which are at equal distances.
func folded(f *wire.Frame, add func(addr, word uint64)) {
	step := (f.LastFP - f.FP) / f.Repeat
	if step < 16 || (f.LastFP-f.FP)%f.Repeat != 0 {
		return
	}
	for i := range min(f.Repeat, maxFolded) {
		at := f.FP + i*step
		add(at, at+step)
		add(at+8, f.Address)
	}
}
