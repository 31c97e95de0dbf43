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
	"strconv"
	"unicode/utf8"

	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

const (
	width      = 80
	hostTag    = "zf: "
	callIndent = "    "
	fileIndent = "        "
)

// paint puts a colour around s, if colours are on.
func (f *Filter) paint(color, s string) string {
	if !f.opt.Color || color == "" || s == "" {
		return s
	}
	return color + s + terminal.Plain
}

// line shows a line of a trace.
func (f *Filter) line(l *wire.Line) {
	if l.Raw == nil && f.column { // behind a line that Flush has shown in part
		whole := len(f.buf)
		f.newline()
		defer func(from int) {
			if len(f.buf) == from { // the input had it
				f.buf, f.column = f.buf[:whole], true
			}
		}(len(f.buf))
	}
	from := len(f.buf)
	columns := f.targetLine(l)
	switch l.Record.Op {
	case wire.OpFrame, wire.OpLast:
		if l.Record.Bad {
			break
		}
		if l.Record.Op == wire.OpLast {
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
	case wire.OpRepeat:
		f.newline()
		if !l.Trace.Damaged {
			from = len(f.buf)
			f.put(f.paint(terminal.Yellow, hostTag+render.RepeatNote(l.Trace)))
			f.newline()
			f.inserted(from)
		}
		return
	case wire.OpStop:
		f.newline()
		if l.Raw == nil {
			f.inserted(from)
		}
		if !l.Record.Bad && f.ses.Image() != nil && !wire.CompleteEnd(l.Record.End) {
			f.note("truncated: " + render.StopNote(&l.Record, f.ses.Image()))
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
func (f *Filter) targetLine(l *wire.Line) int {
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
		f.buf = f.san.Flush(f.buf)
	}
	if color != "" {
		f.buf = append(f.buf, terminal.Plain...)
	}
	return utf8.RuneCount(l.Prefix) + utf8.RuneCount(raw)
}

// lineColor returns the colour of a whole line.
func lineColor(r *wire.Record) string {
	switch r.Op {
	case wire.OpReason, wire.OpLast:
		return terminal.Red
	case wire.OpStack:
		switch r.Stack.Level {
		case tracer.LevelWarning.String():
			return terminal.Yellow
		case tracer.LevelOverLimit.String(), tracer.LevelOverflowed.String():
			return terminal.Red
		}
	}
	return ""
}

// put adds text to the output.
func (f *Filter) put(text ...string) {
	for _, s := range text {
		f.buf = append(f.buf, s...)
	}
}

// newline ends a line as the target does, and lets waiting notes out.
func (f *Filter) newline() {
	f.buf = append(f.buf, f.ending...)
	f.column = false
	f.flushNotes()
}

// frameLine resolves the frame of the line, which is already shown, and adds
// what is found.
func (f *Filter) frameLine(l *wire.Line, columns int) {
	if l.Trace == nil || l.Frame < 0 { // beyond the limit: shown, not kept
		fr := l.Record.Frame
		f.ses.LookAhead(&fr, f.p.Coming(), f.writes)
		f.ses.Resolve(&fr)
		f.callsOf(l, &fr, columns)
		return
	}
	if l.Record.Op != wire.OpLast { // of which each is a trace of its own
		f.ses.LookAhead(&l.Trace.Frames[l.Frame], f.p.Coming(), f.writes)
	}
	f.ses.Frame(l.Trace, l.Frame)
	f.callsOf(l, &l.Trace.Frames[l.Frame], columns)
}

// callsOf shows what is at the address of the line's frame, unless the line says
// so already: who saved it may have had another folder, or a better ELF.
func (f *Filter) callsOf(l *wire.Line, fr *wire.Frame, columns int) {
	if l.Wire < len(l.Raw) {
		f.newline()
		f.saved, f.resolved = savedLine, true
		return
	}
	f.calls(fr, columns)
}

// missed shows the callers that the walk missed, if the record r tells that it
// did, in front of the line that says so. frame is the index of the frame that the
// line has added, or -1. It returns how many there are.
func (f *Filter) missed(t *wire.Trace, r *wire.Record, frame int) int {
	i, n := f.ses.Settle(t, r)
	f.add(t, i, n)
	if frame >= 0 {
		k := f.ses.Infer(t, frame+n)
		f.add(t, frame+n, k)
		n += k
	}
	return n
}

// add shows n frames from index i on, which the host has added to the trace.
func (f *Filter) add(t *wire.Trace, i, n int) {
	for ; n > 0; n-- {
		f.added(&t.Frames[i])
		i++
	}
}

// added shows a frame that the host has added.
func (f *Filter) added(fr *wire.Frame) {
	whole, column := len(f.buf), f.column
	if column { // Flush has shown a part of the line that comes now
		f.newline()
	}
	from := len(f.buf)
	s := fmt.Sprintf("%s%s %#x", hostTag, fr.Kind, fr.Address)
	if fr.Stack != "" {
		s += " " + terminal.Clean(fr.Stack)
	}
	f.put(s)
	f.calls(fr, utf8.RuneCountInString(s))
	if f.inserted(from); len(f.buf) == from { // the input had it
		f.buf, f.column = f.buf[:whole], column
	}
}

// calls shows what is at the frame's address, behind the columns that the line
// has so far.
func (f *Filter) calls(fr *wire.Frame, columns int) {
	if f.ses.Image() == nil || fr.Kind == tracer.Trap {
		f.newline()
		return
	}
	if len(fr.Calls) == 0 {
		mark := " (no symbol)"
		if near := f.ses.Image().Nearest(fr.Address); near != "" {
			mark = " (" + terminal.Clean(near) + ")"
		}
		f.call(fmt.Sprintf("%#x", fr.Address), mark, columns)
		return
	}
	for i := range fr.Calls {
		c := &fr.Calls[i]
		name, mark := render.CallName(fr, c)
		f.call(name, mark, columns)
		if where, columns := f.place(c); columns > 0 {
			f.put(fileIndent)
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
		f.put(callIndent)
	case columns+1+utf8.RuneCountInString(name+mark) <= width:
		f.put(" ")
	default:
		f.newline()
		f.put(callIndent)
	}
	f.put(f.paint(terminal.Bold, name), mark)
	f.newline()
}

// place returns a function's file and line as shown, until it is called again, and how many columns
// these take: 0 if the file is not known.
func (f *Filter) place(c *lookup.Call) (shown []byte, columns int) {
	if c.File == "" {
		return nil, 0
	}
	text := append(f.room[:0], f.path(c.File)...)
	if c.Line > 0 {
		text = strconv.AppendInt(append(text, ':'), int64(c.Line), 10)
	}
	columns = utf8.RuneCount(text)
	if f.opt.Color || f.opt.Links != "" {
		s := f.paint(terminal.Dim, string(text))
		if f.opt.Links != "" {
			s = f.sources().Link(f.opt.Links, c.File, c.Line, s)
		}
		text = append(text[:0], s...)
	}
	f.room = text
	return text, columns
}

// sources returns where source is looked for.
func (f *Filter) sources() *source.Finder {
	if f.opt.Sources == nil {
		f.opt.Sources = source.New(f.opt.Dir, nil)
	}
	return f.opt.Sources
}

// context shows the source around a function's line.
func (f *Filter) context(c *lookup.Call) {
	if f.opt.Context <= 0 || c.File == "" || c.Line <= 0 {
		return
	}
	for _, l := range f.sources().Context(c.File, c.Line, f.opt.Context) {
		f.put(fileIndent)
		if l[0] == '>' {
			f.put(f.paint(terminal.Yellow, l))
		} else {
			f.put(f.paint(terminal.Dim, l))
		}
		f.newline()
	}
}

// showArguments shows what the functions were called with. A frame of the target has its
// number.
func (f *Filter) showArguments(t *wire.Trace) {
	n := uint64(0)
	if f.column {
		f.newline()
	}
	from := len(f.buf)
	for i := range t.Frames {
		fr := &t.Frames[i]
		n += fr.Elided
		ours := fr.Source != "" || fr.Repaired || fr.Kind == tracer.Inferred
		for k := range fr.Calls {
			s := render.Arguments(fr, k)
			if s == "" {
				continue
			}
			s = terminal.Clean(fr.Calls[k].Function) + s
			if !ours {
				s = fmt.Sprintf("#%d %s", n, s)
			}
			f.put(hostTag + s)
			f.newline()
		}
		if !ours {
			n += 1 + fr.Repeat
		}
	}
	f.inserted(from)
}

// showUnwound shows the frames that the unwinding has put in.
func (f *Filter) showUnwound(t *wire.Trace) {
	sent := -1 // number of the target's frame before
	shown := false
	for i := range t.Frames {
		switch fr := &t.Frames[i]; {
		case fr.Source != "":
			if !shown {
				f.note(fmt.Sprintf("unwound from the words of the stack, behind #%d:", max(sent, 0)))
			}
			shown = true
			f.added(fr)
		case fr.Repaired, fr.Kind == tracer.Inferred && fr.FP == 0:
			if shown {
				f.added(fr)
			}
		default:
			sent++
			shown = false
		}
	}
	if t.WalkEnd != "" {
		f.note(fmt.Sprintf("that completes the trace (%s)", t.End))
	}
}
