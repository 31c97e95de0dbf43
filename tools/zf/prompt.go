//go:build !lean

package main

// The prompt of `zf print CORE`: many questions to one dead program, whose core is opened once. A
// question is a line: a command of the table below, or an expression. Commands that zf has by
// themselves run as they do on a command line, without the core's name, which is known.

import (
	"errors"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// prompt is one sitting.
type prompt struct {
	*call
	*values
	dead    dead          // open
	at      inspect.Place // what names and numbers of frames mean
	sources *source.Finder
}

// A question is a command of the prompt.
type question struct {
	name, args, help string
	ask              func(p *prompt, arg string) error // nil: zf's own command of that name
}

// questions is the table of the prompt's commands; help prints it in this order.
func questions() []question {
	return []question{
		{"print", "EXPR", "a value, as print list.next.name; EXPR alone is the same", (*prompt).print},
		{"locals", "", "the local variables of the frame", func(p *prompt, arg string) error {
			return p.variables(arg, false)
		}},
		{"args", "", "the arguments of the frame's function", func(p *prompt, arg string) error {
			return p.variables(arg, true)
		}},
		{"goroutines", "[FLAGS]", "all goroutines; goroutines -h has its flags", nil},
		{"goroutine", "[N]", "take goroutine N; show its stack", (*prompt).goroutine},
		{"frame", "[N]", "take frame N of it", func(p *prompt, arg string) error {
			return p.frame(arg, 0, p.at.Frame)
		}},
		{"up", "[N]", "take the frame of the caller, or of N callers up",
			func(p *prompt, arg string) error { return p.frame(arg, 1, 1) }},
		{"down", "[N]", "the other way", func(p *prompt, arg string) error {
			return p.frame(arg, -1, 1)
		}},
		{"source", "[N]", "the frame's line and N lines round it", (*prompt).source},
		{"heap", "[FLAGS]", "what is in the heap; heap -h has its flags", nil},
		{"waits", "[FLAGS]", "who waits for whom; waits -h has its flags", nil},
		{"help", "", "this list", (*prompt).help},
		{"quit", "", "the end, as exit and ^D", func(*prompt, string) error { return errQuit }},
	}
}

// errQuit ends the prompt.
var errQuit = errors.New("quit")

func questionNames() (names []string) {
	for _, q := range questions() {
		names = append(names, q.name)
	}
	return names
}

func newPrompt(c *call, show *values, d dead, sources *source.Finder) *prompt {
	d.program = show.program
	p := &prompt{call: c, values: show, dead: d, sources: sources}
	if id := show.program.Current(); id != 0 {
		if g, err := show.program.Goroutine(id); err == nil {
			p.at = ownFrame(g)
		}
	}
	return p
}

// ownFrame returns the frame of a goroutine that is the program's, by the rule for deaths.
func ownFrame(g *inspect.Goroutine) inspect.Place {
	var owners lookup.Owners
	blame := owners.Blame(len(g.Frames), func(i int) []lookup.Call {
		f := &g.Frames[i]
		return []lookup.Call{{Function: f.Function, File: f.File, Line: f.Line}}
	}, false)
	return inspect.Place{Goroutine: g.ID, Frame: blame.First.Frame}
}

// ask answers one line.
func (p *prompt) ask(line string) error {
	word, arg := line, ""
	if i := strings.IndexFunc(line, unicode.IsSpace); i >= 0 {
		word, arg = line[:i], strings.TrimSpace(line[i:])
	}
	if line == "exit" { // as most debuggers have it
		word = "quit"
	}
	all := questions()
	i := slices.IndexFunc(all, func(q question) bool { return q.name == word })
	if i < 0 {
		_, err := parser.ParseExpr(line)
		if err != nil && arg != "" && token.IsIdentifier(word) {
			return fmt.Errorf("unknown command %s%s; help lists them", word,
				meant(word, "", questionNames()))
		}
		return nearName(p.print(line), questionNames()...)
	}
	var err error
	if all[i].ask != nil {
		err = all[i].ask(p, arg)
	} else {
		err = p.command(word, strings.Fields(arg))
	}
	if err != nil && word != "print" && err != errQuit {
		err = fmt.Errorf("%s: %w", word, err)
	}
	return nearName(err)
}

// command runs a command of zf's own.
func (p *prompt) command(name string, args []string) error {
	c := newCall(p.ctx, find(name), args, nil, p.stdout, p.stderr)
	c.asks = &p.dead
	defer c.tidy()
	err := c.run(c)
	if errors.Is(err, flag.ErrHelp) || errors.Is(err, status(exitTrace)) {
		return nil
	}
	return err
}

func (p *prompt) print(expr string) error {
	if expr == "" {
		return errors.New("print: want an expression")
	}
	return p.one(expr, p.at)
}

// number returns the number that an argument is, or what it is if there is none.
func number(arg string, none int) (int, error) {
	if arg == "" {
		return none, nil
	}
	n, err := strconv.Atoi(arg)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is no number from 0 on", arg)
	}
	return n, nil
}

var errNone = errors.New("want a goroutine first: goroutines lists them, goroutine N takes one")

// chosen is an error if no goroutine is.
func (p *prompt) chosen() error {
	if p.at.Goroutine == 0 {
		return errNone
	}
	return nil
}

func (p *prompt) goroutine(arg string) error {
	id, err := number(arg, int(p.at.Goroutine))
	if err != nil {
		return err
	}
	if id == 0 {
		return errNone
	}
	g, err := p.program.Goroutine(int64(id))
	if err != nil {
		return err
	}
	if arg != "" {
		p.at = ownFrame(g)
	}
	if err := g.Write(p.stdout, inspect.View{Numbers: true}); err != nil {
		return err
	}
	return p.where()
}

// frame takes another frame: the one that is said, or with a sign so many from this one; none is
// how many if nothing is said.
func (p *prompt) frame(arg string, sign, none int) error {
	if err := p.chosen(); err != nil {
		return err
	}
	n, err := number(arg, none)
	if err != nil {
		return err
	}
	to := p.at
	if to.Frame = n; sign != 0 {
		to.Frame = p.at.Frame + sign*n
	}
	if to.Frame < 0 {
		return errors.New("frame 0 is the innermost")
	}
	if _, err := p.program.Where(to); err != nil {
		return err
	}
	p.at = to
	return p.where()
}

// where says which frame it is, with its line.
func (p *prompt) where() error {
	if p.chosen() != nil {
		return nil
	}
	f, err := p.program.Where(p.at)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "goroutine %d, frame %d: ", p.at.Goroutine, p.at.Frame)
	if err := inspect.WriteVariables(p.stdout, f, nil); err != nil {
		return err
	}
	for _, line := range p.sources.Context(f.File, f.Line, 0) {
		fmt.Fprintln(p.stdout, line)
	}
	return nil
}

func (p *prompt) variables(arg string, args bool) error {
	if arg != "" {
		return fmt.Errorf("it takes no argument; print %s shows one variable", arg)
	}
	if err := p.chosen(); err != nil {
		return err
	}
	return p.values.frame(p.at, func(v *inspect.Value) bool { return v.Arg == args })
}

// sourceLines is how many lines source shows before and behind the frame's.
const sourceLines = 5

func (p *prompt) source(arg string) error {
	if err := p.chosen(); err != nil {
		return err
	}
	n, err := number(arg, sourceLines)
	if err != nil {
		return err
	}
	f, err := p.program.Where(p.at)
	if err != nil {
		return err
	}
	lines := p.sources.Context(f.File, f.Line, n)
	if lines == nil {
		return fmt.Errorf("%s:%d is not here; zf print -source OLD=NEW says where its folder is now",
			f.File, f.Line)
	}
	for _, line := range lines {
		fmt.Fprintln(p.stdout, line)
	}
	return nil
}

func (p *prompt) help(string) error {
	for _, q := range questions() {
		fmt.Fprintf(p.stdout, "  %-20s %s\n", strings.TrimSpace(q.name+" "+q.args), q.help)
	}
	_, err := fmt.Fprintln(p.stdout, "Expressions are Go's, without calls; zf help print says more.")
	return err
}
