package trace

// A log that was saved with its traces resolved, as `zf run > log` does, goes
// through a Filter again: the output is to be the log itself, and the traces in
// it are as intact as they were. So a frame line that ends in a function of ours
// is read up to it, and keeps it (wire/saved.go); and a line of ours that the input
// brings is not shown twice (again).
//
// A line is taken for one of ours only if it is, byte for byte, what would be
// inserted at this place; all other text passes as ever. So source that was shown
// stays where it is when less of it, or none, is asked for now; but of a compact trace,
// all of whose lines of ours stand together, those behind the first difference come
// twice then.

import (
	"bytes"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
)

// maxAgain bounds the bytes that are kept on either side. A log with more of
// them in one place has the rest twice.
const maxAgain = 256 << 10

// again compares what a Filter inserts with the input at the same place. Both
// may come first: a note that a trace was cut is due when the next one begins,
// and an earlier run has put it in front of that.
type again struct {
	due    []byte // inserted, and not yet met in the input
	held   int    // bytes at the start of due that the input has brought so far
	active bool   // there has been a trace line
	before []byte // text since the latest trace line, with a line feed in front
}

// reset begins anew, at a line of a trace.
func (a *again) reset() {
	a.due, a.held = a.due[:0], 0
	a.active, a.before = true, append(a.before[:0], '\n')
}

// release returns the held bytes, which turned out to be text.
func (a *again) release() []byte {
	if a.held == 0 {
		return nil
	}
	p := bytes.Clone(a.due[:a.held])
	a.due, a.held = a.due[:0], 0
	a.keep(p)
	return p
}

// text takes text of the input and returns what of it is to be shown, in two
// parts. Whole lines that are due are dropped.
func (a *again) text(p []byte) (before, rest []byte) {
	for len(p) > 0 && len(a.due) > 0 {
		if p[0] != a.due[a.held] {
			before = a.release()
			a.due = a.due[:0]
			break
		}
		a.held++
		if p[0] == '\n' {
			a.due, a.held = a.due[a.held:], 0
		}
		p = p[1:]
	}
	a.keep(p)
	return before, p
}

// keep notes text that passes.
func (a *again) keep(p []byte) {
	if a.active {
		a.before = append(a.before, p[:min(len(p), maxAgain-min(len(a.before), maxAgain))]...)
	}
}

// inserted is called behind each insertion of whole lines, which begins at
// f.buf[from]. If the input had the same just before, it is taken back.
func (f *Filter) inserted(from int) {
	a := &f.again
	s := terminal.WithoutColours(f.buf[from:])
	if len(s) == 0 {
		return
	}
	if len(a.before) <= len(s) { // nothing was, as a rule
		a.expect(s)
		return
	}
	if a.had(s) {
		f.buf = f.buf[:from]
		return
	}
	a.expect(s)
}

// had reports whether the input had these lines just before, and takes them off.
func (a *again) had(s []byte) bool {
	i := bytes.Index(a.before, append([]byte{'\n'}, s...))
	if i >= 0 {
		a.before = a.before[i+len(s):] // its line feed is the one in front of what follows
	}
	return i >= 0
}

// due is called behind an insertion of whole lines below a line of text. The input
// can have the same behind it only.
func (f *Filter) due(from int) { f.again.expect(terminal.WithoutColours(f.buf[from:])) }

// expect notes what was inserted.
func (a *again) expect(s []byte) {
	if len(a.due)+len(s) <= maxAgain {
		a.due = append(a.due, s...)
	}
}
