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
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
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
	long   bool // the line is longer than is looked at
	blank  bool // a blank follows it
	hits   []Hit
	said   map[string]bool
	told   map[string]bool // wanted files
	lack   lack            // of the trace that is read
	lacks  []lack          // of those before
	offset offsetState
	markup markupState
	forms  *[256][]*form
	middle

	Groups grouping

	Mismatch bool // an ELF file is of another build than what ran
	Lost     int  // traces of which nothing was resolved
	Left     int  // frames that were not, of what was given, and lines that look like frames

	first  bool // the line begins a trace
	begins bool // it begins a list of frames, and a trace if there was such a list before
	nested int  // objects of JSON around the text that is read
	odd    bool // the line has what may be a frame, in a form that is not known
	left   left // such lines

	covered int    // lines that are looked up ahead, and more come; 0: there are no more
	looked  bool   // it has been looked at
	now     string // the line that is read
}

// A middle is what the lines so far say of those to come, unless the stream breaks off.
type middle struct {
	shape  string   // of a prefix that is none of the known ones
	pcs    []uint64 // where the ELF file has the program counters printed of late
	pcAge  int      // lines since
	oops   oopsState
	g      goState
	board  boardState
	gdb    gdbState
	k      kState
	layout layoutState
	list   listState
	ips    ipsState
}

// New returns a reader of the lines of a stream.
func New(opt Options) *Reader {
	x := &Reader{opt: opt, forms: forms(), said: make(map[string]bool), told: make(map[string]bool)}
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
		if body := terminal.StripColours(string(line[:n])); body != "" &&
			!strings.HasPrefix(body, tracer.Tag) {
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
	x.offset.early, x.middle = nil, middle{}
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
	x.now, x.first, x.begins, x.odd = line, false, false, false
	from := len(x.hits)
	format := x.readAs(line)
	x.notePC(from)
	if x.odd || format == "" && len(x.hits) == from {
		x.leave(line)
	}
	if format == "" && len(x.hits) > from {
		format = FormatAddress // of lines before
	}
	x.group(line, format, from)
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
func (x *Reader) notePC(from int) {
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

// readAs returns the format of the line, or "". The first reader whose format it is has it.
func (x *Reader) readAs(line string) string {
	for _, read := range [...]func(line string) string{x.readMarkup, x.readGo, x.readOops, x.readIPS,
		x.readRows, x.readBoard, x.readK, x.readMarked} {
		switch format := read(line); format {
		case "":
			continue
		case formatLayout:
			return ""
		default:
			x.begin(format, line)
			return format
		}
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
