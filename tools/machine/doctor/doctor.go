package doctor

// A finding is one line: what is there, or what is not and how to get it. Only what `zf run`
// cannot do without counts; everything else serves a command that not everybody uses.

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// State is how a check has come out.
type State int

const (
	// OK means that it is there and works.
	OK State = iota
	// Absent means that it is not there, which only some commands need.
	Absent
	// Broken means that it is there and does not work, or is needed and is not there.
	Broken
)

// String returns the word at the start of a line.
func (s State) String() string { return [...]string{"ok", "none", "BAD"}[s] }

// Finding is the result of a check.
type Finding struct {
	State State
	Text  string // one line: what there is, or what is missing and the next step
}

// Check is one line of the report.
type Check struct {
	Name   string // a word
	Needed bool   // zf run does not work without
	Run    func(ctx context.Context) Finding
}

// Found returns a finding that all is well, as for fmt.Sprintf.
func Found(format string, a ...any) Finding { return Finding{OK, fmt.Sprintf(format, a...)} }

// Missing returns a finding of what is not there.
func Missing(format string, a ...any) Finding { return Finding{Absent, fmt.Sprintf(format, a...)} }

// Wrong returns a finding of what does not work.
func Wrong(format string, a ...any) Finding { return Finding{Broken, fmt.Sprintf(format, a...)} }

// Report runs the checks at once, writes a line for each in their order, and reports whether
// all that are needed have found what they want. Context: host.
func Report(ctx context.Context, checks []Check, w io.Writer) (works bool) {
	findings := make([]Finding, len(checks))
	var running sync.WaitGroup
	for i, c := range checks {
		running.Go(func() {
			f := c.Run(ctx)
			if c.Needed && f.State == Absent {
				f.State = Broken
			}
			findings[i] = f
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return false // the programs that were asked have been interrupted
	}
	works = true
	for i, f := range findings {
		fmt.Fprintf(w, "%-5s %-11s %s\n", f.State, checks[i].Name, f.Text)
		works = works && (f.State != Broken || !checks[i].Needed)
	}
	return works
}
