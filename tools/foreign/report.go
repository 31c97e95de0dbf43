package foreign

// What programs, profilers and crash reporters print: a look at the first characters of a
// line, and the reader of the format that begins so.
//
// Whether an address is one of an instruction that was running or calling (exact), or a
// return address, is as their sources have it:
//
//	sanitizers      each pc is the one before the return address: exact
//	                (sanitizer_common, StackTrace::GetPreviousInstructionPc)
//	systemd         elfutils' pc: exact in frame 0 and below a signal's frame
//	glibc           what backtrace() returns: return addresses
//	Chromium        the same
//	Rust            what the unwinder returns: return addresses
//	Android         libunwindstack has gone back from the return address: exact
//	perf, bpftrace  the sample is exact, and its callers are return addresses. perf takes 1
//	                off these for DWARF's call graphs, which leaves them in the call
//	FreeBSD, NetBSD, OpenBSD
//	                db_trace.c: return addresses, but where a trap came in, and frame 0
//	                where it is the place at which the kernel was stopped
//	Haiku           arch_debug.cpp: return addresses, but below an iframe
//	crash           return addresses as they lie on the stack, and the "exception RIP"
//	drgn            frame 0 of a task that runs is exact, of one that sleeps it is a call
//	lldb            exact in frame 0, below a signal's frame and below calls inlined into these
//	Valgrind        m_stacktrace.c has taken 1 off each return address: exact
//	HotSpot         vmError.cpp: exact in frame 0
//	macOS           exact in frame 0
//	Breakpad        stackwalk_common.cc prints frame->ReturnAddress(): exact in frame 0
//	EDK II          the IP is exact, and what it returns to (ARM) is not
//	coreboot        exact

import (
	"strings"

	"github.com/zeroframe/zeroframe/tools/lazyregexp"
)

type reportState struct {
	format string // of the latest frame
	lines  int    // that have been read
	last   int    // which of them had the latest frame
	exact  bool   // the next frame's address is exact
	addr   uint64 // Rust's latest
	open   string // the format whose list has begun
	images []ipsImage
	frames []ipsFrame
	image  ipsImage // that is being read
	listed bool     // in the list of images
}

// clone returns a copy that shares nothing that is written to.
func (r *reportState) clone() reportState {
	c := *r
	c.images, c.frames = r.images[:len(r.images):len(r.images)], r.frames[:len(r.frames):len(r.frames)]
	return c
}

// frame notes that the line is a frame of a format, and returns whether the line before was
// none of it.
func (x *Reader) frame(format string) (first bool) {
	r := &x.rep
	first = r.format != format || r.last != r.lines-1 && r.last != r.lines
	r.format, r.last, x.which = format, r.lines, format
	return first
}

// readReport reads a line of these reports.
func (x *Reader) readReport(line string) bool {
	x.rep.lines++
	text := strings.TrimLeft(line, " \t")
	if text != "" && text[0] == '@' && text[len(text)-1] == '[' {
		return x.openBPF()
	}
	if len(text) < 4 {
		return x.rep.listed && text != "" && x.readIPS(text)
	}
	indent := len(line) - len(text)
	c := text[0]
	switch {
	case c == '#':
		if n, rest, ok := frameNumber(text[1:]); ok {
			return x.readNumbered(n, rest, indent)
		}
		if strings.HasPrefix(text, "# ") {
			x.rep.exact = true // the "problematic frame"
			x.first = true
			return x.readHotSpot(strings.TrimLeft(text[2:], " "))
		}
		return false
	case c == '0' && indent > 0 && x.rep.format == FormatBPF && x.rep.last == x.rep.lines-1 && strings.HasPrefix(text, "0x"):
		return x.readBPF(text)
	case c >= '0' && c <= '9' || c >= 'a' && c <= 'f' && indent > 0:
		if x.readDigits(line, text, indent) {
			return true
		}
	case c == '[' && strings.HasPrefix(text, "[exception "):
		return x.readException(text)
	case c == '-' && strings.HasPrefix(text, "--- "):
		return x.readTrap(text)
	case c == '!' && strings.HasPrefix(text, "!!!! "):
		return x.readEDK(text)
	case c == '"' || c == '{' || c == '}' || c == '[':
		if x.readIPS(text) {
			return true
		}
	}
	switch text[len(text)-1] {
	case ']':
		if strings.Contains(text, "[0x") && x.readGlibc(text) {
			return true
		}
	case ')':
		if indent > 0 && (c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			break
		}
		if strings.Contains(text, "+0x") && x.readSummary(text) {
			return true
		}
	}
	switch {
	case (c == 'C' || c == 'V' || c == 'A') && strings.HasPrefix(text[1:], "  ["):
		return x.readHotSpot(text)
	case strings.IndexByte(text, '[') >= 0 && strings.Contains(text, " in ") && (strings.Contains(text, " ip") || strings.Contains(text, " fault")):
		return x.readFault(text)
	case text[len(text)-1] == 'g' && strings.HasSuffix(text, " - Halting"):
		return x.readCoreboot(text)
	case strings.IndexByte(text, '(') > 0 && strings.Contains(text, ") at ") && x.readDDB(text),
		c == 'S' && strings.HasPrefix(text, "Stopped ") && x.readStopped(text),
		c == 'i' && x.rep.exact && strings.HasPrefix(text, "idle_loop") && x.readStopped(text):
		return true
	case strings.Contains(text, "iframe at 0x") && haikuIframe().MatchString(text):
		x.frame(FormatHaiku)
		x.rep.exact = true
		return true
	case strings.Contains(text, "frame #") && x.readLLDB(text), strings.Contains(text, " (in ") && x.readValgrind(text):
		return true
	case c == 'P' && strings.HasPrefix(text, "PC 0x"):
		return x.readEDKFrame(text)
	case indent > 0 && strings.IndexByte(text, '+') > 0:
		return x.readBPF(text)
	case strings.IndexByte("TKBpSNds=", c) >= 0:
		return x.readHead(text)
	}
	return false
}

// frameNumber reads the digits at the beginning.
func frameNumber(s string) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && i < 6 && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		i++
	}
	if i == 0 || i == len(s) || s[i] != ' ' && s[i] != '\t' {
		return 0, "", false
	}
	return n, strings.TrimSpace(s[i:]), true
}

// hexWordAt reads 0x and hexadecimal digits at the beginning, which end the text or stand
// before a blank.
func hexWordAt(s string) (v uint64, rest string, ok bool) {
	if !strings.HasPrefix(s, "0x") {
		return 0, s, false
	}
	word, rest, _ := strings.Cut(s, " ")
	v, ok = hexNumber(word)
	return v, strings.TrimLeft(rest, " "), ok && len(word) <= 18
}

// readHead reads lines that begin lists of frames.
func (x *Reader) readHead(text string) bool {
	r := &x.rep
	switch {
	case strings.HasPrefix(text, "KDB: stack backtrace"):
		r.open, r.exact, x.first = FormatFreeBSD, false, true
	case strings.HasPrefix(text, "Tracing pid "), strings.HasPrefix(text, "Tracing command "):
		r.open, r.exact, x.first = FormatFreeBSD, true, true
	case strings.HasPrefix(text, "ddb") && (strings.Contains(text, "> tr") || strings.Contains(text, "> bt")):
		r.open, r.exact, x.first = FormatFreeBSD, true, true // where it was stopped comes first
	case strings.HasPrefix(text, "stack trace for thread "):
		r.open, r.exact, x.first = FormatHaiku, false, true
	case strings.HasPrefix(text, "PID: ") && strings.Contains(text, "TASK: "):
		r.open, x.first = FormatCrash, true
	case strings.HasPrefix(text, "Backtrace (CPU "), strings.HasPrefix(text, "Panicked thread: "), strings.HasPrefix(text, "panic(cpu "):
		r.open = FormatMacOS
		x.first = text[0] != 'p'
	case strings.HasPrefix(text, "======= Backtrace: ===") || strings.HasPrefix(text, "======= Memory map: "):
		if r.open = ""; text[8] == 'B' {
			r.open = FormatGlibc
		}
		return false
	case strings.HasPrefix(text, "Native frames:"):
		r.open, r.exact, x.first = FormatHotSpot, true, true
	case strings.HasPrefix(text, "Kernel slide:"):
		return x.readSlide(text)
	case strings.HasPrefix(text, "STACK_TEXT:"):
		x.k = kState{open: true, first: true, text: true}
		x.which = FormatWinDbg
		x.first = true
		return true
	default:
		return false
	}
	x.which = r.open
	return true
}

// readNumbered reads a frame that begins with # and its number.
func (x *Reader) readNumbered(n int, rest string, indent int) bool {
	if strings.HasPrefix(rest, "pc ") {
		return x.readAndroid(n, rest[3:])
	}
	if rest != "" && rest[0] == '[' {
		return x.readCrash(n, rest)
	}
	if body, build := cutBuild(rest); strings.HasSuffix(body, ")") {
		open := strings.LastIndexByte(body, '(')
		// The file's name may have brackets.
		for depth, i := 0, len(body)-1; i >= 0; i-- {
			if body[i] == ')' {
				depth++
			} else if body[i] == '(' {
				if depth--; depth == 0 {
					open = i
					break
				}
			}
		}
		if open >= 0 {
			in := body[open+1 : len(body)-1]
			if file, off, ok := cutOffset(in, " + 0x"); ok {
				return x.readCoredump(n, strings.TrimSpace(body[:open]), file, off, build)
			}
			if file, off, ok := cutOffset(in, "+0x"); ok && (open == 0 || body[open-1] == ' ') {
				return x.readSanitizer(n, strings.TrimSpace(body[:open]), file, off, build, indent)
			}
		}
	}
	addr, after, ok := hexWordAt(rest)
	if !ok {
		return false
	}
	switch {
	case strings.HasPrefix(after, "at "): // FreeBSD
		name, off, hasOff := nameOffset(after[3:])
		if !hasOff && (name == "" || run(name, inName) != len(name)) {
			return false
		}
		if x.frame(FormatFreeBSD); n == 0 {
			x.first = true
		}
		x.spot(spot{addr: addr, hasAddr: true, name: name, off: off, hasOff: true, ret: true})
		return true
	case after != "" && !strings.HasPrefix(after, "in ") && !strings.HasPrefix(after, "("):
		if x.frame(FormatChromium); n == 0 {
			x.first = true
		}
		s := spot{addr: addr, hasAddr: true, ret: true}
		if after != "<unknown>" {
			s.name, s.off, s.hasOff = nameOffset(after)
		}
		x.spot(s)
		return true
	}
	return false
}

// cutBuild cuts off a build ID behind a frame.
func cutBuild(s string) (before, build string) {
	i := strings.LastIndex(s, " (BuildId: ")
	if i < 0 || !strings.HasSuffix(s, ")") {
		return s, ""
	}
	build = s[i+len(" (BuildId: ") : len(s)-1]
	if strings.Trim(build, "0123456789abcdef") != "" {
		return s, ""
	}
	return strings.TrimRight(s[:i], " "), build
}

// cutOffset cuts FILE+0xOFFSET.
func cutOffset(s, mark string) (file string, off uint64, ok bool) {
	i := strings.LastIndex(s, mark)
	if i <= 0 {
		return "", 0, false
	}
	off, ok = hexNumber(s[i+len(mark):])
	return s[:i], off, ok
}

// nameOffset reads FUNCTION+0xOFFSET, or FUNCTION+DECIMAL; hasOff is not set if there is no
// offset.
func nameOffset(s string) (name string, off uint64, hasOff bool) {
	s = strings.TrimSpace(s)
	i := strings.LastIndexByte(s, '+')
	if i <= 0 {
		return s, 0, false
	}
	num := strings.TrimLeft(s[i+1:], " ")
	if strings.HasPrefix(num, "0x") {
		off, hasOff = hexNumber(num)
	} else {
		off, hasOff = decimal(num)
	}
	if !hasOff {
		return s, 0, false
	}
	return strings.TrimRight(s[:i], " "), off, true
}

// decimal reads a decimal number.
func decimal(s string) (v uint64, ok bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		v = v*10 + uint64(s[i]-'0')
	}
	return v, true
}

// readDigits reads frames that begin with a number, of any kind.
func (x *Reader) readDigits(line, text string, indent int) bool {
	end := strings.IndexAny(text, " \t:|-")
	if end <= 0 || end == len(text)-1 {
		return false
	}
	switch {
	case text[end] == ':' && strings.HasPrefix(strings.TrimLeft(text[end+1:], " "), "0x"):
		return x.readRust(text[:end], strings.TrimLeft(text[end+1:], " "))
	case text[end] == '|':
		return x.readPipes(text)
	case text[end] == '-' || text[end] == ':':
		return strings.HasPrefix(text, "0x") && x.rep.open == FormatMacOS && x.readPanicFrame(text)
	}
	if indent > 0 && text[len(text)-1] == ')' {
		return x.readPerf(text)
	}
	if strings.HasPrefix(text, "0x") {
		if x.rep.open == FormatMacOS && strings.Contains(text, " : 0x") {
			return x.readPanicFrame(text)
		}
		return false
	}
	n, rest, ok := frameNumber(text)
	if !ok {
		return false
	}
	if strings.Contains(rest, "(+") && x.readHaiku(n, rest) {
		return true
	}
	if strings.Contains(rest, " + 0x") || strings.HasSuffix(rest, "]") && strings.Contains(rest, "!") {
		return x.readBreakpad(n, rest)
	}
	if strings.Contains(rest, "0x") {
		return x.readApple(n, rest)
	}
	return false
}

// summary is the place that a sanitizer's last line repeats.
var summary = lazyregexp.New(`^SUMMARY: [A-Za-z]+Sanitizer: \S.* \((\S+)\+0x[0-9a-f]+\)(?: \(BuildId: [0-9a-f]+\))?$`)

// readSummary reads a line that repeats a frame: it has been shown.
func (x *Reader) readSummary(text string) bool { return summary().MatchString(text) }
