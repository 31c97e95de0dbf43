package page

// The log as it came, records left out: its beginning, where the machine says what it is,
// and its end, where it dies. Between them lines are only counted.

import (
	"bytes"
	"slices"
	"strings"
)

// logLine is a line of a log.
type logLine struct {
	text  string // without its ending
	cut   int    // bytes that were left out
	ends  []int  // numbers of the traces that it ends
	trace bool   // it is of a trace of ours
}

// logText keeps a log within limits.
type logText struct {
	first, last []*logLine
	bytes       [2]int // of both
	left        int    // lines between
	lines       int    // all
	total       int64  // bytes of all

	cur  []byte // the line that has not ended
	over int    // bytes of it that are left out
	open bool   // there is such a line

	before []*logLine // the latest that are of no trace
	within int        // lines that may be of a trace that has begun; 0: there is none
}

// maxWithin is how many lines without a trace's tag may stand in a trace: what a zf before
// this one has put there, and what a program prints meanwhile.
const maxWithin = 500

// write takes bytes of the log and hands them on, each line when it is kept.
func (l *logText) write(p []byte, feed func([]byte) error) error {
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n') + 1
		part := p
		if n > 0 {
			part = p[:n]
		}
		p = p[len(part):]
		l.total += int64(len(part))
		text := bytes.TrimSuffix(part, []byte("\n"))
		room := min(maxColumns-len(l.cur), len(text))
		l.cur, l.over, l.open = append(l.cur, text[:room]...), l.over+len(text)-room, true
		if n > 0 {
			l.end()
		}
		if err := feed(part); err != nil {
			return err
		}
	}
	return nil
}

// end ends a line.
func (l *logText) end() {
	if !l.open {
		return
	}
	s := string(l.cur)
	if l.over == 0 {
		s = strings.TrimRight(s, "\r")
	}
	line := &logLine{text: s, cut: l.over, trace: ofTrace(s)}
	l.cur, l.over, l.open = l.cur[:0], 0, false
	l.add(line)
	switch {
	case line.trace:
		l.within = maxWithin
		return
	case l.within > 0:
		l.within--
		return
	case strings.TrimSpace(s) == "":
		return
	}
	if l.before = append(l.before, line); len(l.before) > beforeLines {
		l.before = append(l.before[:0], l.before[1:]...)
	}
}

// ofTrace reports whether a line is one of a trace, whatever stands before it.
func ofTrace(s string) bool {
	_, rest, ok := strings.Cut(s, "zf1")
	return ok && rest != "" && strings.IndexByte(" :;=", rest[0]) >= 0
}

func (l *logText) add(line *logLine) {
	l.lines++
	size := len(line.text)
	if l.left == 0 && len(l.last) == 0 && len(l.first) < firstLines && l.bytes[0]+size <= firstBytes {
		l.first, l.bytes[0] = append(l.first, line), l.bytes[0]+size
		return
	}
	l.last, l.bytes[1] = append(l.last, line), l.bytes[1]+size
	drop := 0
	for len(l.last)-drop > lastLines || l.bytes[1] > lastBytes {
		l.bytes[1] -= len(l.last[drop].text)
		drop++
	}
	l.left += drop
	if l.last = l.last[drop:]; cap(l.last) > 4*lastLines { // what was dropped is to go
		l.last = slices.Clone(l.last)
	}
}

// endsHere marks the latest line: trace number n ends there.
func (l *logText) endsHere(n int) {
	l.within = 0
	for _, lines := range [][]*logLine{l.last, l.first} {
		if len(lines) > 0 {
			line := lines[len(lines)-1]
			line.ends = append(line.ends, n)
			return
		}
	}
}

// linesBefore returns the latest lines that are of no trace, once.
func (l *logText) linesBefore() []lineView {
	views := viewLines(l.before)
	for i := range views {
		views[i].Ends = nil // that is marked in the log
	}
	l.before = nil
	return views
}

// lineView is a line as the page shows it.
type lineView struct {
	Text  []span
	Ends  []int
	Trace bool
	Gap   int // instead of a line: so many are left out
}

func viewLines(lines []*logLine) []lineView {
	var views []lineView
	for _, line := range lines {
		text := spans(line.text, maxColumns)
		if line.cut > 0 {
			text = append(text, span{"… " + number(uint64(line.cut)) + " more bytes", true})
		}
		views = append(views, lineView{Text: text, Ends: line.ends, Trace: line.trace})
	}
	return views
}

// view returns the log.
func (l *logText) view() []lineView {
	views := viewLines(l.first)
	if l.left > 0 {
		views = append(views, lineView{Gap: l.left})
	}
	return append(views, viewLines(l.last)...)
}
