package foreign

// Stacks that perf and bpftrace print.

import "strings"

// readPerf reads a frame of perf script, or of bpftrace's stacks in perf's form:
//
//	            115f work+0xf (/tmp/spin)
//	ffffffff810020e7 do_syscall_64+0x57 ([kernel.kallsyms])
//	    55714994f15f [unknown] (/tmp/spin)
//
// The number is the address, or since Linux 6.3 the offset in a program's file. Source: Linux,
// tools/perf/util/evsel_fprintf.c, sample__fprintf_callchain.
func (x *Reader) readPerf(text string) bool {
	word, rest, _ := strings.Cut(text, " ")
	addr, ok := hexNumber(word)
	if !ok || len(word) < 3 || len(word) > 16 {
		return false
	}
	open := strings.LastIndex(rest, " (")
	if open <= 0 {
		return false
	}
	file := rest[open+2 : len(rest)-1]
	if file == "inlined" && x.rep.format == FormatPerf && x.rep.last == x.rep.lines-1 {
		x.frame(FormatPerf)
		return true // the frame around it has the address
	}
	if file == "" || file[0] != '/' && file[0] != '[' {
		return false
	}
	s := spot{file: file, addr: addr, hasAddr: true}
	if name := strings.TrimSpace(rest[:open]); name != "[unknown]" {
		s.name, s.off, s.hasOff = nameOffset(name)
		if strings.ContainsAny(s.name, " ") && !strings.ContainsAny(s.name, "(<") {
			return false // several words: a sentence
		}
	}
	if p := x.moduleFile(file, ""); p != nil && p.module == "" && file[0] == '/' && !(s.hasOff && p.knows(s.name)) {
		// As low as this it is an offset, unless the program is linked there.
		if _, ok := p.linkedAt(addr, fromFile, 0); ok && (p.head() == 0 || !p.inText(addr-p.bias, true)) {
			s.at, s.base, s.hasAddr = addr, fromFile, false
		}
	}
	if s.hasOff && addr < 1<<32 { // it says nothing of where the program runs
		s.hasAddr = false
	}
	first := x.frame(FormatPerf)
	x.first, s.ret = first, !first
	x.spot(s)
	return true
}

// readBPF reads a line of bpftrace's kstack or ustack: a function and a decimal offset, or an
// address, and nothing else. Outside a list such words count only if an image has the
// function. Source: bpftrace, src/bpftrace.cpp, get_stack, and bcc, bcc_symbol.
//
//	@[
//	    do_nanosleep+107
//	    0x7f3bd2f8d24a
//	]: 2
func (x *Reader) readBPF(text string) bool {
	r := &x.rep
	inList := r.format == FormatBPF && r.last == r.lines-1
	s := spot{}
	if addr, rest, ok := hexWordAt(text); ok && rest == "" {
		if !inList {
			return false
		}
		s.addr, s.hasAddr = addr, true
	} else {
		s.name, s.off, s.hasOff = nameOffset(text)
		if !s.hasOff || strings.Contains(text, "+0x") || strings.ContainsAny(s.name, " \t") && !strings.Contains(s.name, "(") {
			return false
		}
		if !inList {
			if _, found := x.functions(x.programs(), s.name, s.off, 0); len(found) == 0 {
				return false
			}
			r.exact = true
		}
	}
	x.frame(FormatBPF)
	s.ret, r.exact, x.first = !r.exact, false, !inList
	x.spot(s)
	return true
}

// openBPF reads the line that begins a list.
func (x *Reader) openBPF() bool {
	x.frame(FormatBPF)
	x.rep.exact, x.first = true, true
	return true
}
