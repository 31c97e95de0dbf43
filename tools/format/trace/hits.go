package trace

// What is at the addresses in text of others, shown below its lines.

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/format/terminal"
)

// pass sends text of the input through and says what is at the addresses in it.
func (f *Filter) pass(p []byte) {
	f.text(p)
	if len(p) > 0 {
		f.toText(p)
	}
	if f.foreign == nil {
		return
	}
	f.showHits(f.foreign.Add(p))
	if len(f.buf) >= sendAt {
		f.send()
	}
}

// toText gives text to who wants it alone. What Flush releases may be the beginning of a trace's
// line, and waits for more.
func (f *Filter) toText(p []byte) {
	p = f.withoutSaved(p)
	switch {
	case f.opt.Text == nil || len(p)+len(f.loose) == 0:
	case f.flushing:
		f.loose = append(f.loose, p...)
	case f.err == nil:
		_, f.err = f.opt.Text.Write(append(f.loose, p...))
		f.loose = f.loose[:0]
	}
}

// lastLine reads what the input ends with, if that is no whole line.
func (f *Filter) lastLine() {
	if f.foreign != nil && len(f.foreign.Line) > 0 {
		f.showHits(f.foreign.EndLine())
	}
}

// showHits shows what is at the addresses of a line, below it.
func (f *Filter) showHits(hits []foreign.Hit, ending string) {
	if len(hits) == 0 {
		return
	}
	f.stats.Foreign += len(hits)
	f.ending = append(f.ending[:0], ending...)
	if f.column {
		f.newline()
	}
	from := len(f.buf)
	for i := range hits {
		f.showHit(&hits[i])
	}
	f.due(from)
}

// showHit shows what is at an address of the line above.
func (f *Filter) showHit(h *foreign.Hit) {
	if h.Label != "" {
		f.put(callIndent, terminal.Clean(h.Label), ":")
		f.newline()
	}
	var room [24]byte
	for i := range h.Calls {
		c := &h.Calls[i]
		name := terminal.Clean(c.Function)
		if name == "" {
			name = "??"
		}
		end := append(room[:0], " (inlined)"...)
		if !c.Inlined {
			end = strconv.AppendUint(append(room[:0], "+0x"...), c.Offset, 16)
		}
		f.put(callIndent)
		if f.opt.Color {
			f.put(f.paint(terminal.Bold, name+string(end)))
		} else {
			f.buf = append(append(f.buf, name...), end...)
		}
		if h.Brief {
			f.buf = fmt.Appendf(f.buf, " at %#x", h.Addr)
		} else if where, columns := f.place(c); columns > 0 {
			if len(callIndent)+utf8.RuneCountInString(name)+len(end)+1+columns <= width {
				f.put(" ")
			} else {
				f.newline()
				f.put(fileIndent)
			}
			f.buf = append(f.buf, where...)
		}
		if i == len(h.Calls)-1 {
			f.put(terminal.Clean(h.Note))
		}
		f.newline()
		f.context(c)
	}
}

// withoutSaved drops the host's lines below those of a trace that was resolved before the log was
// saved: indented ones, and notes. They pass as text otherwise, for a better ELF or less of the
// source may be asked for now (again.go).
func (f *Filter) withoutSaved(p []byte) []byte {
	if f.saved == savedLine && len(f.part)+len(p) > 0 {
		p, f.part = append(f.part, p...), nil
	}
	for f.saved != notSaved && len(p) > 0 {
		if f.saved == savedLine && len(p) < len(hostTag) && strings.HasPrefix(hostTag, string(p)) {
			f.part = bytes.Clone(p) // more of it is to come
			return nil
		}
		if f.saved == savedLine && p[0] != ' ' && !bytes.HasPrefix(p, []byte(hostTag)) {
			f.saved = notSaved
			break
		}
		i := bytes.IndexByte(p, '\n')
		if f.saved = savedLine; i < 0 {
			f.saved, i = inSavedLine, len(p)-1
		}
		p = p[i+1:]
	}
	return p
}

// Where text is below a line of such a trace: at the beginning of a line, or in one that is
// dropped.
const (
	notSaved = iota
	savedLine
	inSavedLine
)
