package foreign

// The forms of frames: of programs, profilers, crash reporters, debuggers, small systems, and
// kernels other than Linux; and of the lines that say what is loaded where. A form is a row of one
// table, and row.read reads them all.
//
// Whether an address is that of an instruction that was running or calling (exact), or a
// return address, is as the sources have it:
//
//	sanitizers      each pc is the one before the return address: exact
//	                (sanitizer_common, StackTrace::GetPreviousInstructionPc)
//	systemd         elfutils' pc: exact in frame 0 and below a signal's frame
//	                (src/shared/elf-util.c, frame_callback)
//	glibc           what backtrace() returns: return addresses (debug/backtracesyms.c)
//	Chromium        the same
//	Rust            what the unwinder returns: return addresses (std/src/sys/backtrace.rs)
//	Android         libunwindstack has gone back from the return address: exact (Unwinder.cpp)
//	perf, bpftrace  the sample is exact, and its callers are return addresses. perf takes 1
//	                off these for DWARF's call graphs, which leaves them in the call
//	                (tools/perf/util/evsel_fprintf.c; bpftrace, src/bpftrace.cpp, get_stack)
//	Linux           of a program that it ends: exact (arch/x86/mm/fault.c, show_signal_msg)
//	FreeBSD, NetBSD, OpenBSD
//	                db_trace.c: return addresses, but where a trap came in, and frame 0
//	                where it is the place at which the kernel was stopped
//	Haiku           arch_debug.cpp, print_stack_frame: return addresses, but below an iframe
//	crash           return addresses as they lie on the stack, and the "exception RIP"
//	                (x86_64.c, x86_64_print_stack_entry)
//	gdb             exact in frame 0 and below "<signal handler called>"
//	lldb            exact in frame 0, below a signal's frame and below calls inlined into these
//	Valgrind        m_stacktrace.c has taken 1 off each return address: exact
//	HotSpot         vmError.cpp: exact in frame 0
//	macOS           exact in frame 0; a kernel panic has return addresses (XNU, model_dep.c)
//	Breakpad        stackwalk_common.cc prints frame->ReturnAddress(): exact in frame 0
//	EDK II          the IP is exact (CpuExceptionCommon.c), and what it returns to (ARM,
//	                DefaultExceptionHandler.c) is not; GenFw keeps the addresses of the ELF file
//	coreboot        exact (src/arch/x86/exception.c)
//	ESP-IDF, TinyGo have taken the length of the call off: exact

import (
	"regexp"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// A row is the form of a line.
type row struct {
	format string
	starts string // the bytes with which the line may begin, blanks apart; "": all but #
	has    string // what each such line has; without expr, how it begins
	expr   string // its groups are the fields of spot.set
	base   base   // what the group at counts from
	rule   rule
	check  func(x *Reader, s *spot) verdict // what the expression cannot say; nil: nothing
}

// A form is a row that is ready for use.
type form struct {
	row
	compiled func() *regexp.Regexp
}

// A rule says which frames of a form are exact, and what its lines are.
type rule uint16

const (
	always  rule = 1 << iota // each frame is exact
	zero                     // frame 0 is
	below                    // the frame is below a line or a frame that marks it
	opening                  // the first of a list is
	begins                   // the line begins a trace
	lists                    // the first of a list begins one
	head                     // the line is no frame: a list follows it
	mark                     // the line is no frame: the next frame is exact
	inside                   // the form is one of a list that was opened alone
	afterPC                  // a list of such frames may begin with the pc that was printed above it
	aside                    // the frame is none of a list
)

// A verdict is what a row's check finds.
type verdict uint8

const (
	refused verdict = iota // the line is not of the form
	taken                  // it is, and there is nothing to look up
	isFrame
)

// groups are the parts of expressions that most forms have, by their names in braces.
var groups = sync.OnceValue(func() *strings.Replacer {
	const hex = `[0-9a-f]{1,16}`
	all := []string{"{hex}", hex, "{hex8}", `[0-9a-f]{8,16}`, "{symbol}",
		`[A-Za-z_.$?][A-Za-z0-9_.$]*`,
		"{#}", `^\s*#(?P<n>[0-9]{1,6})\s+`, "{n.}", `^\s*(?P<n>[0-9]{1,6})\s+`, "{doff}",
		`(?P<doff>[0-9]{1,18})`,
		"{infile}", `\((?P<file>(?:[^()]|\([^()]*\))+)`, // whose name may have brackets
		"{place}", `(?P<name>\S(?:.*\S)?) *\+ *(?:0x(?P<off>` + hex + `)|(?P<doff>[0-9]{1,18}))`}
	for _, name := range [...]string{"addr", "at", "off", "start", "size"} {
		all = append(all, "{"+name+"}", "(?P<"+name+">"+hex+")", "{"+name+"8}",
			"(?P<"+name+">[0-9a-f]{8,16})")
	}
	return strings.NewReplacer(all...)
})

const (
	decimals = "0123456789"
	hexes    = decimals + "abcdef"
)

// rows is the table, in the order in which its rows are tried.
var rows = []row{
	{FormatAndroid, "#", " pc ",
		`{#}pc {at8}  ?(?P<file>\S.*?)(?: \(offset 0x[0-9a-f]+\))?(?: \((?P<name>.+?)(?:\+{doff})?\))?$`,
		fromZero, always, nil},
	{FormatCrash, "#", "] ",
		`{#}\[{hex8}\] (?P<name>\S+) at {addr8}(?: \[(?P<mod>[A-Za-z0-9_-]+)\])?$`, noBase, 0, nil},
	{FormatCoredump, "#", " + 0x", `{#}0x{addr} *(?P<name>.*?) *{infile} \+ 0x{at}\)$`, fromHead,
		zero | below, nil},
	{FormatChromium, "#", "+0x",
		`^\s?#(?P<n>[0-9]{1,6})\s+0x{addr} +(?:(?P<name>[^i(].*?|i[^n].*?|in[^ ].*?) )?{infile}\+0x{at}\)$`, fromZero, 0, nil},
	{FormatSanitizer, "#", "+0x",
		`{#}(?:0x{addr} +)?(?:in )?(?:(?P<name>.*?)(?: (?P<src>\S+:[0-9]{1,9})| <null>)? )?{infile}\+0x{at}\)$`, fromZero, always, nil},
	{FormatFreeBSD, "#", " at ", `{#}0x{addr} at (?:{place}|(?P<fn>[A-Za-z0-9_.$@]+))$`,
		noBase, 0, nil},
	{FormatChromium, "#", " 0x", `{#}0x{addr} +(?:<unknown>|{place}|(?P<name>.+))$`, noBase, 0,
		chromiumFrame},
	{FormatGDB, "#", "#", `^#(?P<n>[0-9]{1,6}) +(?:0x{addr} in )?(?P<name>\S.*?)(?: \((?P<args>.*))?$`,
		noBase, zero | below, gdbFrame},
	{FormatHotSpot, "#CVA", "  [",
		`^\s*(?:(?P<zero>#) +)?[CVA]  \[(?P<file>[^\]]+?)\+0x{at}\](?:  ?(?:{place}|(?P<name>\S.*)))?$`,
		fromHead, zero | below, nil},

	{FormatRust, decimals, ": ", `^\s*(?P<n>[0-9]{1,18}): *0x{addr} -(?: (?P<name>.+))?$`, noBase,
		0, rustFrame},
	{FormatMinidump, decimals, "|0x",
		`^\s*[0-9]+\|(?P<n>[0-9]+)\|(?P<file>[^|]+)\|(?:\|[^|]*\|[^|]*\|0x{at}|(?P<name>[^|]+)\|(?:\|[^|]*\|0x{off}|(?P<src>[^|]+)\|(?P<line>[^|]*)\|0x{hex}))$`, fromHead, zero, nil},
	{FormatMacOS, "0", " : 0x", `^\s*0x{hex8} : 0x{addr8}(?: \S+ : (?P<name>\S+)(?: \+ 0x{off})?)?$`,
		noBase, inside, nil},
	{FormatPerf, hexes, " (",
		`^\s+(?:0x)?(?P<addr>[0-9a-f]{3,16}) +(?:{place}|(?P<name>.+)) \((?P<file>[/\[][^(]*|inlined)\)$`,
		noBase, opening | lists, perfFrame},
	{FormatHaiku, decimals, "(+",
		`{n.}{hex8} \(\+ *-?[0-9]+\) {addr8}(?: +<(?:kernel_[^>]*|(?P<file>[^>]+))>:? *(?:(?P<name>.+) \+ 0x{off}|.*?)(?: \(nearest\))?)?$`, noBase, below | afterPC, nil},
	{FormatMinidump, decimals, " + 0x",
		`{n.}(?P<file>\S.*?)(?: \+ 0x{at}|!(?P<name>.+?)(?: \+ 0x{off}| \[(?P<src>.+) : (?P<line>[0-9]+) \+ 0x{hex}\]))$`, fromHead, zero, nil},
	{FormatMacOS, decimals, "0x",
		`{n.}(?P<file>[^\s#].*?)[ \t]+0x{addr8} (?:0x{start8} \+ (?P<dat>[0-9]{1,18})|(?P<name>.+?)(?: \+ {doff})?(?: \((?P<src>\S+:[0-9]+)\))?)$`, fromHead, zero, appleFrame},
	{FormatCrash, "[", "[exception ",
		`^\s*\[exception (?:RIP|PC): (?P<name>\S+?)\+{doff}(?: \[(?P<mod>[A-Za-z0-9_-]+)\])?\]$`, noBase,
		always, nil},
	{FormatFreeBSD, "-", "--- ", `^\s*--- (?:trap |interrupt|exception)(?:[^/]|/[^0])*$`,
		noBase, mark, nil},
	{FormatEDK, "!", "!!!! Find",
		`^\s*!!!! Find image based on IP\(0x(?P<addr>[0-9A-Fa-f]{1,16})\) (?P<file>\S.*?) +\(ImageBase=(?:0x)?(?P<start>[0-9A-Fa-f]{8,16}), EntryPoint=`, fromZero, always | begins, edkImage},
	{FormatEDK, "P", "PC 0x",
		`^\s*PC 0x(?P<addr>[0-9A-Fa-f]{8,16}) \(0x[0-9A-Fa-f]{8,16}\+0x(?P<at>[0-9A-Fa-f]{1,16})\) \[ *(?P<n>[0-9]+)\] (?P<file>\S.*)$`, fromZero, zero, nil},
	{FormatGlibc, "", "[0x",
		`(?:(?P<file>\S+)\((?:\+0x{at}|(?P<name>[^\s-]+?)(?:\+0x{off})?)?\)|(?P<path>\S*[^\s\])])|^\s*) ?\[0x{addr}\]$`, fromZero, lists, glibcFrame},
	// it repeats a frame
	{FormatSanitizer, "S", "SUMMARY: ", `^\s*SUMMARY: [A-Za-z]+Sanitizer: \S.* \(\S+\+0x[0-9a-f]+\)$`,
		noBase, head, nil},
	{FormatFault, "", " sp",
		`\bip[ :](?P<addr>[0-9a-f]{4,16}) sp[ :]{hex8} error[ :][0-9a-f]+(?: \S.*?)?(?:,)? ?in (?P<file>\S.*?)\[(?:{at},)?(?P<start>[0-9a-f]{4,16})\+(?P<size>[0-9a-f]{4,16})\]`, fromFile, always | begins, faultLine},
	{formatLayout, "", "fault",
		`fault.*, in (?P<file>\S.*?)\[(?:{hex},)?(?P<start>[0-9a-f]{4,16})\+(?P<size>[0-9a-f]{4,16})\]`,
		fromText, 0, faultMapping},
	{FormatCoreboot, "U" + decimals, " - Halting",
		`^\s*(?:Unexpected Exception:? )?[0-9]+ @ [0-9a-f]{2,4}:{addr8} - Halting$`, noBase,
		always | begins, nil},
	{FormatFreeBSD, "", ") at ",
		`^\s*(?P<path>{symbol})\([^)]*\) at (?:(?P<addr>0x{hex8}|[0-9][0-9a-f]{7,15})|(?:(?:netbsd|(?P<file>[A-Za-z0-9_.-]+)):)?(?P<fn>{symbol})(?:\+0x{off})?)(?:/frame 0x[0-9a-f]+)?(?: \S+:-?[0-9]+)?$`, noBase, below | afterPC, ddbFrame},
	{FormatFreeBSD, "S", "Stopped ",
		`^\s*Stopped (?:in .* )?at\s+(?:[A-Za-z0-9_.-]+:)?(?P<fn>{symbol})(?:\+0x{off})?:(?:\s|$)`,
		noBase, always | begins, nil},
	{FormatHaiku, "", "iframe at 0x", `^\s*(?:[a-z]+ )?iframe at 0x[0-9a-f]+`, noBase, mark, nil},
	{FormatLLDB, "*f", "frame #",
		"^\\s*(?:[*] )?frame #(?P<n>[0-9]{1,6}): 0x(?P<addr>[0-9a-f]{4,16}) (?P<file>[^`]+)`(?P<name>.+?)(?: [+] {doff})?(?: at (?P<src>\\S+?:[0-9]+)(?::[0-9]+)?)?(?: \\[opt\\])?$", noBase, zero | below, lldbFrame},
	{FormatValgrind, "=ab", " (in ",
		`^\s*(?:==[0-9]+==\s+)?(?:(?P<zero>at)|by) 0x(?P<addr>[0-9A-Fa-f]{4,16}): (?P<name>.+) \(in (?P<file>\S.*)\)$`, noBase, always, nil},
	{FormatBPF, "@", "", `^\s*@.*\[$`, noBase, mark | begins, nil},
	{FormatBPF, "0", "0x", `^\s+0x{addr}$`, noBase, below | lists, bpfFrame},
	{FormatBPF, "", "+", `^\s+(?P<name>\S+|\S.*\(.*\S) *\+ *{doff}$`, noBase, below | lists, bpfFrame},

	{FormatFreeBSD, "K", "KDB: stack backtrace", "", noBase, head | begins, nil},
	{FormatFreeBSD, "T", "Tracing pid ", "", noBase, mark | begins, nil},
	{FormatFreeBSD, "T", "Tracing command ", "", noBase, mark | begins, nil},
	// the place where it was stopped comes first
	{FormatFreeBSD, "d", "ddb", `^\s*ddb.*> (?:tr|bt)`, noBase, mark | begins, nil},
	{FormatHaiku, "s", "stack trace for thread ", "", noBase, head | begins, nil},
	{FormatCrash, "P", "PID: ", `^\s*PID: .*TASK: `, noBase, head | begins, nil},
	{FormatMacOS, "B", "Backtrace (CPU ", "", noBase, head | begins, nil},
	{FormatMacOS, "P", "Panicked thread: ", "", noBase, head | begins, nil},
	{FormatMacOS, "p", "panic(cpu ", "", noBase, head, nil},
	{FormatGlibc, "=", "======= Backtrace: ===", "", noBase, head, nil},
	{formatLayout, "=", "======= Memory map: ", "", noBase, head, nil},
	{FormatHotSpot, "N", "Native frames:", "", noBase, mark | begins, nil},
	{FormatWinDbg, "S", "STACK_TEXT:", "", noBase, head | begins, stackText},
	{FormatMacOS, "K", "Kernel slide:", `^\s*Kernel slide:\s+0x{at}$`, noBase, head, slide},

	{formatLayout, "0", " - ",
		`^\s*0x(?P<start>[0-9a-fA-F]{1,16}) - +0x(?P<end>[0-9a-fA-F]{1,16})  ?\+?(?:(?P<name>\S.*?) .*<[0-9A-Fa-f-]{32,36}> (?:(?P<file>/.*)|\?\?\?)|(?P<file>\S.*?)  \S.*)$`, fromHead, 0, mapLine},
	// gdb's info proc mappings
	{formatLayout, "0", " /",
		`^\s+0x(?P<start>[0-9a-f]{4,16}) +0x(?P<end>[0-9a-f]{4,16}) +0x[0-9a-f]+ +0x{at}  ?(?:[r-][w-][x-][ps])? +(?P<file>/\S.*)$`, fromFile, 0, mapLine},
	{formatLayout, hexes, "-",
		`^\s*(?P<start>[0-9a-f]{6,16})-(?P<end>[0-9a-f]{6,16}) [r-][w-][x-][ps] (?P<at>[0-9a-f]{6,16}) [0-9a-f]{2,4}:[0-9a-f]{2,4} +[0-9]+ +(?P<file>\S.*)$`, fromFile, 0, mapLine},
	{formatLayout, "", "PERF_RECORD_MMAP",
		`PERF_RECORD_MMAP2? .*\[0x{start}\(0x{size}\) @ (?:0x)?{at}(?: [^\]]*)?\]: [r-][w-]?[x-]?\S* (?P<file>\S.*)$`, fromFile, 0, mapLine},
	{formatLayout, "FM", " with build-id",
		`^\s*(?:Found module|Module) (?P<file>\S+) with build-id:? (?P<build>[0-9a-f]{8,64})$`, noBase,
		0, buildLine},
	// perf buildid-list
	{formatLayout, hexes, " /", `^\s*(?P<build>[0-9a-f]{40}) (?P<file>/\S.*)$`, noBase, 0, buildLine},

	// the backtrace has the caller of abort too
	{FormatESP, "", "was called at PC", `\bwas called at PC 0x(?P<addr>[0-9a-f]{8})\b`, noBase,
		always | aside, nil},
	{FormatTinyGo, "p", "panic: runtime", `^\s*panic: runtime error at 0x{addr}: `, noBase,
		always | begins, nil},
}

// forms returns the rows for each byte that a line may begin with.
var forms = sync.OnceValue(func() (of *[256][]*form) {
	of = new([256][]*form)
	for _, r := range rows {
		f := &form{r, lookup.Regexp(groups().Replace(r.expr))}
		for c := range of {
			if strings.IndexByte(r.starts, byte(c)) >= 0 || r.starts == "" && c != '#' {
				of[c] = append(of[c], f)
			}
		}
	}
	return of
})

// listState is what the rows know of the lines before.
type listState struct {
	format string // of the latest frame
	lines  int    // that have been read
	last   int    // which of them had the latest frame
	exact  string // the format whose next frame is exact
	addr   uint64 // Rust's latest
	open   string // the format whose list has begun
}

// readRows reads a line that has the form of a row.
func (x *Reader) readRows(line string) string {
	x.list.lines++
	line, build := cutBuild(strings.TrimRight(line, " \t"))
	text := strings.TrimLeft(line, " \t")
	if text == "" {
		return ""
	}
	for _, f := range x.forms[text[0]] {
		s := spot{n: -1, base: f.base, build: build}
		if f.expr == "" && strings.HasPrefix(text, f.has) || f.expr != "" &&
			strings.Contains(line, f.has) && s.match(f.compiled(), line) {
			if x.readRow(&f.row, &s) {
				return f.format
			}
		}
	}
	return ""
}

// listed reports whether the line before was a frame of the format.
func (x *Reader) listed(format string) bool {
	return x.list.format == format && x.list.last >= x.list.lines-1
}

// readRow takes what a line that has the form of the row says.
func (x *Reader) readRow(r *row, s *spot) bool {
	l, listed, now := &x.list, x.listed(r.format), isFrame
	if r.rule&(head|mark) != 0 {
		now = taken
	}
	if r.check != nil {
		now = r.check(x, s)
	}
	if now == refused || r.rule&inside != 0 && l.open != r.format {
		return false
	}
	x.first = s.n == 0 || r.rule&begins != 0 || r.rule&lists != 0 && !listed
	if r.rule&(head|mark) != 0 {
		l.open, l.exact = r.format, ""
	} else if r.format != formatLayout {
		l.format, l.last = r.format, l.lines
	}
	if r.rule&mark != 0 {
		l.format, l.last, l.exact = r.format, l.lines, r.format
	}
	if now == taken {
		return true
	}
	exact := s.exact || r.rule&always != 0 || r.rule&zero != 0 && s.n == 0 ||
		r.rule&below != 0 && l.exact == r.format || r.rule&opening != 0 && !listed
	if r.rule&below != 0 {
		if l.exact = ""; s.inlined && exact || isSignal(s.said) {
			l.exact = r.format
		}
	}
	s.ret, s.list, s.aside = !exact, r.rule&afterPC != 0, r.rule&aside != 0
	x.spot(*s)
	return true
}

// isSignal reports whether a function is the frame of a signal's handler, below which is what the
// signal has interrupted.
func isSignal(name string) bool {
	return name == "__restore_rt" || name == "__kernel_rt_sigreturn" || name == "_sigtramp"
}

// cutBuild cuts off a build ID behind a frame.
func cutBuild(s string) (before, build string) {
	i := strings.LastIndex(s, " (BuildId: ")
	if i < 0 || s[len(s)-1] != ')' {
		return s, ""
	}
	build = s[i+len(" (BuildId: ") : len(s)-1]
	if strings.Trim(build, hexes) != "" {
		return s, ""
	}
	return strings.TrimRight(s[:i], " "), build
}

// chromiumFrame leaves the forms of others.
func chromiumFrame(x *Reader, s *spot) verdict {
	if s.said != "" && (strings.HasPrefix(s.said, "in ") || strings.HasPrefix(s.said, "at ") ||
		s.said[0] == '(') {
		return refused
	}
	return isFrame
}

// rustFrame leaves out a call that is inlined: it has the address of the line before.
func rustFrame(x *Reader, s *spot) verdict {
	before := x.list.addr
	if x.list.addr = s.Addr; s.n > 0 && before == s.Addr {
		return taken
	}
	return isFrame
}

// perfFrame reads a frame of perf script. The number is the address, or since Linux 6.3 the offset
// in a program's file.
func perfFrame(x *Reader, s *spot) verdict {
	if s.file == "inlined" {
		if x.listed(FormatPerf) {
			return taken // the frame around it has the address
		}
		return refused
	}
	if strings.Contains(s.said, " ") && !strings.ContainsAny(s.said, "(<") {
		return refused // several words: a sentence
	}
	if p := x.moduleFile(s.file, ""); p != nil && p.module == "" && s.file[0] == '/' &&
		!(s.hasBy && len(p.bySource(s.said)) > 0) {
		// As low as this it is an offset, unless the program is linked there.
		if _, ok := p.linkedAt(s.Addr, fromFile, 0); ok &&
			(p.head() == 0 || !p.inText(s.Addr-p.bias, true)) {
			s.setAt(s.Addr, fromFile)
			s.hasAddr = false
		}
	}
	if s.hasBy && s.Addr < 1<<32 { // it says nothing of where the program runs
		s.hasAddr = false
	}
	return isFrame
}

// appleFrame leaves a frame whose address is not where it says.
func appleFrame(x *Reader, s *spot) verdict {
	if s.hasAt && s.start+s.at != s.Addr {
		return refused
	}
	return isFrame
}

// edkImage reads where EDK II's exception handler has found the instruction.
func edkImage(x *Reader, s *spot) verdict {
	s.setAt(s.Addr-s.start, fromZero)
	return isFrame
}

// glibcFrame reads a line of backtrace_symbols, in which an offset without a name counts from the
// address at which the file is loaded.
func glibcFrame(x *Reader, s *spot) verdict {
	if s.file == "" {
		if x.list.open != FormatGlibc && !x.listed(FormatGlibc) && !strings.HasPrefix(s.path, "/") &&
			!strings.HasPrefix(s.path, "./") {
			return refused // a word with a number
		}
		s.file = s.path
	}
	if !s.hasAt && s.said == "" && s.file != "" {
		s.setAt(s.Addr, fromZero) // a program that is not moved
	}
	return isFrame
}

// faultLine reads what Linux says of a program that it ends. File and offset are those of the
// mapping that the instruction is in; the offset in the file is there since Linux 6.7.
func faultLine(x *Reader, s *spot) verdict {
	if s.Addr-s.start >= s.size {
		return refused
	}
	if p := x.moduleFile(s.file, ""); p != nil && !s.hasAt {
		if at, ok := p.linkedAt(s.Addr-s.start, fromText, s.size); ok {
			s.setAt(at, fromZero)
		}
	}
	return isFrame
}

// faultMapping takes the mapping from such a line without an address: the registers follow.
func faultMapping(x *Reader, s *spot) verdict {
	x.addMapping(mapping{start: s.start, size: s.size, base: fromText, file: s.file})
	return refused
}

// ddbFrame reads a frame of a BSD's kernel debugger. NetBSD says which file has the function.
func ddbFrame(x *Reader, s *spot) verdict {
	if s.said != "" && s.by == 0 && s.path != s.said {
		return refused // a sentence
	}
	if s.hasAddr {
		s.said = s.path
	}
	return isFrame
}

// lldbFrame takes the calls and the arguments off the function's name.
func lldbFrame(x *Reader, s *spot) verdict {
	s.said, _, s.inlined = strings.Cut(s.said, " [inlined] ")
	s.said, _, _ = strings.Cut(s.said, "(")
	return isFrame
}

// bpfFrame reads a line of bpftrace's kstack or ustack, which are a function and a decimal offset,
// or an address, and nothing else. Outside a list such words count only if an image has the
// function.
func bpfFrame(x *Reader, s *spot) verdict {
	if x.listed(FormatBPF) {
		return isFrame
	}
	if s.hasAddr {
		return refused
	}
	if _, found := x.functions(x.programs(), s.said, s.by, 0); len(found) == 0 {
		return refused
	}
	x.list.exact = FormatBPF
	return isFrame
}

// slide takes how far macOS's kernel was moved, which stands behind the frames.
func slide(x *Reader, s *spot) verdict {
	for _, p := range x.kernel() {
		x.moveTo(p, s.at)
	}
	return taken
}

// stackText begins WinDbg's list without titles, of !analyze.
func stackText(x *Reader, _ *spot) verdict {
	x.k = kState{open: true, first: true, text: true}
	return taken
}

// mapLine takes a mapping.
func mapLine(x *Reader, s *spot) verdict {
	if s.size == 0 && s.end > s.start {
		if s.size = s.end - s.start; s.base == fromHead {
			s.size++ // the end is the last byte
		}
	}
	if s.file == "" {
		s.file = s.said
	}
	if s.base == fromHead || s.file[0] == '/' {
		x.addMapping(mapping{s.start, s.size, s.at, s.base, s.file})
	}
	return taken
}

// buildLine takes the build ID of a file.
func buildLine(x *Reader, s *spot) verdict {
	l := &x.layout
	if l.builds == nil {
		l.builds = make(map[string]string)
	}
	if len(l.builds) < maxModules {
		l.builds[fileBase(s.file)] = s.build
	}
	return taken
}
