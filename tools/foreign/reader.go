package foreign

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
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/terminal"
	"github.com/zeroframe/zeroframe/tools/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

const (
	// maxForeignLine is the longest line that is looked at.
	maxForeignLine = 64 << 10
	// maxHits bounds the addresses of one line.
	maxHits = 128
	// maxSaid bounds the different messages about a stream.
	maxSaid = 32
	// maxSame bounds the functions of one name and size that are shown.
	maxSame = 8
	// pageSize divides every load bias: what is loaded elsewhere moves by pages.
	pageSize = 4096
)

// A Hit is an address on a line.
type Hit struct {
	Addr   uint64 // as the trace has it
	linked bool   // it is one of the ELF file already: no bias applies
	ret    bool   // it is a return address
	Label  string // shown in front, where a line has several
	Note   string // shown behind
	Brief  bool   // the trace has shown function, file and line: the address is new
	Calls  []lookup.Call

	// What the trace says of it.
	name string // the function, as the symbol table has it; empty: nothing
	off  uint64 // the offset in it

	list bool // it is a frame of a list, which may begin with the pc that was printed above it

	// For the trace that it is put into (group.go).
	unsure bool   // a word of the stack, which may be none of its frames
	aside  bool   // a link register, or a signal's pc
	begins bool   // it is the first of a trace
	silent bool   // the trace says all of it
	quoted bool   // it is in no ELF file: calls are the trace's words
	module string // of Linux, that it is in
}

// Options say how lines of others are read.
type Options struct {
	// Force resolves traces of another build too.
	Force bool
	// Guess takes every number in the text that can be an address of the code for one.
	Guess bool
	// Demangle shows the functions of C++ and Rust as the source names them.
	Demangle bool
	// Log takes messages for the user.
	Log io.Writer
	// Images returns the images, when the first line asks for them.
	Images func() *lookup.Images
	// Ours says whether a line is one that an earlier run has put there.
	Ours func(line string) bool
	// Rest returns what has come behind the line that is read; nil: nothing is known of it.
	Rest func() []byte
	// Left returns how many bytes of the input are behind those of Rest; nil: it is not known.
	Left func() int64
	// Offsets returns the kernel's offset of each boot of the log, as KernelOffsets does;
	// nil: the log is not there yet.
	Offsets func() []KernelOffset
	// Report is called for each trace that has ended; nil: nobody wants to know.
	Report func(*wire.Trace)
}

// Reader reads the lines of a stream.
type Reader struct {
	opt    Options
	say    func(string)
	images *lookup.Images // nil until a line has asked for them
	given  []*program
	base   []*program          // of these, what may be meant without a module's name
	found  map[string]*program // that were not given, by build and module
	Line   []byte
	long   bool   // the line is longer than is looked at
	shape  string // of a prefix that is none of the known ones
	blank  bool   // a blank follows it
	hits   []Hit
	said   map[string]bool
	told   map[string]bool // wanted files
	lack   lack            // of the trace that is read
	lacks  []lack          // of those before
	oops   oopsState
	offset offsetState
	markup markupState
	g      goState
	board  boardState
	gdb    gdbState
	k      kState
	layout layoutState
	rep    reportState

	Groups grouping

	Mismatch bool // an ELF file is of another build than what ran
	Lost     int  // traces of which nothing was resolved
	Left     int  // frames that were not, of what was given, and lines that look like frames

	which  string // the format of the line, of a reader of several
	first  bool   // the line begins a trace of that
	nested int    // objects of JSON around the text that is read
	odd    bool   // the line has what may be a frame, in a form that is not known
	left   left   // such lines

	pcs   []uint64 // where the ELF file has the program counters printed of late
	pcAge int      // lines since

	covered int    // lines that are looked up ahead, and more come; 0: there are no more
	looked  bool   // it has been looked at
	now     string // the line that is read
	dry     bool   // this is only a look ahead
}

// New returns a reader of the lines of a stream.
func New(opt Options) *Reader {
	x := &Reader{opt: opt, said: make(map[string]bool), told: make(map[string]bool)}
	x.Groups.report = opt.Report
	x.say = func(s string) {
		if !x.said[s] && len(x.said) < maxSaid {
			x.said[s] = true
			fmt.Fprintln(opt.Log, "zf: "+s)
		}
	}
	return x
}

// Add takes text that has passed and, at the end of a line, returns what is to be
// said about it, and how the line ended.
func (x *Reader) Add(p []byte) (hits []Hit, ending string) {
	end := len(p) > 0 && p[len(p)-1] == '\n'
	if end && len(x.Line) == 0 && !x.long { // it has come whole, as nearly all do
		return x.readLine(p)
	}
	if len(x.Line)+len(p) > maxForeignLine {
		x.long = true
	}
	if !x.long {
		x.Line = append(x.Line, p...)
	}
	if !end {
		return nil, ""
	}
	return x.EndLine()
}

// EndLine reads the line, which ends here.
func (x *Reader) EndLine() (hits []Hit, ending string) {
	line := x.Line
	if x.long {
		line = nil
	}
	x.Drop()
	return x.readLine(line)
}

// readLine reads a line that is whole.
func (x *Reader) readLine(line []byte) (hits []Hit, ending string) {
	x.hits, ending = x.hits[:0], "\n"
	if x.covered > 0 {
		if x.covered--; x.covered == 0 {
			x.looked = false // behind this line
		}
	}
	n := len(line)
	for n > 0 && (line[n-1] == '\n' || line[n-1] == '\r') {
		n--
	}
	if bytes.HasSuffix(line, []byte("\r\n")) {
		ending = "\r\n"
	}
	if n > 0 && len(line) <= maxForeignLine {
		if body := terminal.StripColours(string(line[:n])); body != "" && !strings.HasPrefix(body, tracer.Tag) {
			x.read(body)
		}
	}
	x.hits = x.shown()
	return x.hits, ending
}

// Drop forgets the line so far.
func (x *Reader) Drop() { x.Line, x.long = x.Line[:0], false }

// Cut forgets what the stream was in the middle of. Where the system runs is kept:
// one that has booted again says so.
func (x *Reader) Cut() {
	x.Drop()
	x.shape = ""
	x.offset.early, x.pcs = nil, nil
	x.oops, x.g, x.board, x.gdb, x.k = oopsState{}, goState{}, boardState{}, gdbState{}, kState{}
	x.layout, x.rep = layoutState{}, reportState{}
}

// read looks for addresses in a line. The first reader whose format it is has it.
func (x *Reader) read(line string) {
	if x.opt.Ours != nil && x.opt.Ours(line) {
		return
	}
	line = withoutPrefix(plain(line))
	if line != "" && line[0] == '{' && x.readJSON(line) {
		return
	}
	if texts := fieldTexts(line); len(texts) > 0 && x.nested < maxJSON && x.readTexts(texts) {
		return
	}
	if line = x.withoutShape(line); line == "" || strings.HasPrefix(line, tracer.Tag) {
		return
	}
	if strings.Contains(line, bootMark) {
		x.booted(line)
	}
	x.now, x.first, x.odd = line, false, false
	from := len(x.hits)
	format := x.readAs(line)
	x.notePC(format, from)
	if !x.dry {
		if x.odd || format == "" && len(x.hits) == from {
			x.leave(line)
		}
		if format == "" && len(x.hits) > from {
			format = FormatAddress // of lines before
		}
		x.group(line, format, from)
	}
}

// maxPCs bounds the program counters that are kept, pcLines the lines between one and the list of
// frames below it: registers, code, words of the stack.
const (
	maxPCs  = 8
	pcLines = 64
)

// notePC keeps the exact addresses of a line that is no frame, for the list that follows. Many
// systems begin it with the pc itself, among return addresses: so the first frame is exact if it
// is the pc that was printed above it.
func (x *Reader) notePC(format string, from int) {
	if x.pcAge++; x.pcAge > pcLines {
		x.pcs = x.pcs[:0]
	}
	for i := from; i < len(x.hits); i++ {
		switch h := &x.hits[i]; {
		case h.quoted:
		case h.list:
			x.pcs = x.pcs[:0] // the list has begun
		case !h.ret && len(x.pcs) < maxPCs:
			x.pcs, x.pcAge = append(x.pcs, h.Addr), 0
		}
	}
}

// A format is a row of the table of formats.
type format struct {
	name string // "": of several, between which the reader decides
	read func(x *Reader, line string) bool
}

// formats returns the table, in the order in which its readers are tried.
func formats() [8]format {
	return [...]format{
		{FormatMarkup, (*Reader).readMarkup},
		{FormatGo, (*Reader).readGo},
		{FormatLinux, (*Reader).readOops},
		{"", (*Reader).readReport}, // programs, profilers, crash reports
		{formatLayout, (*Reader).readLayout},
		{"", (*Reader).readBoard}, // TinyGo, ESP-IDF, Zephyr
		{FormatWinDbg, (*Reader).readK},
		{FormatGDB, (*Reader).readGDB},
	}
}

// readAs returns the format of the line, or "".
func (x *Reader) readAs(line string) string {
	for _, f := range formats() {
		if !f.read(x, line) {
			continue
		}
		name := f.name
		if name == "" {
			name = x.which
		}
		if name == formatLayout {
			return ""
		}
		if !x.dry {
			x.begin(name, line)
		}
		return name
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
func (x *Reader) hit(h Hit) bool {
	if x.find(h) {
		return true
	}
	x.early(h)
	return false
}

// most is how many addresses a line may have. Some have those of a whole report.
func (x *Reader) most() int {
	if x.rep.listed {
		return maxIPS
	}
	return maxHits
}

// find is hit for an address that is not kept if it is in no image.
func (x *Reader) find(h Hit) bool {
	x.lookForOffset()
	if len(x.layout.maps) > 0 && !h.linked && x.mapped(h) {
		return true
	}
	for _, p := range x.programs() {
		if at := h; x.hitIn(p, at) {
			return true
		}
	}
	return false
}

// hitIn does so with one program.
func (x *Reader) hitIn(p *program, h Hit) bool {
	if len(x.hits) >= x.most() {
		return false
	}
	if !h.linked {
		h.Addr -= p.bias
	}
	if p.thumb {
		h.Addr &^= 1
	}
	if !h.linked && !p.inText(h.Addr, h.ret) {
		return false
	}
	x.lookAhead()
	if h.ret && h.list && slices.Contains(x.pcs, h.Addr) || h.ret && h.name != "" && h.off == 0 && p.noCall(h.Addr) {
		h.ret = false
	}
	h.Calls = p.lookup(h.Addr, h.ret)
	if n := len(h.Calls); n > 0 && h.name != "" && h.ret && h.off > 0 && h.Calls[n-1].Function != h.name {
		// The end of one function is the entry of the next, where a return address would
		// have a call before it. The trace has named the one that it means.
		if h.Calls = slices.Clone(p.lookup(h.Addr-1, false)); len(h.Calls) == 0 {
			h.Calls = []lookup.Call{{}}
		}
		for i := range h.Calls {
			h.Calls[i].Offset = h.off
		}
	}
	if len(h.Calls) == 0 {
		return false
	}
	if h.name != "" && !(h.ret && h.off == 0) {
		// The address may have other names too, or none: behind a function's end.
		if last := len(h.Calls) - 1; h.Calls[last].Function != h.name {
			h.Calls = slices.Clone(h.Calls)
			h.Calls[last].Function, h.Calls[last].Offset = h.name, h.off
		}
	}
	if h.name != "" && functionAfter(h.name) != "" {
		// It is of no line, though a line table may count it to the function before.
		h.Calls = []lookup.Call{{Function: h.name, Offset: h.off}}
	}
	if x.opt.Demangle {
		h.Calls = inSource(h.Calls)
	}
	x.hits = append(x.hits, h)
	return true
}

func (p *program) lookup(addr uint64, ret bool) []lookup.Call {
	if p.noted != nil {
		p.noted.asked = append(p.noted.asked, lookup.Question{Addr: addr, Ret: ret})
		return nil
	}
	calls := p.ahead.lookup(p.sym, addr, ret)
	if len(calls) > lookup.MaxCalls {
		calls = calls[len(calls)-lookup.MaxCalls:]
	}
	return calls
}

// functions returns the functions called name that are of the size, as the trace
// counts it (0: it does not say), and have the offset: those of the first program
// that has one. If there are others of the name only, it says so.
func (x *Reader) functions(in []*program, name string, off, size uint64) (*program, []lookup.Named) {
	var other uint64 // the size of one that does not fit
	for _, p := range in {
		if p.names == nil {
			continue
		}
		all := p.called(name)
		if fit := x.fitting(p, all, off, size); len(fit) > 0 {
			return p, fit
		}
		if len(all) > 0 && other == 0 {
			other = max(all[0].Span, all[0].Size)
		}
	}
	if other != 0 && size != 0 {
		x.lack.differ(fmt.Sprintf("its function %s has %#x bytes, and that of the ELF file %#x", terminal.Clean(name), size, other))
	}
	return nil, nil
}

// fitting returns those of the functions that are of the size and have the offset: of those that fit
// in several ways, the ones that fit best.
func (x *Reader) fitting(p *program, all []lookup.Named, off, size uint64) []lookup.Named {
	const (
		none = iota
		byName
		bySize
		bySpan
	)
	fits := func(n *lookup.Named) int {
		switch {
		case off > max(n.Span, n.Size): // the call at the very end of a function returns behind it
			return none
		case size == 0:
			return byName
		case size == n.Span:
			return bySpan
		case size == n.Size, p.module != "" && n.Last && size > n.Span:
			return bySize // what follows a module's section in memory, the file does not tell
		}
		return byName
	}
	best := none
	for i := range all {
		best = max(best, fits(&all[i]))
	}
	if best == none || best == byName && size != 0 && !x.opt.Force {
		return nil
	}
	other := func(n lookup.Named) bool { return fits(&n) != best }
	if slices.ContainsFunc(all, other) {
		return slices.DeleteFunc(slices.Clone(all), other)
	}
	return all
}

// named adds the place off bytes into the functions called name, of which the
// trace gives the size or 0, and the address too if hasAddr: that of h, which says what else is
// known of it.
func (x *Reader) named(in []*program, name string, off, size uint64, h Hit, hasAddr bool) bool {
	addr := h.Addr
	after := functionAfter(name)
	if after != "" && off == size && off != 0 {
		name, after, off, size, h.ret = after, "", 0, 0, false
	}
	p, found := x.functions(in, name, off, size)
	if len(found) > 1 && hasAddr {
		for _, n := range found {
			if n.Start+off == addr-p.bias {
				found = []lookup.Named{n}
				break
			}
		}
	}
	if len(found) == 1 && hasAddr {
		p.setBias(addr - found[0].Start - off)
	}
	added := false
	for i, n := range found[:min(len(found), maxSame)] {
		at := h
		at.Addr, at.linked, at.name, at.off = n.Start+off, true, name, off
		if after != "" && off == n.Span { // the first byte of what follows
			at.ret, at.name, at.off = false, after, 0
		}
		if len(found) > 1 {
			at.Note = fmt.Sprintf(" (or: %d of %d of this name and size)", i+1, len(found))
		}
		added = x.hitIn(p, at) || added
	}
	return added
}

// functionAfter returns the function before which Linux has room, for a tracer or a type's hash, if
// name is the symbol of that room; otherwise "". A trace names it for the address of the function
// itself, a byte before which it looks for the symbol.
// Source: Linux, tools/objtool/check.c, create_prefix_symbols; clang, -fsanitize=kcfi.
func functionAfter(name string) string {
	for _, before := range [...]string{"__pfx_", "__cfi_"} {
		if function, ok := strings.CutPrefix(name, before); ok {
			return function
		}
	}
	return ""
}

// ParseBias reads the argument of -bias: a number, or FUNCTION[+OFFSET]=ADDRESS,
// an address at which the trace's system has a function of the ELF file.
func ParseBias(s string, sym lookup.Resolver) (uint64, error) {
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
	names, ok := sym.(lookup.NameResolver)
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

// hexWord writes an address as Linux does.
func hexWord(addr uint64) string { return fmt.Sprintf("%016x", addr) }

// hexNumber reads a hexadecimal number, with or without 0x.
func hexNumber(s string) (uint64, bool) {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	v, err := strconv.ParseUint(s, 16, 64)
	return v, err == nil
}
