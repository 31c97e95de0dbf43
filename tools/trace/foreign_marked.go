package trace

// Addresses that only a word marks: "pc=0x...", "RIP: 0010:0x...", "PC is at ...",
// "lr : [<...>]", and Linux's "[<...>]" alone. A program counter is exact, a link
// register and a bracket alone are return addresses.
//
// With Options.Guess, any hexadecimal number that is an address in the code is
// taken as one, exact, and marked as guessed.

import (
	"regexp"
	"strings"
)

var (
	marked = regexp.MustCompile(`(?i)(?:\b(pc|rip|eip|epc|[ms]epc|nip|elr(?:_el[1-3n]+)?)|\b(lr|ra))\)?` +
		`(?:\s*(?: is at |[:=])\s*(?:[0-9a-f]{4}:)?|\s+)(?:\[?<?)(0x[0-9a-f]{1,16}|[0-9a-f]{8,16})\b`)
	bracketed = regexp.MustCompile(`\[<([0-9a-f]{8,16})>\]`)
	anyNumber = regexp.MustCompile(`\b(0x[0-9a-fA-F]{3,16}|[0-9a-fA-F]{8,16})\b`)
)

// readMarked reads the marked addresses of a line.
func (x *foreign) readMarked(line string) bool {
	found := marked.FindAllStringSubmatchIndex(line, maxHits)
	if len(found) == 0 && !strings.Contains(line, "[<") {
		return false
	}
	type one struct {
		text string
		ret  bool
	}
	var all []one
	seen := make(map[int]bool)
	for _, m := range found {
		ret := m[2] < 0
		all = append(all, one{line[m[6]:m[7]], ret})
		seen[m[6]] = true
		if !ret {
			x.board.pc, _ = hexNumber(line[m[6]:m[7]])
		}
	}
	for _, m := range bracketed.FindAllStringSubmatchIndex(line, maxHits) {
		if !seen[m[2]] {
			all = append(all, one{line[m[2]:m[3]], true})
		}
	}
	return x.numbers(len(all), func(i int) (string, bool, string) { return all[i].text, all[i].ret, "" })
}

// readGuess reads what may be an address.
func (x *foreign) readGuess(line string) {
	all := anyNumber.FindAllString(line, maxHits)
	x.numbers(len(all), func(i int) (string, bool, string) { return all[i], false, " (guess)" })
}

// numbers adds n addresses of a line.
func (x *foreign) numbers(n int, get func(i int) (text string, ret bool, note string)) bool {
	before := len(x.hits)
	for i := range n {
		text, ret, note := get(i)
		if addr, ok := hexNumber(text); ok {
			h := hit{addr: addr, ret: ret, note: note}
			if n > 1 {
				h.label = text
			}
			x.hit(h)
		}
	}
	return len(x.hits) > before
}
