package foreign

// Stacks that a debugger printed, mostly one without the symbols at hand.
//
// gdb's frame 0 is exact, and so is a frame below "<signal handler called>"; the
// others are return addresses. Calls inlined into frame 0 are frames before it
// without an address, and the first address then is still frame 0's pc.
//
// WinDbg's k gives with each frame the address that it returns to: the pc of the
// next frame. Of the first there is only the name. Below a line with a trap frame
// the pc is exact.
//
// lldb's frames and Valgrind's name the file.

import (
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/lazyregexp"
	"github.com/zeroframe/zeroframe/tools/lookup"
)

type gdbState struct {
	next   int      // number of the frame that comes next, 0: none is open
	exact  bool     // its address is exact whatever its number
	inline []string // functions of the frames so far, while none had an address
}

type kState struct {
	open   bool
	ret    uint64
	hasRet bool
	trap   bool
	first  bool
	text   bool // without a line of titles: !analyze's STACK_TEXT
}

var (
	gdbLine = lazyregexp.New(`^#([0-9]{1,6}) +(?:(0x[0-9a-f]{1,16}) in )?(\S.*)$`)
	kRow    = lazyregexp.New("^(?:([0-9a-f]{2,4}) )?([0-9a-f]{8}`?[0-9a-f]{8}|[0-9a-f]{8}) ([0-9a-f]{8}`?[0-9a-f]{8}|[0-9a-f]{8}|-{8}`?-{8}) *(.*)$")
	kSiteAt = lazyregexp.New(`^(?:[A-Za-z0-9_.]+!)?([^\s+]+)\+0x([0-9a-f]{1,16})\b`)
)

// readGDB reads a line of gdb's backtrace.
func (x *Reader) readGDB(line string) bool {
	if line[0] != '#' {
		return false // other output may stand in between: arguments of many lines
	}
	m := gdbLine().FindStringSubmatch(line)
	if m == nil {
		return false
	}
	g := &x.gdb
	number := 0
	for _, c := range m[1] {
		number = number*10 + int(c-'0')
	}
	switch {
	case number == 0:
		*g = gdbState{next: 1}
	case number != g.next:
		g.next = 0
		return false
	default:
		g.next++
	}
	if strings.HasPrefix(m[3], "<signal handler called>") {
		g.exact, g.inline = true, nil
		return true
	}
	if m[2] == "" {
		name, _, _ := strings.Cut(m[3], " (")
		if len(g.inline) == number && number < maxInlines {
			g.inline = append(g.inline, name)
		}
		g.exact = false
		return true
	}
	addr, ok := hexNumber(m[2])
	if !ok {
		return false
	}
	exact := number == 0 || g.exact || len(g.inline) == number && x.inlinedInto(addr, g.inline)
	g.exact, g.inline = false, nil
	h := Hit{Addr: addr, ret: !exact}
	name, behind, _ := strings.Cut(m[3], " (")
	if x.find(h) || !strings.Contains(behind, ") from ") && x.learn(x.programs(), name, addr, !exact) && x.find(h) {
		return true
	}
	x.early(h)
	x.quote(h, quotedName(name)...)
	return true
}

// inlinedInto reports whether the calls, innermost first, are those that are
// inlined at the address.
func (x *Reader) inlinedInto(addr uint64, names []string) bool {
	return slices.ContainsFunc(x.programs(), func(p *program) bool {
		calls := p.lookup(addr-p.bias, false)
		if len(calls) != len(names)+1 {
			return false
		}
		for i, name := range names {
			if !isNamed(calls[i].Function, name) {
				return false
			}
		}
		return true
	})
}

// readK reads a line of WinDbg's k.
func (x *Reader) readK(line string) bool {
	k := &x.k
	if strings.Contains(line, "RetAddr") {
		*k = kState{open: true, first: true}
		return true
	}
	if !k.open {
		return false
	}
	if strings.Contains(line, "(Inline Function)") {
		return true // it returns nowhere: the frame around it has the address
	}
	m := kRow().FindStringSubmatch(line)
	if m == nil {
		trap := strings.HasPrefix(line, "-- ")
		*k = kState{open: trap, trap: trap}
		return trap
	}
	site := m[4]
	if i := strings.LastIndex(site, " : "); i >= 0 { // kv and kb: the arguments
		site = site[i+3:]
	}
	site = strings.TrimPrefix(site, ": ")
	at := kSiteAt().FindStringSubmatch(site)
	exact := k.first || k.trap
	if file, off, ok := cutOffset(site, "+0x"); ok && !strings.Contains(file, "!") && x.moduleFile(file, "") != nil {
		// There were no symbols: the offset counts from where the module begins.
		x.spot(spot{file: file, at: off, base: fromHead, addr: k.ret, hasAddr: k.hasRet, ret: !exact})
		*k = kState{open: true, text: k.text}
		if ret, ok := hexNumber(strings.ReplaceAll(m[3], "`", "")); ok && ret != 0 {
			k.ret, k.hasRet = ret, true
		}
		return true
	}
	switch {
	case k.hasRet:
		if at != nil {
			if off, ok := hexNumber(at[2]); ok {
				if p, found := x.functions(x.programs(), at[1], off, 0); len(found) == 1 {
					p.setBias(k.ret - found[0].Start - off)
				}
			}
		}
		if h := (Hit{Addr: k.ret, ret: !exact}); !x.hit(h) {
			name, _, _ := strings.Cut(site, " ")
			name, offset, _ := strings.Cut(name, "+0x")
			calls := quotedName(name)
			if len(calls) > 0 {
				calls[0].Offset, _ = hexNumber(offset)
			}
			x.quote(h, calls...)
		}
	case at != nil && exact:
		if off, ok := hexNumber(at[2]); ok {
			x.named(x.programs(), at[1], off, 0, Hit{}, false)
		}
	}
	ret, ok := hexNumber(strings.ReplaceAll(m[3], "`", ""))
	*k = kState{open: true, text: k.text, ret: ret, hasRet: ok && ret != 0, trap: strings.Contains(site, "(TrapFrame")}
	return true
}

// quotedName is what a debugger says of a frame, if it says a name.
func quotedName(name string) []lookup.Call {
	if name == "" || name == "??" || strings.HasPrefix(name, "0x") {
		return nil
	}
	return []lookup.Call{{Function: name}}
}

var (
	lldbFrame     = lazyregexp.New("^(?:[*] )?frame #([0-9]{1,6}): 0x([0-9a-f]{4,16}) ([^`]+)`(.+?)(?: [+] ([0-9]+))?(?: at (\\S+?:[0-9]+)(?::[0-9]+)?)?(?: \\[opt\\])?$")
	valgrindFrame = lazyregexp.New(`^(?:==[0-9]+==\s+)?(at|by) 0x([0-9A-Fa-f]{4,16}): (.+) \(in (\S.*)\)$`)
)

// readLLDB reads a frame of lldb's bt:
//
//   - frame #0: 0x000055555555514a a.out`leaf + 33
//     frame #1: 0x000055555555518c a.out`main at a.c:20:2
//
// Source: LLDB, source/Core/CoreProperties.td, frame-format.
func (x *Reader) readLLDB(text string) bool {
	m := lldbFrame().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	x.frame(FormatLLDB)
	x.first = m[1] == "0"
	exact := x.first || x.rep.exact
	around, _, inlined := strings.Cut(m[4], " [inlined] ")
	s := spot{file: m[3], hasAddr: true, ret: !exact, source: m[6]}
	s.name, _, _ = strings.Cut(around, "(")
	x.rep.exact = exact && inlined || s.name == "__restore_rt" || s.name == "_sigtramp" || s.name == "__kernel_rt_sigreturn"
	s.addr, _ = hexNumber(m[2])
	s.off, s.hasOff = decimal(m[5])
	x.spot(s)
	return true
}

// readValgrind reads a frame of Valgrind's for which it had no line:
//
//	==9==    at 0x10914A: leaf (in /tmp/a.out)
//	==9==    by 0x10918B: main (in /tmp/a.out)
func (x *Reader) readValgrind(text string) bool {
	m := valgrindFrame().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	x.frame(FormatValgrind)
	x.first = m[1] == "at"
	s := spot{file: m[4], hasAddr: true}
	s.addr, _ = hexNumber(strings.ToLower(m[2]))
	if m[3] != "???" {
		s.name = m[3]
	}
	x.spot(s)
	return true
}
