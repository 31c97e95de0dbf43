package trace

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

	"github.com/zeroframe/zeroframe/tracer"
)

// maxPrefix is the longest prefix in bytes, and maxHold how much of a line is held
// back to look for one.
const (
	maxPrefix = 128
	maxHold   = maxPrefix + 64
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
	full, partial := p.tagged()
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
	for at := 1; at < len(p.line) && at <= maxPrefix; at++ {
		rest := p.line[at:]
		switch {
		case rest[0] == tagStart[0]:
			if !hasTag(rest) {
				continue
			}
		case rest[0] != elementTag[0] || !p.markupNow() || !bytes.HasPrefix(rest, []byte(elementTag)):
			continue
		}
		prefix := p.line[:at]
		if p.shape != "" && shape(prefix) == p.shape || bytes.HasPrefix(rest, beginning) && isPrefix(prefix) {
			return at, true
		}
	}
	return 0, false
}

// hasTag reports whether the line begins with a tag.
func hasTag(line []byte) bool {
	for _, tag := range [...]string{tracer.Tag, tracer.CompactTag, tracer.CompactEnd, tracer.RepeatTag} {
		if len(line) >= len(tag) && string(line[:len(tag)]) == tag {
			return true
		}
	}
	return false
}

// isPrefix reports whether a log collector may have written it.
func isPrefix(b []byte) bool {
	s := stripColours(string(b))
	if s == "" || strings.IndexByte(" \t|>:]", s[len(s)-1]) < 0 {
		return false
	}
	for _, r := range s {
		if control(r) && r != '\t' {
			return false
		}
	}
	return true
}

// shape is a prefix without what changes from line to line: each run of digits is
// one, and blanks, which pad them, are none.
func shape(prefix []byte) string {
	var b []byte
	for _, c := range prefix {
		switch {
		case c == ' ':
			continue
		case c >= '0' && c <= '9':
			if n := len(b); n > 0 && b[n-1] == '0' {
				continue
			}
			c = '0'
		}
		b = append(b, c)
	}
	return string(b)
}

// learn keeps the shape of a prefix.
func (p *Parser) learn(prefix []byte) {
	if p.Prefixes && len(prefix) > 0 && len(prefix) <= maxPrefix {
		p.shape = shape(prefix)
	}
}

// reportAt returns where the boot report begins in a line.
func (p *Parser) reportAt(line []byte) int {
	if !p.Prefixes {
		return 0
	}
	if i := bytes.Index(line, []byte("zeroframe ")); i > 0 && isPrefix(line[:i]) {
		return i
	}
	return 0
}

// knownPrefix matches the prefixes that are told by themselves, in front of lines of
// others: a timestamp, as syslog, journalctl, dmesg, ts and docker write it, with the
// host and the program, or a container with a bar.
var knownPrefix = pattern(`^(?:<[0-9]{1,3}>)?(?:` +
	`(?:\[?(?:[A-Z][a-z]{2} +)?(?:[A-Z][a-z]{2} +[0-9]{1,2}|[0-9]{4}[-/][0-9]{2}[-/][0-9]{2})[T ]+)?\[?[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?(?: [0-9]{4})?\]?:?(?:[ \t]|$)(?:[A-Za-z0-9_.-]+ (?:kernel|[A-Za-z0-9_./@-]+\[[0-9]+\]): ?|std(?:out|err) [FP] )?` +
	`|[A-Za-z0-9][A-Za-z0-9_./-]* *\|(?: |$)` +
	`|\[pod/[^\]\s]+\](?: |$)` +
	`)`)

// dmesgStamp is the kernel's own time, which may follow another prefix.
var dmesgStamp = pattern(`^(?:<[0-9]{1,3}>)?\[ *[0-9]+\.[0-9]{3,9}\](?:\[ *[TC][0-9]+\])?(?: |$)`)

// withoutPrefix returns the line behind what a log collector has put in front of it.
func withoutPrefix(line string) string {
	for range 2 { // kubectl's pod, and then the time
		if !mayHavePrefix(line) {
			break
		}
		n := len(knownPrefix().FindString(line))
		if n == 0 {
			break
		}
		line = line[n:]
	}
	for range 2 { // dmesg's and, in what it shows, the machine's own
		if line != "" && (line[0] == '[' || line[0] == '<') {
			line = line[len(dmesgStamp().FindString(line)):]
		}
	}
	if rest, ok := strings.CutPrefix(line, "#011"); ok { // rsyslog's tab
		line = "\t" + rest
	}
	return line
}

// mayHavePrefix keeps the slow look from most lines.
func mayHavePrefix(line string) bool {
	if len(line) < 4 {
		return false
	}
	switch c := line[0]; {
	case c == '[': // dmesg's time, most often, which is none of these
		rest := strings.TrimLeft(line[1:min(len(line), 16)], " 0123456789")
		return rest != "" && rest[0] != '.'
	case c == '<', c >= '0' && c <= '9':
		return true
	case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
		return line[3] == ' ' || strings.IndexByte(line[:min(len(line), maxPrefix)], '|') > 0
	}
	return false
}
