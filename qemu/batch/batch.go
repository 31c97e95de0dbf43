package batch

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// ErrUsage is in what is wrong with a command line.
var ErrUsage = errors.New("-h lists the flags")

// failure is an error that ends a command with status 1.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// Failed returns an error with which [Main] ends the process with status 1, for a command that
// has done its work and has bad news; nil for none.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	return failure{err}
}

// Main runs a command that has this name with the process's arguments and streams, and ends
// the process if it fails: with status 2, or 1 for [Failed], and the error on standard error.
// [flag.ErrHelp] is no failure. The context ends with SIGINT and SIGTERM.
func Main(
	name string, command func(ctx context.Context, args []string, stdout, stderr io.Writer) error,
) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	if errors.As(err, new(failure)) {
		os.Exit(1)
	}
	os.Exit(2)
}

// Parse parses a command line of flags alone. For -h it prints usage and the flags, and
// returns [flag.ErrHelp]; any other error is [ErrUsage]. wrong looks at the flags' values.
func Parse(fs *flag.FlagSet, args []string, usage string, stdout io.Writer,
	wrong func() error) error {
	return ParseNames(fs, args, usage, stdout, func([]string) error {
		if fs.NArg() > 0 {
			return fmt.Errorf("unexpected %s", fs.Arg(0))
		}
		return wrong()
	})
}

// ParseNames is [Parse] for a command line that has names after the flags.
func ParseNames(fs *flag.FlagSet, args []string, usage string, stdout io.Writer,
	wrong func(names []string) error) error {
	fs.SetOutput(io.Discard)
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return err
	}
	if err == nil {
		err = wrong(fs.Args())
	}
	if err != nil {
		return fmt.Errorf("%w; %w", err, ErrUsage)
	}
	return nil
}

// Each does n things in their order, so many of them at once, and waits for them. After the
// first error, and when ctx has ended, nothing more is begun: it returns why.
func Each(ctx context.Context, n, atOnce int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(atOnce, n) {
		workers.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// Output runs a program in folder dir, with more variables in its environment, and returns its
// standard output. The error has all that it wrote.
func Output(
	ctx context.Context, dir string, env []string, name string, args ...string,
) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out), err
}

// BuildZF builds the command zf into a folder, and returns its path. The current folder is one
// of this module.
func BuildZF(ctx context.Context, dir string) (path string, err error) {
	path = filepath.Join(dir, "zf")
	_, err = Output(ctx, "", nil, "go", "build", "-o", path, Module+"tools/zf")
	return path, err
}
