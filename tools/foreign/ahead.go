package foreign

// Looking ahead: where many lines have come together, the addresses of all of them are
// looked up in one batch.

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/lookup"
)

// lookAhead looks up what this line, if it has many addresses, and the lines behind it
// will ask for, if they have come together: the readers read them, as far as they can without an answer, and what they
// ask is noted.
func (x *Reader) lookAhead() {
	if x.looked || x.dry || x.opt.Rest == nil {
		return
	}
	x.looked = true
	rest := x.opt.Rest()
	many := strings.Contains(x.now, "Backtrace:") // addresses in the line itself
	if len(rest) == 0 && !many {
		return
	}
	y := *x
	y.dry, y.say, y.Groups, y.Line, y.hits = true, func(string) {}, grouping{}, nil, nil
	y.lack.files = slices.Clip(x.lack.files)
	y.markup.modules, y.markup.maps = maps.Clone(x.markup.modules), slices.Clip(x.markup.maps)
	y.g.inlined, y.gdb.inline = slices.Clip(x.g.inlined), slices.Clip(x.gdb.inline)
	y.layout, y.rep = x.layout.clone(), x.rep.clone()
	y.images = &lookup.Images{} // no other image is looked for
	copies := make(map[*program]*program)
	twin := func(p *program) *program {
		if p != nil && copies[p] == nil {
			q := *p
			q.ahead, q.asked = nil, new([]lookup.Question)
			copies[p] = &q
		}
		return copies[p]
	}
	each := func(all []*program) (twins []*program) {
		for _, p := range all {
			twins = append(twins, twin(p))
		}
		return twins
	}
	y.given, y.base = each(x.given), each(x.base)
	y.found = make(map[string]*program, len(x.found))
	for key, p := range x.found {
		y.found[key] = twin(p)
	}
	if many {
		z := y
		z.read(x.now)
	}
	asked := 0
	x.covered = 0
	for line := range bytes.Lines(rest) {
		if line[len(line)-1] != '\n' {
			x.covered = 0
			break
		}
		if asked > lookup.MaxAhead {
			break // it goes on from there
		}
		x.covered++
		y.Add(line)
		asked = 0
		for _, q := range copies {
			asked += len(*q.asked)
		}
	}
	if asked <= lookup.MaxAhead {
		x.covered = 0
	}
	for p, q := range copies {
		p.ahead = lookup.AskAll(p.sym, *q.asked)
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
