package trace

// How a trace looks. The target's line stays as it is; the function goes behind
// it if both fit into 80 columns, else into a line of its own, and the file
// below. Calls that were inlined follow one another, innermost first:
//
//	zf1 #1 ra 0x20f3a1 fp 0x3e8fd0 boot main.check (inlined)
//	        main.go:40
//	    main.readNil2+0x21
//	        main.go:31
//
// Lines of ours begin with "zf: ": a caller that the host added, what stopped
// a walk, what is wrong with a trace, and the lines of a compact trace.

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tracer"
)

const (
	width      = 80
	hostTag    = "zf: "
	callIndent = "    "
	fileIndent = "        "
)

// Terminal colours (ECMA-48, SGR).
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// paint puts a colour around s, if colours are on.
func (f *Filter) paint(color, s string) string {
	if !f.opt.Color || color == "" || s == "" {
		return s
	}
	return color + s + plain
}

// line shows a line of a trace.
func (f *Filter) line(l *Line) {
	if l.Raw == nil && f.column { // behind a line that Flush has shown in part
		f.newline()
	}
	from := len(f.buf)
	columns := f.targetLine(l)
	switch l.Record.Op {
	case OpFrame, OpLast:
		if l.Record.Bad {
			break
		}
		if l.Record.Op == OpLast {
			columns = width // the reason stands at the end of the line
		}
		behind := len(f.buf)
		f.frameLine(l, columns)
		switch {
		case l.Raw == nil:
			f.inserted(from)
		case bytes.HasPrefix(f.buf[behind:], f.ending): // the function has its own line
			f.inserted(behind + len(f.ending))
		}
		return
	case OpRepeat:
		f.newline()
		if !l.Trace.Damaged {
			from = len(f.buf)
			f.buf = append(f.buf, f.paint(yellow, hostTag+repeatNote(l.Trace))...)
			f.newline()
			f.inserted(from)
		}
		return
	case OpStop:
		f.newline()
		if l.Raw == nil {
			f.inserted(from)
		}
		if !l.Record.Bad && f.ses.sym != nil && !completeEnd(l.Record.End) {
			f.note("truncated: " + stopNote(&l.Record, f.ses.sym))
		}
		return
	}
	f.newline()
	if l.Raw == nil {
		f.inserted(from)
	}
}

// targetLine shows the line itself, without its ending, and returns how many
// columns it takes.
func (f *Filter) targetLine(l *Line) int {
	raw, color := l.Raw, lineColor(&l.Record)
	if raw == nil { // a record of the compact form
		raw = []byte(hostTag + l.Record.String())
	}
	if l.Shown > len(l.Prefix) || !f.opt.Color {
		color = ""
	}
	f.text(l.Prefix[min(l.Shown, len(l.Prefix)):])
	if color != "" {
		f.buf = append(f.buf, color...)
	}
	f.text(raw[max(l.Shown-len(l.Prefix), 0):])
	if f.opt.Sanitize {
		f.buf = f.san.flush(f.buf)
	}
	if color != "" {
		f.buf = append(f.buf, plain...)
	}
	return utf8.RuneCount(l.Prefix) + utf8.RuneCount(raw)
}

// lineColor returns the colour of a whole line.
func lineColor(r *Record) string {
	switch r.Op {
	case OpReason, OpLast:
		return red
	case OpStack:
		switch r.Stack.Level {
		case tracer.LevelWarning.String():
			return yellow
		case tracer.LevelOverLimit.String(), tracer.LevelOverflowed.String():
			return red
		}
	}
	return ""
}

// newline ends a line as the target does, and lets waiting notes out.
func (f *Filter) newline() {
	f.buf = append(f.buf, f.ending...)
	f.column = false
	f.flushNotes()
}

// frameLine resolves the frame of the line, which is already shown, and adds
// what is found.
func (f *Filter) frameLine(l *Line, columns int) {
	if l.Trace == nil || l.Frame < 0 { // beyond the limit: shown, not kept
		fr := l.Record.Frame
		f.lookAhead(&fr)
		f.ses.resolve(&fr)
		f.callsOf(l, &fr, columns)
		return
	}
	if l.Record.Op != OpLast { // of which each is a trace of its own
		f.lookAhead(&l.Trace.Frames[l.Frame])
	}
	f.ses.frame(l.Trace, l.Frame)
	f.callsOf(l, &l.Trace.Frames[l.Frame], columns)
}

// callsOf shows what is at the address of the line's frame, unless the line says
// so already: who saved it may have had another folder, or a better ELF.
func (f *Filter) callsOf(l *Line, fr *Frame, columns int) {
	if l.Wire < len(l.Raw) {
		f.newline()
		return
	}
	f.calls(fr, columns)
}

// missed shows the callers that the walk missed, if the record r tells that it
// did, in front of the line that says so. frame is the index of the frame that the
// line has added, or -1. It returns how many there are.
func (f *Filter) missed(t *Trace, r *Record, frame int) int {
	i, n := f.ses.settle(t, r)
	f.add(t, i, n)
	if frame >= 0 {
		k := f.ses.infer(t, frame+n)
		f.add(t, frame+n, k)
		n += k
	}
	return n
}

// add shows n frames from index i on, which the host has added to the trace.
func (f *Filter) add(t *Trace, i, n int) {
	for ; n > 0; n-- {
		f.added(&t.Frames[i])
		i++
	}
}

// added shows a frame that the host has added.
func (f *Filter) added(fr *Frame) {
	if f.column { // Flush has shown a part of the line that comes now
		f.newline()
	}
	from := len(f.buf)
	s := fmt.Sprintf("%s%s %#x", hostTag, fr.Kind, fr.Address)
	if fr.Stack != "" {
		s += " " + clean(fr.Stack)
	}
	f.buf = append(f.buf, s...)
	f.calls(fr, utf8.RuneCountInString(s))
	f.inserted(from)
}

// calls shows what is at the frame's address, behind the columns that the line
// has so far.
func (f *Filter) calls(fr *Frame, columns int) {
	if f.ses.sym == nil || fr.Kind == tracer.Trap {
		f.newline()
		return
	}
	if len(fr.Calls) == 0 {
		mark := " (no symbol)"
		if near := f.ses.sym.Nearest(fr.Address); near != "" {
			mark = " (" + clean(near) + ")"
		}
		f.call(fmt.Sprintf("%#x", fr.Address), mark, columns)
		return
	}
	for i := range fr.Calls {
		c := &fr.Calls[i]
		name, mark := callName(fr, c)
		f.call(name, mark, columns)
		if where, _ := f.place(c); where != "" {
			f.buf = append(f.buf, fileIndent...)
			f.buf = append(f.buf, where...)
			f.newline()
			f.context(c)
		}
		columns = 0
	}
}

// call shows one function: behind a line of so many columns if it fits there.
// 0 columns: it begins a line.
func (f *Filter) call(name, mark string, columns int) {
	switch {
	case columns == 0:
		f.buf = append(f.buf, callIndent...)
	case columns+1+utf8.RuneCountInString(name+mark) <= width:
		f.buf = append(f.buf, ' ')
	default:
		f.newline()
		f.buf = append(f.buf, callIndent...)
	}
	f.buf = append(f.buf, f.paint(bold, name)...)
	f.buf = append(f.buf, mark...)
	f.newline()
}

// callName returns how a function is named, and the mark behind it that says
// how far to trust it. An offset is given where it means something: not for a
// call that was inlined, which has no entry, nor for an inferred caller.
func callName(fr *Frame, c *symbol.Frame) (name, mark string) {
	if name = clean(c.Function); name == "" {
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
		mark += " [" + clean(fr.Module) + "]"
	}
	if fr.Note != "" && !c.Inlined {
		mark += " " + clean(fr.Note)
	}
	return name, mark
}

// stopNote says in words what ended a walk before its time.
func stopNote(r *Record, sym Resolver) string {
	switch v := r.Value; r.End {
	case tracer.EndMisaligned.String():
		return fmt.Sprintf("frame pointer %#x is no multiple of 8", v)
	case tracer.EndOutside.String():
		return fmt.Sprintf("frame pointer %#x is not in the frame's stack", v)
	case tracer.EndBackward.String():
		return fmt.Sprintf("frame pointer %#x is not above the one before it", v)
	case tracer.EndRevisit.String():
		return fmt.Sprintf("%#x leads back into a stack that the walk has left", v)
	case tracer.EndText.String():
		s := fmt.Sprintf("return address %#x is not in the text", v)
		if sym == nil {
			return s
		}
		if near := sym.Nearest(v); near != "" {
			s += " (" + clean(near) + ")"
		}
		return s
	case tracer.EndUnreadable.String():
		return fmt.Sprintf("memory at %#x cannot be read", v)
	case tracer.EndLimit.String():
		return "there are more frames than the target keeps"
	}
	return fmt.Sprintf("%s %#x", clean(r.End), r.Value)
}

// repeatNote says of which trace this is a repetition.
func repeatNote(t *Trace) string {
	s := fmt.Sprintf("trace %d is the same as trace %d again: %s", t.Seq, t.RepeatOf, clean(t.Reason))
	for i := range t.Frames {
		if f := &t.Frames[i]; len(f.Calls) > 0 {
			name, mark := callName(f, &f.Calls[0])
			return s + ", in " + name + mark
		}
	}
	if len(t.Frames) > 0 {
		s += fmt.Sprintf(", at %#x", t.Frames[0].Address)
	}
	return s
}

// damageNote says what is wrong with a trace. That it has been resolved as far
// as it goes can be seen.
func damageNote(t *Trace) string {
	s := "the trace"
	if t.Seq != 0 {
		s = fmt.Sprintf("trace %d", t.Seq)
	}
	if t.Cut && t.Damage == cutDamage {
		return s + " was cut: its end is missing"
	}
	return s + " is damaged: " + clean(t.Damage)
}
