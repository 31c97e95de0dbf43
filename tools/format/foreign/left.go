package foreign

// What looks like a frame and was not resolved, since no reader knows its form. Once there is a
// trace in a log, nobody looks whether all of it was found: such lines are counted, and one
// sentence at the end says how many, which the first is, and why.
//
// Only what the ELF file has counts: a function with an offset that fits, or an address of its
// code. Frames of files that were not given are counted in lack.go.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// left counts such lines.
type left struct {
	lines int
	first string
	why   string // of the first
}

// maxFirst bounds what is shown of the first line.
const maxFirst = 100

func (l *left) add(line, why string) {
	if l.lines++; l.lines > 1 {
		return
	}
	line = strings.TrimSpace(line)
	l.first, l.why = strings.ToValidUTF8(line[:min(len(line), maxFirst)], ""), why
}

// sentence says what was left, "" if nothing was.
func (l *left) sentence() string {
	first := terminal.Clean(l.first)
	switch l.lines {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("a line looks like a frame and is not resolved, %q: %s", first, l.why)
	}
	return fmt.Sprintf("%d lines look like frames and are not resolved, the first is %q: %s", l.lines,
		first, l.why)
}

// mayBeFrame reports whether a place that no reader takes may be one of a frame: something names
// it (a register, perhaps), nothing follows, and it is no function's beginning, which is what a
// pointer to one is.
func (x *Reader) mayBeFrame(before, rest, name, words string) bool {
	if strings.HasSuffix(words, "+0x0") {
		return false
	}
	starts := before == "" || endsIn(before, quotes)
	labelled := endsIn(before, ":=(<[") && afterFrame().MatchString(rest)
	return (starts || labelled) && x.hasPlace(name, words[len(name)+1:])
}

// hasPlace reports whether one of the images has the offset, in hexadecimal or decimal digits, in
// a function of the name.
func (x *Reader) hasPlace(name, offset string) bool {
	off, ok := decimal(offset)
	if strings.HasPrefix(offset, "0x") {
		off, ok = hexNumber(offset)
	}
	return ok && x.hasFunction(name, off)
}

// hasFunction reports whether one of the images has the offset in a function of the name.
func (x *Reader) hasFunction(name string, off uint64) bool {
	return slices.ContainsFunc(x.programs(), func(p *program) bool {
		return slices.ContainsFunc(p.called(name),
			func(n lookup.Named) bool { return off <= max(n.Span, n.Size) })
	})
}

var (
	// A line that begins as one of a list of frames does: by a number, "at", "by" or "in".
	listed1 = lookup.Regexp(
		`^\s*(?:[-*>|]+\s*)?(?:(?:#|frame ?#?|\[ *)?[0-9]{1,3}(?:[\]:)]\s*|\.?\s+)|(?:at|by|from|in|called from|ra|ret|@)[ :]+|Binary file "[^"]*", at |=> ?|<- ?)(\S.*)$`)
	offset1 = lookup.Regexp(
		`(?:^|[^A-Za-z0-9_.$@])([A-Za-z_.$][A-Za-z0-9_.$]*)\+(0x[0-9a-f]{1,16}|[0-9]{1,9})(?:$|[\s>)\]\[:,/])`)
	address1 = lookup.Regexp(
		`(?:^|[\s(\[<])(?:0x([0-9a-f]{5,16})|([0-9a-f]{8}|[0-9a-f]{16}))(?:$|[\s>)\]:,])`)
	behind1  = lookup.Regexp(`^\s*(?:$|[)>\]:,(<\[|/-]|(?:in|at|from) |\S+\+)`)
	lined1   = lookup.Regexp(`^(?:/0x[0-9a-f]+)?[\s>)\]:,]+(?:at |\()?[^\s:]+\.[A-Za-z]{1,4}:[0-9]+`)
	inlined1 = lookup.Regexp(`[^\s:]+\.[A-Za-z]{1,4}:[0-9]+ in $`)
	stamp1   = lookup.Regexp(`^\[ *[0-9]+\.[0-9]+\]`)
	module1  = lookup.Regexp(`^\s*[0-9a-f]{8,16} [A-Za-z0-9_.-]+[:` + "`" +
		`]([A-Za-z_.$][A-Za-z0-9_.$]*)\+([0-9a-f]{1,8}) \(`)
	tail1 = lookup.Regexp(`\s(?:0x)?([0-9a-f]{8,16})\s*$`)
	call1 = lookup.Regexp(`^\s*[A-Za-z_.$][A-Za-z0-9_.$]*\(.*\)\s+(?:at\s+)?\S+\+0x[0-9a-f]+`)
)

// maxNumbers is how many numbers a frame has at most: a line with more is a dump of memory.
const maxNumbers = 4

// leave counts the line if it looks like a frame. No reader has taken it.
func (x *Reader) leave(line string) {
	if x.odd || x.looksLikeFrame(line) {
		x.Left++
		x.left.add(line, "no known form of a trace has such lines")
	}
}

func (x *Reader) looksLikeFrame(line string) bool {
	if !hasNumber(line) && !strings.Contains(line, "+") {
		return false
	}
	line = strings.TrimPrefix(line, stamp1().FindString(line))
	if m := module1().FindStringSubmatch(line); m != nil { // illumos
		return x.hasPlace(m[1], "0x"+m[2])
	}
	// What ends a line of a list whose head has come, or of one that has several of its addresses.
	ends := func() bool {
		m := tail1().FindStringSubmatch(line)
		if m == nil {
			return false
		}
		addr, ok := hexNumber(m[1])
		return ok && x.inCode(addr)
	}
	if (x.board.list || strings.Contains(strings.ToLower(line), "backtrace")) && ends() {
		return true
	}
	m := listed1().FindStringSubmatch(line)
	if m == nil && !(strings.Contains(line, "+0x") && call1().MatchString(line)) {
		return false
	}
	if strings.Contains(line, "+") {
		for _, n := range offset1().FindAllStringSubmatchIndex(line, maxNumbers) {
			// With its line it is resolved already, as in the answers of the kernel's monitor.
			// Of an inlined call the line comes first.
			if !lined1().MatchString(line[n[5]:]) && !inlined1().MatchString(line[:n[2]]) &&
				x.hasPlace(line[n[2]:n[3]], line[n[4]:n[5]]) {
				return true
			}
		}
	}
	if m == nil {
		return false
	}
	words := 0
	for word := range strings.FieldsSeq(line) {
		if word = strings.TrimPrefix(word, "0x"); len(word) > 1 && run(word, inHex) == len(word) {
			words++
		}
	}
	if words > maxNumbers {
		return false
	}
	if ends() {
		return true
	}
	for _, n := range address1().FindAllStringSubmatchIndex(line, maxNumbers) {
		end := max(n[3], n[5])
		if addr, ok := hexNumber(line[max(n[2], n[4]):end]); ok && x.inCode(addr) &&
			(behind1().MatchString(line[end:]) || x.hasFunction(strings.TrimSpace(line[end:]), 0)) {
			return true
		}
	}
	return false
}

// inCode reports whether the address is one of an image's code, where that runs.
func (x *Reader) inCode(addr uint64) bool {
	return slices.ContainsFunc(x.programs(),
		func(p *program) bool { return p.inText(addr-p.bias, true) })
}
