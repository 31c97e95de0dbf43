package batch

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
)

// Main runs a command that has this name with the process's arguments and streams, and ends
// the process if it fails: with status 2, and the error on standard error. [flag.ErrHelp] is
// no failure. The context ends with SIGINT and SIGTERM.
func Main(name string, command func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	}
}

// Parse parses a command line of flags alone. For -h it prints usage and the flags, and
// returns [flag.ErrHelp]; any other error says that -h lists the flags. wrong looks at the
// flags' values.
func Parse(fs *flag.FlagSet, args []string, usage string, stdout io.Writer, wrong func() error) error {
	fs.SetOutput(io.Discard)
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return err
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unexpected %s", fs.Arg(0))
	}
	if err == nil {
		err = wrong()
	}
	if err != nil {
		return fmt.Errorf("%w; -h lists the flags", err)
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

// BuildZF builds the command zf into a folder, and returns its path. The current folder is one
// of this module.
func BuildZF(ctx context.Context, dir string) (path string, err error) {
	path = filepath.Join(dir, "zf")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/zeroframe/zeroframe/tools/zf")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build of zf: %w; run it in a folder of the module\n%s", err, msg)
	}
	return path, nil
}
