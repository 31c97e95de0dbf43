package render

// The words of a trace for those who show it in another form: the same as a Filter's.

import (
	"fmt"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// Troubles says what is wrong with the trace: that it is damaged or cut, that the walk of
// its frames ended too early, in sentences without an end. sym names addresses; nil: nothing
// does.
func Troubles(t *wire.Trace, sym lookup.Resolver) []string {
	var all []string
	if t.Damaged {
		all = append(all, DamageNote(t))
	}
	if t.Missing != "" {
		all = append(all, t.Missing)
	}
	if t.Format == "" && t.End != "" && !wire.CompleteEnd(t.End) {
		all = append(all, "there are more frames: "+StopNote(&wire.Record{End: t.End,
			Value: t.EndValue}, sym))
	}
	return all
}

// CallName returns how a function of the frame is named, and the mark behind it that says
// how far to trust it, which may be empty. Control characters are escaped. An offset is given where
// it means something: not for a call that was inlined, which has no entry, nor for an inferred
// caller.
func CallName(fr *wire.Frame, c *lookup.Call) (name, mark string) {
	if name = terminal.Clean(c.Function); name == "" {
		name = "??" // only the line is known
	}
	switch {
	case c.Inlined:
		mark = " (inlined)"
	case fr.Kind == tracer.Inferred:
		mark = " (inferred)"
	default:
		name += fmt.Sprintf("+%#x", c.Offset)
	}
	if fr.Kind == tracer.Scan {
		name = "? " + name
	}
	if fr.Source != "" && !c.Inlined {
		mark += " (" + fr.Source + ")"
	}
	if fr.Repaired && !c.Inlined {
		mark += " (repaired)"
	}
	if fr.Module != "" && !c.Inlined {
		mark += " [" + terminal.Clean(fr.Module) + "]"
	}
	if fr.Note != "" && !c.Inlined {
		mark += " " + terminal.Clean(fr.Note)
	}
	return name, mark
}

// Arguments returns what a call of the frame was called with: the name of each parameter and its
// value, or "?" for one that is not known: (key="apple", depth=?). It is empty if there is no
// value.
func Arguments(fr *wire.Frame, call int) string {
	if fr.Arguments == nil {
		return ""
	}
	s, any := "(", false
	for i, a := range fr.Arguments[call] {
		if i > 0 {
			s += ", "
		}
		value := "?"
		if a.Known {
			value, any = terminal.Clean(a.Value), true
		}
		s += terminal.Clean(a.Name) + "=" + value
	}
	if !any {
		return ""
	}
	return s + ")"
}

// StopNote says in words what ended a walk before its time.
func StopNote(r *wire.Record, sym lookup.Resolver) string {
	format, ok := stopFormats[r.End]
	switch {
	case r.End == tracer.EndLimit.String():
		return "there are more frames than the target keeps"
	case !ok:
		return fmt.Sprintf("%s %#x", terminal.Clean(r.End), r.Value)
	}
	s := fmt.Sprintf(format, r.Value)
	if r.End == tracer.EndText.String() && sym != nil {
		if near := sym.Nearest(r.Value); near != "" {
			s += " (" + terminal.Clean(near) + ")"
		}
	}
	return s
}

// stopFormats have the words for what ended a walk at a value.
var stopFormats = map[string]string{
	tracer.EndMisaligned.String(): "frame pointer %#x is no multiple of 8",
	tracer.EndOutside.String():    "frame pointer %#x is not in the frame's stack",
	tracer.EndBackward.String():   "frame pointer %#x is not above the one before it",
	tracer.EndRevisit.String():    "%#x leads back into a stack that the walk has left",
	tracer.EndText.String():       "return address %#x is not in the text",
	tracer.EndUnreadable.String(): "memory at %#x cannot be read",
}

// RepeatNote says of which trace this is a repetition.
func RepeatNote(t *wire.Trace) string {
	s := fmt.Sprintf("trace %d is the same as trace %d again: %s", t.Seq, t.RepeatOf,
		terminal.Clean(t.Reason))
	for i := range t.Frames {
		if f := &t.Frames[i]; len(f.Calls) > 0 {
			name, mark := CallName(f, &f.Calls[0])
			return s + ", in " + name + mark
		}
	}
	if len(t.Frames) > 0 {
		s += fmt.Sprintf(", at %#x", t.Frames[0].Address)
	}
	return s
}

// DamageNote says what is wrong with a trace. That it has been resolved as far
// as it goes can be seen.
func DamageNote(t *wire.Trace) string {
	s := "the trace"
	if t.Seq != 0 {
		s = fmt.Sprintf("trace %d", t.Seq)
	}
	if t.Cut && t.Damage == wire.CutDamage {
		return s + " was cut: its end is missing"
	}
	return s + " is damaged: " + terminal.Clean(t.Damage)
}
