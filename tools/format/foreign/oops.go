package foreign

// Linux. Its traces name function, offset and size, as kallsyms counts it: up to
// the next symbol. So equal names are told apart, a kernel that was moved (KASLR)
// needs no bias, and another build shows. The addresses that come along are used
// to learn the bias.
//
// What is exact and what is a return address: "RIP:", "PC is at", "pc :" and the
// place of a warning are printed with %pS, which means the instruction itself, and so is what
// KFENCE says of an access, which comes from the registers of a page fault; the lines of a call
// trace, sure ones and those with "?" alike, are return addresses. x86 names these by the byte
// before (%pB), others by what begins there (%pS): such a name with +0x0 is that of the next
// function, behind a call that does not return.
//
// What is not the return address in a call trace: its first frame, if it is the pc
// that was printed above it (arc, arm64, csky, loongarch, mips, riscv, s390 and others
// begin the list with it); arm64's frames with "(P)"; the frame below one of
// interruptEntries, which the kernel's unwinders take out of the saved registers.

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

type oopsState struct {
	pc       string // the latest exact place, in the trace's words, until a frame came
	exact    bool   // the next frame is exact
	breaking bool   // the next place is that of s390's latest branch
	calls    bool   // in a call trace
	build    string // the kernel's build ID, if the latest line about it has told
	release  string // and its release
}

var (
	// Behind a frame's place arm64 says where it has it from, PowerPC how sure it is.
	// syzkaller's reports have the file and the line. Quotes and brackets end what
	// somebody has put around the line.
	afterFrame = lookup.Regexp(
		`^[>)\]]*(?: \(([A-Za-z]+)\))?(?:(?: | at |: ?)?\(?([A-Za-z0-9_./-]+:[0-9]+)(?: \(discriminator [0-9]+\))?\)?(?: \[inline\])?)?[\s>)\]},;.\\]*(?:["'` + "`" + `].*)?$`)
	// A number in front is drgn's.
	beforeFrame = lookup.Regexp(`^#[0-9]{1,4}$`)
	// Registers by the names that the kernels of all CPUs give them, and words before a place.
	exactPlace = lookup.Regexp(
		`(?:(?:^|[^A-Za-z0-9_])(?:RIP|EIP|IP|PC|pc|epc|NIP|ERA|TPC|ERET|IAOQ)(?:\[[0-9]\])?(?: is at| *\]?[:=])? *(?:[0-9a-f]{4}:)?|WARNING:.* at(?: \S+:[0-9]+)?|hyp (?:panic|BUG) at:|KFENCE: [a-z-]+ (?:read|write) in|CFI failure at|Krnl PSW :|--- (?:interrupt|Exception): [0-9a-f]+ at)$`)
	retPlace = lookup.Regexp(
		`(?:(?:^|[^A-Za-z0-9_])(?:LR|lr|ra|RPC|I7|Caller|BLINK|RP|PR)(?:\[[0-9a-f]+\]|\(r[0-9]+\))?(?: is at| *\]?[:=])?|\bfrom|(?:K[A-Z]*SAN|KFENCE): .* in|is corrupted in:|\bat:|\bcaller(?: is)?|(?:Allocated|Freed) in|last +(?:enabled|disabled) at \([0-9]+\):)$`)
	armFrom   = lookup.Regexp(`\b__(?:irq|dabt|pabt|und|fiq)_(?:svc|usr)\)? from$`)
	beforeRaw = lookup.Regexp(
		`^(?:<[0-9]>)?(?:.*\] |.*kernel: )?\s*(?:\? )?(?:0x)?([0-9a-f]{8,16})\s*$`)
	oopsBuild = lookup.Regexp(`\bComm: .* (\S+) #[0-9]+(?:.* ([0-9a-f]{40})\s*$)?`)
	kaslr     = lookup.Regexp(
		`Kernel Offset: (?:disabled|0x([0-9a-f]{1,16}) from 0x([0-9a-f]{1,16}))`)
)

// readOops reads a line of a Linux oops, warning or panic.
func (x *Reader) readOops(line string) string {
	if strings.Contains(line, offsetMark) {
		if o := readOffset(line); o.Known {
			if x.move(o) {
				x.late()
			}
			return FormatLinux
		}
	}
	switch {
	case strings.Contains(line, "Call Trace:"), strings.Contains(line, "Call trace:"),
		strings.HasPrefix(line, "Stack Trace:"):
		x.oops.calls, x.oops.exact = true, false
		return ""
	case strings.HasSuffix(strings.TrimRight(line, " "), "Last Breaking-Event-Address:"):
		x.oops.breaking = true // s390: the branch itself is on the next line
		return ""
	case !strings.Contains(line, "+0x"):
		if strings.Contains(line, " Comm: ") {
			if m := oopsBuild().FindStringSubmatch(line); m != nil {
				x.oops.release, x.oops.build = m[1], m[2] // a kernel may say no build
			}
		}
		return x.rawFrame(line)
	}
	format := ""
	for from, n := 0, 0; n < maxHits; n++ {
		at, ok := nextPlace(line, from)
		if !ok {
			break
		}
		from = at.end
		if x.oopsPlace(line, at) {
			format = FormatLinux
		}
	}
	return format
}

// oopsPlace reads a place of a line, if it is one of a frame or of a register.
func (x *Reader) oopsPlace(line string, at placeAt) bool {
	o := &x.oops
	before, addr, hasAddr := beforePlace(line[:at.start])
	words := line[at.start:at.offEnd]
	if strings.Contains(line[:at.start], words+"/") {
		return false // two consoles in one line
	}
	said, source, frame := x.frameEnd(before, line[at.end:], words)
	exact := !frame && exactPlace().MatchString(before)
	if !frame && !exact && !retPlace().MatchString(before) {
		x.odd = x.odd || x.mayBeFrame(before, line[at.end:], at.name, words)
		return false
	}
	off, ok1 := hexNumber(at.off)
	size, ok2 := hexNumber(at.size)
	if !ok1 || !ok2 || size == 0 {
		return true
	}
	branch, second := o.breaking, strings.Contains(before, "IAOQ[1]")
	caller := strings.HasSuffix(before, "from") // arm's
	h := Hit{Addr: addr, module: at.module,
		unsure: endsIn(strings.TrimRight(line[:at.start], " "), "?")}
	switch {
	case branch:
		exact, frame, o.breaking = true, false, false
	case frame && before != "" && before[0] == '#': // drgn's
		exact = before == "#0" && !sleeps(at.name)
		x.first, o.pc = x.first || before == "#0", ""
	case exact:
		if o.pc == "" || !second {
			o.pc = words
		}
	case frame:
		exact = words == o.pc || o.exact || source == "P"
		if !h.unsure { // x86 lists words of the interrupt's stack before the pc itself
			o.pc = ""
		}
		o.exact = slices.Contains(interruptEntries[:], at.name)
	default:
		exact = armFrom().MatchString(before)
	}
	h.ret, h.list, h.aside = !exact, frame || caller, branch || !frame && !exact && !caller || second
	in, other := x.linuxImages(at.module, at.build)
	if len(in) > 0 && in[0].sparc {
		h.ret = false
	}
	n := len(x.hits)
	// Each section of a module lies where it likes: there is no one bias.
	if len(in) == 0 || !x.named(in, at.name, off, size, h, hasAddr && at.module == "") {
		if !other && (len(in) == 0 || x.lack.why != "") {
			x.lack.want(linuxFile(at.module))
		}
		x.quote(h, lookup.Call{Function: at.name, Offset: off})
	}
	for i := n; i < len(x.hits) && len(in) > 0; i++ {
		x.hits[i].compare(said)
	}
	return true
}

// quotes end what somebody has put in front of a frame.
const quotes = "]>|\"'`"

// interruptEntries are the functions of interrupts and exceptions below which riscv, mips, s390,
// arm64 and parisc have the instruction that was interrupted. Source: Linux, stacktrace.c of
// riscv, process.c of mips, unwind.c of parisc and s390, entry.S of arm64, which makes a frame
// record of it.
var interruptEntries = [...]string{"ret_from_exception", "handle_exception", "ret_from_irq",
	"handle_interruption",
	"pgm_check_handler", "ext_int_handler", "io_int_handler", "mcck_int_handler",
	"el1_irq", "el1_sync", "el1h_64_irq", "el1h_64_fiq", "el1h_64_sync", "el1h_64_error"}

// frameEnd reports whether a place is a frame of a list, by what stands before and behind it,
// and what that says of it: file and line, and in arm64's words where it was found. In a list a
// frame may have any words behind it.
func (x *Reader) frameEnd(before, rest, words string) (said, source string, frame bool) {
	frame = before == "" || endsIn(before, quotes) ||
		strings.HasSuffix(before, "kernel:") ||
		strings.HasPrefix(before, "kvm [") && strings.HasSuffix(before, "]:") ||
		before[0] == '#' && beforeFrame().MatchString(before)
	if !frame {
		return "", "", false
	}
	if m := afterFrame().FindStringSubmatch(rest); m != nil {
		return m[2], m[1], true
	}
	return "", "", strings.Contains(rest, words+"/") || x.oops.calls
}

// sleeps reports whether a task that does not run is in the function: its pc is where it will
// go on, behind a call.
func sleeps(name string) bool {
	return name == "__schedule" || name == "context_switch" || strings.HasPrefix(name, "__switch_to")
}

// linuxImages returns the images of a module, or of the kernel if its name is empty,
// by what the trace says of the build. If they are of another one, it says so.
func (x *Reader) linuxImages(mod, build string) (in []*program, other bool) {
	if mod == "" {
		in, build = x.kernel(), x.oops.build
	} else if p := x.moduleOf(mod); p != nil {
		in = []*program{p}
	}
	if build == "" {
		return in, false
	}
	if i := slices.IndexFunc(in, func(p *program) bool { return p.isOf(build) }); i >= 0 {
		return in[i : i+1], false
	}
	if p := x.buildOf(build); p != nil {
		return []*program{p}, false
	}
	if len(in) == 0 || x.opt.Force {
		return in, false
	}
	if x.Mismatch = true; mod == "" {
		x.lack.differ("the ELF file is build " + terminal.Clean(in[0].sym.BuildID()))
		x.lack.want(linuxFile(mod))
	} else {
		x.otherBuild(linuxFile(mod), in[0], build, linuxFile(mod))
	}
	return nil, true
}

// ModuleName returns the name by which Linux knows the module in a file, or "" if
// the file is none. There a hyphen is an underscore. The file may be compressed. Host.
func ModuleName(file string) string {
	name := filepath.Base(file)
	for _, added := range [...]string{".debug", ".xz", ".zst", ".gz"} {
		name = strings.TrimSuffix(name, added)
	}
	name, ok := strings.CutSuffix(name, ".ko")
	if !ok {
		return ""
	}
	return strings.ReplaceAll(name, "-", "_")
}

// beforePlace cuts off what stands between a place and the words before it: the
// question mark, brackets, and addresses in them or alone, of which the last is that of the
// place.
func beforePlace(s string) (before string, addr uint64, hasAddr bool) {
	for {
		s = strings.TrimRight(s, " \t?([<")
		end := strings.TrimRight(s, ">])")
		n := 0
		for n < len(end) && classes[end[len(end)-1-n]]&inHex != 0 {
			n++
		}
		start := len(end) - n
		word := end[start:]
		end = strings.TrimSuffix(end[:start], "0x")
		// A timestamp has a dot, and a caller ("[ T1234]") is no address. "Caller[ADDRESS]" is a name.
		if n < 8 || n > 16 || end != "" && !endsIn(end, " \t[<(") ||
			len(s) > start+n && end == "" {
			return s, addr, hasAddr
		}
		if opened := strings.TrimRight(end, "[<("); opened != "" && opened != end &&
			classes[opened[len(opened)-1]]&inWord != 0 {
			return s, addr, hasAddr
		}
		if !hasAddr {
			addr, hasAddr = hexNumber(word)
		}
		s = end
	}
}

// rawFrame reads a line of a call trace for which the kernel knew no name.
func (x *Reader) rawFrame(line string) string {
	if !x.oops.calls {
		return ""
	}
	if m := beforeRaw().FindStringSubmatch(line); m != nil {
		if addr, ok := hexNumber(m[1]); ok && x.hit(Hit{Addr: addr, ret: true, list: true}) {
			return FormatLinux
		}
	}
	x.oops.calls = strings.Contains(line, "TASK>") || strings.Contains(line, "IRQ>") ||
		strings.Contains(line, "0x")
	return ""
}
