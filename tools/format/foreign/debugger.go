package foreign

// Stacks that a debugger printed, mostly one without the symbols at hand.
//
// Calls inlined into gdb's frame 0 are frames before it without an address, and the first address
// then is still frame 0's pc.
//
// WinDbg's k gives with each frame the address that it returns to: the pc of the
// next frame. Of the first there is only the name. Below a line with a trap frame
// the pc is exact.

import (
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// maxInlines bounds the inlined calls that are kept for one frame.
const maxInlines = 64

type gdbState struct {
	next   int      // number of the frame that comes next, 0: none is open
	inline []string // functions of the frames so far, while none had an address
}

// gdbFrame reads a frame of gdb's, in the order of their numbers.
func gdbFrame(x *Reader, s *spot) verdict {
	g := &x.gdb
	if s.n == 0 {
		*g, x.list.exact = gdbState{}, ""
	} else if s.n != g.next {
		g.next = 0
		return refused
	}
	g.next = s.n + 1
	switch {
	case strings.HasPrefix(s.said, "<signal handler called>"):
		x.list.exact, g.inline = FormatGDB, nil
		return taken
	case !s.hasAddr:
		if x.list.exact = ""; len(g.inline) == s.n && s.n < maxInlines {
			g.inline = append(g.inline, s.said)
		}
		return taken
	}
	s.exact = s.n > 0 && len(g.inline) == s.n && x.inlinedInto(s.Addr, g.inline)
	g.inline = nil
	return isFrame
}

// inlinedInto reports whether the calls, innermost first, are those that are
// inlined at the address.
func (x *Reader) inlinedInto(addr uint64, names []string) bool {
	return slices.ContainsFunc(x.programs(), func(p *program) bool {
		calls := p.lookup(addr-p.bias, false)
		return len(calls) == len(names)+1 && slices.EqualFunc(calls[:len(names)], names,
			func(c lookup.Call, name string) bool {
				return isNamed(c.Function, name)
			})
	})
}

type kState struct {
	open  bool
	first bool
	text  bool // without a line of titles: !analyze's STACK_TEXT
	trap  bool
	at    spot // what the line before returns to
}

var kRow = lookup.Regexp(
	"^(?:[0-9a-f]{2,4} )?(?:[0-9a-f]{8}`?[0-9a-f]{8}|[0-9a-f]{8}) ([0-9a-f]{8}`?[0-9a-f]{8}|[0-9a-f]{8}|-{8}`?-{8}) *(.*)$")

// readK reads a line of WinDbg's k.
func (x *Reader) readK(line string) string {
	k := &x.k
	if strings.Contains(line, "RetAddr") {
		*k, x.first = kState{open: true, first: true}, true
		return FormatWinDbg
	}
	if !k.open {
		return ""
	}
	if strings.Contains(line, "(Inline Function)") {
		return FormatWinDbg // it returns nowhere: the frame around it has the address
	}
	m := kRow().FindStringSubmatch(line)
	if m == nil {
		trap := strings.HasPrefix(line, "-- ")
		if *k = (kState{open: trap, trap: trap}); !trap {
			return ""
		}
		return FormatWinDbg
	}
	site := m[2]
	if i := strings.LastIndex(site, " : "); i >= 0 { // kv and kb: the arguments
		site = site[i+3:]
	}
	x.kFrame(strings.TrimPrefix(site, ": "))
	ret, ok := hexNumber(strings.ReplaceAll(m[1], "`", ""))
	*k = kState{open: true, text: k.text, trap: strings.Contains(site, "(TrapFrame")}
	k.at.Addr, k.at.hasAddr = ret, ok && ret != 0
	return FormatWinDbg
}

// kFrame reads the call site of a line, which is where the line before returns to.
func (x *Reader) kFrame(site string) {
	k, s := &x.k, x.k.at
	site, _, _ = strings.Cut(site, " ")
	name, offset, _ := strings.Cut(site, "+0x")
	off, hasOff := hexNumber(offset)
	s.ret = !k.first && !k.trap
	if hasOff && !strings.Contains(name, "!") && x.moduleFile(name, "") != nil {
		// There were no symbols: the offset counts from where the module begins.
		s.file = name
		s.setAt(off, fromHead)
		x.spot(s)
		return
	}
	function := name[strings.IndexByte(name, '!')+1:]
	switch {
	case s.hasAddr:
		if hasOff {
			if p, found := x.functions(x.programs(), function, off, 0); len(found) == 1 {
				p.setBias(s.Addr - found[0].Start - off)
			}
		}
		if !strings.HasPrefix(name, "0x") {
			s.said, s.by, s.other = name, off, true
		}
		x.spot(s)
	case hasOff && !s.ret:
		x.named(x.programs(), function, off, 0, Hit{}, false)
	}
}
