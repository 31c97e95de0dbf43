package foreign

// A frame by all that its line says, and where that is in one of the images.

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// A spot is where a frame is, by all that its line says. Hit.Addr is where it was in memory.
type spot struct {
	Hit
	hasAddr bool

	n     int    // the frame's number, -1 if it has none
	file  string // the module; "": it does not say
	build string // its build ID, if it says so
	at    uint64 // the offset in it
	base  base
	hasAt bool

	said    string // the function; "": it does not say
	by      uint64 // the offset in that
	hasBy   bool
	other   bool   // the function is one of a library's: it is not looked up
	inlined bool   // it is inlined in the frame that comes next
	exact   bool   // it is no return address, whatever the form's rule
	source  string // file and line, if it says so

	start, end, size uint64 // of a mapping
	path             string
}

// match reads the line by a form's expression.
func (s *spot) match(expr *regexp.Regexp, line string) bool {
	m := expr.FindStringSubmatch(line)
	for i, group := range expr.SubexpNames() {
		if m != nil && m[i] != "" {
			s.set(group, m[i])
		}
	}
	return m != nil
}

// set takes what a group of the expression has found.
func (s *spot) set(group, word string) {
	hex, _ := hexNumber(word)
	switch group {
	case "n":
		s.n, _ = strconv.Atoi(word)
	case "zero":
		s.n = 0
	case "addr":
		s.Addr, s.hasAddr = hex, true
	case "file":
		s.file = word
	case "mod":
		s.file = "[" + word + "]"
	case "build":
		s.build = word
	case "at":
		s.at, s.hasAt = hex, true
	case "dat":
		s.at, s.hasAt = decimal(word)
	case "name", "fn":
		switch word {
		case "<null>", "<unknown>", "[unknown]", "n/a", "??", "???":
		default:
			s.said, s.hasBy = word, group == "fn"
		}
	case "off":
		s.by, s.hasBy = hex, true
	case "doff":
		s.by, s.hasBy = decimal(word)
	case "src":
		s.source = word
	case "line":
		s.source += ":" + word
	case "args":
		s.other = strings.Contains(word, ") from ")
	case "path":
		s.path = word
	case "start":
		s.start = hex
	case "end":
		s.end = hex
	case "size":
		s.size = hex
	}
}

// setAt takes an offset in the module that the line does not have as such.
func (s *spot) setAt(at uint64, from base) { s.at, s.base, s.hasAt = at, from, true }

// spot keeps what is at the place, or else what the line says of it.
func (x *Reader) spot(s spot) {
	if x.resolveSpot(&s) {
		return
	}
	if s.file != "" {
		s.module = fileBase(s.file)
	}
	if s.hasAddr {
		x.early(s.Hit)
	}
	var calls []lookup.Call
	if s.said != "" {
		calls = []lookup.Call{{Function: s.said, Offset: s.by}}
		if file, line, ok := sourceLine(s.source); ok {
			calls[0].File, calls[0].Line = file, line
		}
	}
	x.quote(s.Hit, calls...)
}

// resolveSpot looks in the module, or else where the address is.
func (x *Reader) resolveSpot(s *spot) bool {
	in, n, ok := x.programs(), len(x.hits), false
	inFile := s.file != "" || s.build != ""
	if inFile {
		p := x.moduleFile(s.file, s.build)
		if p == nil {
			return false
		}
		in = []*program{p}
	}
	learn := func() bool {
		return s.said != "" && !s.hasBy && !s.other && x.learn(in, s.said, s.Addr, s.ret)
	}
	switch {
	case s.said != "" && s.hasBy && !s.hasAt && x.namedSpot(in, s):
		ok = true
	case !inFile:
		return s.hasAddr && (x.find(s.Hit) || learn() && x.find(s.Hit))
	default:
		p := in[0]
		if at, known := p.linkedAt(s.at, s.base, 0); s.hasAt && known {
			h := s.Hit
			if s.hasAddr && s.Addr != at {
				x.moveTo(p, s.Addr-at)
			}
			h.Addr, h.linked = at, true
			ok = p.inText(at, s.ret) && x.hitIn(p, h)
		} else if s.hasAddr {
			ok = x.mapped(s.Hit) || x.hitIn(p, s.Hit) || learn() && x.hitIn(p, s.Hit)
		}
	}
	for i := n; i < len(x.hits); i++ {
		h := &x.hits[i]
		if s.file != "" {
			h.module = fileBase(s.file)
		}
		h.compare(s.source)
		// It is no more than the line has: the function's name.
		h.silent = s.said != "" && len(h.Calls) == 1 && h.Calls[0].Function == s.said &&
			h.Calls[0].File == ""
	}
	return ok
}

// namedSpot looks for a function and an offset in it.
func (x *Reader) namedSpot(in []*program, s *spot) bool {
	name := s.said
	for _, p := range in {
		if len(p.called(name)) == 0 {
			if linked := p.linkName(name); linked != "" {
				name = linked
				break
			}
		}
	}
	if !x.named(in, name, s.by, 0, s.Hit, s.hasAddr) {
		return false
	}
	if s.hasAddr {
		x.resolvePending()
	}
	return true
}

// compare makes the hit a short one if the line has its source line already.
func (h *Hit) compare(source string) {
	file, line, ok := sourceLine(source)
	if !ok || len(h.Calls) == 0 {
		return
	}
	for _, c := range h.Calls {
		if path.Base(c.File) == path.Base(file) && c.Line == line {
			h.Brief = true
			return
		}
	}
	h.Note += fmt.Sprintf(" (the trace says %s:%d)", path.Base(file), line)
}

// sourceLine reads FILE:LINE or FILE:LINE:COLUMN.
func sourceLine(s string) (file string, line int, ok bool) {
	for range 2 {
		i := strings.LastIndexByte(s, ':')
		if i <= 0 || len(s)-i > 10 {
			break
		}
		n, isNumber := decimal(s[i+1:])
		if !isNumber {
			break
		}
		s, line, ok = s[:i], int(n), true
	}
	return s, line, ok
}

// decimal reads a decimal number.
func decimal(s string) (uint64, bool) {
	if s == "" || s[0] == '+' {
		return 0, false
	}
	v, err := strconv.ParseUint(s, 10, 64)
	return v, err == nil && len(s) <= 18
}
