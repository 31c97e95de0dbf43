package trace

// Looking ahead: where several lines of a trace have arrived together, as in a log that
// is read from a file, the addresses of all of them are looked up in one batch, which
// costs far less than one by one (symbol.File.LookupAll). A live trace, of which one
// line comes after the other, is resolved line by line.
//
// What is looked up ahead is only a guess of what will be asked for. It changes no
// answer: what was not guessed is looked up then.

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/code"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tracer"
)

// maxAhead bounds the addresses of one batch.
const maxAhead = 4096

// batcher is a Resolver that answers many at once. A *symbol.File is one.
type batcher interface {
	LookupAll(addrs []uint64, ret bool) [][]symbol.Frame
}

// maxKnown bounds what is remembered of an image, and maxImages of how many images.
const (
	maxKnown  = 1 << 14
	maxImages = 8
)

// known is what has been asked of an image. Traces are much alike: those of one machine
// lead into the same few functions, and a fleet dies of the same bug.
type known struct {
	answers answers
	calls   map[uint64]callBefore
}

// callBefore is the answer of code.Image.CallBefore.
type callBefore struct {
	site code.CallSite
	ok   bool
}

// knownOf returns what is known of an image.
func (f *Filter) knownOf(sym Resolver) *known {
	if _, ok := sym.(batcher); !ok {
		return nil // what a test makes up may answer otherwise next time
	}
	k := f.known[sym]
	if k == nil {
		if f.known == nil || len(f.known) >= maxImages {
			f.known = make(map[Resolver]*known)
		}
		k = &known{answers: make(answers), calls: make(map[uint64]callBefore)}
		f.known[sym] = k
	}
	return k
}

// keep remembers an answer.
func (k *known) keep(q question, calls []symbol.Frame) {
	if len(k.answers) >= maxKnown {
		clear(k.answers)
	}
	k.answers[q] = slices.Clone(calls) // which may be a part of something large
}

// lookup asks the image, unless it is known.
func (s *session) lookup(addr uint64, ret bool) []symbol.Frame {
	q := question{addr, ret}
	if s.known == nil {
		return s.sym.Lookup(addr, ret)
	}
	calls, ok := s.known.answers[q]
	if !ok {
		calls = s.sym.Lookup(addr, ret)
		s.known.keep(q, calls)
	}
	return calls
}

// callBefore returns the call that ends at a return address, as CallBefore does.
func (s *session) callBefore(im *code.Image, ra uint64) (code.CallSite, bool) {
	if s.known == nil {
		return im.CallBefore(ra)
	}
	c, ok := s.known.calls[ra]
	if !ok {
		if len(s.known.calls) >= maxKnown {
			clear(s.known.calls)
		}
		c.site, c.ok = im.CallBefore(ra)
		s.known.calls[ra] = c
	}
	return c.site, c.ok
}

// A question is what Resolver.Lookup is asked.
type question struct {
	addr uint64
	ret  bool
}

// answers are the answers to what was asked ahead of one image.
type answers map[question][]symbol.Frame

// lookup asks the image, unless it has been asked.
func (a answers) lookup(sym Resolver, addr uint64, ret bool) []symbol.Frame {
	if calls, ok := a[question{addr, ret}]; ok {
		return calls
	}
	return sym.Lookup(addr, ret)
}

// askAll asks the image all of them, if it takes many at once.
func askAll(sym Resolver, all []question) answers {
	b, ok := sym.(batcher)
	if !ok || len(all) < 2 {
		return nil
	}
	a := make(answers, len(all))
	for _, ret := range [...]bool{true, false} {
		var addrs []uint64
		for _, q := range all {
			if q.ret == ret {
				addrs = append(addrs, q.addr)
			}
		}
		if len(addrs) == 0 {
			continue
		}
		for i, calls := range b.LookupAll(addrs, ret) {
			a[question{addrs[i], ret}] = calls
		}
	}
	return a
}

// lookAhead looks up the frames of the trace that have come together with the frame
// fr, once for what one Write has brought.
func (f *Filter) lookAhead(fr *Frame) {
	k := f.ses.known
	if k == nil || f.ses.looked == f.writes {
		return
	}
	var all []question
	add := func(fr *Frame) {
		q := question{fr.Address, fr.Kind != tracer.PC}
		if _, ok := k.answers[q]; !ok && fr.Kind != tracer.Trap && len(all) < maxAhead {
			all = append(all, q)
		}
	}
	add(fr)
	if len(all) == 0 {
		return // as in the trace before, and so may be the rest
	}
	f.ses.looked = f.writes
	for i := range f.p.records {
		if r := &f.p.records[i]; r.Op == OpFrame {
			add(&r.Frame)
		}
	}
	tag := []byte(tracer.Tag)
	for line := range bytes.Lines(f.p.rest) {
		at := bytes.Index(line[:min(len(line), maxHold)], tag)
		if at < 0 || line[len(line)-1] != '\n' {
			continue
		}
		line = bytes.TrimRight(line[at:], "\r\n")
		r := ParseLine(string(line[len(tag):wire(line)]))
		if r.Op == OpDone || r.Op == OpBegin {
			break
		}
		if r.Op == OpFrame && !r.Bad {
			add(&r.Frame)
		}
	}
	for q, calls := range askAll(f.ses.sym, all) {
		k.keep(q, calls)
	}
}

// lookAhead looks up what this line, if it has many addresses, and the lines behind it
// will ask for, if they have come together: the readers read them, as far as they can without an answer, and what they
// ask is noted.
func (x *foreign) lookAhead() {
	if x.looked || x.dry || x.rest == nil {
		return
	}
	x.looked = true
	rest := x.rest()
	many := strings.Contains(x.now, "Backtrace:") // addresses in the line itself
	if len(rest) == 0 && !many {
		return
	}
	y := *x
	y.dry, y.say, y.groups, y.line, y.hits = true, func(string) {}, grouping{}, nil, nil
	y.markup.modules, y.markup.maps = maps.Clone(x.markup.modules), slices.Clip(x.markup.maps)
	y.g.inlined, y.gdb.inline = slices.Clip(x.g.inlined), slices.Clip(x.gdb.inline)
	y.images = &Images{} // no other image is looked for
	copies := make(map[*program]*program)
	twin := func(p *program) *program {
		if p != nil && copies[p] == nil {
			q := *p
			q.ahead, q.asked = nil, new([]question)
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
	for line := range bytes.Lines(rest) {
		if line[len(line)-1] != '\n' || asked > maxAhead {
			break
		}
		y.add(line)
		asked = 0
		for _, q := range copies {
			asked += len(*q.asked)
		}
	}
	for p, q := range copies {
		p.ahead = askAll(p.sym, *q.asked)
	}
}

// forget forgets what was looked up ahead.
func (x *foreign) forget() {
	x.looked = false
	for _, p := range x.given {
		p.ahead = nil
	}
	for _, p := range x.found {
		if p != nil {
			p.ahead = nil
		}
	}
}
