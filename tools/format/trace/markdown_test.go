package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// TestMarkdown: a whole trace, as it is pasted into an issue.
func TestMarkdown(t *testing.T) {
	for _, in := range goldenInputs() {
		if in.name != "text" && in.name != "cut" && in.name != "goroutine" {
			continue
		}
		var b []byte
		for _, tr := range filter(t, in.opt, in.in).traces {
			b = append(b, render.Markdown{Dir: "/src"}.Trace(tr)...)
		}
		golden(t, in.name+".md", b)
	}
}

// cells splits a row as GitHub's dialect does: at bars that no backslash escapes, where
// a backslash before punctuation is an escape, inside of code too.
func cells(row string) (all []string) {
	cell := ""
	for i := 0; i < len(row); i++ {
		switch c := row[i]; {
		case c == '\\' && i+1 < len(row) && strings.IndexByte("|\\`*_{}[]()#+-.!", row[i+1]) >= 0:
			if row[i+1] != '|' {
				cell += `\`
			}
			cell += row[i+1 : i+2]
			i++
		case c == '|':
			all = append(all, strings.TrimSpace(cell))
			cell = ""
		default:
			cell += string(c)
		}
	}
	return append(all, strings.TrimSpace(cell))[1:]
}

// uncode returns what a code span shows.
func uncode(t *testing.T, s string) string {
	n := len(s) - len(strings.TrimLeft(s, "`"))
	if s == "" || s == "-" {
		return ""
	}
	if n == 0 || len(s) < 2*n || !strings.HasSuffix(s, strings.Repeat("`", n)) {
		t.Fatalf("%q is no code span", s)
	}
	in := s[n : len(s)-n]
	for run := range strings.FieldsFuncSeq(in, func(r rune) bool { return r != '`' }) {
		if len(run) == n {
			t.Fatalf("%q ends before its end", s)
		}
	}
	return strings.TrimSpace(in)
}

// hostile is a trace in which every word is one.
func hostile(word string) *wire.Trace {
	return &wire.Trace{
		Seq: 1, Kind: word, Context: word, Reason: word, BuildID: word, End: word, Goroutine: 1, RepeatOf: 3, Repeat: true,
		Registers: map[string]uint64{word: 1, "rip": 2},
		Cause:     &wire.Cause{Vector: 14},
		Frames: []wire.Frame{
			{Kind: tracer.PC, Address: 1, Stack: word, Module: word, Note: word, Calls: []lookup.Call{
				{Function: word, File: word, Line: 3, Inlined: true}, {Function: word, File: word, Line: 3}}},
			{Kind: tracer.RA, Address: 2},
			{Kind: tracer.Trap, Address: 3, Vector: 14},
			{Kind: tracer.Scan, Quoted: true, Calls: []lookup.Call{{Function: word}}},
		},
		Stacks: []wire.Stack{{Name: word, Level: word}},
	}
}

// checkMarkdown: every line is what the layout says, and every word of the trace stands
// in a code span.
func checkMarkdown(t *testing.T, md string) {
	t.Helper()
	for line := range strings.Lines(md) {
		line = strings.TrimSuffix(line, "\n")
		for _, r := range line {
			if terminal.IsControl(r) {
				t.Errorf("%q has a control character", line)
			}
		}
		switch {
		case line == "", strings.HasPrefix(line, "### "), strings.HasPrefix(line, "**"), strings.HasPrefix(line, "context "),
			strings.HasPrefix(line, "goroutine "), strings.HasPrefix(line, "thread "):
			for i, part := range strings.Split(line, " · ") {
				if at := strings.IndexByte(part, '`'); at >= 0 && !strings.HasPrefix(line, "**") && i > 0 {
					uncode(t, part[at:])
				}
			}
		case strings.HasPrefix(line, "|"):
			row := cells(line)
			if n := len(row) - 1; n != 5 && n != 8 {
				t.Errorf("%q has %d cells", line, n)
			}
			for _, c := range row {
				if strings.Contains(c, "`") {
					uncode(t, c)
				} else if strings.ContainsAny(c, "<@*_[") {
					t.Errorf("%q in %q is in no code span", c, line)
				}
			}
		default:
			t.Errorf("%q is no line of ours", line)
		}
	}
}

// TestMarkdownHostile: no name can break a row, end its code span, mention anybody or
// drive a terminal.
func TestMarkdownHostile(t *testing.T) {
	for _, word := range []string{"a|b", `a\|b`, `a\\|b\`, "a`b", "```\n# x", "@user #1 <script>", "x\n\n| y |", "\x1b[2J", "` `` |", "", " ", "\u202e"} {
		checkMarkdown(t, string(render.Markdown{}.Trace(hostile(word))))
	}
	md := string(render.Markdown{}.Trace(hostile(`op|er\ator`)))
	if !strings.Contains(md, `op\|er\x5cator`) {
		t.Errorf("the name is lost:\n%s", md)
	}
}

// FuzzMarkdown: whatever the names.
func FuzzMarkdown(f *testing.F) {
	for _, word := range []string{"main.f", "a|b\\|`c``", "\n#\x00", "\xff<"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		checkMarkdown(t, string(render.Markdown{Dir: "/src"}.Trace(hostile(word))))
	})
}

// TestMarkdownSource: the source in fenced blocks that its lines cannot end.
func TestMarkdownSource(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.go")
	if err := os.WriteFile(file, []byte("one\n```\n````x\ttwo\nfour\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	tr := &wire.Trace{Kind: "panic", End: "zero", Frames: []wire.Frame{{Address: 1, Calls: []lookup.Call{{Function: "f", File: file, Line: 3}}}}}
	got := string(render.Markdown{Dir: dir, Context: 1, Sources: source.New(dir, nil)}.Trace(tr))
	if want := "0: `x.go:3`\n\n`````text\n  2 | ```\n> 3 | ````x   two\n  4 | four\n`````\n\n"; !strings.HasSuffix(got, want) {
		t.Errorf("Markdown = %s\nwant at its end %s", got, want)
	}
}
