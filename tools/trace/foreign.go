package trace

// Traces of others: Linux, Go programs and their kernels, TinyGo, ESP-IDF, Zephyr,
// LLVM's symbolizer markup, gdb and WinDbg, and addresses that are marked as such.
// They are read line by line in the text that passes through; what an address
// means follows its line, indented, and the line itself is out before anything is
// looked up:
//
//	[    2.104567]  do_init_module+0x4c/0x1f0
//	    do_init_module+0x4c kernel/module/main.c:2541
//
// Whether an address is a return address, whose call lies before it, or the very
// instruction is a fact of the format and the frame. It is never guessed: each
// reader below says what its format defines, and an address that is neither, by
// what the format tells, is left alone.
//
// There is no build ID in most of these formats. What else the trace gives away
// (the sizes of functions, the lines) is compared with the ELF file, and a
// function that does not fit is left alone and reported.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tracer"
)

const (
	// maxForeignLine is the longest line that is looked at.
	maxForeignLine = 8 << 10
	// maxHits bounds the addresses of one line.
	maxHits = 128
	// maxSaid bounds the different messages about a stream.
	maxSaid = 32
	// maxSame bounds the functions of one name and size that are shown.
	maxSame = 8
	// pageSize divides every load bias: what is loaded elsewhere moves by pages.
	pageSize = 4096
)

// Named is a Resolver that knows functions by their names too. A *symbol.File is
// one. Without it the formats that give names instead of addresses are left alone.
type Named interface {
	Resolver
	Named(name string) []symbol.Named
}

// A hit is an address on a line.
type hit struct {
	addr   uint64 // as the trace has it
	linked bool   // it is one of the ELF file already: no bias applies
	ret    bool   // it is a return address
	label  string // shown in front, where a line has several
	note   string // shown behind
	brief  bool   // the trace has shown function, file and line: the address is new
	calls  []symbol.Frame

	// What the trace says of it.
	name string // the function, as the symbol table has it; empty: nothing
	off  uint64 // the offset in it

	// For the trace that it is put into (group.go).
	unsure bool   // a word of the stack, which may be none of its frames
	aside  bool   // a link register, or a signal's pc
	quoted bool   // it is in no ELF file: calls are the trace's words
	module string // of Linux, that it is in
}

// foreign reads the lines of a stream.
type foreign struct {
	opt    *Options
	say    func(string)
	get    func() *Images
	images *Images // nil until a line has asked for them
	given  []*program
	base   []*program          // of these, what may be meant without a module's name
	found  map[string]*program // that were not given, by build and module
	line   []byte
	long   bool   // the line is longer than is looked at
	shape  string // of a prefix that is none of the known ones
	blank  bool   // a blank follows it
	hits   []hit
	said   map[string]bool
	oops   oopsState
	markup markupState
	g      goState
	board  boardState
	gdb    gdbState
	k      kState

	groups grouping

	mismatch bool // an ELF file is of another build than what ran

	rest   func() []byte // what has come behind the line; nil: nothing is known of it
	looked bool          // it has been looked at
	now    string        // the line that is read
	dry    bool          // this is only a look ahead
}

func newForeign(opt *Options, get func() *Images) *foreign {
	x := &foreign{opt: opt, get: get, said: make(map[string]bool)}
	x.say = func(s string) {
		if !x.said[s] && len(x.said) < maxSaid {
			x.said[s] = true
			fmt.Fprintln(opt.Log, "zf: "+s)
		}
	}
	return x
}

// add takes text that has passed and, at the end of a line, returns what is to be
// said about it, and how the line ended.
func (x *foreign) add(p []byte) (hits []hit, ending string) {
	end := len(p) > 0 && p[len(p)-1] == '\n'
	if len(x.line)+len(p) > maxForeignLine {
		x.long = true
	}
	if !x.long {
		x.line = append(x.line, p...)
	}
	if !end {
		return nil, ""
	}
	return x.endLine()
}

// endLine reads the line, which ends here.
func (x *foreign) endLine() (hits []hit, ending string) {
	x.hits, ending = x.hits[:0], "\n"
	if !x.long {
		body := strings.TrimRight(string(x.line), "\r\n")
		if strings.HasSuffix(string(x.line), "\r\n") {
			ending = "\r\n"
		}
		if body = stripColours(body); body != "" && !strings.HasPrefix(body, tracer.Tag) {
			x.read(body)
		}
	}
	x.drop()
	x.hits = x.shown()
	return x.hits, ending
}

// drop forgets the line so far.
func (x *foreign) drop() { x.line, x.long = x.line[:0], false }

// cut forgets what the stream was in the middle of. Where the system runs is kept:
// one that has booted again says so.
func (x *foreign) cut() {
	x.drop()
	x.shape = ""
	x.oops, x.g, x.board, x.gdb, x.k = oopsState{}, goState{}, boardState{}, gdbState{}, kState{}
}

// anyColour matches what does not change where text stands: colours, the erasing of
// what was behind it, links.
var anyColour = pattern("\x1b(?:\\[[0-9;]*[mK]|\\]8;[^\x1b\a]*(?:\x1b\\\\|\a))")

func stripColours(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return s
	}
	return anyColour().ReplaceAllString(s, "")
}

// read looks for addresses in a line. The first reader whose format it is has it.
func (x *foreign) read(line string) {
	if ours().MatchString(line) {
		return // an earlier run has put source there
	}
	if line = x.withoutShape(withoutPrefix(line)); line == "" || strings.HasPrefix(line, tracer.Tag) {
		return
	}
	if strings.Contains(line, "Linux version ") {
		x.oops = oopsState{} // it boots again, elsewhere
		for _, p := range x.base {
			p.setBias(0)
		}
	}
	x.now = line
	x.group(line, x.readAs(line))
}

// readAs returns the format of the line, or "".
func (x *foreign) readAs(line string) string {
	for _, reader := range [...]struct {
		format string
		read   func(string) bool
	}{
		{FormatMarkup, x.readMarkup}, {FormatGo, x.readGo}, {FormatLinux, x.readOops},
		{"", x.readBoard}, {FormatWinDbg, x.readK}, {FormatGDB, x.readGDB},
	} {
		if !reader.read(line) {
			continue
		}
		format := reader.format
		if format == "" {
			format = x.board.format
		}
		x.begin(format, line)
		return format
	}
	if hasNumber(line) && (x.readMarked(line) || x.opt.Guess && x.readGuess(line)) {
		return FormatAddress
	}
	return ""
}

// hasNumber reports whether the line may have an address in it: 0x, or 8 digits.
// It keeps the slow readers from most lines of a log.
func hasNumber(line string) bool {
	run := 0
	for i := 0; i < len(line); i++ {
		switch c := line[i] | 0x20; {
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'f':
			if run++; run >= 8 {
				return true
			}
		case c == 'x' && run > 0 && line[i-1] == '0':
			return true
		default:
			run = 0
		}
	}
	return false
}

// hit resolves an address and keeps it if it is one of a program's code: of the
// first that has it.
func (x *foreign) hit(h hit) bool {
	for _, p := range x.programs() {
		if at := h; x.hitIn(p, at) {
			return true
		}
	}
	return false
}

// hitIn does so with one program.
func (x *foreign) hitIn(p *program, h hit) bool {
	if len(x.hits) >= maxHits {
		return false
	}
	if !h.linked {
		h.addr -= p.bias
	}
	if p.thumb {
		h.addr &^= 1
	}
	if !h.linked && !p.inText(h.addr, h.ret) {
		return false
	}
	x.lookAhead()
	h.calls = p.lookup(h.addr, h.ret)
	if len(h.calls) == 0 {
		return false
	}
	if h.name != "" {
		// The address may have other names too, or none: behind a function's end.
		if last := len(h.calls) - 1; h.calls[last].Function != h.name {
			h.calls = slices.Clone(h.calls)
			h.calls[last].Function, h.calls[last].Offset = h.name, h.off
		}
	}
	if x.opt.Demangle {
		h.calls = inSource(h.calls)
	}
	x.hits = append(x.hits, h)
	return true
}

func (p *program) lookup(addr uint64, ret bool) []symbol.Frame {
	if p.asked != nil {
		*p.asked = append(*p.asked, question{addr, ret})
		return nil
	}
	calls := p.ahead.lookup(p.sym, addr, ret)
	if len(calls) > maxCalls {
		calls = calls[len(calls)-maxCalls:]
	}
	return calls
}

// functions returns the functions called name that are of the size, as the trace
// counts it (0: it does not say), and have the offset: those of the first program
// that has one. If there are others of the name only, it says so.
func (x *foreign) functions(in []*program, name string, off, size uint64) (*program, []symbol.Named) {
	var other uint64 // the size of one that does not fit
	for _, p := range in {
		if p.names == nil {
			continue
		}
		all := p.names.Named(name)
		if fit := x.fitting(p, all, off, size); len(fit) > 0 {
			return p, fit
		}
		if len(all) > 0 && other == 0 {
			other = max(all[0].Span, all[0].Size)
		}
	}
	if other != 0 && size != 0 {
		x.say(fmt.Sprintf("the trace has a function %s of %#x bytes, but the ELF file's is of %#x: not resolved; "+
			"give the ELF file that was running (-force resolves it all the same)", clean(name), size, other))
	}
	return nil, nil
}

// fitting returns those of the functions that are of the size and have the offset.
func (x *foreign) fitting(p *program, all []symbol.Named, off, size uint64) []symbol.Named {
	var bySpan, bySize, any []symbol.Named
	for _, n := range all {
		// The call at the very end of a function returns behind it.
		if off > max(n.Span, n.Size) {
			continue
		}
		any = append(any, n)
		switch {
		case size == n.Span:
			bySpan = append(bySpan, n)
		case size == n.Size, p.module != "" && n.Last && size > n.Span:
			// What follows a module's section in memory, the file does not tell.
			bySize = append(bySize, n)
		}
	}
	switch {
	case size == 0, x.opt.Force && len(bySpan)+len(bySize) == 0:
		return any
	case len(bySpan) > 0:
		return bySpan
	}
	return bySize
}

// named adds the place off bytes into the functions called name, of which the
// trace gives the size or 0, and the address too if hasAddr.
func (x *foreign) named(in []*program, name string, off, size uint64, ret bool, addr uint64, hasAddr bool) bool {
	p, found := x.functions(in, name, off, size)
	if len(found) > 1 && hasAddr {
		for _, n := range found {
			if n.Start+off == addr-p.bias {
				found = []symbol.Named{n}
				break
			}
		}
	}
	if len(found) == 1 && hasAddr {
		p.setBias(addr - found[0].Start - off)
	}
	added := false
	for i, n := range found[:min(len(found), maxSame)] {
		at := hit{addr: n.Start + off, linked: true, ret: ret, name: name, off: off}
		if len(found) > 1 {
			at.note = fmt.Sprintf(" (or: %d of %d of this name and size)", i+1, len(found))
		}
		added = x.hitIn(p, at) || added
	}
	return added
}

// ParseBias reads the argument of -bias: a number, or FUNCTION[+OFFSET]=ADDRESS,
// an address at which the trace's system has a function of the ELF file.
func ParseBias(s string, sym Resolver) (uint64, error) {
	where, at, pair := strings.Cut(s, "=")
	if !pair {
		if neg, ok := strings.CutPrefix(s, "-"); ok {
			v, err := strconv.ParseUint(neg, 0, 64)
			if err != nil {
				return 0, fmt.Errorf("%q is no address", s)
			}
			return -v, nil
		}
		v, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no address and no FUNCTION+OFFSET=ADDRESS", s)
		}
		return v, nil
	}
	addr, ok := hexNumber(at)
	if !ok {
		return 0, fmt.Errorf("%q is no address", at)
	}
	name, offset, _ := strings.Cut(where, "+0x")
	off := uint64(0)
	if offset != "" {
		if off, ok = hexNumber(offset); !ok {
			return 0, fmt.Errorf("%q is no offset", offset)
		}
	}
	names, ok := sym.(Named)
	if !ok {
		return 0, fmt.Errorf("%q needs an ELF file: give the bias as a number", s)
	}
	switch found := names.Named(name); len(found) {
	case 0:
		return 0, fmt.Errorf("the ELF file has no function %q", name)
	case 1:
		return addr - found[0].Start - off, nil
	default:
		return 0, fmt.Errorf("the ELF file has %d functions %q: name another", len(found), name)
	}
}

// hexNumber reads a hexadecimal number, with or without 0x.
func hexNumber(s string) (uint64, bool) {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	v, err := strconv.ParseUint(s, 16, 64)
	return v, err == nil
}

// pass sends text of the input through and says what is at the addresses in it.
func (f *Filter) pass(p []byte) {
	f.text(p)
	if f.foreign == nil {
		return
	}
	f.showHits(f.foreign.add(p))
}

// lastLine reads what the input ends with, if that is no whole line.
func (f *Filter) lastLine() {
	if f.foreign != nil && len(f.foreign.line) > 0 {
		f.showHits(f.foreign.endLine())
	}
}

// showHits shows what is at the addresses of a line, below it.
func (f *Filter) showHits(hits []hit, ending string) {
	if len(hits) == 0 {
		return
	}
	f.stats.Foreign += len(hits)
	f.ending = append(f.ending[:0], ending...)
	if f.column {
		f.newline()
	}
	from := len(f.buf)
	for i := range hits {
		f.showHit(&hits[i])
	}
	f.due(from)
}

// showHit shows what is at an address of the line above.
func (f *Filter) showHit(h *hit) {
	if h.label != "" {
		f.buf = append(f.buf, callIndent...)
		f.buf = append(f.buf, clean(h.label)...)
		f.buf = append(f.buf, ':')
		f.newline()
	}
	for i := range h.calls {
		c := &h.calls[i]
		name := clean(c.Function)
		if name == "" {
			name = "??"
		}
		if c.Inlined {
			name += " (inlined)"
		} else {
			name += fmt.Sprintf("+%#x", c.Offset)
		}
		f.buf = append(f.buf, callIndent...)
		f.buf = append(f.buf, f.paint(bold, name)...)
		if h.brief {
			f.buf = fmt.Appendf(f.buf, " at %#x", h.addr)
		} else if where, text := f.place(c); where != "" {
			if len(callIndent)+utf8.RuneCountInString(name)+1+utf8.RuneCountInString(text) <= width {
				f.buf = append(f.buf, ' ')
			} else {
				f.newline()
				f.buf = append(f.buf, fileIndent...)
			}
			f.buf = append(f.buf, where...)
		}
		if i == len(h.calls)-1 {
			f.buf = append(f.buf, clean(h.note)...)
		}
		f.newline()
		f.context(c)
	}
}
