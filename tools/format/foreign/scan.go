package foreign

// What a first look at a line takes to find, by hand, since most lines of a log have nothing
// for us and a regular expression costs ten times as much. scan_test.go has the expressions.

import "strings"

// A placeAt is where FUNCTION+OFFSET/SIZE [MODULE BUILD] is in a line.
type placeAt struct {
	start, end      int
	name, off, size string
	module, build   string
	offEnd          int // where the offset ends
}

// Classes of bytes.
const (
	inName = 1 << iota // of a function's name
	inHex
	inWord
	inModule
)

var classes = func() (t [256]uint8) {
	for c := range 256 {
		b := byte(c)
		switch {
		case b >= '0' && b <= '9', b >= 'a' && b <= 'f':
			t[c] = inName | inHex | inWord | inModule
		case b >= 'g' && b <= 'z', b >= 'A' && b <= 'Z', b == '_':
			t[c] = inName | inWord | inModule
		case b == '.', b == '$', b == '@':
			t[c] = inName
		case b == '-':
			t[c] = inModule
		}
	}
	return t
}()

// endsIn reports whether the text ends in one of the bytes.
func endsIn(s, bytes string) bool { return s != "" && strings.IndexByte(bytes, s[len(s)-1]) >= 0 }

// run returns how many bytes of the class the text begins with.
func run(s string, class uint8) int {
	n := 0
	for n < len(s) && classes[s[n]]&class != 0 {
		n++
	}
	return n
}

// nextPlace finds the first place behind from.
func nextPlace(line string, from int) (p placeAt, ok bool) {
	for at := from; ; {
		i := strings.Index(line[at:], "+0x")
		if i < 0 {
			return p, false
		}
		plus := at + i
		at = plus + 3
		start := plus
		for start > from && classes[line[start-1]]&inName != 0 {
			start--
		}
		if start == plus {
			continue
		}
		n := run(line[at:], inHex)
		if n == 0 || n > 16 || !strings.HasPrefix(line[at+n:], "/0x") {
			continue
		}
		p.off, p.offEnd = line[at:at+n], at+n
		end := at + n + 3
		n = run(line[end:], inHex)
		if n == 0 || n > 16 || end+n < len(line) && classes[line[end+n]]&inWord != 0 {
			continue
		}
		p.start, p.name, p.size, p.end = start, line[start:plus], line[end:end+n], end+n
		p.inBrackets(line)
		return p, true
	}
}

// inBrackets reads the module behind the place.
func (p *placeAt) inBrackets(line string) {
	rest := line[p.end:]
	if !strings.HasPrefix(rest, " [") {
		return
	}
	n := run(rest[2:], inModule)
	end := strings.IndexByte(rest[2+n:], ']')
	if n == 0 || end < 0 {
		return
	}
	p.module = rest[2 : 2+n]
	if build := rest[2+n : 2+n+end]; len(build) > 16 && build[0] == ' ' {
		if k := run(build[1:], inHex); k >= 16 && k <= 40 &&
			(1+k == len(build) || classes[build[1+k]]&inWord == 0) {
			p.build = build[1 : 1+k]
		}
	}
	p.end += 2 + n + end + 1
}

// mayBeMarked reports whether one of the words that mark an address may be in the line: they end
// in pc, ip, lr or ra, and what follows is no letter.
func mayBeMarked(line string) bool {
	for i := 2; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n', '\f', '\r', ')', ':', '=', '_', '1', '2', '3', '4', '5', '6', '7':
			switch a, b := line[i-2]|0x20, line[i-1]|0x20; {
			case a == 'p' && b == 'c', a == 'i' && b == 'p', a == 'l' && b == 'r',
				a == 'r' && b == 'a', b == '@' && a == ' ':
				return true
			}
		}
	}
	return strings.Contains(line, "nstruction ") || strings.Contains(line, "rogram counter")
}

// stampEnd returns how long the kernel's own time is at the beginning of a line, with the level
// before it and the caller behind it: "<6>[    2.104567][  T123] ". 0: there is none.
func stampEnd(s string) int {
	rest := s
	if level, after, _ := strings.Cut(rest, ">"); strings.HasPrefix(level, "<") &&
		isDigits(level[1:], 1, 3) {
		rest = after
	}
	time, rest, _ := strings.Cut(rest, "]")
	if !strings.HasPrefix(time, "[") {
		return 0
	}
	seconds, fraction, _ := strings.Cut(strings.TrimLeft(time[1:], " "), ".")
	if !isDigits(seconds, 1, len(s)) || !isDigits(fraction, 3, 9) {
		return 0
	}
	if caller, after, ok := strings.Cut(rest, "]"); ok && strings.HasPrefix(caller, "[") &&
		(after == "" || after[0] == ' ') {
		caller = strings.TrimLeft(caller[1:], " ")
		if caller != "" && (caller[0] == 'T' || caller[0] == 'C') && isDigits(caller[1:], 1, len(s)) {
			rest = after
		}
	}
	switch {
	case rest == "" && s[len(s)-1] == ']':
		return len(s)
	case rest != "" && rest[0] == ' ':
		return len(s) - len(rest) + 1
	}
	return 0
}

// isDigits reports whether the text is that many decimal digits.
func isDigits(s string, least, most int) bool {
	if len(s) < least || len(s) > most {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// anchorBytes has, of each of the first three bytes of a place in a line, the anchors that have it
// there, a bit each.
var anchorBytes = func() (t [3][256]uint32) {
	for n, a := range anchors {
		for i := range t {
			t[i][a[i]] |= 1 << n
		}
	}
	return t
}()
