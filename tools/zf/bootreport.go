package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tracer"
)

// bootReport leaves the kernel's boot report out of its text, and keeps it: the machine may die
// before anything else is said.
type bootReport struct {
	to     io.Writer
	before func(text []byte) // is called before text passes

	mu     sync.Mutex
	line   []byte // as far as it has come
	lines  int    // of the report that have come; 0: it has not begun, or has ended
	table  bool   // the latest of them are of its table, which is its end
	middle bool   // of a line that passes
	kept   []byte
}

// reportLine matches the beginning of a line of the report, or a row of its table of stacks: a name
// padded to eight columns. What the runtime is said to be, and what is odd about options, is for
// everyone.
var reportLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(zeroframe|loader|screen|memory|cpus?|clock|random|branch|parts|network|netlog|` +
			`shares|port|probes|stack|boot|pf|exc|irq|df|nmi|mc|debug|panic|nested|kernel|       ) `)
})

// reportBegin begins the report.
const reportBegin = "zeroframe "

// longestName is how many bytes of a line tell whether it is one of the report.
const longestName = len(reportBegin)

func (b *bootReport) Write(p []byte) (int, error) {
	if out := b.passing(p); len(out) > 0 {
		if b.before != nil {
			b.before(out)
		}
		if _, err := b.to.Write(out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// passing takes bytes, and returns what is not of the report.
func (b *bootReport) passing(p []byte) (out []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range p {
		if b.middle {
			out = append(out, c)
			b.middle = c != '\n'
			continue
		}
		b.line = append(b.line, c)
		ours := b.mayBe()
		if !ours && (b.lines == 1 || b.table) { // elsewhere a line that is none of it can be in its midst
			b.lines, b.table = 0, false
			ours = b.mayBe()
		}
		if !ours {
			out = append(out, b.line...)
			b.middle, b.line = c != '\n', b.line[:0]
		} else if c == '\n' {
			out = b.take(out)
		}
	}
	return out
}

// mayBe reports whether the line, as far as it has come, may be one of the report, or of a trace.
func (b *bootReport) mayBe() bool {
	line := strings.TrimLeft(string(b.line), "\r")
	begins := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			n := min(len(w), len(line))
			return w[:n] == line[:n]
		})
	}
	switch {
	case b.lines == 1: // with the option report=off there are no others
		return begins("loader ")
	case b.lines > 1:
		return len(line) < longestName && !strings.Contains(line, "\n") || reportLine().MatchString(line)
	}
	return begins(traceWords...) ||
		begins(reportBegin) && (!strings.HasSuffix(line, "\n") || strings.Contains(line, " build "))
}

// take takes a whole line.
func (b *bootReport) take(out []byte) []byte {
	is := func(word string) bool { return bytes.HasPrefix(b.line, []byte(word)) }
	switch {
	case b.lines > 0 || is(reportBegin):
		if b.lines == 0 {
			b.kept = b.kept[:0]
		}
		b.kept, b.lines, b.table = append(b.kept, b.line...), b.lines+1, b.table || is("stack ")
		if is("kernel ") {
			b.lines, b.table = 0, false
		}
	case !traceLine().Match(b.line):
		out = append(out, b.line...)
	}
	b.line = b.line[:0]
	return out
}

// traceWords begin the lines that traceLine matches, which belong to a trace and say what a few
// lines about it say better.
var traceWords = []string{"CPU ", tracer.AllGoroutines}

var traceLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(CPU \d+ has the kernel lock |` + tracer.AllGoroutines + `\d)`)
})

// show shows the report of a machine that has died before the program began, but for its table. If
// only asks for one that has not come whole, a whole one is not shown.
func (b *bootReport) show(only bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lines == 0 && only {
		return
	}
	report, _, _ := bytes.Cut(append(b.kept, b.line...), []byte("\nstack "))
	if begin, rest, _ := bytes.Cut(report, []byte("\n")); len(rest) > 0 {
		fmt.Fprintf(b.to, "%s\n%s\n", begin, bytes.TrimSuffix(rest, []byte("\n")))
	}
	if b.lines > 0 {
		b.line = b.line[:0]
	}
}

// Close lets out a line that has not ended.
func (b *bootReport) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lines > 0 {
		return nil
	}
	_, err := b.to.Write(b.line)
	b.line = nil
	return err
}
