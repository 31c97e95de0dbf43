package trace

// The words of a trace for those who show it in another form: the same as a Filter's.

import (
	"fmt"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// String says which exception it was: "#PF, vector 14, error code 0x2, address 0x8".
func (c *Cause) String() string {
	s := trapWords(c.Vector, c.ErrorCode)
	if c.HasAddress {
		s += fmt.Sprintf(", address %#x", c.Address)
	}
	return s
}

// Trap says the same of a frame of kind tracer.Trap.
func (f *Frame) Trap() string { return trapWords(f.Vector, f.ErrorCode) }

func trapWords(vector, code uint64) string {
	return fmt.Sprintf("%s, vector %d, error code %#x", vectorName(vector), vector, code)
}

// CallName returns how a function of the frame is named, and the mark behind it that says
// how far to trust it, which may be empty. Control characters are escaped.
func (f *Frame) CallName(c *symbol.Frame) (name, mark string) { return callName(f, c) }

// Troubles says what is wrong with the trace: that it is damaged or cut, that the walk of
// its frames ended too early, in sentences without an end. sym names addresses; nil: nothing
// does.
func (t *Trace) Troubles(sym Resolver) []string {
	var all []string
	if t.Damaged {
		all = append(all, damageNote(t))
	}
	if t.missing != "" {
		all = append(all, t.missing)
	}
	if t.Format == "" && t.End != "" && !completeEnd(t.End) {
		all = append(all, "there are more frames: "+stopNote(&Record{End: t.End, Value: t.EndValue}, sym))
	}
	return all
}
