package render

// A trace as Markdown, to be pasted into an issue: what and why as a heading, the
// frames, registers and stacks as tables, the source as code. It is GitHub's dialect.
//
// All words of the target and of the ELF file stand in code spans or fenced blocks,
// in which Markdown means nothing: no name can end one, break a row, mention a user
// or become HTML.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// Markdown says how traces become Markdown. The zero value shows paths as the ELF
// file has them, and no source.
type Markdown struct {
	// Dir is the folder to which paths are shown relative if they lie in it.
	Dir string
	// Context is how many lines of source are shown before and behind each frame's
	// line, found by Sources.
	Context int
	Sources *source.Finder
}

// Trace returns the trace as Markdown, with an empty line at its end. Host.
func (m Markdown) Trace(t *wire.Trace) []byte {
	var b strings.Builder
	b.WriteString("### " + mdWord(kindOf(t)))
	if t.Reason != "" {
		b.WriteString(": " + span(t.Reason))
	}
	b.WriteString("\n\n")
	if facts := mdFacts(t); len(facts) > 0 {
		b.WriteString(strings.Join(facts, " · ") + "\n\n")
	}
	if len(t.Frames) > 0 {
		m.frames(&b, t)
	}
	switch {
	case t.Damaged:
		fmt.Fprintf(&b, "**Damaged:** %s\n\n", span(DamageNote(t)))
	case t.Format == "" && !t.Complete():
		fmt.Fprintf(&b, "**Truncated:** %s, there are more frames.\n\n",
			span(fmt.Sprintf("%s %#x", t.End, t.EndValue)))
	}
	mdRegisters(&b, t)
	mdStacks(&b, t)
	m.source(&b, t)
	return []byte(b.String())
}

// mdFacts is what there is to know of a trace besides its frames.
func mdFacts(t *wire.Trace) (facts []string) {
	fact := func(name, value string) { facts = append(facts, name+" "+span(value)) }
	if t.Context != "" {
		fact("context", t.Context)
	}
	if t.Thread != 0 || t.Format == "" {
		fact("thread", fmt.Sprint(t.Thread))
	}
	if t.HasCPU {
		fact("cpu", fmt.Sprint(t.CPU))
	}
	if t.Goroutine != 0 {
		fact("goroutine", fmt.Sprint(t.Goroutine))
	}
	if c := t.Cause; c != nil {
		fact("cause", c.String())
	}
	if t.BuildID != "" {
		fact("build", t.BuildID)
	}
	if t.Repeat && t.RepeatOf != 0 {
		fact("the same as trace", fmt.Sprint(t.RepeatOf))
	}
	return facts
}

// frames writes the table of frames.
func (m Markdown) frames(b *strings.Builder, t *wire.Trace) {
	b.WriteString("| # | | address | function | where |\n|--:|---|---|---|---|\n")
	at := uint64(0)
	for i := range t.Frames {
		f := &t.Frames[i]
		at += f.Elided
		if f.Elided > 0 {
			fmt.Fprintf(b, "| | | | %s | |\n", wire.LeftOutText(f.Elided))
		}
		number, kind := fmt.Sprint(at), f.Kind.String()
		at += 1 + f.Repeat
		addr := cell(hexString(f.Address))
		if f.Quoted && f.Address == 0 {
			addr = ""
		}
		switch {
		case f.Kind == tracer.Trap:
			fmt.Fprintf(b, "| %s | %s | %s | %s | |\n", number, kind, addr, cell(f.Trap()))
		case len(f.Calls) == 0:
			fmt.Fprintf(b, "| %s | %s | %s | | |\n", number, kind, addr)
		}
		for k := range f.Calls {
			c := &f.Calls[k]
			name, mark := CallName(f, c)
			where := ""
			if c.File != "" {
				where = cell(m.place(c))
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", number, kind, addr,
				cell(name+mark+Arguments(f, k)), where)
			number, kind, addr = "", "", ""
		}
		if f.Repeat > 0 {
			fmt.Fprintf(b, "| | | | %s | |\n", wire.RepeatText(f.Repeat))
		}
	}
	b.WriteByte('\n')
}

// place is a function's file and line.
func (m Markdown) place(c *lookup.Call) string {
	where := source.Relative(m.Dir, c.File)
	if c.Line > 0 {
		where += fmt.Sprintf(":%d", c.Line)
	}
	return where
}

// mdRegisters writes the registers, four to a row, in the order of the machine.
func mdRegisters(b *strings.Builder, t *wire.Trace) {
	names := t.RegisterNames()
	if len(names) == 0 {
		return
	}
	b.WriteString(
		"| register | value | register | value | register | value | register | value |\n|---|---|---|---|---|---|---|---|\n")
	for row := range slices.Chunk(names, 4) {
		for i := range 4 {
			if i < len(row) {
				fmt.Fprintf(b, "| %s | %s ", cell(row[i]), cell(hexString(t.Registers[row[i]])))
			} else {
				b.WriteString("| | ")
			}
		}
		b.WriteString("|\n")
	}
	b.WriteByte('\n')
}

// mdStacks writes the table of stacks.
func mdStacks(b *strings.Builder, t *wire.Trace) {
	if len(t.Stacks) == 0 {
		return
	}
	b.WriteString("| stack | size | used at least | limit | |\n|---|--:|--:|--:|---|\n")
	for i := range t.Stacks {
		k := &t.Stacks[i]
		fmt.Fprintf(b, "| %s | %d | %d | %d | %s |\n", cell(k.Name), k.Size, k.Used, k.Limit,
			cell(k.Level))
	}
	b.WriteByte('\n')
}

// source writes the lines around each frame's line.
func (m Markdown) source(b *strings.Builder, t *wire.Trace) {
	if m.Context <= 0 || m.Sources == nil {
		return
	}
	for i := range t.Frames {
		for k := range t.Frames[i].Calls {
			c := &t.Frames[i].Calls[k]
			lines := source.ContextLines(m.Sources.Lines(c.File, c.Line, m.Context), c.Line)
			if len(lines) == 0 {
				continue
			}
			text := strings.Join(lines, "\n")
			fence := strings.Repeat("`", max(3, longestRun(text)+1))
			fmt.Fprintf(b, "%d: %s\n\n%stext\n%s\n%s\n\n", i, span(m.place(c)), fence, text, fence)
		}
	}
}

// mdWord is a word that needs no code span, or else is in one.
func mdWord(s string) string {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return span(s)
		}
	}
	return s
}

// span is a code span with the text: its fence is longer than any run of backquotes
// in it.
func span(s string) string {
	s = strings.TrimSpace(terminal.Clean(s))
	if s == "" {
		return "-"
	}
	n := longestRun(s)
	if n == 0 {
		return "`" + s + "`"
	}
	fence := strings.Repeat("`", n+1)
	return fence + " " + s + " " + fence
}

// cell is a code span in a table, where a bar ends a cell unless it is escaped, and a
// backslash before it undoes that.
func cell(s string) string {
	if strings.Contains(s, "|") {
		s = strings.ReplaceAll(s, `\`, `\x5c`)
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return span(s)
}

// longestRun returns the length of the longest run of backquotes.
func longestRun(s string) int {
	longest := 0
	for run := range strings.FieldsFuncSeq(s, func(c rune) bool { return c != '`' }) {
		longest = max(longest, len(run))
	}
	return longest
}
