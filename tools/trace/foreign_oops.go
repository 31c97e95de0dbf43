package trace

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
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

type oopsState struct {
	pc    string // the latest exact place, in the trace's words, until a frame came
	calls bool   // in a call trace
}

var (
	// place is FUNCTION+OFFSET/SIZE, with the module if it is in one.
	place = pattern(`([A-Za-z0-9_.$@]+)\+0x([0-9a-f]{1,16})/0x([0-9a-f]{1,16})\b(?: \[([A-Za-z0-9_-]+)[^\]]*\])?`)
	// Behind a frame's place arm64 says where it has it from, PowerPC how sure it is.
	afterFrame = pattern(`^(?: \([A-Za-z]+\))?\s*$`)
	inBrackets = pattern(`\[<?([0-9a-f]{8,16})>?\] ?$`)
	exactPlace = pattern(`(?:\b(?:RIP|EIP|IP|PC|pc|epc|NIP|ERA)(?: is at| *:)? *(?:[0-9a-f]{4}:)?(?:[0-9a-f]{8,16} +)?|WARNING:.* at(?: \S+:[0-9]+)?|Krnl PSW : [0-9a-f]+ [0-9a-f]+) *$`)
	retPlace   = pattern(`(?:\b(?:LR|lr|ra)(?: is at| *:)? *(?:[0-9a-f]{8,16} +)?|\bfrom|KASAN: .* in|\bat:|last (?:enabled|disabled) at \([0-9]+\):) *$`)
	beforeRaw  = pattern(`^(?:<[0-9]>)?(?:.*\] |.*kernel: )?\s*(?:\? )?(?:0x)?([0-9a-f]{8,16})\s*$`)
	kaslr      = pattern(`Kernel Offset: (?:disabled|0x([0-9a-f]{1,16}) from 0x([0-9a-f]{1,16}))`)
)

// readOops reads a line of a Linux oops, warning or panic.
func (x *foreign) readOops(line string) bool {
	if strings.Contains(line, "Kernel Offset: ") {
		if m := kaslr().FindStringSubmatch(line); m != nil {
			bias, _ := hexNumber(m[1])
			start, _ := hexNumber(m[2]) // of the kernel, which has no such section at times
			kernels := x.kernel()
			for _, p := range kernels {
				if len(kernels) == 1 || p.sym.IsText(start) {
					p.setBias(bias)
				}
			}
			return true
		}
	}
	switch {
	case strings.Contains(line, "Call Trace:"), strings.Contains(line, "Call trace:"):
		x.oops.calls = true
		return false
	case !strings.Contains(line, "+0x"):
		return x.rawFrame(line)
	}
	found := false
	for _, m := range place().FindAllStringSubmatchIndex(line, maxHits) {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return line[m[2*i]:m[2*i+1]]
		}
		before, addr, hasAddr := beforePlace(line[:m[0]])
		frame := (before == "" || strings.HasSuffix(before, "]") || strings.HasSuffix(before, "kernel:") ||
			strings.HasSuffix(before, ">")) && afterFrame().MatchString(line[m[1]:])
		exact := !frame && exactPlace().MatchString(before)
		if !frame && !exact && !retPlace().MatchString(before) {
			continue
		}
		found = true
		off, ok1 := hexNumber(group(2))
		size, ok2 := hexNumber(group(3))
		if !ok1 || !ok2 || size == 0 {
			continue
		}
		words := group(1) + "+" + group(2)
		switch {
		case exact:
			x.oops.pc = words
		case frame:
			exact, x.oops.pc = words == x.oops.pc, ""
		}
		mod := group(4)
		about := hit{ret: !exact, aside: !frame && !exact && !strings.HasSuffix(before, "from"), module: mod,
			unsure: strings.HasSuffix(strings.TrimRight(line[:m[0]], " "), "?")}
		asText := symbol.Frame{Function: group(1), Offset: off}
		in := x.kernel()
		if mod != "" {
			in = nil
			if p := x.moduleOf(mod); p != nil {
				in = []*program{p}
			}
		}
		if len(in) == 0 {
			whose, give := "the kernel itself", "vmlinux"
			if mod != "" {
				whose, give = "the module "+clean(mod), clean(mod)+".ko"
			}
			x.say("frames of " + whose + " stay as they are: they are not in the ELF file; give " + give + " too (-e can be repeated)")
			x.quote(about, asText)
			continue
		}
		// Each section of a module lies where it likes: there is no one bias.
		n := len(x.hits)
		if !x.named(in, group(1), off, size, !exact, addr, hasAddr && mod == "") {
			x.quote(about, asText)
		}
		for i := n; i < len(x.hits); i++ {
			h := &x.hits[i]
			h.aside, h.unsure, h.module = about.aside, about.unsure, mod
		}
	}
	return found
}

// ModuleName returns the name by which Linux knows the module in a file, or "" if
// the file is none. There a hyphen is an underscore. Host.
func ModuleName(file string) string {
	name, ok := strings.CutSuffix(strings.TrimSuffix(filepath.Base(file), ".debug"), ".ko")
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
		m := inBrackets().FindStringSubmatchIndex(s)
		if m == nil {
			break
		}
		if !hasAddr {
			addr, hasAddr = hexNumber(s[m[2]:m[3]])
		}
		s = s[:m[0]]
	}
	return strings.TrimRight(s, " "), addr, hasAddr
}

// rawFrame reads a line of a call trace for which the kernel knew no name.
func (x *foreign) rawFrame(line string) bool {
	if !x.oops.calls {
		return false
	}
	if m := beforeRaw().FindStringSubmatch(line); m != nil {
		if addr, ok := hexNumber(m[1]); ok && x.hit(hit{addr: addr, ret: true}) {
			return true
		}
	}
	if !strings.Contains(line, "TASK>") && !strings.Contains(line, "IRQ>") && !strings.Contains(line, "0x") {
		x.oops.calls = false
	}
	return false
}
