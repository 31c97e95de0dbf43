package page

// The machine at the time of a trace: registers, words of memory, stacks.

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// valueView is a register, or a word of memory, and what its value points to.
type valueView struct{ Name, Value, Means string }

// registers returns the registers, in the order of the machine.
func registers(t *wire.Trace, sym lookup.Resolver) []valueView {
	var all []valueView
	for _, n := range t.RegisterNames() {
		value := t.Registers[n]
		means := ""
		if n != "rflags" && n != "eflags" {
			means = meaning(t, sym, value)
		}
		all = append(all, valueView{n, fmt.Sprintf("0x%016x", value), means})
	}
	return all
}

// meaning says what a value points to: code, or a stack; "" if it may be anything.
func meaning(t *wire.Trace, sym lookup.Resolver, value uint64) string {
	if sym != nil && sym.IsText(value) {
		if calls := sym.Lookup(value, false); len(calls) > 0 {
			c := calls[len(calls)-1]
			return fmt.Sprintf("%s+%#x", c.Function, c.Offset)
		}
	}
	for i := range t.Stacks {
		if k := &t.Stacks[i]; value >= k.Lo && value < k.Hi {
			return "stack " + k.Name
		}
	}
	return ""
}

// words returns the words of memory that the trace has, the lowest address first.
func words(t *wire.Trace, sym lookup.Resolver) []valueView {
	var all []valueView
	memory := t.Words
	for _, at := range slices.Sorted(maps.Keys(memory)) {
		if len(all) == maxWords {
			all = append(all, valueView{Means: fmt.Sprintf("and %d more words", len(memory)-maxWords)})
			break
		}
		all = append(all, valueView{fmt.Sprintf("%#x", at), fmt.Sprintf("0x%016x", memory[at]),
			meaning(t, sym, memory[at])})
	}
	return all
}

// stacks returns the stacks of a trace; mine: only those that it has frames on.
func stacks(t *wire.Trace, mine bool) (all []wire.Stack) {
	for _, k := range t.Stacks {
		if !mine || slices.ContainsFunc(t.Frames, func(f wire.Frame) bool { return f.Stack == k.Name }) {
			all = append(all, k)
		}
	}
	return all
}

// level is a level of the wire, or "unknown".
func level(s string) string {
	for l := tracer.LevelOK; l <= tracer.LevelOverflowed; l++ {
		if l.String() == s {
			return s
		}
	}
	return "unknown"
}

// percent returns a share, 0 to 100.
func percent(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return min(100*float64(n)/float64(of), 100)
}

// number writes a number with its thousands apart.
func number(n uint64) string { return wire.Thousands(n, "\u202f") }
