package main

// How `zf run` and `zf test` show a death: what it was, where, and what to do next. All that the
// machine has sent, with the addresses resolved, is in a file that the last line names (deaths.go).

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// short shows the text of a machine, and its deaths in a few lines.
type short struct {
	streams
	render.Short
	log       *deathLog   // nil: of a log that is there already
	all       io.Writer   // takes all that the machine says
	working   func() bool // reports whether the filter is at work on what has come
	m         *machine
	runtime   *runtimeText // has what Go's runtime prints
	program   io.Writer    // with a port, has the program's standard output
	report    *bootReport
	ends      []*lineEnds
	sanitized []*sanitizing

	outputs sync.Mutex // of both outputs, which may be one

	mu     sync.Mutex
	died   ending
	deaths []*wire.Trace // first the one that the machine has died of
	story  []string      // who waits for whom
	timer  *time.Timer
	waits  int // how often a machine that is kept was waited for
}

// mostReason is how many lines of the reason are shown; a program may panic with a whole file.
const mostReason = 8

// settled is how long no trace begins or ends before a death is shown whose machine does not end.
// An emulated machine may take its time.
const settled = 5 * time.Second

// mostWaits is how often a machine that is kept for its heap is given that time.
const mostWaits = 24

// newShort returns the screen of a machine that shows its deaths in a few lines. The program's text
// goes to out, which looks like looks.
func (m *machine) newShort(out, looks io.Writer, cooked bool, log *deathLog) *short {
	s := &short{streams: m.streams, log: log, m: m}
	if m.tests { // standard output has all of a test
		s.stderr = out
	}
	messages := s.stderr // before it is wrapped
	s.stderr, out = lockedWriter{&s.outputs, s.stderr}, lockedWriter{&s.outputs, out}
	s.Short = render.Short{Width: columns, Dir: m.view.dir,
		Paint: func(color, text string) string { return text },
		Link:  func(c *lookup.Call, shown string) string { return m.view.link(c, shown) }}
	if wantColor(messages) {
		s.Paint = func(color, text string) string { return color + text + terminal.Plain }
	}
	s.program = s.shows(out, looks, cooked)
	s.runtime = &runtimeText{to: s.program}
	if m.qemu.Port && !m.tests {
		s.runtime.to = s.shows(s.stderr, messages, cooked)
	}
	var kernel io.Writer = s.runtime
	if m.qemu.Port {
		kernel = s.shows(s.stderr, messages, cooked)
	}
	s.report = &bootReport{to: kernel, before: s.beforeText}
	return s
}

// shows returns what shows text: as the program has ended its lines, with -timestamps, and without
// what could drive the terminal that looks is.
func (s *short) shows(to, looks io.Writer, cooked bool) io.Writer {
	to = s.m.stamps(to)
	if cooked {
		ends := &lineEnds{w: to}
		s.ends, to = append(s.ends, ends), ends
	}
	if isTerminal(looks) {
		safe := &sanitizing{to: to, Sanitizer: terminal.Sanitizer{Columns: columnsOf(looks)}}
		s.sanitized, to = append(s.sanitized, safe), safe
	}
	return to
}

// lockedWriter is a writer that several goroutines write to.
type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// sanitizing is a writer to a terminal.
type sanitizing struct {
	terminal.Sanitizer
	to io.Writer
}

func (s *sanitizing) Write(p []byte) (int, error) {
	_, err := s.to.Write(s.Append(nil, p))
	return len(p), err
}

// options sets what the filter is to tell.
func (s *short) options(opt *trace.Options) {
	opt.Text, opt.OnBegin, opt.OnTrace = s.report, s.begin, s.trace
	list := opt.OnList
	opt.OnList = func(l *trace.List) (lines []string, json []byte) {
		if list != nil {
			lines, json = list(l)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.story = append(s.story, lines...)
		if len(s.deaths) > 0 && s.deaths[0].Asked() {
			s.show() // the list was its end
		}
		return lines, json
	}
}

// follow sets the filter whose traces are shown. s may be nil.
func (s *short) follow(f *trace.Filter) {
	if s != nil {
		s.working = f.Working
	}
}

// output and errorsOutput take what the program has sent by its own port, each of one stream.
type output struct{ *short }
type errorsOutput struct{ *short }

func (o output) Write(p []byte) (int, error) {
	o.all.Write(p)
	return o.program.Write(p)
}

func (e errorsOutput) Write(p []byte) (int, error) {
	e.all.Write(p)
	return e.runtime.Write(p)
}

// beforeText is called before the kernel says something: in its monitor it has said of what it
// died.
func (s *short) beforeText(text []byte) {
	line := strings.TrimLeft(string(text), "\r\n")
	if n := min(len(line), len(diedMonitor)); n > 0 && line[:n] == diedMonitor[:n] {
		s.settle()
	}
}

// diedMonitor begins what a monitor says that a death has opened.
const diedMonitor = "monitor: "

// begin is called when a trace has begun.
func (s *short) begin(t *wire.Trace) {
	if s.log != nil {
		s.log.keep()
	}
	s.mu.Lock()
	if s.timer != nil {
		s.timer.Reset(settled)
	}
	s.mu.Unlock()
	if t.Previous == 0 && !t.Asked() {
		s.runtime.dies()
	}
}

// trace takes a trace that has ended.
func (s *short) trace(t *wire.Trace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.Previous > 0 || t.Seq > 0 && t.Seq <= s.died.seq {
		s.show()
	}
	s.died.take(t)
	if t.Previous > 0 {
		s.print(append(
			s.Wrap(fmt.Sprintf("%s: a boot before has died: %s", s.who, printable(t.Reason)), ""),
			s.placed(t)...))
		return
	}
	if len(s.deaths) > 0 && s.deaths[0].Asked() && t.Kind != tracer.KindTrace.String() {
		s.show() // it was asked for before
	}
	s.deaths = append(s.deaths, t)
	if len(s.deaths) == 1 && (t.Kind == tracer.KindTrace.String() ||
		t.Asked() && t.Context == tracer.ContextEarly.String()) {
		s.show() // nothing belongs to it
		return
	}
	if s.died.first == t {
		s.deaths[0], s.deaths[len(s.deaths)-1] = t, s.deaths[0]
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(settled, s.late)
	} else {
		s.timer.Reset(settled)
	}
}

// late is called when no trace has begun or ended for a while. The filter may be at work on one, or
// on the story of a deadlock: on a busy host it takes longer than that.
func (s *short) late() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil && (s.working() || s.kept()) {
		s.timer.Reset(settled)
		return
	}
	s.show()
}

// kept reports whether the machine is kept for its heap, which is not read yet. It is waited for
// longer than others, not for ever. s.mu is held.
func (s *short) kept() bool {
	if !s.m.keeps || len(s.deaths) == 0 || s.deaths[0].Kind != tracer.KindOOM.String() {
		return false
	}
	s.waits++
	return s.waits < mostWaits
}

// settle shows the death of a machine that does not end.
func (s *short) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.show()
}

// show shows the death that has not been shown yet. s.mu is held.
func (s *short) show() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if len(s.deaths) == 0 {
		return
	}
	first := s.deaths[0]
	if s.m.quit(first) {
		s.deaths, s.story = nil, nil
		return
	}
	if first.Asked() {
		s.print(s.asked())
		s.deaths, s.story = nil, nil
		return
	}
	printed := first.Reason
	if b := first.Blame(); s.m.tests && !b.Told() {
		printed = "" // of a test that hangs the runtime's traceback tells more
	}
	said := s.runtime.take(printed)
	s.report.show(first.Context != tracer.ContextEarly.String())
	var lines []string
	if s.m.tests && said != "" { // as go test prints it, whose traceback begins so, too
		io.WriteString(s.program, said+"\n")
	} else {
		lines = s.reason(first, said)
	}
	switch {
	case len(s.story) > 0:
		lines = slices.Concat(lines, s.place(first), s.told())
	case s.m.tests && said != "":
		lines = slices.Concat([]string{whose(first)}, s.Frames(first), s.Others(s.deaths[1:]),
			s.place(first))
	default:
		lines = slices.Concat(lines, s.placed(first), s.Others(s.deaths[1:]))
	}
	if s.m.heap != "" {
		lines = append(lines, s.Wrap(s.who+": "+s.m.heap, "    ")...)
	}
	s.print(append(lines, s.next(first)...))
	s.deaths, s.story = nil, nil
}

// reason says why a machine has died, in what the runtime has said of it or the trace.
func (s *short) reason(t *wire.Trace, message string) []string {
	if message == "" {
		message = reasonOf(t)
	}
	if message == "" {
		message = t.Kind + " trace without a reason"
	}
	lines := s.Wrap(s.who+": "+printableText(message), "    ")
	if n := len(lines) - mostReason; n > 0 {
		lines = append(lines[:mostReason], fmt.Sprintf("    ... and %d lines more", n))
	}
	lines[0] = s.Paint(terminal.Red, lines[0])
	return lines
}

// reasonOf is the reason of a trace, with the variable at a watched place.
func reasonOf(t *wire.Trace) string {
	if t.Watched != "" {
		return t.Reason + " (" + t.Watched + ")"
	}
	return t.Reason
}

// hold keeps the death until the machine has ended.
func (s *short) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}

// asked shows the traces that were asked for: what each CPU did, and who waits.
func (s *short) asked() (lines []string) {
	nmi := s.deaths[0].Kind == tracer.KindNMI.String()
	if reason := reasonOf(s.deaths[0]); reason != inMonitor {
		if nmi {
			reason += ", which asks what each CPU does"
		}
		lines = s.Wrap(s.who+": "+printable(reason), "    ")
	}
	var others []*wire.Trace
	shown, stacks := map[string]bool{}, map[uint64]bool{}
	for _, t := range s.deaths {
		// A CPU that runs nothing of the program is told in a line, if another trace tells of it.
		named := t == s.died.at && ran(t)
		if nmi && !named && (render.Waited(t) || render.IsIdle(t) || tells(t) == 0 && s.died.tells > 0) {
			others = append(others, t)
			continue
		}
		lines = append(append(lines, whose(t)), s.Frames(t)...)
		shown[fmt.Sprintf("goroutine %d", t.Goroutine)] = true
		stacks[ownStack(t)] = true
	}
	delete(stacks, 0)
	others = slices.DeleteFunc(others, func(t *wire.Trace) bool {
		// One that stops the world waits, and runs; and a CPU may be about to leave one that waits.
		who, _, _ := strings.Cut(t.Reason, " [")
		return shown[who] || stacks[ownStack(t)]
	})
	lines = slices.Concat(lines, s.Others(others), s.told())
	if nmi && s.log != nil {
		lines = append(lines, s.whole()...)
	}
	return lines
}

// inMonitor is the reason of a trace of a CPU that a command of the monitor has asked for.
const inMonitor = "monitor"

// print writes lines to standard error.
func (s *short) print(lines []string) {
	io.WriteString(s.stderr, strings.Join(lines, "\n")+"\n")
}

// printableText is printable for a text of several lines.
func printableText(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, printable(strings.ReplaceAll(line, "\t", " ")))
		}
	}
	return strings.Join(lines, "\n")
}

// place is the verdict's line, or its two. They are not broken: scripts look for them.
func (s *short) place(t *wire.Trace) []string {
	return strings.Split(strings.TrimSuffix(placeLine(s.who+": ", t, s.Dir), "\n"), "\n")
}

// placed is that, and the frames.
func (s *short) placed(t *wire.Trace) []string {
	return append(append(s.place(t), whose(t)), s.Frames(t)...)
}

// whose heads the frames.
func whose(t *wire.Trace) string {
	head := ""
	if t.Goroutine > 0 {
		head = fmt.Sprintf("goroutine %d", t.Goroutine)
		if render.OfNetwork(t) {
			head += " of the network"
		}
	} else {
		head = strings.TrimSpace(printable(t.Context) + " context")
	}
	if t.HasCPU {
		head += fmt.Sprintf(" on CPU %d", t.CPU)
	}
	return head + ":"
}

// ownStack returns where the stack of a trace's goroutine begins, 0 if it has none.
func ownStack(t *wire.Trace) uint64 {
	for _, s := range t.Stacks {
		if s.Name == "g" {
			return s.Lo
		}
	}
	return 0
}

// atAddress is where a finding says that a thing is, which only the log needs.
var atAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(` at 0x[0-9a-f]+`)
})

// told is who waits for whom. What one finding has said of other goroutines, the next one does not
// say again.
func (s *short) told() (lines []string) {
	said := make(map[string]bool)
	for _, f := range s.story {
		var parts []string
		for i, p := range strings.Split(atAddress().ReplaceAllString(f, ""), "; ") {
			if i == 0 || !said[p] || !strings.HasPrefix(p, "goroutine ") {
				parts = append(parts, p)
			}
			said[p] = true
		}
		lines = append(lines, s.Wrap(printable(strings.Join(parts, "; ")), "  ")...)
	}
	if most := 10; len(lines) > most {
		lines = append(lines[:most], "  ...")
	}
	return lines
}

// next says what to do, and where the whole trace is.
func (s *short) next(t *wire.Trace) []string {
	if s.log == nil {
		return nil
	}
	all, command := "`zf last` shows all of it", "print"
	if !s.log.kept() {
		all = "-log FILE keeps all of it"
	}
	first := all
	switch {
	case len(s.story) > 0:
		command = "waits"
	case more(t.Reason) > 0:
		first, command = fmt.Sprintf("-m %dM gives it more memory", more(t.Reason)), "heap"
	case strings.Contains(t.Reason, "runtime: out of memory"): // how much it asked for is not said
		first, command = "-m SIZE gives it more memory", "heap"
	}
	next := fmt.Sprintf("%s; -core FILE keeps its memory for zf %s", first, command)
	switch {
	case s.m.tests && !s.log.kept():
		return s.whole()
	case s.m.tests || s.m.noCore:
		next = all
	case s.m.core != "":
		next = fmt.Sprintf("%s; look into it with: zf %s %s", first, command,
			askedBy(s.m.core, s.m.elfOfCore()))
	}
	return append([]string{s.who + ": " + next}, s.whole()...)
}

// more is a size for -m in MiB: a power of two, of two to four times what the reason says is in
// use; 0: the memory was enough, or what was asked for at once is more than any machine has.
func more(reason string) int {
	_, rest, _ := strings.Cut(reason, "out of memory: all ")
	kib := uint64(0)
	if fmt.Sscanf(rest, "%d KiB", &kib); kib == 0 {
		return 0
	}
	return 2 << bits.Len64(kib>>10)
}

// whole says where the whole trace is.
func (s *short) whole() []string {
	where := "the whole trace: " + s.m.logFile
	if s.m.logFile == "" {
		where = s.log.where()
	}
	return s.Wrap(s.who+": "+where, "    ")
}

// close shows a death that has not been shown, and lets out what is held.
func (s *short) close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	s.show()
	s.mu.Unlock()
	err := errors.Join(s.report.Close(), s.runtime.Close())
	for _, w := range s.sanitized {
		w.to.Write(w.Flush(nil))
	}
	for _, e := range s.ends {
		err = errors.Join(err, e.flush())
	}
	if s.log != nil {
		s.log.close()
	}
	return err
}
