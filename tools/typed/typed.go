package typed

// Typed turns the lines of the typed form into those of the text form, so that all that is
// done with a trace is done with a typed one. Each line is answered at once. A trace's lines
// leave in the order of their numbers: what comes behind a missing one waits for it, until
// the trace ends.

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/resolve"
	"github.com/zeroframe/zeroframe/tools/terminal"
	"github.com/zeroframe/zeroframe/tools/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// TypedOptions say how typed lines are read.
type Options struct {
	// Images are those that the lines may come from; see Options.Images.
	Images func() *lookup.Images
	// Force takes the first image if the lines do not say one that is there.
	Force bool
	// Log takes the answers to lines that are wrong, and what is missing; nil: none.
	Log io.Writer
	// Prompt, called when a line is wanted, gets the number that is expected; nil: not.
	Prompt func(number int)
}

// TypedStats counts lines.
type Stats struct {
	// Lines is how many were right, Wrong how many are wrong and were not typed again,
	// Missing how many numbers never came.
	Lines, Wrong, Missing int
}

// Typed reads typed lines. It is not safe for concurrent use. Host.
type Reader struct {
	opt   Options
	out   io.Writer
	err   error // of the first write that failed
	part  []byte
	input int // lines of the input so far
	stats Stats

	lines  map[int]typedLine // of the open trace
	wrong  map[int]bool      // numbers whose line was wrong
	next   int               // number of the line that leaves next
	expect int               // number that is expected to be typed next
	told   int               // of which missing line, plus 1, it was said that others wait for it

	traces   int
	sym      lookup.Resolver // nil: none
	text     uint64          // where its text begins
	crc      uint32
	wrote    int // lines of the text form
	frames   int
	high     uint64
	hasHigh  bool
	trap     *typedLine // until its address is known
	latest   string     // the frame before, behind its number
	value    uint64
	hasValue bool
	sum      uint32 // of the digits
	gap      bool   // lines are missing
}

// NewTyped returns a reader of typed lines that writes the text form to out.
func New(out io.Writer, opt Options) *Reader {
	if opt.Log == nil {
		opt.Log = io.Discard
	}
	t := &Reader{opt: opt, out: out}
	t.reset()
	t.prompt()
	return t
}

func (t *Reader) reset() {
	t.lines, t.wrong, t.next, t.expect, t.told = make(map[int]typedLine), make(map[int]bool), 0, 0, 0
	t.crc, t.wrote, t.frames, t.hasHigh, t.trap, t.latest, t.hasValue, t.sum, t.gap = 0, 0, 0, false, nil, "", false, 0, false
	t.high, t.value = 0, 0
}

// maxTypedInput is the longest line of the input that is looked at, in bytes.
const maxTypedInput = 200

// Write reads more of the input. The error is that of the output.
func (t *Reader) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && t.err == nil {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			i = len(p)
		}
		t.part = append(t.part, p[:min(i, maxTypedInput+1-len(t.part))]...)
		if p = p[i:]; len(p) > 0 {
			p = p[1:]
			t.line(string(t.part))
			t.part = t.part[:0]
		}
	}
	return n, t.err
}

// Close ends the input and the open trace.
func (t *Reader) Close() error {
	if len(t.part) > 0 {
		t.line(string(t.part))
		t.part = nil
	}
	t.end()
	return t.err
}

// Stats returns the counts so far; those of the open trace come with its end.
func (t *Reader) Stats() Stats { return t.stats }

func (t *Reader) prompt() {
	if t.opt.Prompt != nil {
		t.opt.Prompt(t.expect)
	}
}

// logf says something to the user.
func (t *Reader) logf(format string, args ...any) {
	fmt.Fprintf(t.opt.Log, "zf: "+format+"\n", args...)
}

// line reads a line of the input.
func (t *Reader) line(s string) {
	t.input++
	defer t.prompt()
	if s = strings.TrimSpace(s); s == "" || s[0] == '#' {
		return
	}
	digits := t.digitsOf(s)
	l, err := parseTyped(digits)
	if err == nil && (l.typ == tracer.TypedBegin || t.address(l)) {
		t.right(l)
		return
	}
	if len(digits) > tracer.TypedMax+3 || len(digits) < minTyped-2 {
		t.logf("line %d of the input is no line of a trace, and is left out: %s", t.input, shorten(s))
		return
	}
	t.isWrong(digits)
}

// shorten returns the beginning of a line, made harmless.
func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "..."
	}
	return terminal.Clean(s)
}

// digitsOf returns the digits of a line. What stands beside it on the screen, parted by more
// than one blank, or by one where only so the check is right, is left out.
func (t *Reader) digitsOf(s string) []byte {
	if len(s) > maxTypedInput {
		return nil
	}
	s = strings.ReplaceAll(s, "\t", "  ")
	whole := typedDigits(s)
	if typedChecks(whole) {
		return whole
	}
	// From the most words to the least.
	f := strings.Fields(s)
	for n := len(f) - 1; n > 0; n-- {
		d := typedDigits(strings.Join(f[:n], " "))
		if l, err := parseTyped(d); err == nil && (l.number == t.expect || l.typ == tracer.TypedBegin) {
			return d
		}
	}
	if before, _, cut := strings.Cut(s, "   "); cut {
		return typedDigits(before)
	}
	return whole
}

// right takes a line whose check is right.
func (t *Reader) right(l typedLine) {
	if l.typ == tracer.TypedBegin {
		// What follows a begin is its trace, be it one more of the same: the panic path may
		// have died before it had shown the end of the first.
		if old, ok := t.lines[0]; ok && (old != l || len(t.lines) > 1) {
			t.end()
		}
	}
	old, again := t.lines[l.number]
	switch {
	case again && old == l:
		t.logf("line %s was there already", Number(l.number))
	case again && l.number < t.next:
		t.logf("line %s was there already, and was another: the first one counts", Number(l.number))
		t.stats.Wrong++
		return
	}
	t.lines[l.number] = l
	delete(t.wrong, l.number)
	t.expect = l.number + 1
	if l.number > t.next && t.told != t.next+1 {
		t.told = t.next + 1
		t.logf("line %s is right, and with those behind it waits for line %s", Number(l.number), Number(t.next))
	}
	t.flush()
	if l.typ == tracer.TypedStop && t.next > l.number {
		t.end()
	}
}

// TypedNumber returns the number of a line as the screen shows it.
func Number(n int) string {
	return string([]byte{tracer.TypedDigits[n>>4&15], tracer.TypedDigits[n&15]})
}

// isWrong answers a line whose check is wrong.
func (t *Reader) isWrong(digits []byte) {
	number := t.expect
	typed := -1
	if len(digits) > 1 && digits[0] < 16 && digits[1] < 16 {
		typed = int(digits[0])<<4 | int(digits[1])
	}
	slips := typedSlips(digits, func(d []byte) bool {
		l, err := parseTyped(d)
		_, there := t.lines[l.number]
		return err == nil && !there && (l.number == number || l.number == typed) && t.address(l)
	})
	if _, there := t.lines[typed]; len(slips) == 1 {
		number = int(slips[0].digits[0])<<4 | int(slips[0].digits[1])
	} else if !there && typed > number && typed < number+8 {
		number = typed // some are left out
	}
	t.wrong[number] = true
	t.expect = number
	if t.opt.Prompt == nil {
		t.expect++ // nobody types it again at once
	}
	s := fmt.Sprintf("line %s is wrong (line %d of the input): %s", Number(number), t.input, typedText(digits))
	switch len(slips) {
	case 0:
		s += "; type it again"
	case 1:
		s += fmt.Sprintf("\nzf:   is it %s (%s)?", typedText(slips[0].digits), slips[0].what)
	default:
		s += "\nzf:   it may be"
		for i, c := range slips {
			if i == 3 {
				s += ", or another"
				break
			}
			if i > 0 {
				s += ", or"
			}
			s += " " + typedText(c.digits)
		}
	}
	t.logf("%s", s)
}

// address reports whether a frame's address in the text is one, as far as that is known.
func (t *Reader) address(l typedLine) bool {
	if t.sym == nil || l.typ < byte(tracer.PC) || l.typ > byte(tracer.Scan) {
		return true
	}
	return len(t.sym.Lookup(t.text+l.value, l.typ != byte(tracer.PC))) > 0
}

// flush lets those lines out whose turn it is.
func (t *Reader) flush() {
	for {
		l, ok := t.lines[t.next]
		if !ok {
			return
		}
		t.next++
		t.emit(l)
	}
}

// end ends the open trace: what waits leaves, and what is missing is said.
func (t *Reader) end() {
	if len(t.lines) == 0 && len(t.wrong) == 0 {
		return
	}
	most := 0
	for n := range t.lines {
		most = max(most, n)
	}
	for n := range t.wrong {
		most = max(most, n)
	}
	var missing []string
	for n := range most + 1 {
		if l, ok := t.lines[n]; !ok {
			missing = append(missing, Number(n))
			if t.wrong[n] {
				t.stats.Wrong++
			} else {
				t.stats.Missing++
			}
			t.gap = true
		} else if n >= t.next {
			t.next = n + 1
			t.emit(l)
		}
	}
	if last := t.lines[most]; last.typ != tracer.TypedStop {
		missing = append(missing, "the end")
		t.stats.Missing++
	}
	if len(missing) > 0 {
		t.logf("missing: %s", strings.Join(missing, ", "))
	}
	t.reset()
}

// write writes a line of the text form.
func (t *Reader) write(format string, args ...any) {
	s := fmt.Sprintf(tracer.Tag+format+"\n", args...)
	t.crc = crc32.Update(t.crc, crc32.IEEETable, []byte(s))
	t.wrote++
	t.send(s)
}

func (t *Reader) send(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.out, s)
	}
}

// emit writes what a line says.
func (t *Reader) emit(l typedLine) {
	t.stats.Lines++
	if l.typ == tracer.TypedBegin {
		t.begin(l)
	} else if t.wrote == 0 {
		t.noBegin()
	}
	if l.typ != tracer.TypedStop {
		t.sum = crc32.Update(t.sum, crc32.IEEETable, []byte(l.text))
	}
	high := t.high
	known := t.hasHigh || t.lines[l.number-1].text != ""
	t.high, t.hasHigh = 0, false
	switch {
	case l.typ == tracer.TypedHigh:
		t.high, t.hasHigh = l.value, true
	case l.typ == tracer.TypedAgain:
		t.repeat(l)
	case l.typ == tracer.TypedLeftOut:
		t.write("%s", wire.LeftOutText(l.value))
		t.frames += int(l.value)
		t.latest = ""
	case l.typ == byte(tracer.Trap):
		t.trap = &l
	case l.typ == tracer.TypedValue:
		t.value, t.hasValue = high<<32|l.value, known
	case l.typ == tracer.TypedStop:
		t.stop(l)
	case l.typ > tracer.TypedAbsolute:
		if !known {
			t.logf("line %s cannot be read without the one before it", Number(l.number))
			return
		}
		t.frame(tracer.Kind(l.typ-tracer.TypedAbsolute), high<<32|l.value)
	case l.typ != tracer.TypedBegin:
		t.frame(tracer.Kind(l.typ), t.text+l.value)
	}
}

// begin begins a trace, and finds the image that it is from.
func (t *Reader) begin(l typedLine) {
	t.traces++
	word := l.value >> (4 * uint(l.n-1))
	build, dots := "-", ""
	if l.n > 1 {
		build = fmt.Sprintf("%0*x", l.n-1, l.value&(1<<(4*uint(l.n-1))-1))
		if l.n-1 == tracer.TypedBuild {
			dots = wire.PartMark
		}
	}
	t.choose(strings.TrimPrefix(build, "-"), dots != "")
	t.write("begin %d %s %s build=%s%s", t.traces, tracer.TraceKind(word/3+1), tracer.Context(word%3+1), build, dots)
}

// noBegin is for a trace whose first line is missing.
func (t *Reader) noBegin() {
	t.traces++
	t.sym = nil
	if !t.opt.Force {
		t.logf("line 00 is missing, which says of which build the trace is: not resolved; -force resolves it with this ELF")
		return
	}
	if im := t.opt.Images(); im != nil && len(im.Given) > 0 {
		t.use(im.Given[0])
	}
}

// choose finds the image of a build.
func (t *Reader) choose(build string, part bool) {
	t.sym = nil
	im := t.opt.Images()
	if im == nil {
		return
	}
	sym, why := resolve.Image(im, &wire.Trace{BuildID: build, PartBuild: part})
	if sym != nil && (why == "" || t.opt.Force) {
		t.use(sym)
	}
}

// use takes an image.
func (t *Reader) use(sym lookup.Resolver) {
	if s, ok := sym.(interface{ TextStart() (uint64, bool) }); ok {
		if text, ok := s.TextStart(); ok {
			t.sym, t.text = sym, text
			return
		}
	}
	t.logf("%s does not say where its text begins: give the ELF file", terminal.Clean(lookup.FileName(sym)))
}

// frame writes a frame, behind the trap that it belongs to.
func (t *Reader) frame(kind tracer.Kind, address uint64) {
	if t.sym == nil {
		t.gap = true // an address from the start of which text?
		return
	}
	if trap := t.trap; trap != nil {
		t.trap = nil
		digits := 4 * uint(trap.n-3)
		vector := uint32(trap.value >> digits)
		t.write("#%d trap %#x vector=%d name=%s error=%#x", t.frames, address, vector,
			tracer.VectorName(vector), trap.value&(1<<digits-1))
		t.frames++
	}
	t.latest = fmt.Sprintf("%s %#x", kind, address)
	t.write("#%d %s", t.frames, t.latest)
	t.frames++
}

// foldTyped is how many frames like the one before are one line: a stack of fewer is not
// deep.
const foldTyped = 64

// repeat writes the frame before so many times more.
func (t *Reader) repeat(l typedLine) {
	if t.latest == "" || t.lines[l.number-1].text == "" {
		return // nobody knows which
	}
	if l.value >= foldTyped {
		t.write("repeat %d", l.value)
		t.frames += int(l.value)
		t.latest = ""
		return
	}
	for range l.value {
		t.write("#%d %s", t.frames, t.latest)
		t.frames++
	}
}

// stop ends a trace.
func (t *Reader) stop(l typedLine) {
	end := tracer.End(l.value >> 16)
	value := ""
	state := "(complete)"
	if !end.Complete() {
		state = "(truncated)"
		if t.hasValue {
			value = fmt.Sprintf(" %#x", t.value)
		}
	}
	for n := range l.number {
		if _, ok := t.lines[n]; !ok {
			t.gap = true
		}
	}
	t.write("stop %s%s %s", end, value, state)
	lines, crc := t.wrote, t.crc
	switch {
	case t.gap:
		lines++ // so that the trace counts as what it is
	case t.sum&0xffff != uint32(l.value&0xffff):
		t.logf("one of the lines is wrong although its check is right: compare each with the screen")
		crc = ^crc
	}
	t.send(fmt.Sprintf(tracer.Tag+"done %d crc=%#x\n", lines, crc))
}
