package foreign

// Addresses that only a word marks: "pc=0x...", "RIP: 0010:0x...", "PC is at ...",
// "lr : [<...>]", and Linux's "[<...>]" alone. A program counter is exact, a link
// register and a bracket alone are return addresses. So is the pc of AddressSanitizer's
// reports, which is that behind the call of its check: "... on address 0x... at pc 0x...".
// That call may be the last thing of its function. The pc of a signal is exact there too.
//
// What unwinders of kernels print as the pc of each frame of a list is a return address:
//
//	   2: fn 0xffffffff81000036 - pc 0xffffffff81000045 / registers:    Asterinas
//	  FP ffffff000009e6e0: PC ffffffff81000045                          Redox
//
// So a pc is one behind the number of a frame, a frame pointer or the function's address; and so
// is a pc that has been saved.
//
// With Options.Guess, any hexadecimal number that is an address in the code is
// taken as one, exact, and marked as guessed.

import (
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

var (
	marked = lookup.Regexp(
		`(?i)(?:(?:\b(pc|rip|eip|epc[1-7]?|[ms]epc|tpc|nip|elr(?:_el[1-3n]+)?|insn @|instruction (?:address|pointer)|program counter)|\b(lr|ra))\)?` +
			`(?:\s*(?: is at |==?|:)\s*(?:(?:0x)?[0-9a-f]{2,4}:)?|\s+)|\bip=)(?:\[?<?)(0x[0-9a-f]{1,16}|[0-9a-f]{8,16})\b`)
	// What stands in front of the pc of a frame in a list, and a line that is one and no more.
	listedPC = lookup.Regexp(
		`(?i)(?:^\s*(?:#|\[|frame #?)?[0-9]{1,4}[\]:.)]?\s+(?:[a-z]{2,5}[ :=]+(?:0x)?[0-9a-f]{4,16}[:, -]+)*|` +
			`\b(?:fp|bp|[er]bp|fn|frame)[ :=]+(?:0x)?[0-9a-f]{8,16}[:, -]+|\b(?:saved|return|caller|ret|previous|calling)[ _]?)$`)
	barePC = lookup.Regexp(
		`(?i)^\s*(?:[-*>]+\s*)?pc\s*[:=]?\s*(?:0x)?[0-9a-f]{8,16}(?:[\s,]+(?:sp|fp|bp|[er][bs]p)\s*[:=]?\s*(?:0x)?[0-9a-f]{8,16})*\s*$`)
	bracketed = lookup.Regexp(`\[<([0-9a-f]{8,16})>\]`)
	anyNumber = lookup.Regexp(`\b(0x[0-9a-fA-F]{3,16}|[0-9a-fA-F]{8,16})\b`)
)

// readMarked reads the marked addresses of a line, or guesses.
func (x *Reader) readMarked(line string) string {
	if !hasNumber(line) {
		return ""
	}
	var all []Hit
	add := func(text string, h Hit) {
		h.Addr, _ = hexNumber(text)
		h.Label = text
		all = append(all, h)
	}
	var found [][]int
	if mayBeMarked(line) {
		found = marked().FindAllStringSubmatchIndex(line, maxHits)
	}
	if len(found) > 0 || strings.Contains(line, "[<") {
		x.board.list = x.board.list && len(found) == 1 && barePC().MatchString(line)
	}
	seen := make(map[int]bool)
	for _, m := range found {
		link, before := m[4] >= 0, line[:m[0]]
		h := Hit{ret: link, aside: link}
		if !link && (x.board.list || listedPC().MatchString(before)) {
			h.ret, h.list = true, true
		}
		if strings.HasSuffix(before, " at ") && strings.Contains(line, "ERROR: AddressSanitizer: ") {
			h.ret, h.aside = true, true // the stack that follows begins there
		}
		add(line[m[6]:m[7]], h)
		if seen[m[6]] = true; !h.ret {
			x.board.pc = all[len(all)-1].Addr
		}
	}
	if strings.Contains(line, "[<") {
		for _, m := range bracketed().FindAllStringSubmatchIndex(line, maxHits) {
			if !seen[m[2]] {
				// Xen's list begins with the register itself: "[<ffff82d040234567>] R f+0x21/0x36".
				add(line[m[2]:m[3]], Hit{ret: !strings.HasPrefix(line[m[1]:], " R "), list: true})
			}
		}
	}
	if x.hitAll(all) {
		return FormatAddress
	}
	if all = all[:0]; x.opt.Guess {
		for _, text := range anyNumber().FindAllString(line, maxHits) {
			add(text, Hit{Note: " (guess)"})
		}
	}
	if x.hitAll(all) {
		return FormatAddress
	}
	return ""
}

// hitAll resolves the addresses of a line. One alone needs no label.
func (x *Reader) hitAll(all []Hit) bool {
	before := len(x.hits)
	for _, h := range all {
		if len(all) == 1 {
			h.Label = ""
		}
		x.hit(h)
	}
	return len(x.hits) > before
}
