package main

// What is looked at while a recording is replayed: calls, expressions, samples. QEMU's gdb stub
// stops the machine, and its count of instructions says where that is. The machine notices
// nothing of it, so the replay is verified as without; observerun.go stops it.

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tools/inspect"
	"github.com/zeroframe/zeroframe/tools/probe"
	"github.com/zeroframe/zeroframe/tools/record"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// observing is what the command line of zf replay says of it.
type observing struct {
	probes     []string // patterns; "args" behind one wants the arguments
	prints     []string // a place, and expressions behind a space
	profile    string   // the file
	every      uint64   // instructions between samples
	goroutines bool
	trace      string // the file

	asked []*sought // by -probe and -print-on
}

// flags adds the flags.
func (o *observing) flags(fs *flag.FlagSet) {
	addFlags(fs, []option{
		{func(s string) error {
			if f := strings.Fields(s); len(f) == 0 || len(f) > 2 || len(f) == 2 && f[1] != "args" {
				return errors.New("want a pattern of functions' names, or 'PATTERN args'")
			}
			o.probes = append(o.probes, s)
			return nil
		}, "probe", "say each call of the functions whose names match `PATTERN`; with 'PATTERN\nargs' its arguments, too"},
		{func(s string) error {
			place, exprs, _ := strings.Cut(strings.TrimSpace(s), " ")
			if place == "" || strings.TrimSpace(exprs) == "" {
				return errors.New("want a place and an expression, such as 'main.handle c.id'")
			}
			if _, err := expressions(exprs); err != nil {
				return err
			}
			o.prints = append(o.prints, s)
			return nil
		}, "print-on", "print 'PLACE EXPR,...', or PLACE and EXPR as two arguments, whenever the\nmachine comes to PLACE, a function or FILE.go:LINE"},
		{&o.profile, "profile", "write a profile by counted instructions to `FILE`, for go tool pprof; -\nis standard output, and the machine's is not shown then"},
		{func(s string) (err error) {
			if o.every, err = strconv.ParseUint(s, 10, 63); err != nil || o.every == 0 {
				return errors.New("want a number of instructions, such as 50000; without it there are some 1000 samples")
			}
			return nil
		}, "profile-every", "take a sample each `N` instructions (default: some 1000 samples)"},
		{&o.goroutines, "goroutines", "list the goroutines at the end, or at -until, as zf goroutines does"},
		{&o.trace, "trace", "write what the CPU did last, at the end or at -until, to `FILE`, as\nzf trace does; - is standard output, as with -profile"},
	})
}

// twoArguments has -print-on PLACE EXPR as one argument.
func twoArguments(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if a := args[i]; (a == "-print-on" || a == "--print-on") && i+2 < len(args) && !strings.Contains(strings.TrimSpace(args[i+1]), " ") {
			out = append(out, a, args[i+1]+" "+args[i+2])
			i += 2
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// standardOutput is its name where a file is wanted.
const standardOutput = "-"

// stops reports whether the machine has to be stopped on its way.
func (o *observing) stops() bool { return len(o.probes)+len(o.prints) > 0 || o.profile != "" }

// wrong returns what is wrong with the flags, if anything is.
func (o *observing) wrong() error {
	if o.every != 0 && o.profile == "" {
		return errors.New("-profile-every wants -profile FILE")
	}
	return inFolders(o.profile, o.trace)
}

// expressions parts what stands between commas.
func expressions(s string) ([]string, error) {
	e, err := parser.ParseExpr("f(" + s + ")")
	call, ok := e.(*ast.CallExpr)
	if err != nil || !ok || len(call.Args) == 0 {
		return nil, fmt.Errorf("%q is no expression of Go's, nor several with commas between them", s)
	}
	const before = len("f(") + 1
	var all []string
	for _, a := range call.Args {
		all = append(all, s[int(a.Pos())-before:int(a.End())-before])
	}
	return all, nil
}

// A sought is what a flag asks for, and how often it has come.
type sought struct {
	call  bool
	what  string // as the user has said it
	times int
}

// never says what has not come.
func (a *sought) never() string {
	if a.call {
		return "no call of " + printable(a.what)
	}
	return "the machine has not come to " + printable(a.what)
}

// A spot is an instruction at which something is said.
type spot struct {
	of        *sought
	name      string // the function, or the line
	call      bool   // a call is said
	arguments bool
	exprs     []string
}

// spots finds the instructions. Notes are for the user.
func (o *observing) spots(sym *symbol.File) (all map[uint64][]spot, notes []string, err error) {
	all = map[uint64][]spot{}
	function := func(flag, pattern string, s spot) error {
		found, inlined, err := probe.Entries(sym, []string{pattern})
		if err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
		for _, e := range found {
			s := s
			s.name = e.Name
			all[e.Addr] = append(all[e.Addr], s)
			if n := inlined[e.Name]; n > 0 {
				notes = append(notes, fmt.Sprintf("%s is inlined in %s, too: those calls are not seen", e.Name, count(n, "place")))
			}
			if e.Twice {
				notes = append(notes, fmt.Sprintf("%s begins in a way that is not understood: a call may be seen more than once", e.Name))
			}
		}
		return nil
	}
	for _, p := range o.probes {
		f := strings.Fields(p)
		if err := function("-probe", f[0], spot{of: o.ask(f[0], true), call: true, arguments: len(f) == 2}); err != nil {
			return nil, nil, err
		}
	}
	for _, p := range o.prints {
		place, text, _ := strings.Cut(strings.TrimSpace(p), " ")
		exprs, err := expressions(text)
		if err != nil {
			return nil, nil, err
		}
		file, line, ok := fileLine(place)
		a := o.ask(place, false)
		if !ok {
			if err := function("-print-on", place, spot{of: a, exprs: exprs}); err != nil {
				return nil, nil, err
			}
			continue
		}
		found, before, after := sym.Places(file, line)
		if len(found) == 0 {
			return nil, nil, fmt.Errorf("-print-on: no code is of %s%s", place, nearest(before, after))
		}
		for _, addr := range found {
			all[addr] = append(all[addr], spot{of: a, name: place, exprs: exprs})
		}
	}
	return all, notes, nil
}

// ask notes what is asked for.
func (o *observing) ask(what string, call bool) *sought {
	a := &sought{call: call, what: what}
	o.asked = append(o.asked, a)
	return a
}

// unknown is the error of a name in an expression of -print-on that nothing has at any of its
// instructions.
func (o *observing) unknown(all map[uint64][]spot, image *inspect.Image) error {
	names := map[*sought]map[string]bool{} // that nothing has at those that were looked at
	for pc, spots := range all {
		for _, s := range spots {
			here := map[string]bool{}
			for _, e := range s.exprs {
				for _, n := range image.Unknown(pc, e) {
					here[n] = true
				}
			}
			if before, ok := names[s.of]; ok {
				maps.DeleteFunc(here, func(n string, _ bool) bool { return !before[n] })
			}
			names[s.of] = here
		}
	}
	for _, a := range o.asked {
		if n := slices.Sorted(maps.Keys(names[a])); len(n) > 0 {
			return fmt.Errorf("-print-on %s: there is no variable %s; look at the name: a package's variable is PKG.NAME", printable(a.what), printable(n[0]))
		}
	}
	return nil
}

// fileLine parts "main.go:17".
func fileLine(s string) (file string, line int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 {
		return "", 0, false
	}
	line, err := strconv.Atoi(s[i+1:])
	return s[:i], line, err == nil && line > 0
}

// nearest says which lines have code.
func nearest(before, after int) string {
	switch {
	case before > 0 && after > 0:
		return fmt.Sprintf("; lines %d and %d have some", before, after)
	case before+after > 0:
		return fmt.Sprintf("; line %d has some", before+after)
	}
	return "; no line of such a file has"
}

// goDeath is how Go's runtime begins to say that a program dies.
var goDeath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:panic: |fatal error: )`) })

// traceBegin is the first line of a trace.
var traceBegin = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`zf1 begin \d+ (\w+)`) })

// deathAt returns how many instructions had been run when a recorded machine began to say that
// it dies: with the first byte of Go's panic, or without one of the trace.
func deathAt(r *record.Recording, l *record.Log) (uint64, error) {
	at := -1
	for _, m := range traceBegin().FindAllSubmatchIndex(r.Serial, -1) {
		if kind := string(r.Serial[m[2]:m[3]]); kind != "nmi" && kind != "trace" {
			at = m[0]
			break
		}
	}
	if at < 0 {
		return 0, errors.New("the recording has no death, of a trace in text that is; count from end, as in end-1ms")
	}
	if said := goDeath().FindAllIndex(r.Serial[:at], -1); said != nil {
		at = said[len(said)-1][0]
	}
	e, ok := l.Sent(int64(at))
	if !ok {
		return 0, fmt.Errorf("the log has no byte %d of the output", at)
	}
	return e.Instructions, nil
}

// lines writes lines between what else is written to the same place: each begins at the
// beginning of one.
type lines struct {
	mu    sync.Mutex
	w     io.Writer
	begun bool // what was written last has not ended its line
}

// Write is for the machine's output.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(p) > 0 {
		l.begun = p[len(p)-1] != '\n'
	}
	return l.w.Write(p)
}

// say writes a line.
func (l *lines) say(s string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun {
		s, l.begun = "\n"+s, false
	}
	_, err := io.WriteString(l.w, s+"\n")
	return err
}

// pageSize is of what is read at once of a machine that stands still, in bytes.
const pageSize = 1 << 10

// view is the memory of a machine that stands still: what has been read once is not asked for
// again.
type view struct {
	read  func(p []byte, addr uint64) error
	pages map[uint64][]byte
}

func (v *view) Read(p []byte, addr uint64) error {
	for len(p) > 0 {
		at := addr &^ (pageSize - 1)
		page, ok := v.pages[at]
		if !ok {
			page = make([]byte, pageSize)
			if v.read(page, at) != nil { // a part of it, perhaps
				return v.read(p, addr)
			}
			v.pages[at] = page
		}
		n := copy(p, page[addr-at:])
		p, addr = p[n:], addr+uint64(n)
	}
	return nil
}

// sayAt has what a spot says, in a line.
func (s *spot) sayAt(image *inspect.Image, c *inspect.CPU) string {
	var b bytes.Buffer
	b.WriteString(printable(s.name))
	switch {
	case s.arguments:
		args, err := image.Arguments(c, lineLimits)
		b.WriteByte('(')
		for i := range args {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s = %s", printable(args[i].Name), args[i].Line())
		}
		b.WriteByte(')')
		if err != nil {
			fmt.Fprintf(&b, " (its arguments are not known: %s)", printable(err.Error()))
		}
	case !s.call:
		for i, e := range s.exprs {
			if b.WriteString(": "); i > 0 {
				b.Truncate(b.Len() - 2)
				b.WriteString(", ")
			}
			v, err := image.Eval(c, e, lineLimits)
			if err != nil {
				fmt.Fprintf(&b, "%s: %s", e, printable(strings.TrimPrefix(err.Error(), e+": ")))
				continue
			}
			fmt.Fprintf(&b, "%s = %s", e, v.Line())
		}
	}
	return b.String()
}

// lineLimits are of what fits into a line.
var lineLimits = inspect.Limits{Elements: 16, Bytes: 128, Depth: 1}

// partsError is of a replay that is not its recording: it says how.
type partsError string

func (e partsError) Error() string { return "the replay parts from its recording: " + string(e) }

// standing is how, where it waits for what will not come.
const standing = "it waits for what is not in the recording there"
