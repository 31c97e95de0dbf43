package trace

// What is at the addresses in text of others, shown below its lines.

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/format/terminal"
)

// pass sends text of the input through and says what is at the addresses in it.
func (f *Filter) pass(p []byte) {
	f.text(p)
	if f.foreign == nil {
		return
	}
	f.showHits(f.foreign.Add(p))
	if len(f.buf) >= sendAt {
		f.send()
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
		f.buf = append(f.buf, callIndent...)
		f.buf = append(f.buf, terminal.Clean(h.Label)...)
		f.buf = append(f.buf, ':')
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
		f.buf = append(f.buf, callIndent...)
		if f.opt.Color {
			f.buf = append(f.buf, f.paint(terminal.Bold, name+string(end))...)
		} else {
			f.buf = append(append(f.buf, name...), end...)
		}
		if h.Brief {
			f.buf = fmt.Appendf(f.buf, " at %#x", h.Addr)
		} else if where, columns := f.place(c); columns > 0 {
			if len(callIndent)+utf8.RuneCountInString(name)+len(end)+1+columns <= width {
				f.buf = append(f.buf, ' ')
			} else {
				f.newline()
				f.buf = append(f.buf, fileIndent...)
			}
			f.buf = append(f.buf, where...)
		}
		if i == len(h.Calls)-1 {
			f.buf = append(f.buf, terminal.Clean(h.Note)...)
		}
		f.newline()
		f.context(c)
	}
}
