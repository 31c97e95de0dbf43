// Soak boots a program that does everything at once and checks all it gets
// (testdata/workers), on several machines with little memory, each with a seed of its
// own. It is what `make soak` runs; -h lists the flags.
//
//	main.go     the command: which machines, how many at a time
//	machine.go  one machine, and what its program has said
//
// Context: the host.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/zeroframe/zeroframe/tools/image"
)

const usageText = `Usage: soak [flags]

Soak boots one program on several machines: with each seed on the default
machine, then with the next seeds on one with every feature of the processor
and on a microvm. It prints a line for each: ok, or FAIL with what the serial
port said, traces resolved. The last line is "N passed, N failed", in machines.

It must run in the folder of the module. With -s N the first seed is N; what
failed with a seed is likely to fail again with it, but not bound to, since the
order of things depends on the machine's time too.

Exit status: 0 all is well; 1 a machine failed; 2 it could not be tried.

Flags:

`

// A plan is a machine to try.
type plan struct {
	machine, cpu string
	memoryMiB    int
	cpus         int // 0: one
	seed         uint64
	duration     time.Duration
}

func (p plan) String() string {
	s := p.machine
	if p.cpu != "" {
		s += " with -cpu " + p.cpu
	}
	if p.cpus > 1 {
		s += fmt.Sprintf(" with %d CPUs", p.cpus)
	}
	return fmt.Sprintf("%s, %d MiB, seed %d", s, p.memoryMiB, p.seed)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := command(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	case failed > 0:
		os.Exit(1)
	}
}

// command runs with the given arguments, and returns how many machines failed.
func command(ctx context.Context, args []string, stdout io.Writer) (failed int, err error) {
	fs := flag.NewFlagSet("soak", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	duration := fs.Duration("duration", time.Minute, "let each machine run for `TIME`")
	seeds := fs.Int("seeds", 3, "boot `N` machines of the default kind")
	first := fs.Uint64("s", 1, "the first seed")
	memory := fs.Int("m", 48, "RAM of each machine in `MIB`")
	cpus := fs.Int("smp", 1, "`N` CPUs for each machine, 1 to 64")
	parallel := fs.Int("p", 2, "run `N` machines at once")
	err = fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usageText)
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return 0, err
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unexpected %s", fs.Arg(0))
	}
	if err == nil && (*duration <= 0 || *seeds < 0 || *memory < 1 || *cpus < 1 || *parallel < 1) {
		err = errors.New("-duration, -m, -smp and -p must be more than 0")
	}
	if err != nil {
		return 0, fmt.Errorf("%w; -h lists the flags", err)
	}
	var plans []plan
	for range *seeds {
		plans = append(plans, plan{machine: "q35"})
	}
	plans = append(plans, plan{machine: "q35", cpu: "max"}, plan{machine: "microvm"})
	for i := range plans {
		p := &plans[i]
		p.memoryMiB, p.duration, p.seed, p.cpus = *memory, *duration, *first+uint64(i), *cpus
	}

	dir, err := os.MkdirTemp("", "zf-soak-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	elf, err := build(ctx, dir, "./qemu/soak")
	if err != nil {
		return 0, err
	}
	return tryAll(ctx, elf, plans, *parallel, stdout)
}

// build builds the workers into folder dir; folder is that of this package.
func build(ctx context.Context, dir, folder string) (elf string, err error) {
	elf = filepath.Join(dir, "workers.elf")
	_, err = image.Build(ctx, image.BuildOptions{Package: "./testdata/workers", Dir: folder, Output: elf, Stderr: os.Stderr})
	return elf, err
}

// tryAll tries the machines, some at once, and says of each how it went.
func tryAll(ctx context.Context, elf string, plans []plan, parallel int, stdout io.Writer) (failed int, err error) {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		room  = make(chan struct{}, parallel)
		known string
	)
	for _, p := range plans {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			if ctx.Err() != nil {
				return
			}
			r, serial, err := try(ctx, elf, p)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && known == "" {
				known = r.known
			}
			if err == nil && r.known != known {
				err = fmt.Errorf("the known numbers are %s, and %s on another machine", r.known, known)
			}
			if err != nil {
				failed++
				fmt.Fprintf(stdout, "FAIL  %v: %v\n%s\n", p, err, serial)
				return
			}
			fmt.Fprintf(stdout, "ok    %v: %v\n", p, r)
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return failed, context.Cause(ctx)
	}
	fmt.Fprintf(stdout, "%d passed, %d failed\n", len(plans)-failed, failed)
	return failed, nil
}
