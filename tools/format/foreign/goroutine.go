package foreign

// The tracebacks of Go's runtime, of ordinary programs and of those that run on
// TamaGo alike: the function and its arguments, then file, line and the offset of
// the pc from the function's entry. So the address is the function's plus the
// offset. An inlined call has no offset and is shown by the runtime already; what
// the ELF file knows is compared with it.
//
// Every pc of a traceback is a return address, that of a goroutine's innermost
// frame too, but where a fault or a signal interrupted the code: there the runtime
// puts sigpanic or asyncPreempt in between. Where it hides these, the pc that it
// printed with the signal tells, or the line that it printed for the frame.

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// A goFrame is a frame as the runtime printed it.
type goFrame struct {
	function, file string
	line           int
}

type goState struct {
	open    bool
	first   bool      // no frame with an offset yet
	pending string    // the function of the line before, "" if there is none
	inlined []goFrame // the inlined calls since the frame before
	exact   bool      // the frame before is one that a fault puts in between
	panics  bool      // there may be one before this frame that is not shown
	signal  uint64    // the pc of a signal, 0 if there was none
}

var (
	goHead = lookup.Regexp(`^(?:goroutine [0-9]+ .*\[.*\]:|runtime stack:)$`)
	goAt   = lookup.Regexp(
		`^\t(.+):([0-9]+)(?: \+0x([0-9a-f]{1,16}))?(?: fp=0x[0-9a-f]+ sp=0x[0-9a-f]+ pc=0x([0-9a-f]{1,16}))?$`)
	goCgo    = lookup.Regexp(`^(?:non-Go function at |\t(?:(\S.*:[0-9]+) )?)pc=0x([0-9a-f]{1,16})$`)
	goSignal = lookup.Regexp(`^(?:\[signal .*\bpc=0x([0-9a-f]{1,16})\]|PC=0x([0-9a-f]{1,16}) m=)`)
)

// readGo reads a line of a traceback.
func (x *Reader) readGo(line string) string {
	g := &x.g
	if strings.HasPrefix(line, "[signal ") || strings.HasPrefix(line, "PC=0x") {
		if m := goSignal().FindStringSubmatch(line); m != nil {
			g.signal, _ = hexNumber(m[1] + m[2])
			if x.hit(Hit{Addr: g.signal, aside: true}) {
				return FormatGo
			}
			return ""
		}
	}
	if (line[0] == 'g' || line[0] == 'r') && goHead().MatchString(line) {
		*g = goState{open: true, first: true, signal: g.signal}
		x.first = true
		return FormatGo
	}
	if !g.open {
		return ""
	}
	if strings.Contains(line, "pc=0x") && x.cgoFrame(line) || line[0] == '\t' && x.goPlace(line) {
		return FormatGo
	}
	if line[0] == '\t' {
		return ""
	}
	name, ok := goFunction(line)
	if !ok {
		// A function of C is its name alone.
		g.open = line == "non-Go function" || !strings.ContainsAny(line, " \t")
		if g.pending = ""; g.open {
			g.pending = line
		}
		return ""
	}
	g.panics = g.panics || name == "runtime.gopanic"
	g.pending = name
	return FormatGo
}

// goPlace reads the second line of a frame.
func (x *Reader) goPlace(line string) bool {
	g := &x.g
	m := goAt().FindStringSubmatch(line)
	if m == nil || g.pending == "" {
		return false
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return false
	}
	fr := goFrame{g.pending, m[1], n}
	if g.pending = ""; m[3] == "" {
		if len(g.inlined) < maxInlines {
			g.inlined = append(g.inlined, fr)
		}
		return true
	}
	x.goFrame(fr, m[3], m[4])
	g.inlined, g.first = g.inlined[:0], false
	return true
}

// cgoFrame reads a frame of C: its function is on the line before, if cgo's symbolizer knows it.
// The pc of a signal is exact; the others are what a walk of the stack has found.
// Source: Go, runtime/traceback.go, printOneCgoTraceback.
func (x *Reader) cgoFrame(line string) bool {
	g := &x.g
	m := goCgo().FindStringSubmatch(line)
	if m == nil || line[0] == '\t' && g.pending == "" {
		return false
	}
	s := spot{hasAddr: true, source: m[1]}
	s.Addr, _ = hexNumber(m[2])
	s.ret = s.Addr != g.signal
	if g.pending != "non-Go function" && m[1] != "" {
		s.said = g.pending
	}
	g.pending, g.first = "", false
	n := len(x.hits)
	x.spot(s)
	for i := n; i < len(x.hits); i++ {
		x.hits[i].compare(s.source)
	}
	return true
}

// goFunction returns the function of a line of a traceback.
func goFunction(line string) (string, bool) {
	if rest, ok := strings.CutPrefix(line, "created by "); ok {
		name, _, _ := strings.Cut(rest, " in goroutine ")
		return name, name != ""
	}
	if !strings.HasSuffix(line, ")") {
		return "", false
	}
	// The arguments are the last pair: a method's receiver has one too.
	depth := 0
	for i := len(line) - 1; i > 0; i-- {
		switch line[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth > 0 {
				continue
			}
			name := line[:i]
			if name == "panic" {
				return "runtime.gopanic", true
			}
			return name, strings.Contains(name, ".") && !strings.Contains(name, " ")
		}
	}
	return "", false
}

// goFrame adds the frame that is off bytes into its function.
func (x *Reader) goFrame(fr goFrame, offset, pc string) {
	g := &x.g
	off, ok := hexNumber(offset)
	if !ok {
		return
	}
	injectedBefore := g.exact
	g.exact = lookup.Injected(fr.function)
	x.lookAhead()
	p, all := x.goProgram(fr, off)
	if p == nil {
		x.quoteGo(fr, off)
		return
	}
	at, hasPC := hexNumber(pc)
	if hasPC && len(all) == 1 {
		p.setBias(at - all[0].Start - off)
	}
	hits, beyond := x.instances(p, all, fr, off, injectedBefore, at-p.bias, hasPC)
	if fr.function != "runtime.gopanic" {
		g.panics = false
	}
	added := false
	for i, h := range hits[:min(len(hits), maxSame)] {
		if len(hits) > 1 {
			h.Note += fmt.Sprintf(" (or: %d of %d of this name)", i+1, len(hits))
		}
		added = x.hitIn(p, h) || added
	}
	if !added {
		x.quoteGo(fr, off)
	}
	if beyond {
		x.lack.differ("it has " + terminal.Clean(fr.function) + "+0x" + offset +
			", and in the ELF file the function is shorter")
	}
}

// instances returns the places that a frame may be at, in the functions of one name: those of a
// generic function differ in their type arguments, which the runtime does not print. The pc that it
// printed decides, of the frame or of the signal; otherwise those are left that have the frame's
// line and, for a return address, a call before it. beyond is set if no function is long enough.
func (x *Reader) instances(p *program, all []lookup.Named, fr goFrame, off uint64, injected bool,
	at uint64, hasPC bool) (hits []Hit, beyond bool) {
	g := &x.g
	beyond = true
	agree, signal := 0, g.signal-p.bias
	for _, n := range all {
		if off > n.Span {
			continue
		}
		beyond = false
		h := Hit{Addr: n.Start + off, linked: true, Brief: true}
		if hasPC && len(all) > 1 && h.Addr != at {
			continue
		}
		faulted := g.signal != 0 && h.Addr == signal && (g.first || injected || g.panics && len(all) > 1)
		h.ret = !injected && !faulted
		same := x.agrees(p, &h, fr)
		if !same && h.ret && g.panics {
			// A fault's own frames are hidden between panic and this one.
			exact := h
			exact.ret = false
			if x.agrees(p, &exact, fr) {
				h, same = exact, true
			}
		}
		if faulted {
			return []Hit{h}, false
		}
		if same { // they come first
			hits = slices.Insert(hits, agree, h)
			agree++
		} else {
			hits = append(hits, h)
		}
	}
	if agree > 0 {
		hits = hits[:agree]
	}
	noCall := func(h Hit) bool { return h.ret && p.noCall(h.Addr) }
	if called := slices.DeleteFunc(slices.Clone(hits), noCall); len(called) > 0 {
		hits = called
	}
	return hits, beyond
}

// quoteGo keeps the frame, and the calls inlined in it, as the runtime printed them.
func (x *Reader) quoteGo(fr goFrame, off uint64) {
	var calls []lookup.Call
	for _, c := range append(x.g.inlined[:len(x.g.inlined):len(x.g.inlined)], fr) {
		calls = append(calls, lookup.Call{Function: c.function, File: c.file, Line: c.line,
			Inlined: true})
	}
	physical := &calls[len(calls)-1]
	physical.Inlined, physical.Offset = false, off
	x.quote(Hit{ret: true}, calls...)
}

// goProgram returns the program that the frame is of, and its functions of the
// name: of several Go programs, which share the runtime, the first that has the
// frame's line.
func (x *Reader) goProgram(fr goFrame, off uint64) (*program, []lookup.Named) {
	var first *program
	var named []lookup.Named
	for _, p := range x.programs() {
		all := p.called(fr.function)
		if len(all) == 0 {
			continue
		}
		if first == nil {
			first, named = p, all
		}
		if len(x.base) == 1 {
			break
		}
		for _, n := range all {
			for _, ret := range [...]bool{true, false} {
				if off <= n.Span && x.agrees(p, &Hit{Addr: n.Start + off, ret: ret}, fr) {
					return p, all
				}
			}
		}
	}
	return first, named
}

// agrees reports whether the ELF file says what the trace does. If not, the hit is
// made to say so.
func (x *Reader) agrees(p *program, h *Hit, fr goFrame) bool {
	calls := p.lookup(h.Addr, h.ret)
	if len(calls) == 0 {
		return false
	}
	outer := calls[len(calls)-1]
	if path.Base(outer.File) != path.Base(fr.file) || outer.Line != fr.line {
		h.Brief = false
		h.Note = " (the trace says " + path.Base(fr.file) + ":" + strconv.Itoa(fr.line) + ")"
		return false
	}
	// The runtime leaves out calls of its own: what it shows must be here.
	shown := x.g.inlined
	at := len(calls) - 1
	for i := len(shown) - 1; i >= 0 && at > 0; i-- {
		at--
		for at > 0 && calls[at].Function != shown[i].function {
			at--
		}
	}
	// What it does not show is worth showing.
	h.Brief = len(calls)-1 <= len(shown)
	if h.Brief {
		h.Calls = nil
	}
	return true
}
