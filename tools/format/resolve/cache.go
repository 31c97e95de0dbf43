package resolve

// Looking ahead: where several lines of a trace have arrived together, as in a log that
// is read from a file, the addresses of all of them are looked up in one batch, which
// costs far less than one by one (symbol.File.LookupAll). A live trace, of which one
// line comes after the other, is resolved line by line.
//
// What is looked up ahead is only a guess of what will be asked for. It changes no
// answer: what was not guessed is looked up then.

import (
	"iter"
	"slices"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tools/symbol/unwind"
	"github.com/zeroframe/zeroframe/tracer"
)

// maxKnown bounds what is remembered of an image, and maxImages of how many images.
const (
	maxKnown  = 1 << 14
	maxImages = 8
)

// known is what has been asked of an image. Traces are much alike: those of one machine
// lead into the same few functions, and a fleet dies of the same bug.
type known struct {
	answers lookup.Answers
	calls   map[uint64]callBefore
}

// callBefore is the answer of code.Image.CallBefore.
type callBefore struct {
	site code.CallSite
	ok   bool
}

// A Cache keeps of the images what the traces of a stream ask for. The zero value is
// empty. It is not safe for concurrent use.
type Cache struct {
	known  map[lookup.Resolver]*known
	tables *unwind.Tables // of the image tabled; nil until they are wanted
	tabled unwindable
}

// Session returns the Session for a trace of the image.
func (c *Cache) Session(sym lookup.Resolver) Session {
	return Session{sym: sym, known: c.knownOf(sym), cache: c}
}

// knownOf returns what is known of an image.
func (c *Cache) knownOf(sym lookup.Resolver) *known {
	if _, ok := sym.(lookup.Batcher); !ok {
		return nil // what a test makes up may answer otherwise next time
	}
	k := c.known[sym]
	if k == nil {
		if c.known == nil || len(c.known) >= maxImages {
			c.known = make(map[lookup.Resolver]*known)
		}
		k = &known{answers: make(lookup.Answers), calls: make(map[uint64]callBefore)}
		c.known[sym] = k
	}
	return k
}

// keep remembers an answer.
func (k *known) keep(q lookup.Question, calls []lookup.Call) {
	if len(k.answers) >= maxKnown {
		clear(k.answers)
	}
	k.answers[q] = slices.Clone(calls) // which may be a part of something large
}

// lookup asks the image, unless it is known.
func (s *Session) lookup(addr uint64, ret bool) []lookup.Call {
	q := lookup.Question{Addr: addr, Ret: ret}
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
func (s *Session) callBefore(im *code.Image, ra uint64) (code.CallSite, bool) {
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

// LookAhead looks up the frames of the trace that have come together with the frame
// fr, once for what one Write, which has the number, has brought.
func (s *Session) LookAhead(fr *wire.Frame, coming iter.Seq[*wire.Frame], write uint64) {
	k := s.known
	if k == nil || s.looked == write {
		return
	}
	var all []lookup.Question
	add := func(fr *wire.Frame) {
		q := lookup.Question{Addr: fr.Address, Ret: fr.Kind != tracer.PC}
		if _, ok := k.answers[q]; !ok && fr.Kind != tracer.Trap && len(all) < lookup.MaxAhead {
			all = append(all, q)
		}
	}
	add(fr)
	if len(all) == 0 {
		return // as in the trace before, and so may be the rest
	}
	s.looked = write
	for fr := range coming {
		add(fr)
	}
	for q, calls := range lookup.AskAll(s.sym, all) {
		k.keep(q, calls)
	}
}
