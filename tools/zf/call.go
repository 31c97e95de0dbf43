package main

// What all commands share: each is a function of a call, which has its arguments, its flags and
// its streams, and returns an error, of which end makes the message and the exit status. So a
// test runs a command as a user does, and no command ends the process by itself, which would
// leave a terminal raw or a machine running.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/format/whole"
	"github.com/zeroframe/zeroframe/tools/machine/gotest"
)

// streams are whom a command talks to.
type streams struct {
	who            string // begins its messages: "zf run"
	stdin          io.Reader
	stdout, stderr io.Writer
}

// say writes a message, one line, to standard error.
func (s *streams) say(format string, a ...any) {
	fmt.Fprintf(s.stderr, "%s: %s\n", s.who, fmt.Sprintf(format, a...))
}

// A call is one run of a command.
type call struct {
	*command
	streams
	*flag.FlagSet
	given  []string        // the arguments
	theirs string          // heads the flags of the go command in the help; "": there are none
	ctx    context.Context // ends with what the caller does
	asks   *dead           // of a command at a prompt: the program that it is about
	// interrupts is what interruptible has returned; nil: it was not called.
	interrupts context.Context
	deaf       func() // ends that signals reach this call

	mu   sync.Mutex
	ends []func() // to be called at the end, the last one first
}

// newCall returns the call of a command with its arguments.
func newCall(ctx context.Context, c *command, args []string, stdin io.Reader, stdout,
	stderr io.Writer) *call {
	k := &call{command: c, streams: streams{"zf " + c.name, stdin, stdout, stderr},
		given: args, ctx: ctx, deaf: func() {}}
	k.FlagSet = flag.NewFlagSet(k.who, flag.ContinueOnError)
	k.SetOutput(io.Discard) // where Parse says all of its errors
	k.Usage = func() {}
	return k
}

// do runs the command and returns its exit status.
func (c *call) do() int {
	c.listen()
	defer func() { c.tidy(); c.deaf() }()
	return c.end(c.run(c))
}

// atEnd has the command's end call a function.
func (c *call) atEnd(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = append(c.ends, f)
}

// tidy is the command's end.
func (c *call) tidy() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range slices.Backward(c.ends) {
		f()
	}
	c.ends = nil
}

// listen has an interrupt end the process, tidied up, until interruptible is called, or deaf.
func (c *call) listen() {
	signals := c.hear(os.Interrupt)
	go func() {
		s, ok := <-signals
		if !ok {
			return
		}
		if isTerminal(c.stderr) {
			io.WriteString(c.stderr, wipeLine) // of a progressLine
		}
		c.say("%v", errInterrupted)
		c.tidy()
		whole.Abandon()
		os.Exit(bySignal(s).status())
	}()
}

// hear returns a channel of signals, until deaf is called, which closes it.
func (c *call) hear(which ...os.Signal) <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, which...)
	c.deaf = sync.OnceFunc(func() { signal.Stop(signals); close(signals) })
	return signals
}

// A status is the error of a command that has said itself why it ends with this exit status.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// A failure is an error with an exit status other than exitUsage.
type failure struct {
	error
	status int
}

func (f failure) Unwrap() error { return f.error }

// end says what an error is, with the next step, and returns the exit status.
func (c *call) end(err error) int {
	var s status
	f := failure{status: exitUsage}
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	}
	by, interrupted := c.signalled()
	switch said := errors.As(err, &s); {
	case said && (!interrupted || s == exitOK):
		return int(s)
	case said:
		return by.status()
	case interrupted:
		// Whatever else it says has come of that.
		if !strings.HasPrefix(err.Error(), by.Error()) {
			err = by
		}
		c.say("%v", err)
		return by.status()
	}
	errors.As(err, &f)
	c.fail(err)
	return f.status
}

// fail says an error, with the next step.
func (s *streams) fail(err error) {
	err = withQEMUStep(err)
	s.say("%s", withStep(err.Error(), err))
}

// wrong returns the error of a wrong use.
func (c *call) wrong(format string, a ...any) error {
	return fmt.Errorf("%w; `%s -h` lists the flags", fmt.Errorf(format, a...), c.who)
}

// A signalled is the cause of a context that a signal has ended.
type signalled struct{ syscall.Signal }

// bySignal returns the cause for a signal.
func bySignal(s os.Signal) signalled {
	number, _ := s.(syscall.Signal)
	return signalled{number}
}

func (s signalled) Error() string { return errInterrupted.Error() }

// status is what a shell says of a process that the signal has ended.
func (s signalled) status() int { return exitSignal + int(s.Signal) }

// interruptible returns a context that ends with an interrupt and a SIGTERM, too, and with these
// signals, until the command's end.
func (c *call) interruptible(more ...os.Signal) context.Context {
	ctx, cancel := context.WithCancelCause(c.ctx)
	before := c.deaf
	signals := c.hear(append(more, os.Interrupt, syscall.SIGTERM)...)
	before()
	go func() {
		if s, ok := <-signals; ok {
			cancel(bySignal(s))
		}
	}()
	deaf := c.deaf
	c.atEnd(func() { deaf(); cancel(nil) })
	c.interrupts = ctx
	return ctx
}

// signalled returns the signal that has ended the command's context.
func (c *call) signalled() (s signalled, ok bool) {
	if c.interrupts != nil {
		ok = errors.As(context.Cause(c.interrupts), &s)
	}
	return s, ok
}

// folder makes a temporary folder, which is removed at the command's end.
func (c *call) folder() (string, error) {
	dir, err := os.MkdirTemp("", "zf-"+c.name+"-")
	if err == nil {
		c.atEnd(func() { os.RemoveAll(dir) })
	}
	return dir, err
}

// An option is a flag: what it sets, its name and its help. What it sets is a variable, whose
// value is the default, a list, to which each use adds one, or a function.
type option struct {
	to         any
	name, help string
}

// addFlags adds flags to a set.
func addFlags(fs *flag.FlagSet, all []option) {
	for _, o := range all {
		switch to := o.to.(type) {
		case *bool:
			fs.BoolVar(to, o.name, *to, o.help)
		case *string:
			fs.StringVar(to, o.name, *to, o.help)
		case *int:
			fs.IntVar(to, o.name, *to, o.help)
		case *int64:
			fs.Int64Var(to, o.name, *to, o.help)
		case *uint64:
			fs.Uint64Var(to, o.name, *to, o.help)
		case *[]string:
			fs.Func(o.name, o.help, func(s string) error { *to = append(*to, s); return nil })
		case func(string) error:
			fs.Func(o.name, o.help, to)
		default:
			panic(fmt.Sprintf("-%s sets a %T", o.name, to))
		}
	}
}

const wantFile = "a file's name is wanted"

// names returns what adds the value of a flag to a list, unless it is empty: want says what is
// wanted then.
func names(to *[]string, want string) func(string) error {
	return func(s string) error {
		if s == "" {
			return errors.New(want)
		}
		*to = append(*to, s)
		return nil
	}
}

// parse reads the flags, which stand before other arguments. If help was asked for it prints
// that, and returns [flag.ErrHelp].
func (c *call) parse(all []option) error {
	addFlags(c.FlagSet, all)
	args, err := gotest.Enter(c.FlagSet, c.given)
	if err == nil {
		err = c.Parse(args)
	}
	return c.parsed(err)
}

// parsed says how a flag set's Parse has ended. Its error is one line and where to read on: the
// whole usage would hide it.
func (c *call) parsed(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		c.usage()
		return err
	}
	if err != nil {
		return c.wrong("%s", meantFlag(c.FlagSet, err))
	}
	return nil
}

// parseMixed is parse for flags that may stand behind other arguments, which it returns.
func (c *call) parseMixed(all []option) (others []string, err error) {
	return c.others(c.parse(all))
}

// others returns the other arguments, among which flags may stand, unless there is an error
// already.
func (c *call) others(err error) (others []string, _ error) {
	for err == nil && c.NArg() > 0 {
		others = append(others, c.Arg(0))
		err = c.parsed(c.Parse(c.Args()[1:]))
	}
	return others, err
}

// usage prints the command's help: the synopsis, a text and the flags.
func (c *call) usage() {
	if f, ok := c.stdout.(*flagCollector); ok {
		c.VisitAll(f.add)
		return
	}
	fmt.Fprintf(c.stdout, "Usage: zf %s\n\n%s\n", strings.TrimSpace(c.name+" "+c.args), c.text)
	show := func(title string, want func(ours bool) bool) {
		fmt.Fprintf(c.stdout, "\n%s:\n\n", title)
		gotest.PrintDefaults(c.FlagSet, want)
	}
	any := false
	c.VisitAll(func(*flag.Flag) { any = true })
	c.SetOutput(c.stdout)
	defer c.SetOutput(io.Discard)
	switch {
	case c.theirs != "":
		show(c.theirs, func(theirs bool) bool { return theirs })
		show("Flags of zf", func(theirs bool) bool { return !theirs })
	case any:
		show("Flags", func(bool) bool { return true })
	}
}
