package wire

// A log that was saved with its traces resolved: a frame's line ends in a function that
// the host has put there. What the target has sent is told from it.

import (
	"bytes"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// frameLine matches a frame's line as the target sends it, with the name of the
// stack at its end, and behind that what the filter of package trace puts there. The latter is
// told by its own end, so that a damaged line does not pass for one of these.
var frameLine = lookup.Regexp(
	`^zf1 (?:#[0-9]+ [a-z]+ 0x[0-9a-f]+|\{\{\{bt:[0-9]+:0x[0-9a-f]+:[a-z]+\}\}\})` +
		`(?: sp 0x[0-9a-f]+)? fp 0x[0-9a-f]+ [^ =]+` +
		`( (?:0x[0-9a-f]+ \(.+\)|[^ =].*(?:\+0x[0-9a-f]+|\((?:inlined|inferred|repaired)\))))$`)

// wire returns how much of a line the target has sent.
func sent(line []byte) int {
	// Cheap tests first: few lines are annotated.
	if n := len(tracer.Tag); len(line) > n && (line[n] == '#' || line[n] == '{') && goesOn(line) {
		if m := frameLine().FindSubmatchIndex(line); m != nil {
			return m[2]
		}
	}
	return len(line)
}

// goesOn reports whether there is something behind the name of the stack, if the line is
// a frame's.
func goesOn(line []byte) bool {
	_, rest, _ := bytes.Cut(line, []byte(" fp "))
	return bytes.Count(rest, []byte(" ")) > 1
}
