package foreign

// Looking ahead: where many lines have come together, what they may ask of the images is asked
// in one batch: each number that can be an address, and each function with an offset. Which of
// these it is, and whether it is a return address, only the readers of the lines find.

import (
	"bytes"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// lookAhead looks up what this line, if it has many addresses, and the lines behind it may ask for,
// if they have come together.
func (x *Reader) lookAhead() {
	if x.looked || x.opt.Rest == nil {
		return
	}
	x.looked = true
	rest := x.opt.Rest()
	if len(rest) == 0 && !strings.Contains(x.now, "Backtrace:") { // addresses in the line itself
		return
	}
	a := ahead{x: x, asked: make(map[*program]lookup.Answers)}
	a.line(x.now)
	lines := 0
	for line := range bytes.Lines(rest) {
		if lines++; a.n > lookup.MaxAhead {
			x.covered = lines // it goes on from there
			break
		}
		a.line(string(line))
	}
	for p, asked := range a.asked {
		all := make([]lookup.Question, 0, len(asked))
		for q := range asked {
			all = append(all, q)
		}
		p.ahead = lookup.AskAll(p.sym, all)
	}
}

// An ahead is what some lines may ask for.
type ahead struct {
	x      *Reader
	asked  map[*program]lookup.Answers
	n      int
	before string // the function of the line before, if that is one of a Go traceback
}

// ask asks what is at an address of the image.
func (a *ahead) ask(p *program, addr uint64) {
	if !p.inText(addr, true) {
		return
	}
	if a.asked[p] == nil {
		a.asked[p] = make(lookup.Answers)
	}
	for _, ret := range [...]bool{true, false} {
		a.asked[p][lookup.Question{Addr: addr, Ret: ret}] = nil
	}
	a.n += 2
}

// askNamed asks what is at an offset in the functions of a name.
func (a *ahead) askNamed(p *program, name string, off uint64) {
	all := p.called(name)
	for _, n := range all[:min(len(all), maxSame)] {
		a.ask(p, n.Start+off)
	}
}

// line asks what a line may ask for.
func (a *ahead) line(line string) {
	line = strings.TrimRight(line, "\r\n")
	if i := strings.LastIndex(line, " +0x"); i > 0 && a.before != "" && line[0] == '\t' {
		word := line[i+4:]
		off, _ := hexNumber(word[:run(word, inHex)])
		for _, p := range a.x.base {
			a.askNamed(p, a.before, off)
		}
	}
	a.before, _ = goFunction(line)
	for len(line) > 0 {
		n := run(line, inName)
		word := line[:n]
		line = line[n:]
		if n == 0 {
			line = line[1:]
			continue
		}
		if strings.HasPrefix(line, "+") || strings.HasPrefix(line, " + ") {
			line = strings.TrimLeft(line, "+ ")
			a.place(word, line)
		} else if digits := strings.TrimPrefix(word, "0x"); len(digits) >= 4 &&
			run(digits, inHex) == len(digits) {
			v, _ := hexNumber(digits)
			a.number(v)
		}
	}
}

// number asks for an address, where the images run or by the offset in their files.
func (a *ahead) number(v uint64) {
	for _, p := range a.x.base {
		a.ask(p, v-p.bias)
		if p.bias != 0 {
			a.ask(p, v)
		}
		if head := p.head(); head != 0 {
			a.ask(p, v+head)
		}
	}
}

// place asks for an offset in a function, of a Linux module if one is named behind it, or in a
// file.
func (a *ahead) place(name, rest string) {
	word := rest[:run(rest, inName)]
	off, ok := decimal(word)
	if strings.HasPrefix(word, "0x") {
		if off, ok = hexNumber(word); ok {
			a.number(off)
		}
	}
	if !ok {
		return
	}
	in := a.x.base
	if _, module, ok := strings.Cut(rest, " ["); ok {
		module = module[:run(module, inModule)]
		if p := a.x.found[" "+module]; p != nil {
			in = []*program{p}
		}
	}
	for _, p := range in {
		a.askNamed(p, name, off)
	}
}

// Forget forgets what was looked up ahead.
func (x *Reader) Forget() {
	x.looked, x.covered = false, 0
	for _, p := range x.given {
		p.ahead = nil
	}
	for _, p := range x.found {
		if p != nil {
			p.ahead = nil
		}
	}
}
