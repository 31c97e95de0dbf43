package foreign

// The traces of others as Traces: what the Reader and its formats find line by line is
// put together, so that there is one object for one trace, in JSON and wherever else
// traces are shown alone.
//
// None of these formats says where a trace ends. It ends where its format begins
// another, where another format comes, after a mark such as Linux's "end trace",
// when so many lines have had nothing of it, or when no more input comes.

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/wire"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// The formats of foreign traces: Trace.Format, and Trace.Kind too.
const (
	FormatLinux  = "linux"
	FormatGo     = "go"
	FormatTinyGo = "tinygo"
	FormatMarkup = "markup"
	FormatESP    = "esp-idf"
	FormatZephyr = "zephyr"
	FormatGDB    = "gdb"
	FormatLLDB   = "lldb"
	FormatWinDbg = "windbg"

	FormatSanitizer = "sanitizer" // AddressSanitizer and its kin
	FormatCoredump  = "coredump"  // systemd's
	FormatGlibc     = "glibc"     // backtrace_symbols
	FormatChromium  = "chromium"
	FormatAndroid   = "android" // tombstones
	FormatRust      = "rust"
	FormatFault     = "fault" // Linux of a program that it ends
	FormatPerf      = "perf"
	FormatBPF       = "bpftrace"
	FormatValgrind  = "valgrind"
	FormatHotSpot   = "hotspot"  // the JVM's hs_err files
	FormatMinidump  = "minidump" // Breakpad's text
	FormatFreeBSD   = "freebsd"
	FormatCrash     = "crash" // the debugger of Linux's dumps
	FormatMacOS     = "macos"
	FormatHaiku     = "haiku"
	FormatEDK       = "edk2"
	FormatCoreboot  = "coreboot"

	formatLayout = "layout" // of lines that are no frames

	FormatAddress = "address" // addresses that only a word marks, or that are guessed
)

const (
	// groupGap is how many lines without a frame end a trace: registers, code and a
	// list of modules stand between Linux's frames.
	groupGap = 40
	// maxForeignRegisters bounds the registers of one trace.
	maxForeignRegisters = 128
)

// grouping is the foreign trace that is being put together.
type grouping struct {
	report func(*wire.Trace) // nil: nobody wants to know, and the frames are only counted
	format string
	frames []wire.Frame
	asides []wire.Frame // link registers: in the trace only if it has no callers
	over   bool         // there were more frames
	quiet  int          // lines since the latest frame

	head      string // the line that says why, until a trace has it
	headAge   int    // lines since
	header    string // Go's line above a goroutine's frames
	goroutine uint64
	thread    uint64
	registers map[string]uint64

	listed bool       // its list of frames has begun
	pc     wire.Frame // of Linux's latest trace, which is printed behind its end again
}

// Open reports whether a trace is being put together.
func (g *grouping) Open() bool { return len(g.frames)+len(g.asides) > 0 }

var (
	linuxPID      = lookup.Regexp(`\bPID: ([0-9]+)`)
	linuxRegister = lookup.Regexp(
		`\b(R[0-9A-Z]{2}|E[A-Z]{2}|CR[0-9]|[xr][0-9]{1,2}|sp) ?: (?:[0-9a-f]{4}:)?([0-9a-f]{8,16})\b`)
)

// Beginnings of the lines that say why there is a trace. Those of linuxHeads begin
// another one.
var (
	linuxHeads = []string{"BUG: ", "WARNING: ", "Kernel panic", "general protection fault",
		"Unable to handle ",
		"INFO: ", "watchdog: ", "rcu: INFO: ", "UBSAN: ", "------------[ cut here"}
	otherHeads = []string{"Oops", "kernel BUG at ", "Internal error: ", "divide error",
		"invalid opcode",
		"panic: ", "fatal error: ", "unexpected fault ", "Guru Meditation Error", "abort() was called",
		"assert failed",
		"Program received ", "Program terminated "}
)

func beginsWith(line string, any []string) bool {
	return slices.ContainsFunc(any, func(s string) bool { return strings.HasPrefix(line, s) })
}

// saysWhy reports whether the line says why there is a trace. "cut here" begins one and says
// nothing.
func saysWhy(line string) bool {
	return !strings.HasPrefix(line, "---") &&
		(beginsWith(line, linuxHeads) || beginsWith(line, otherHeads) ||
			(strings.HasPrefix(line, "SIG") || strings.HasPrefix(line, "Thread ")) &&
				(strings.Contains(line, ": ") || strings.Contains(line, " received signal ")) ||
			strings.Contains(line, ">>> ZEPHYR ") || strings.Count(line, "***") > 1) // Zephyr's
}

// begin ends the trace so far if a line of the format is the first of another.
func (x *Reader) begin(format, line string) {
	g := &x.Groups
	first := x.first
	if x.begins { // registers come before
		first, g.listed = g.listed, true
	}
	switch {
	case !first:
	case format == FormatGo:
		n, _, _ := strings.Cut(strings.TrimPrefix(line, "goroutine "), " ")
		x.EndGroup()
		g.goroutine, _ = strconv.ParseUint(n, 10, 64)
		g.header = strings.TrimSuffix(line, ":")
	case g.format != FormatAddress: // otherwise what says why has an address, and this is its list
		listed := g.listed
		x.EndGroup()
		g.listed = listed
	}
}

// group takes what a line said, after its addresses have been read: the hits behind the first
// from. The format is ""
// for a line that no reader has taken.
func (x *Reader) group(line, format string, from int) {
	g := &x.Groups
	if g.report == nil && !g.Open() && len(x.hits) == from {
		return // its frames are only counted
	}
	g.quiet++
	g.headAge++
	if g.format == FormatLinux && len(g.frames) > 0 && beginsWith(line, linuxHeads) ||
		g.quiet > groupGap {
		x.EndGroup()
	}
	if (g.head == "" || g.headAge > groupGap) && saysWhy(line) {
		g.head, g.headAge = line, 0
	}
	if g.report != nil && (g.format == FormatLinux || format == FormatLinux ||
		strings.HasPrefix(g.head, "BUG: ")) {
		g.linuxLine(line)
	}
	for i := from; i < len(x.hits); i++ {
		if x.hits[i].begins {
			x.EndGroup()
		}
		x.gather(&x.hits[i], format)
	}
	if strings.Contains(line, "---[ end trace") || strings.Contains(line, "---[ end Kernel panic") {
		if len(g.frames) > 0 && g.frames[0].Kind == tracer.PC {
			defer func(pc wire.Frame) { g.pc = pc }(g.frames[0])
		}
		x.EndGroup()
	}
}

// linuxLine keeps the registers and the process, the first that come: those of the
// user's program follow.
func (g *grouping) linuxLine(line string) {
	if m := linuxPID().FindStringSubmatch(line); m != nil && g.thread == 0 {
		g.thread, _ = decimal(m[1])
	}
	if !strings.Contains(line, ": ") {
		return
	}
	if g.registers == nil {
		g.registers = make(map[string]uint64)
	}
	for _, m := range linuxRegister().FindAllStringSubmatch(line, 16) {
		name := strings.ToLower(m[1])
		if _, ok := g.registers[name]; !ok && len(g.registers) < maxForeignRegisters {
			g.registers[name], _ = hexNumber(m[2])
		}
	}
}

// gather adds an address to the trace that it belongs to.
func (x *Reader) gather(h *Hit, format string) {
	g := &x.Groups
	f := wire.Frame{Kind: tracer.RA, Address: h.Addr, Calls: h.Calls, Quoted: h.quoted,
		Note:   strings.TrimSpace(h.Note),
		Module: h.module, Bare: true}
	switch {
	case h.unsure:
		f.Kind = tracer.Scan
	case !h.ret:
		f.Kind = tracer.PC
	}
	switch {
	case format == FormatLinux && !g.Open() && !h.ret && samePlace(&f, &g.pc):
		g.pc = wire.Frame{}
		return
	case !g.Open(), g.format == FormatAddress && format != FormatAddress:
		g.format = format
	case format != FormatAddress && format != g.format:
		x.EndGroup()
		g.format = format
	}
	g.quiet, g.pc = 0, wire.Frame{}
	to := &g.frames
	if h.aside {
		to = &g.asides
	} else if n := len(g.frames); n == 1 && f.Kind == tracer.PC && g.frames[0].Kind == tracer.PC &&
		samePlace(&f, &g.frames[0]) {
		return // the pc above a list that begins with it
	} else if n > 0 && format == FormatAddress && g.format == FormatCrash &&
		samePlace(&f, &g.frames[n-1]) {
		return // a register below the frame
	}
	if len(*to) >= wire.MaxFrames {
		g.over = true
		return
	}
	*to = append(*to, f)
}

// samePlace reports whether two frames are at one address, or at one place in the words
// of the trace.
func samePlace(a, b *wire.Frame) bool {
	if a.Quoted && b.Quoted && a.Address == 0 && b.Address == 0 && len(a.Calls) > 0 &&
		len(b.Calls) > 0 {
		x, y := &a.Calls[len(a.Calls)-1], &b.Calls[len(b.Calls)-1]
		return x.Function == y.Function && x.Offset == y.Offset && a.Module == b.Module
	}
	return a.Address == b.Address && a.Address != 0
}

// EndGroup reports the trace that has been put together, if there is one.
func (x *Reader) EndGroup() {
	g := &x.Groups
	if !g.Open() {
		return
	}
	frames := g.frames
	if len(frames) == 1 && frames[0].Kind == tracer.PC || len(frames) == 0 && g.format != FormatGo {
		frames = append(frames, g.asides...)
	}
	if len(frames) == 0 { // a signal's pc: its goroutine comes now
		g.asides, g.quiet = nil, 0
		return
	}
	if g.report == nil {
		x.count(g.format, frames)
		*g = grouping{frames: frames[:0]} // the room is used again
		return
	}
	t := &wire.Trace{Format: g.format, Kind: g.format, Reason: g.head, Thread: g.thread,
		Registers: g.registers, Frames: frames}
	if g.format == FormatGo {
		t.Goroutine = g.goroutine
		if t.Reason == "" {
			t.Reason = g.header
		}
	}
	x.count(g.format, frames)
	t.Reason = strings.TrimSpace(t.Reason[:min(len(t.Reason), wire.MaxReason)])
	if g.over {
		t.MarkDamaged("it has too many frames")
	}
	*g = grouping{report: g.report}
	g.report(t)
}

// quote keeps what a line says of a frame that is in none of the ELF files, for
// the trace that it belongs to. It is not shown below its line.
func (x *Reader) quote(h Hit, calls ...lookup.Call) {
	if len(x.hits) >= x.most() {
		return
	}
	h.quoted, h.Calls = true, calls
	x.hits = append(x.hits, h)
}

// shown returns the hits of the line that are to be shown below it.
func (x *Reader) shown() []Hit {
	return slices.DeleteFunc(x.hits, func(h Hit) bool { return h.quoted || h.silent })
}
