package foreign

// Linux. Its traces name function, offset and size, as kallsyms counts it: up to
// the next symbol. So equal names are told apart, a kernel that was moved (KASLR)
// needs no bias, and another build shows. The addresses that come along are used
// to learn the bias.
//
// What is exact and what is a return address: "RIP:", "PC is at", "pc :" and the
// place of a warning are printed with %pS, which means the instruction itself; the
// lines of a call trace, sure ones and those with "?" alike, with %pB, which means
// a return address and is named by the byte before it. On arm64 a call trace
// begins with the pc that was printed above it, in the same words.

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/lazyregexp"
	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/terminal"
)

type oopsState struct {
	pc      string // the latest exact place, in the trace's words, until a frame came
	calls   bool   // in a call trace
	build   string // the kernel's build ID, if the latest line about it has told
	release string // and its release
}

var (
	// Behind a frame's place arm64 says where it has it from, PowerPC how sure it is.
	// syzkaller's reports have the file and the line.
	afterFrame = lazyregexp.New(`^(?: \([A-Za-z]+\))?(?: ([A-Za-z0-9_./-]+:[0-9]+)(?: \[inline\])?)?\s*$`)
	// A number in front is drgn's.
	beforeFrame = lazyregexp.New(`^#[0-9]{1,4}$`)
	exactPlace  = lazyregexp.New(`(?:\b(?:RIP|EIP|IP|PC|pc|epc|NIP|ERA)(?: is at| *:)? *(?:[0-9a-f]{4}:)?(?:[0-9a-f]{8,16} +)?|WARNING:.* at(?: \S+:[0-9]+)?|CFI failure at|Krnl PSW : [0-9a-f]+ [0-9a-f]+) *$`)
	retPlace    = lazyregexp.New(`(?:\b(?:LR|lr|ra)(?: is at| *:)? *(?:[0-9a-f]{8,16} +)?|\bfrom|(?:K[A-Z]*SAN|KFENCE): .* in|is corrupted in:|\bat:|last (?:enabled|disabled) at \([0-9]+\):) *$`)
	beforeRaw   = lazyregexp.New(`^(?:<[0-9]>)?(?:.*\] |.*kernel: )?\s*(?:\? )?(?:0x)?([0-9a-f]{8,16})\s*$`)
	oopsBuild   = lazyregexp.New(`\bComm: .* (\S+) #[0-9]+(?:.* ([0-9a-f]{40})\s*$)?`)
	kaslr       = lazyregexp.New(`Kernel Offset: (?:disabled|0x([0-9a-f]{1,16}) from 0x([0-9a-f]{1,16}))`)
)

// readOops reads a line of a Linux oops, warning or panic.
func (x *Reader) readOops(line string) bool {
	if strings.Contains(line, offsetMark) {
		if o := readOffset(line); o.Known {
			if x.move(o) {
				x.late()
			}
			return true
		}
	}
	switch {
	case strings.Contains(line, "Call Trace:"), strings.Contains(line, "Call trace:"):
		x.oops.calls = true
		return false
	case !strings.Contains(line, "+0x"):
		if strings.Contains(line, " Comm: ") {
			if m := oopsBuild().FindStringSubmatch(line); m != nil {
				x.oops.release, x.oops.build = m[1], m[2] // a kernel may say no build
			}
		}
		return x.rawFrame(line)
	}
	found := false
	for from, n := 0, 0; n < maxHits; n++ {
		at, ok := nextPlace(line, from)
		if !ok {
			break
		}
		from = at.end
		before, addr, hasAddr := beforePlace(line[:at.start])
		frame := (before == "" || strings.HasSuffix(before, "]") || strings.HasSuffix(before, "kernel:") ||
			strings.HasSuffix(before, ">") || before[0] == '#' && beforeFrame().MatchString(before))
		said := "" // file and line
		if frame {
			if rest := line[at.end:]; rest != "" {
				after := afterFrame().FindStringSubmatch(rest)
				if frame = after != nil; frame {
					said = after[1]
				}
			}
		}
		exact := !frame && exactPlace().MatchString(before)
		if !frame && !exact && !retPlace().MatchString(before) {
			continue
		}
		found = true
		off, ok1 := hexNumber(at.off)
		size, ok2 := hexNumber(at.size)
		if !ok1 || !ok2 || size == 0 {
			continue
		}
		words := line[at.start:at.offEnd]
		switch {
		case frame && before != "" && before[0] == '#': // drgn's
			exact = before == "#0" && !sleeps(at.name)
			x.first, x.oops.pc = x.first || before == "#0", ""
		case exact:
			x.oops.pc = words
		case frame:
			exact, x.oops.pc = words == x.oops.pc, ""
		}
		mod := at.module
		about := Hit{ret: !exact, aside: !frame && !exact && !strings.HasSuffix(before, "from"), module: mod,
			unsure: strings.HasSuffix(strings.TrimRight(line[:at.start], " "), "?")}
		asText := lookup.Call{Function: at.name, Offset: off}
		in, other := x.linuxImages(mod, at.build)
		if other {
			x.quote(about, asText)
			continue
		}
		if len(in) == 0 {
			x.lack.want(linuxFile(mod))
			x.quote(about, asText)
			continue
		}
		// Each section of a module lies where it likes: there is no one bias.
		n := len(x.hits)
		if !x.named(in, at.name, off, size, !exact, addr, hasAddr && mod == "") && !x.dry {
			if x.lack.why != "" {
				x.lack.want(linuxFile(mod))
			}
			x.quote(about, asText)
		}
		for i := n; i < len(x.hits); i++ {
			h := &x.hits[i]
			h.aside, h.unsure, h.module = about.aside, about.unsure, mod
			h.compare(said)
		}
	}
	return found
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
	fits := func(p *program) bool { id := p.sym.BuildID(); return id == build || id == "" }
	if i := slices.IndexFunc(in, fits); i >= 0 {
		return in[i : i+1], false
	}
	if p := x.buildOf(build); p != nil {
		return []*program{p}, false
	}
	if len(in) == 0 || x.opt.Force {
		return in, false
	}
	x.Mismatch = true
	if have := terminal.Clean(in[0].sym.BuildID()); mod == "" {
		x.lack.differ("the ELF file is build " + have)
	} else {
		x.lack.differ(fmt.Sprintf("the %s given is build %s, not %s", linuxFile(mod), have, build))
	}
	x.lack.want(linuxFile(mod))
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
// question mark, and the address in one or two pairs of brackets.
func beforePlace(s string) (before string, addr uint64, hasAddr bool) {
	s = strings.TrimSuffix(s, "(")
	for range 3 {
		s = strings.TrimSuffix(strings.TrimRight(s, " "), "?")
		s = strings.TrimRight(s, " ")
		// A timestamp has a dot, and a caller ("[ T1234]") is no address.
		start, word := addressInBrackets(s)
		if start < 0 {
			break
		}
		if !hasAddr {
			addr, hasAddr = hexNumber(word)
		}
		s = s[:start]
	}
	return strings.TrimRight(s, " "), addr, hasAddr
}

// rawFrame reads a line of a call trace for which the kernel knew no name.
func (x *Reader) rawFrame(line string) bool {
	if !x.oops.calls {
		return false
	}
	if endsInAddress(line) {
		if m := beforeRaw().FindStringSubmatch(line); m != nil {
			if addr, ok := hexNumber(m[1]); ok && x.hit(Hit{Addr: addr, ret: true}) {
				return true
			}
		}
	}
	if !strings.Contains(line, "TASK>") && !strings.Contains(line, "IRQ>") && !strings.Contains(line, "0x") {
		x.oops.calls = false
	}
	return false
}
