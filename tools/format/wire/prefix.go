package wire

// What a log collector puts in front of each line: a timestamp, a host, a program, a
// container.
//
//	[   12.345678] zf1 begin 1 fault early thread=0 build=...
//	Nov 21 17:55:30 host kernel: zf1 begin ...
//	web-1  | zf1 begin ...
//
// A line "zf1 begin" that is well-formed is taken for one behind any prefix that
// looks like one, and so is the boot report with its build ID. From then on a tag
// counts behind a prefix of the same shape too, that is, with other digits. What is
// damaged or made up by this is told by the CRC, which is of the lines without it.

import (
	"bytes"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tracer"
)

// maxPrefix is the longest prefix in bytes, and maxHold how much of a line is held
// back to look for one.
const (
	MaxPrefix = 128
	maxHold   = MaxPrefix + 64
)

var (
	tagStart  = []byte(strings.TrimRight(tracer.Tag, " "))
	beginning = []byte(tracer.Tag + "begin ")
)

// prefixed takes bytes of a line that may yet be a trace's behind a prefix, and
// returns what is left of b.
func (p *Parser) prefixed(b []byte) []byte {
	n := bytes.IndexByte(b, '\n') + 1
	whole := n > 0
	if !whole {
		n = len(b)
	}
	// Nearly all lines are whole and have no tag.
	if whole && len(p.line) == 0 && !bytes.Contains(b[:min(n, maxHold)], tagStart) &&
		!(p.markupNow() && bytes.Contains(b[:min(n, maxHold)], []byte(elementTag))) {
		p.rest = b[n:]
		p.report = p.report[:0]
		p.h.Text(b[:n])
		p.watch(b[:n])
		return b[n:]
	}
	n = min(n, maxHold-len(p.line))
	p.line = append(p.line, b[:n]...)
	p.rest = b[n:]
	full, partial := p.tagged(p.line)
	if !full && !partial {
		p.prefix, full = p.behindPrefix()
	}
	ended := p.line[len(p.line)-1] == '\n'
	switch {
	case full && ended:
		p.endLine()
	case full:
		p.state = lineTagged
	case ended || len(p.line) >= maxHold:
		p.release()
	}
	return b[n:]
}

// behindPrefix returns where in the line a tag begins, behind a prefix.
func (p *Parser) behindPrefix() (at int, ok bool) {
	for at := 1; at < len(p.line) && at <= MaxPrefix; at++ {
		prefix, rest := p.line[:at], p.line[at:]
		if rest[0] != tagStart[0] && rest[0] != elementTag[0] {
			continue
		}
		if full, _ := p.tagged(rest); full && (p.shape != "" && Shape(prefix) == p.shape ||
			bytes.HasPrefix(rest, beginning) && isPrefix(prefix)) {
			return at, true
		}
	}
	return 0, false
}

// isPrefix reports whether a log collector may have written it.
func isPrefix(b []byte) bool {
	s := terminal.StripColours(string(b))
	if s == "" || strings.IndexByte(" \t|>:];", s[len(s)-1]) < 0 {
		return false
	}
	return terminal.IsText(s)
}

// Shape is a prefix without what changes from line to line: each run of digits is
// one, and blanks, which pad them, are none.
func Shape(prefix []byte) string {
	var b []byte
	digits := false
	for _, c := range prefix {
		before := digits
		digits = c >= '0' && c <= '9'
		switch {
		case c == ' ', digits && before:
			continue
		case digits:
			c = '0'
		}
		b = append(b, c)
	}
	return string(b)
}

// learn keeps the shape of a prefix.
func (p *Parser) learn(prefix []byte) {
	if p.Prefixes && len(prefix) > 0 && len(prefix) <= MaxPrefix {
		p.shape = Shape(prefix)
	}
}

// reportAt returns where the boot report begins in a line.
func (p *Parser) reportAt(line []byte) int {
	if !p.Prefixes {
		return 0
	}
	if i := bytes.Index(line, reportStart); i > 0 && isPrefix(line[:i]) {
		return i
	}
	return 0
}
