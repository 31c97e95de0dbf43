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
	"regexp"
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
}

// foreign reads the lines of a stream.
type foreign struct {
	opt    *Options
	say    func(string)
	names  Named  // nil if the resolver knows no names
	module string // of Linux, which the ELF file is; "" if it is none
	thumb  bool   // bit 0 of an address is no part of it
	line   []byte
	long   bool // the line is longer than is looked at
	hits   []hit
	bias   uint64
	fixed  bool // the user gave the bias
	said   map[string]bool
	oops   oopsState
	markup markupState
	g      goState
	board  boardState
	gdb    gdbState
	k      kState
}

func newForeign(opt *Options) *foreign {
	x := &foreign{opt: opt, said: make(map[string]bool)}
	x.say = func(s string) {
		if !x.said[s] && len(x.said) < maxSaid {
			x.said[s] = true
			fmt.Fprintln(opt.Log, "zf: "+s)
		}
	}
	x.names, _ = opt.Symbols.(Named)
	if m, ok := opt.Symbols.(interface{ Arch() string }); ok {
		x.thumb = m.Arch() == "arm"
	}
	if m, ok := opt.Symbols.(interface{ Name() string }); ok {
		x.module = moduleName(m.Name())
	}
	if opt.Bias != nil {
		x.bias, x.fixed = *opt.Bias, true
	}
	return x
}

// setBias takes a bias that the stream tells.
func (x *foreign) setBias(bias uint64) {
	if !x.fixed && bias%pageSize == 0 {
		x.bias = bias
	}
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
	return x.hits, ending
}

// drop forgets the line so far.
func (x *foreign) drop() { x.line, x.long = x.line[:0], false }

var anyColour = regexp.MustCompile("\x1b\\[[0-9;]*m")

func stripColours(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return s
	}
	return anyColour.ReplaceAllString(s, "")
}

// read looks for addresses in a line. The first reader whose format it is has it.
func (x *foreign) read(line string) {
	if strings.Contains(line, "Linux version ") {
		x.oops = oopsState{} // it boots again, elsewhere
		if !x.fixed {
			x.bias = 0
		}
	}
	for _, reader := range [...]func(string) bool{
		x.readMarkup, x.readGo, x.readOops, x.readBoard, x.readK, x.readGDB,
	} {
		if reader(line) {
			return
		}
	}
	if !hasNumber(line) || x.readMarked(line) || !x.opt.Guess {
		return
	}
	x.readGuess(line)
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

// hit resolves an address and keeps it if it is one of the program's code.
func (x *foreign) hit(h hit) bool {
	if len(x.hits) >= maxHits {
		return false
	}
	if !h.linked {
		h.addr -= x.bias
	}
	if x.thumb {
		h.addr &^= 1
	}
	if !h.linked && !x.opt.Symbols.IsText(h.addr) && !(h.ret && x.opt.Symbols.IsText(h.addr-1)) {
		return false
	}
	h.calls = x.lookup(h.addr, h.ret)
	if len(h.calls) == 0 {
		return false
	}
	x.hits = append(x.hits, h)
	return true
}

func (x *foreign) lookup(addr uint64, ret bool) []symbol.Frame {
	calls := x.opt.Symbols.Lookup(addr, ret)
	if len(calls) > maxCalls {
		calls = calls[len(calls)-maxCalls:]
	}
	return calls
}

// functions returns the functions called name that are of the size, as the trace
// counts it (0: it does not say), and have the offset. If there are others of the
// name only, it says so.
func (x *foreign) functions(name string, off, size uint64) []symbol.Named {
	if x.names == nil {
		return nil
	}
	all := x.names.Named(name)
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
		case size == n.Size, x.module != "" && n.Last && size > n.Span:
			// What follows a module's section in memory, the file does not tell.
			bySize = append(bySize, n)
		}
	}
	switch {
	case size == 0, x.opt.Force && len(bySpan)+len(bySize) == 0:
		return any
	case len(bySpan) > 0:
		return bySpan
	case len(bySize) > 0:
		return bySize
	case len(all) > 0:
		x.say(fmt.Sprintf("the trace has a function %s of %#x bytes, but the ELF file's is of %#x: not resolved; "+
			"give the ELF file that was running (-force resolves it all the same)", clean(name), size, all[0].Span))
	}
	return nil
}

// named adds the place off bytes into the functions called name, of which the
// trace gives the size or 0, and the address too if hasAddr.
func (x *foreign) named(name string, off, size uint64, ret bool, addr uint64, hasAddr bool) bool {
	found := x.functions(name, off, size)
	if len(found) > 1 && hasAddr {
		for _, n := range found {
			if n.Start+off == addr-x.bias {
				found = []symbol.Named{n}
				break
			}
		}
	}
	if len(found) == 1 && hasAddr {
		x.setBias(addr - found[0].Start - off)
	}
	added := false
	for i, n := range found[:min(len(found), maxSame)] {
		h := hit{addr: n.Start + off, linked: true, ret: ret}
		if len(found) > 1 {
			h.note = fmt.Sprintf(" (or: %d of %d of this name and size)", i+1, len(found))
		}
		added = x.hit(h) || added
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
	hits, ending := f.foreign.add(p)
	if len(hits) == 0 {
		return
	}
	f.stats.Foreign += len(hits)
	f.ending = append(f.ending[:0], ending...)
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
		} else if c.File != "" {
			where := f.path(c.File)
			if c.Line > 0 {
				where += fmt.Sprintf(":%d", c.Line)
			}
			if len(callIndent)+utf8.RuneCountInString(name)+1+utf8.RuneCountInString(where) <= width {
				f.buf = append(f.buf, ' ')
			} else {
				f.newline()
				f.buf = append(f.buf, fileIndent...)
			}
			f.buf = append(f.buf, f.paint(dim, where)...)
		}
		if i == len(h.calls)-1 {
			f.buf = append(f.buf, clean(h.note)...)
		}
		f.newline()
	}
}
