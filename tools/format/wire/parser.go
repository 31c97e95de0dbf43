package wire

// The parser cuts a stream of bytes into text, which passes through, and
// traces. Its rule: a byte is held back only while its line may still turn out
// to be a line of a trace, which the first four or five bytes of the line
// decide. So a prompt without a newline is out at once, and a line of any
// length costs no memory.
//
// A text or markup trace is read line by line as it comes. A compact trace is
// gathered until it ends (compact.go) and then goes the same way record by
// record, so that what follows the parser knows one kind of trace.

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"iter"
	"strings"

	"github.com/zeroframe/zeroframe/tracer"
)

// Handler receives what a Parser finds, in the order of the stream. Byte
// slices are valid during the call only. Host.
type Handler interface {
	// Text receives bytes to pass through: all bytes of the stream but those
	// that a Line carries (its Prefix and Raw from Shown on, and its Ending).
	Text(p []byte)
	// Line receives a line of a trace, or what one record of a compact trace
	// says, after the record has been added to its trace.
	Line(l *Line)
	// Done receives a trace that has ended, or that turned out to be cut.
	Done(t *Trace)
}

// Line is a line of a trace.
type Line struct {
	// Prefix is what a log collector has put in front of the line (prefix.go).
	Prefix []byte
	// Raw is the line without its ending, behind the prefix; nil for a record of a
	// compact trace, for which there is no such line.
	Raw []byte
	// Wire is how many bytes of Raw the target sent. What follows is a function
	// that a Filter has put there: the stream is an output of one.
	Wire int
	// Shown is how many bytes of Prefix and Raw a Flush has passed to Text before.
	Shown int
	// Ending is the line's ending, "\r\n" or "\n".
	Ending []byte
	// Record is what the line says.
	Record Record
	// Trace is the trace that it belongs to, nil if it belongs to none.
	Trace *Trace
	// Frame is the index in Trace.Frames of the frame that it added, or -1.
	Frame int
}

// The prefix of the lines that the markup form adds to the text form.
const elementTag = "{{{"

// The elements that stand in lines of their own.
var elements = []string{"{{{reset}}}", "{{{module:", "{{{mmap:"}

// lineState is what is known of the line that is being read.
type lineState uint8

const (
	lineMaybe  lineState = iota // may still begin with a tag
	lineTagged                  // begins with a tag
	linePlain                   // passes through
)

// Parser finds traces in a stream. It is not safe for concurrent use.
type Parser struct {
	// Prefixes looks for traces behind the prefixes of log collectors too, for which
	// the beginning of an unfinished line is held back.
	Prefixes bool

	h      Handler
	state  lineState
	line   []byte // the line so far, unless it is plain
	ended  Line   // the latest line that has ended
	shown  int    // how much of it Flush has released
	prefix int    // how much of it a log collector has put there
	shape  string // of prefixes; "" while none is known
	rest   []byte // of the bytes that are being written, what comes behind the line

	records []Record // of a compact trace, what comes behind the record

	t      *Trace // the open trace of the text or markup form
	crc    uint32
	lines  uint64
	markup bool
	fresh  bool // the line before was the begin line

	c *compactTrace // the open trace of the compact form

	build  build  // of the latest begin line or boot report
	report []byte // the start of a plain line, as it may be the boot report

	// Of the trace to come, if a boot before has left it; and what was known of this
	// boot's build, which that one says nothing of.
	previous  uint64
	thisBuild build

	// What a compact trace may build on.
	compact bool   // there was one
	table   table  // the latest table of stacks
	last    *Trace // the latest one, if it was intact; with its CRC
	lastCRC uint32
	lastSeq uint64 // its number, or that of its latest repetition
}

// NewParser returns a parser that reports to h.
func NewParser(h Handler) *Parser { return &Parser{h: h} }

// Write parses the next bytes of the stream. It takes all of them and never
// returns an error.
func (p *Parser) Write(b []byte) (int, error) {
	n := len(b)
	defer func() { p.rest = nil }()
	for len(b) > 0 {
		switch p.state {
		case linePlain:
			b = p.plain(b)
		case lineMaybe:
			if p.Prefixes {
				b = p.prefixed(b)
				continue
			}
			p.line = append(p.line, b[0])
			b = b[1:]
			switch full, partial := p.tagged(p.line); {
			case full:
				p.state = lineTagged
			case !partial:
				p.release()
			}
		case lineTagged:
			i := bytes.IndexByte(b, '\n') + 1
			if i == 0 {
				i = len(b)
			}
			if len(p.line)+i > MaxLine {
				p.release()
				continue
			}
			p.line = append(p.line, b[:i]...)
			b = b[i:]
			p.rest = b
			if p.line[len(p.line)-1] == '\n' {
				p.endLine()
			}
		}
	}
	return n, nil
}

// plain passes on the rest of a plain line and returns what follows it.
func (p *Parser) plain(b []byte) []byte {
	i := bytes.IndexByte(b, '\n') + 1
	if i == 0 {
		p.h.Text(b)
		p.watch(b)
		return nil
	}
	p.rest = b[i:]
	p.h.Text(b[:i])
	p.watch(b[:i])
	p.state = lineMaybe
	return b[i:]
}

// tagged reports whether a line begins with a tag, or may yet do so.
func (p *Parser) tagged(line []byte) (full, partial bool) {
	for _, tag := range [...]string{tracer.Tag, tracer.CompactTag, tracer.CompactEnd, tracer.RepeatTag,
		elementTag} {
		if tag == elementTag && !p.markupNow() {
			continue
		}
		if n := min(len(line), len(tag)); string(line[:n]) == tag[:n] {
			if n == len(tag) {
				return true, false
			}
			partial = true
		}
	}
	return false, partial
}

// markupNow reports whether an element line may come here: after a begin line,
// or anywhere in a trace that is known to be of the markup form.
func (p *Parser) markupNow() bool { return p.t != nil && (p.markup || p.fresh) }

// reportStart is what that line begins with.
var reportStart = []byte("zeroframe ")

// maxReport is longer than any line of the boot report with the build ID.
const maxReport = 3 * MaxName

// watch looks at the bytes of a plain line, which have passed through already,
// for the line of the boot report that names the image:
//
//	zeroframe VERSION build HEX
//
// or "-" for an image without an ID.
func (p *Parser) watch(b []byte) {
	if len(p.report) > maxReport {
		return
	}
	p.report = append(p.report, b[:min(len(b), maxReport+1-len(p.report))]...)
	if p.report[len(p.report)-1] != '\n' {
		return
	}
	at := p.reportAt(p.report)
	if !bytes.HasPrefix(p.report[at:], reportStart) {
		return
	}
	f := strings.Split(strings.TrimRight(string(p.report[at:]), "\r\n"), " ")
	if len(f) != 4 || f[1] == "" || f[2] != "build" || !name(f[3]) {
		return
	}
	p.learn(p.report[:at])
	if f[3] == "-" {
		p.build = build{known: true}
	} else if _, err := hex.DecodeString(f[3]); err == nil {
		p.build = build{id: strings.ToLower(f[3]), known: true}
	}
}

// release turns the line into a plain one.
func (p *Parser) release() {
	p.report = p.report[:0]
	p.watch(p.line)
	if rest := p.line[p.shown:]; len(rest) > 0 {
		p.h.Text(rest)
	}
	p.state = linePlain
	if p.line[len(p.line)-1] == '\n' {
		p.state = lineMaybe
	}
	p.reset()
}

func (p *Parser) reset() {
	p.line, p.shown, p.prefix = p.line[:0], 0, 0
}

// Held reports whether bytes are held back that Flush would release.
func (p *Parser) Held() bool { return p.releasable() > p.shown }

// releasable is how much of the line Flush may show: all of it but a carriage
// return, behind which an annotation would overwrite the line.
func (p *Parser) releasable() int { return len(bytes.TrimRight(p.line, "\r")) }

// Flush passes to Handler.Text what is held back, without forgetting it: when
// the line goes on and is a trace's, it is still read as such.
func (p *Parser) Flush() {
	if n := p.releasable(); n > p.shown {
		p.h.Text(p.line[p.shown:n])
		p.shown = n
	}
}

// Close ends the stream: what is held back is released, an open trace is cut.
// A last line without its ending is no line, since what is missing may be the
// end of an address; only a done line that proves right is taken.
func (p *Parser) Close() {
	if p.state == lineTagged && p.lastWords() {
		p.endLine()
	}
	if rest := p.line[p.shown:]; len(rest) > 0 {
		p.h.Text(rest)
	}
	p.reset()
	p.state = lineMaybe
	p.cut()
}

// lastWords reports whether the unfinished line is the intact end of the open
// trace.
func (p *Parser) lastWords() bool {
	switch tag, b := cutTag(bytes.TrimRight(p.line[p.prefix:], "\r")); {
	case tag == tracer.Tag && p.t != nil:
		r := ParseLine(string(b))
		return r.Op == OpDone && !r.Bad && r.Lines == p.lines && r.CRC == p.crc
	case tag == tracer.CompactEnd && p.c != nil:
		return p.endsCompact(string(b))
	case tag == tracer.RepeatTag:
		_, ok := p.repeats(string(b))
		return ok
	}
	return false
}

// cutTag cuts a line behind its tag. That of an element is shorter than the others.
func cutTag(line []byte) (tag string, rest []byte) {
	n := min(len(line), len(tracer.Tag))
	return string(line[:n]), line[n:]
}

// endLine reads a line that began with a tag.
func (p *Parser) endLine() {
	body := bytes.TrimSuffix(p.line, []byte("\n"))
	body = bytes.TrimRight(body, "\r") // a terminal line may add one
	l := &p.ended
	*l = Line{Prefix: body[:p.prefix], Shown: p.shown, Ending: p.line[len(body):], Frame: -1}
	body = body[p.prefix:]
	l.Raw, l.Wire = body, sent(body)
	switch tag, rest := cutTag(body); tag {
	case tracer.CompactTag, tracer.CompactEnd:
		p.compactLine(l, string(rest), tag == tracer.CompactEnd)
	case tracer.RepeatTag:
		p.repeatLine(l, string(rest))
	case tracer.Tag:
		p.textLine(l, ParseLine(string(rest[:l.Wire-len(tag)])))
	default:
		p.elementLine(l)
	}
	p.reset()
	p.state = lineMaybe
}

// foreign passes on a line that is no trace's although it looks like one.
func (p *Parser) foreign() { p.h.Text(p.line[p.shown:]) }

// emit reports a line of the open trace, or of none.
func (p *Parser) emit(l *Line, r Record) {
	l.Record, l.Trace = r, p.t
	p.h.Line(l)
}

// sum adds a line to the CRC of the open trace.
func (p *Parser) sum(l *Line) {
	p.crc = crc32.Update(p.crc, crc32.IEEETable, l.Raw[:l.Wire])
	p.crc = crc32.Update(p.crc, crc32.IEEETable, []byte{'\n'})
	p.lines++
	p.fresh = false
}

// built returns t as a trace of the build that the log is of.
func (p *Parser) built(t Trace) *Trace {
	t.BuildID, t.PartBuild, t.NoBuild = p.build.id, p.build.part, !p.build.known
	return &t
}

// lastStage takes the trace of the last panic stage, which is one line.
func (p *Parser) lastStage(l *Line, r Record) {
	p.cut()
	t := p.built(Trace{Kind: r.Kind, Reason: r.Text, Last: true, Frames: []Frame{r.Frame}})
	l.Record, l.Trace, l.Frame = r, t, 0
	p.h.Line(l)
	p.h.Done(t)
}

// textLine takes a line of the text or markup form.
func (p *Parser) textLine(l *Line, r Record) {
	switch r.Op {
	case OpBegin:
		if r.Bad && p.t == nil {
			p.foreign()
			return
		}
		if !r.Bad {
			p.cut()
			p.open(&Trace{})
			p.build = build{r.BuildID, r.PartBuild, r.HasBuild}
			p.learn(l.Prefix)
			if !r.HasBuild {
				p.t.MarkDamaged("its begin line has no build ID")
			}
		}
	case OpBefore:
		if r.Bad {
			break
		}
		p.cut()
		p.previous = r.Seq
		p.emit(l, r)
		return
	case OpLast:
		if r.Bad {
			break
		}
		p.lastStage(l, r)
		return
	case OpDone:
		if p.t == nil || r.Bad {
			break
		}
		p.finish(l, r)
		return
	case OpReason, OpCause, OpMem, OpFrame:
		if p.t == nil && !r.Bad {
			// The begin line was lost, or lies before the log's start.
			p.cut()
			p.open(p.built(Trace{NoBegin: true}))
			p.t.MarkDamaged("its begin line is missing")
		}
	}
	if p.t == nil {
		p.foreign()
		return
	}
	p.sum(l)
	if r.Bad {
		p.t.MarkDamaged(fmt.Sprintf("line %d is malformed", p.lines))
	} else {
		l.Frame = p.t.add(&r)
		if r.Op == OpBegin {
			p.fresh = true
		}
	}
	p.emit(l, r)
}

// elementLine takes a line of the markup form that is an element.
func (p *Parser) elementLine(l *Line) {
	for i, e := range elements {
		if p.t == nil || !bytes.HasPrefix(l.Raw, []byte(e)) {
			continue
		}
		if !p.markup && i != 0 { // the form is known by {{{reset}}} after begin
			continue
		}
		p.markup = true
		p.sum(l)
		p.emit(l, Record{Op: OpElement})
		return
	}
	p.foreign()
}

// open makes t the open trace.
func (p *Parser) open(t *Trace) {
	p.t, p.crc, p.lines, p.markup, p.fresh = t, 0, 0, false, false
	t.Previous = p.takePrevious()
}

// takePrevious returns Trace.Previous for a trace that begins.
func (p *Parser) takePrevious() uint64 {
	n := p.previous
	if n > 0 {
		p.previous = 0
		p.thisBuild = p.build
		p.build = build{}
	}
	return n
}

// done reports a trace that has ended.
func (p *Parser) done(t *Trace) {
	if t.Previous > 0 {
		p.build = p.thisBuild
	}
	p.h.Done(t)
}

// finish ends the open trace by its done line.
func (p *Parser) finish(l *Line, r Record) {
	switch {
	case r.CRC != p.crc:
		p.t.MarkDamaged(fmt.Sprintf("CRC 0x%08x, expected 0x%08x", p.crc, r.CRC))
	case r.Lines != p.lines:
		p.t.MarkDamaged(fmt.Sprintf("%d lines, expected %d", p.lines, r.Lines))
	}
	t := p.t
	p.emit(l, r)
	p.t = nil
	p.done(t)
}

// cut ends whatever trace is open, without its end.
func (p *Parser) cut() {
	if t := p.t; t != nil {
		p.t = nil
		t.Cut = true
		t.MarkDamaged(CutDamage)
		p.done(t)
	}
	if p.c != nil {
		p.finishCompact(0, false)
	}
}

// Rest returns what has come in the same Write behind the line that a Handler is given.
func (p *Parser) Rest() []byte { return p.rest }

// Coming returns the frames of the open trace that have come in the same Write behind the
// line that a Handler is given.
func (p *Parser) Coming() iter.Seq[*Frame] {
	return func(yield func(*Frame) bool) {
		for i := range p.records {
			if r := &p.records[i]; r.Op == OpFrame && !yield(&r.Frame) {
				return
			}
		}
		tag := []byte(tracer.Tag)
		for line := range bytes.Lines(p.rest) {
			at := bytes.Index(line[:min(len(line), maxHold)], tag)
			if at < 0 || line[len(line)-1] != '\n' {
				continue
			}
			line = bytes.TrimRight(line[at:], "\r\n")
			r := ParseLine(string(line[len(tag):sent(line)]))
			if r.Op == OpDone || r.Op == OpBegin || r.Op == OpFrame && !r.Bad && !yield(&r.Frame) {
				return
			}
		}
	}
}
