package page

// The machine at the time of a trace: registers, words of memory, stacks.

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/wire"
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
		all = append(all, valueView{name(n), fmt.Sprintf("0x%016x", value), means})
	}
	return all
}

// meaning says what a value points to: code, or a stack; "" if it may be anything.
func meaning(t *wire.Trace, sym lookup.Resolver, value uint64) string {
	if sym != nil && sym.IsText(value) {
		if calls := sym.Lookup(value, false); len(calls) > 0 {
			c := calls[len(calls)-1]
			return name(fmt.Sprintf("%s+%#x", c.Function, c.Offset))
		}
	}
	for i := range t.Stacks {
		if k := &t.Stacks[i]; value >= k.Lo && value < k.Hi {
			return "stack " + name(k.Name)
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
		all = append(all, valueView{fmt.Sprintf("%#x", at), fmt.Sprintf("0x%016x", memory[at]), meaning(t, sym, memory[at])})
	}
	return all
}

// stackView is a stack and how much of it has been used. Used and Limit are in percent of
// its size, as an attribute of SVG has them.
type stackView struct {
	Name       string
	Used, Size string // in words
	Limit      string // in words; "" if there is none
	UsedAt     string
	LimitAt    string // "" if there is none below the size
	Level      string // of the wire
	Percent    uint64
	Free       string
}

// stacks returns the stacks of a trace; mine: only those that it has frames on.
func stacks(t *wire.Trace, mine bool) []stackView {
	var all []stackView
	for i := range t.Stacks {
		k := &t.Stacks[i]
		if mine && !slices.ContainsFunc(t.Frames, func(f wire.Frame) bool { return f.Stack == k.Name }) {
			continue
		}
		v := stackView{Name: name(k.Name), Used: number(k.Used), Size: number(k.Size), Level: level(k.Level)}
		v.UsedAt, v.Free = part(k.Used, k.Size), number(k.Size-min(k.Used, k.Size))
		if k.Size > 0 {
			v.Percent = uint64(min(float64(k.Used)/float64(k.Size), 1) * 100)
		}
		if k.Limit > 0 {
			v.Limit = number(k.Limit)
			if k.Limit < k.Size {
				v.LimitAt = part(k.Limit, k.Size)
			}
		}
		all = append(all, v)
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

// part returns a share in percent, 0 to 100.
func part(n, of uint64) string {
	if of == 0 {
		return "0%"
	}
	return strconv.FormatFloat(min(100*float64(n)/float64(of), 100), 'f', 2, 64) + "%"
}

// number writes a number with its thousands apart.
func number(n uint64) string { return wire.Thousands(n, "\u202f") }
