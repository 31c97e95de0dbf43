package handle

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tracer"
)

// Options say what a report tells.
type Options struct {
	// Kinds are the names of those that are wanted, in the singular or the plural; none: all.
	Kinds []string
	// Stacks is how many stacks of a kind are told; 0: all.
	Stacks int
	// Frames is how many frames of a stack are told; 0: all.
	Frames int
	// Dir is the folder from which files' names are told, if they are below it.
	Dir string
}

// Columns is how wide a report is, but for names that are longer.
const Columns = 80

// Handles writes what is open and who opened it, and what was closed twice.
func (s *Snapshot) Handles(w io.Writer, o Options) error {
	p := &printer{w: w, o: o}
	s.head(p)
	s.table(p)
	s.strays(p)
	s.doubles(p)
	// The most common ones come last.
	for _, common := range []bool{false, true} {
		for _, k := range s.Kinds {
			if o.Wants(k.Name) && common == (k.ID == kindPages || k.ID == kindMaps) {
				s.openOf(p, k)
			}
		}
	}
	return p.err
}

// head tells what the snapshot is of.
func (s *Snapshot) head(p *printer) {
	p.line("snapshot (%s) at %s of build %.16s", s.Reason, Seconds(s.Now), s.BuildID)
	switch {
	case s.Events > uint64(len(s.Log)):
		p.line("%d events, of which the ring has the last %d (record.ring=)", s.Events, len(s.Log))
	default:
		p.line("%d events", s.Events)
	}
	if s.Overflow > 0 {
		p.line("%d things are missing here: the table was full (record.open=%d)", s.Overflow, s.TableRoom)
	}
	if s.Stacks.Full > 0 {
		p.line("%d stacks are missing: the depot was full (depot=%d)", s.Stacks.Full, s.Stacks.Size)
	}
	if !s.Named() {
		p.line("no names: -e ELF gives the image")
	}
}

// table tells the sums of all kinds.
func (s *Snapshot) table(p *printer) {
	p.line("")
	p.line("%-16s %8s %8s %9s %9s %7s %10s", "kind", "open", "most", "opened", "closed",
		"doubles", "size")
	for _, k := range s.Kinds {
		if !p.o.Wants(k.Name) || k.Opens+k.Strays == 0 {
			continue
		}
		size := ""
		if HasBytes(k.ID) {
			size = SizeOf(k.Bytes)
		}
		p.line("%s %8d %9d %9d %7d %10s", first(k.Name, 8, k.Open), k.Most, k.Opens, k.Closes,
			k.Doubles, size)
	}
}

// strays tells how many closes were of what was not open. Their stacks are in the log, as
// long as the ring has them.
func (s *Snapshot) strays(p *printer) {
	for _, k := range s.Kinds {
		if k.Strays == 0 || !p.o.Wants(k.Name) {
			continue
		}
		p.line("")
		p.line("%s closed that the log had not seen opened", were(k.Strays, k.Name))
		told := 0
		for _, e := range slices.Backward(s.Log) {
			if e.What != ClosedUnknown || e.Kind != k.ID {
				continue
			}
			p.line("the latest, %s, at %s%s", KeyName(e.Kind, e.Key), Seconds(e.Time), byThread(e.Place))
			p.stack(s, e.Stack)
			told++
			break
		}
		if told == 0 {
			p.line("the ring has none of them any more (record.ring=)")
		}
	}
}

// first writes a name and the number behind it in columns; a long name takes from the
// number's.
func first(name string, width int, n uint64) string {
	return fmt.Sprintf("%-16s %*d", name, max(1, width-max(0, len(name)-16)), n)
}

// were writes how many things were dealt with.
func were(n uint64, name string) string {
	if n == 1 {
		return "1 " + name + " was"
	}
	return fmt.Sprintf("%d %s were", n, plural(name))
}

// Group is what is open of one kind from one stack.
type Group struct {
	Stack   uint32   // 0 if not known
	Handles []Handle // the oldest first
	Bytes   uint64   // sum of sizes
}

// Groups returns what is open of a kind by stack, the most first.
func (s *Snapshot) Groups(kind uint64) []*Group {
	by := map[uint32]*Group{}
	for _, h := range s.Open {
		if h.Kind != kind {
			continue
		}
		g := by[h.Stack]
		if g == nil {
			g = &Group{Stack: h.Stack}
			by[h.Stack] = g
		}
		g.Handles = append(g.Handles, h)
		if g.Bytes += h.Size; g.Bytes < h.Size {
			g.Bytes = math.MaxUint64
		}
	}
	all := slices.Collect(maps.Values(by))
	for _, g := range all {
		slices.SortFunc(g.Handles, func(a, b Handle) int {
			return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Key, b.Key))
		})
	}
	slices.SortFunc(all, func(a, b *Group) int {
		if HasBytes(kind) && a.Bytes != b.Bytes {
			return cmp.Compare(b.Bytes, a.Bytes)
		}
		return cmp.Or(cmp.Compare(len(b.Handles), len(a.Handles)),
			cmp.Compare(a.Handles[0].Time, b.Handles[0].Time), cmp.Compare(a.Stack, b.Stack))
	})
	return all
}

func (s *Snapshot) openOf(p *printer, k Stats) {
	groups := s.Groups(k.ID)
	for i, g := range groups {
		if p.o.Stacks > 0 && i == p.o.Stacks {
			p.line("")
			p.line("%d more stacks have open %s; -n 0 shows all", len(groups)-i, plural(k.Name))
			break
		}
		p.line("")
		n := len(g.Handles)
		head := fmt.Sprintf("%s, open since %s", count(n, k.Name), Seconds(g.Handles[0].Time))
		switch {
		case k.ID == kindFutexes:
			head = fmt.Sprintf("%s, waits since %s", count(n, "thread"), Seconds(g.Handles[0].Time))
		case k.ID == kindTimers:
			head = fmt.Sprintf("%s, set at %s", count(n, k.Name), Seconds(g.Handles[0].Time))
		}
		if last := g.Handles[n-1].Time; n > 1 && last != g.Handles[0].Time {
			head += ", the last " + Seconds(last)
		}
		if HasBytes(k.ID) {
			head += ", " + SizeOf(g.Bytes)
		}
		p.line("%s", head)
		p.keys(s, g.Handles)
		p.stack(s, g.Stack)
	}
}

// keys tells the keys of what is open, as many as fit a few lines.
func (p *printer) keys(s *Snapshot, handles []Handle) {
	const most = 3 * (Columns - 2)
	text := ""
	for i, h := range handles {
		word := s.Describe(h)
		if len(text)+len(word)+20 > most {
			text += fmt.Sprintf(" and %d more", len(handles)-i)
			break
		}
		if i > 0 {
			text += ", "
		}
		text += word
	}
	for _, l := range wrap(text, Columns-2) {
		p.line("  %s", l)
	}
}

// Describe tells a handle in a few words.
func (s *Snapshot) Describe(h Handle) string {
	name := KeyName(h.Kind, h.Key)
	switch {
	case h.Kind == kindFDs:
		return name + " (" + fileKind(h.Size) + ")"
	case h.Kind == kindFutexes:
		return fmt.Sprintf("thread %d for %s", h.Owner, name)
	case h.Kind == kindTimers:
		return fmt.Sprintf("%s of %v", name, time.Duration(h.Size))
	case HasBytes(h.Kind) && h.Kind != kindPages:
		return name + " (" + SizeOf(h.Size) + ")"
	}
	return name
}

// doubles tells both closes of what was closed twice.
func (s *Snapshot) doubles(p *printer) {
	told, all := uint64(0), uint64(0)
	for _, d := range s.Doubles {
		if p.o.Wants(s.Kind(d.Kind).Name) {
			s.double(p, d)
			told++
		}
	}
	for _, k := range s.Kinds {
		if p.o.Wants(k.Name) {
			all += k.Doubles
		}
	}
	if all > told {
		p.line("")
		p.line("%d more were closed twice; the kernel keeps the stacks of the first", all-told)
	}
}

// double tells one of them.
func (s *Snapshot) double(p *printer, d Double) {
	p.line("")
	p.line("%s %s was closed twice", s.Kind(d.Kind).Name, KeyName(d.Kind, d.Key))
	for _, x := range []struct {
		what string
		at   Place
	}{{"opened", d.Opened}, {"closed first", d.First}, {"closed again", d.Second}} {
		p.line("%s at %s%s", x.what, Seconds(x.at.Time), byThread(x.at))
		p.stack(s, x.at.Stack)
	}
}

// KeyName returns a key as it is written: a number, an address, a timer's name.
func KeyName(kind, key uint64) string {
	const posix, sleep = 1 << 16, 1 << 24
	switch kind {
	case kindFDs, kindThreads:
		return fmt.Sprint(key)
	case kindTimers:
		switch {
		case key < 3:
			return []string{"real", "virtual", "profiling"}[key]
		case key >= sleep:
			return fmt.Sprintf("sleep of thread %d", key-sleep)
		case key >= posix:
			return fmt.Sprintf("timer %d", key-posix)
		}
	}
	return fmt.Sprintf("%#x", key)
}

// fileKind is what a descriptor is open on: a File constant of kernel/observe/handle.
func fileKind(n uint64) string {
	names := []string{1: "terminal", "file", "device", "pipe, read", "pipe, write", "named pipe",
		"event counter", "epoll", "socket",
		"inotify", "timer", "process"}
	if n > 0 && n < uint64(len(names)) {
		return names[n]
	}
	return "?"
}

// printer writes lines until there is an error.
type printer struct {
	w   io.Writer
	o   Options
	err error
}

func (p *printer) line(format string, a ...any) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, strings.TrimRight(fmt.Sprintf(format, a...), " ")+"\n")
	}
}

// stack tells a stack, a line a frame.
func (p *printer) stack(s *Snapshot, id uint32) {
	frames, complete := s.Stack(id)
	if id == 0 {
		p.line("    the stack is not known")
		return
	}
	p.frames(frames, complete)
}

func (p *printer) frames(frames []Frame, complete bool) {
	lines := 0
	for i, f := range frames {
		for _, l := range p.frame(f) {
			if p.o.Frames > 0 && lines == p.o.Frames && len(frames)-i > 1 {
				p.line("    ... %d more frames; -frames 0 shows all", len(frames)-i)
				return
			}
			p.line("    %s", l)
			lines++
		}
	}
	if !complete {
		p.line("    (the rest is not known)")
	}
}

// frame returns the lines for a frame.
func (p *printer) frame(f Frame) (lines []string) {
	if f.Kind == tracer.Trap {
		switch {
		case f.Vector == tracer.VectorSyscall:
			return nil // its caller has it in its name
		case f.Vector < 32:
			return []string{"(exception: " + tracer.VectorName(f.Vector) + ")"}
		case f.Vector == tracer.VectorCall:
			return []string{"(from another stack)"}
		}
		return []string{"(interrupt)"}
	}
	if len(f.Calls) == 0 {
		return []string{fmt.Sprintf("%#x", f.Addr)}
	}
	for _, c := range f.Calls {
		place := ""
		if c.File != "" {
			place = fmt.Sprintf("%s:%d", p.file(c), c.Line)
		}
		lines = append(lines, columns(c.Function, place))
	}
	return lines
}

// file returns the name of a call's file as it is told: from the folder of Options, or
// from the package's own path if it ends in that, as the standard library's does.
func (p *printer) file(c Call) string {
	if rel, err := filepath.Rel(p.o.Dir, c.File); p.o.Dir != "" && err == nil &&
		!strings.HasPrefix(rel, "..") {
		return rel
	}
	slash := strings.LastIndex(c.Function, "/") + 1
	if dot := strings.Index(c.Function[slash:], "."); dot > 0 {
		pkg := c.Function[:slash+dot]
		if i := strings.Index(c.File, "/src/"+pkg+"/"); i >= 0 {
			return c.File[i+len("/src/"):]
		}
	}
	return c.File
}

// columns puts a function and its place on a line that is not too long: the front of the
// place gives way.
func columns(function, place string) string {
	const width, left = Columns - 4, 36
	function = fmt.Sprintf("%-*s", left, function)
	if over := len(function) + 1 + len(place) - width; over > 0 && place != "" {
		cut := over + len("...")
		if last := strings.LastIndex(place, "/"); cut > last {
			cut = last // the file's own name stays
		}
		if cut > len("...") {
			place = "..." + place[cut:]
		}
	}
	return function + " " + place
}

// Wants reports whether a kind is among those that are wanted.
func (o *Options) Wants(kind string) bool {
	return len(o.Kinds) == 0 || slices.Contains(o.Kinds, kind) ||
		slices.Contains(o.Kinds, plural(kind))
}

// Seconds writes a time since boot.
func Seconds(t time.Duration) string { return fmt.Sprintf("%.6f s", t.Seconds()) }

func byThread(p Place) string {
	if p.Thread == 0 {
		return ""
	}
	return fmt.Sprintf(", thread %d", p.Thread)
}

// Size writes a number of bytes.
func Size(n int64) string {
	if n < 0 {
		return "-" + SizeOf(-uint64(n)) // there is no -n of the least one
	}
	return SizeOf(uint64(n))
}

// SizeOf writes a number of bytes that a target has told, which may be any.
func SizeOf(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && n >= 10<<10 {
		n, units = n>>10, units[1:]
	}
	return fmt.Sprintf("%d %s", n, units[0])
}

func count(n int, name string) string {
	if n == 1 {
		return "1 " + name
	}
	return fmt.Sprintf("%d %s", n, plural(name))
}

func plural(name string) string {
	if strings.HasSuffix(name, "x") {
		return name + "es"
	}
	return name + "s"
}

// wrap breaks text at blanks.
func wrap(text string, width int) (lines []string) {
	for len(text) > width {
		i := strings.LastIndex(text[:width+1], " ")
		if i <= 0 {
			break
		}
		lines = append(lines, text[:i])
		text = text[i+1:]
	}
	return append(lines, text)
}
