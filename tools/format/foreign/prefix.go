package foreign

// What stands in front of the lines of others: prefixes that are known, and such as are
// learnt from the lines by which traces begin.

import (
	"math/bits"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// knownPrefix matches the prefixes that are told by themselves, in front of lines of
// others: a timestamp, as syslog, journalctl, dmesg, ts and docker write it, with the
// host and the program, or a container with a bar. Those whose words change from line
// to line must be here; the others are learnt (withoutShape).
var knownPrefix = lookup.Regexp(`^(?:<[0-9]{1,3}>)?(?:` +
	`(?:\[?(?:[A-Z][a-z]{2} +)?(?:[A-Z][a-z]{2} +[0-9]{1,2}|[0-9]{4}[-/][0-9]{2}[-/][0-9]{2})[T ]+)?\[?[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?(?: [0-9]{4})?\]?:?(?:[ \t]|$)(?:(?:[A-Z]{3,4} )?[A-Za-z0-9_.-]+ (?:kernel|[A-Za-z0-9_./@-]+\[[0-9]+\]): ?|std(?:out|err) [FP] )?` +
	`|[A-Za-z0-9][A-Za-z0-9_./-]* *\|(?: |$)` +
	`|\[pod/[^\]\s]+\](?: |$)` +
	`|[a-z0-9]+ *:(?:emerg|alert|crit|err|warn|notice|info|debug) *: ` + // dmesg -x
	`|[0-9]{1,3},[0-9]+,[0-9]+,[-c+](?:,[a-z]+=[^;,]*)*;` + // /dev/kmsg and netconsole
	// logcat
	`|[0-9]{2}-[0-9]{2} [0-9:]{8}\.[0-9]{3} +(?:[a-z0-9_]+ +)?[0-9]+ +[0-9]+ [VDIWEFS] [^:]*: ?` +
	`)`)

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
			line = line[stampEnd(line):]
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
		return line[3] == ' ' || strings.IndexByte(line[:min(len(line), 12)], ':') > 0 ||
			strings.IndexByte(line[:min(len(line), wire.MaxPrefix)], '|') > 0
	}
	return false
}

// anchors begin lines of traces, or lines before them. What stands in front of one is
// in front of the lines that follow too.
var anchors = [...]string{
	"Call Trace:", "Call trace:", "------------[ cut here", "BUG: ", "watchdog: BUG: ", "rcu: INFO: ",
	"WARNING: ", "Kernel panic - not syncing",
	"Unable to handle kernel ", "Internal error: ", "goroutine ", "panic: ", "fatal error: ",
	"call trace:",
	"#0  ", "#0 0x", "# Child-SP", "Child-SP ", "ChildEBP ",
}

// anchorAt returns where in the line the first of the anchors is, or -1.
func anchorAt(line string) int {
	head := line[:min(len(line), wire.MaxPrefix+len("Kernel panic - not syncing"))]
	for i := 0; i+2 < len(head); i++ {
		some := anchorBytes[0][head[i]]
		if some == 0 {
			continue
		}
		some &= anchorBytes[1][head[i+1]] & anchorBytes[2][head[i+2]]
		for ; some != 0; some &= some - 1 {
			a := anchors[bits.TrailingZeros32(some)]
			if strings.HasPrefix(head[i:], a) && (a != "goroutine " || goHead().MatchString(line[i:])) {
				return i
			}
		}
	}
	return -1
}

// withoutShape returns the line behind a prefix that is none of the known ones: of the
// shape that one had in front of an anchor.
func (x *Reader) withoutShape(line string) string {
	if at := anchorAt(line); at >= 0 {
		prefix := strings.TrimRight(line[:at], " ")
		if prefix == "" {
			x.shape = ""
			return line // blanks are part of the line
		}
		if at > wire.MaxPrefix || !endsIn(prefix, "|>:;])"+decimals) || !terminal.IsText(prefix) {
			return line
		}
		x.shape, x.blank = wire.Shape([]byte(prefix)), line[at-1] == ' '
		return line[at:]
	}
	if x.shape == "" {
		return line
	}
	at := shapeEnd(line, x.shape)
	switch {
	case at > 0 && x.blank && line[at] == ' ':
		at++
	case at > 0 && endsIn(x.shape, decimals):
		return line // which begins with a longer word, such as an address
	}
	return line[at:]
}

// shapeEnd returns how long the line's beginning of that shape is, 0 if it has none.
func shapeEnd(line, want string) int {
	k, digits := 0, false
	for i := 0; i < len(line) && i <= wire.MaxPrefix; i++ {
		before, c := digits, line[i]
		digits = c >= '0' && c <= '9'
		switch {
		case digits && before:
			continue
		case k == len(want):
			return i
		case c == ' ':
			continue
		case digits:
			c = '0'
		}
		if want[k] != c {
			return 0
		}
		k++
	}
	return 0 // there is nothing but the prefix, if it is one
}
