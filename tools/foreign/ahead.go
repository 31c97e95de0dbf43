package foreign

// Looking ahead: where many lines have come together, the addresses of all of them are
// looked up in one batch.

import (
	"bytes"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

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
	parts := x.partsOf(rest)
	copies := make([]*dryReader, len(parts))
	for i := range parts {
		copies[i] = x.dryCopy(i == 0)
	}
	if many {
		z := copies[0].Reader
		z.read(x.now)
	}
	most := lookup.MaxAhead / len(parts)
	var wait sync.WaitGroup
	for i := 1; i < len(parts); i++ {
		wait.Go(func() { copies[i].readAll(parts[i], most) })
	}
	copies[0].readAll(parts[0], most)
	wait.Wait()
	// What one has not read to its end is the end of what is looked up ahead.
	x.covered = 0
	lines := 0
	for i, c := range copies {
		lines += c.lines
		if !c.whole {
			if x.covered = lines; c.cut {
				x.covered = 0
			}
			copies = copies[:i+1]
			break
		}
	}
	for p := range copies[0].twins {
		a := new(ahead)
		for _, c := range copies {
			noted := c.twins[p].noted
			a.asked, a.names = append(a.asked, noted.asked...), append(a.names, noted.names...)
		}
		if e, ok := p.sym.(lookup.Expecter); ok && x.opt.Left != nil {
			e.Expect(int(x.opt.Left() / int64(len(rest)+1) * int64(len(a.asked))))
		}
		a.calls = lookup.AskInOrder(p.sym, a.asked)
		p.ahead = a
	}
}

// manyBytes is how much text is worth another goroutine.
const manyBytes = 64 << 10

// partsOf cuts the text that has come at ends of lines, into as many parts as may be read side by
// side: one, unless the images take questions of several goroutines.
func (x *Reader) partsOf(rest []byte) [][]byte {
	n := min(runtime.GOMAXPROCS(0), len(rest)/manyBytes, 8)
	for _, p := range x.given {
		if _, ok := p.sym.(lookup.Batcher); !ok {
			n = 1
		}
	}
	for _, p := range x.found {
		if p != nil {
			if _, ok := p.sym.(lookup.Batcher); !ok {
				n = 1
			}
		}
	}
	var parts [][]byte
	for ; n > 1; n-- {
		end := bytes.IndexByte(rest[len(rest)/n:], '\n')
		if end < 0 {
			break
		}
		end += len(rest)/n + 1
		parts, rest = append(parts, rest[:end]), rest[end:]
	}
	return append(parts, rest)
}

// A dryReader reads lines that have come, and notes what they ask.
type dryReader struct {
	Reader
	twins map[*program]*program // of the programs of the Reader that it is a copy of
	lines int                   // that were read
	whole bool                  // all of its part was
	cut   bool                  // all but its last line, which has not come yet
}

// dryCopy returns a copy of the Reader. The first of them shares with it what is known of names.
// What the lines before its part would tell, another does not know: it is only a guess.
func (x *Reader) dryCopy(first bool) *dryReader {
	d := &dryReader{Reader: *x, twins: make(map[*program]*program)}
	y := &d.Reader
	y.dry, y.say, y.Groups, y.Line, y.hits = true, func(string) {}, grouping{}, nil, nil
	y.said, y.told = maps.Clone(x.said), maps.Clone(x.told)
	y.lack.files = slices.Clip(x.lack.files)
	y.lacks = slices.Clone(x.lacks)
	for i := range y.lacks {
		y.lacks[i].files = slices.Clip(y.lacks[i].files)
	}
	y.markup.modules, y.markup.maps = maps.Clone(x.markup.modules), slices.Clip(x.markup.maps)
	y.g.inlined, y.gdb.inline = slices.Clip(x.g.inlined), slices.Clip(x.gdb.inline)
	y.layout, y.rep = x.layout.clone(), x.rep.clone()
	y.images = &lookup.Images{} // no other image is looked for
	twin := func(p *program) *program {
		if p != nil && d.twins[p] == nil {
			q := *p
			q.ahead, q.noted = nil, new(ahead)
			if !first {
				q.known, q.sourceNames = make(map[string]*called), maps.Clone(p.sourceNames)
			}
			d.twins[p] = &q
		}
		return d.twins[p]
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
	return d
}

// readAll reads the lines of a part, until they have asked more than that.
func (d *dryReader) readAll(part []byte, most int) {
	for line := range bytes.Lines(part) {
		if line[len(line)-1] != '\n' {
			d.cut = true
			return
		}
		asked := 0
		for _, q := range d.twins {
			asked += len(q.noted.asked)
		}
		if asked > most {
			return // it goes on from there
		}
		d.lines++
		d.readLine(line)
	}
	d.whole = true
}

// An ahead is what lines to come ask of a program, in their order, and the answers.
type ahead struct {
	asked []lookup.Question
	calls [][]lookup.Call // of each, as soon as they are there
	next  int             // the one that is likely to be asked next

	missed int            // how many were asked in a row that were not the next
	late   lookup.Answers // all of them, if these were many

	names    []*called
	nextName int
}

// lookup asks the image, unless it has been asked ahead. A nil ahead has nothing.
func (a *ahead) lookup(sym lookup.Resolver, addr uint64, ret bool) []lookup.Call {
	if a == nil || a.calls == nil {
		return sym.Lookup(addr, ret)
	}
	q := lookup.Question{Addr: addr, Ret: ret}
	for i := a.next; i < min(a.next+maxSkip, len(a.asked)); i++ {
		if a.asked[i] == q {
			a.next, a.missed = i+1, 0
			return a.calls[i]
		}
	}
	if a.missed++; a.missed <= maxMissed {
		return sym.Lookup(addr, ret)
	}
	if a.late == nil {
		a.late = make(lookup.Answers, len(a.asked))
		for i, q := range a.asked {
			a.late[q] = a.calls[i]
		}
	}
	return a.late.Lookup(sym, addr, ret)
}

const (
	// maxSkip is how many questions in a row may have been left out.
	maxSkip = 16
	// maxMissed is how many in a row are looked up on their own before all are sorted by address, which
	// takes longer.
	maxMissed = 32
)

// called returns the functions of the name, if it is the one that was asked for next.
func (a *ahead) called(name string) ([]lookup.Named, bool) {
	if a == nil {
		return nil, false
	}
	for i := a.nextName; i < min(a.nextName+maxSkip, len(a.names)); i++ {
		if c := a.names[i]; c.name == name {
			a.nextName = i + 1
			return c.all, true
		}
	}
	return nil, false
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
