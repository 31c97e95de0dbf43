package render

// A trace in the columns of a Windows debugger's command k, for those who read
// these more easily: of each frame its frame pointer, the return address into its
// caller, and the function with the offset in it.
//
//	ChildRBP         RetAddr          Call Site
//	0000000000472eb0 00000000002d80cf main.reuse+0x8
//
// The frame pointer is where the function's frame record is or would be, 16 bytes
// below the caller's stack pointer, where the unwind tables tell; else the one with
// which the function ran. As there, a warning stands above the first frame that
// nothing proves.

import (
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

const noValue = "----------------"

// K returns the trace as lines in the columns of k: what and why first, then a
// line with the names of the columns and one a frame. Inlined calls have lines of
// their own. Host.
func K(t *wire.Trace) []byte {
	var b strings.Builder
	b.WriteString(terminal.Clean(kindOf(t)))
	if t.Reason != "" {
		b.WriteString(": " + terminal.Clean(t.Reason))
	}
	b.WriteByte('\n')
	fmt.Fprintf(&b, "%-16s %-16s %s\n", "ChildRBP", "RetAddr", "Call Site")
	warned := false
	for i := range t.Frames {
		f := &t.Frames[i]
		if f.Elided > 0 {
			fmt.Fprintf(&b, "-- %s --\n", wire.LeftOutText(f.Elided))
		}
		if f.Kind == tracer.Trap {
			fmt.Fprintf(&b, "-- %s (vector %d, error %#x) --\n", wire.VectorName(f.Vector),
				f.Vector, f.ErrorCode)
			continue
		}
		if f.Kind == tracer.Scan && !warned && t.Format == "" {
			warned = true
			b.WriteString(
				"WARNING: Stack unwind information not available. Following frames may be wrong.\n")
		}
		if len(f.Calls) == 0 {
			fmt.Fprintf(&b, "%s %s %#x\n", kFrame(t, i), kReturn(t, i), f.Address)
		}
		for k := range f.Calls {
			c := &f.Calls[k]
			frame, ret := kFrame(t, i), kReturn(t, i)
			if c.Inlined {
				frame, ret = noValue, noValue
			}
			name, mark := CallName(f, c)
			fmt.Fprintf(&b, "%s %s %s%s\n", frame, ret, name, mark)
		}
		if f.Repeat > 0 {
			fmt.Fprintf(&b, "-- %s --\n", wire.RepeatText(f.Repeat))
		}
	}
	switch {
	case t.Format != "" && !t.Damaged: // where it ends is not known
	case t.Damaged:
		fmt.Fprintf(&b, "WARNING: %s\n", DamageNote(t))
	case !t.Complete():
		fmt.Fprintf(&b, "WARNING: The trace is truncated (%s %#x). There are more frames.\n",
			terminal.Clean(t.End), t.EndValue)
	}
	b.WriteByte('\n')
	return []byte(b.String())
}

// kFrame is the first column.
func kFrame(t *wire.Trace, i int) string {
	switch f := &t.Frames[i]; {
	case f.CFA != 0:
		return fmt.Sprintf("%016x", f.CFA-16)
	case f.Kind == tracer.Inferred || f.Source != "" || f.Bare:
		return noValue
	default:
		return fmt.Sprintf("%016x", f.FP)
	}
}

// kReturn is the second column: the address of the next frame, which the frame
// returns to. Zeros stand for the end of the stack.
func kReturn(t *wire.Trace, i int) string {
	if t.Frames[i].Kind == tracer.Inferred {
		return noValue
	}
	if t.Frames[i].Repeat > 0 {
		return fmt.Sprintf("%016x", t.Frames[i].Address)
	}
	for _, f := range t.Frames[i+1:] {
		if f.Elided > 0 {
			return noValue
		}
		switch f.Kind {
		case tracer.Inferred:
			continue
		case tracer.Trap:
			return noValue
		}
		if f.Quoted && f.Address == 0 {
			return noValue
		}
		return fmt.Sprintf("%016x", f.Address)
	}
	if t.Complete() {
		return fmt.Sprintf("%016x", 0)
	}
	return noValue
}
