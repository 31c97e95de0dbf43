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
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
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
	image.RunTool() // if the go command started us in the compiler's place
	batch.Main("soak", command)
}

// workers is the program.
const workers = batch.Module + "qemu/soak/testdata/workers"

// command runs with the given arguments.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("soak", flag.ContinueOnError)
	duration := fs.Duration("duration", time.Minute, "let each machine run for `TIME`")
	seeds := fs.Int("seeds", 3, "boot `N` machines of the default kind")
	first := fs.Uint64("s", 1, "the first seed")
	memory := fs.Int("m", 48, "RAM of each machine in `MIB`")
	cpus := fs.Int("smp", 1, "`N` CPUs for each machine, 1 to 64")
	parallel := fs.Int("p", 2, "run `N` machines at once")
	err := batch.Parse(fs, args, usageText, stdout, func() error {
		if *duration <= 0 || *seeds < 0 || *memory < 1 || *cpus < 1 || *parallel < 1 {
			return errors.New("-duration, -m, -smp and -p must be more than 0")
		}
		return nil
	})
	if err != nil {
		return err
	}
	plans := append(slices.Repeat([]plan{{machine: "q35"}}, *seeds),
		plan{machine: "q35", cpu: "max"}, plan{machine: "microvm"})
	for i := range plans {
		p := &plans[i]
		p.memoryMiB, p.duration, p.seed, p.cpus = *memory, *duration, *first+uint64(i), *cpus
	}
	dir, err := os.MkdirTemp("", "zf-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	elf := filepath.Join(dir, "workers.elf")
	l, err := batch.Build(ctx, image.BuildOptions{Package: workers, Output: elf, Stderr: stderr})
	if err != nil {
		return err
	}
	defer l.Symbols.Close()
	failed, err := tryAll(ctx, l, plans, *parallel, stdout)
	if err == nil && failed > 0 {
		err = batch.Failed(fmt.Errorf("%d of %d machines failed", failed, len(plans)))
	}
	return err
}

// tryAll tries the machines, some at once, and says of each how it went.
func tryAll(
	ctx context.Context, l *batch.Lab, plans []plan, parallel int, stdout io.Writer,
) (failed int, err error) {
	var mu sync.Mutex // of failed, known and stdout
	known := ""
	err = batch.Each(ctx, len(plans), parallel, func(ctx context.Context, i int) error {
		r, serial, err := try(ctx, l, plans[i])
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			if known = cmp.Or(known, r.known); r.known != known {
				err = fmt.Errorf("the known numbers are %s, and %s on another machine", r.known, known)
			}
		}
		if err != nil {
			failed++
			fmt.Fprintf(stdout, "FAIL  %v: %v\n%s\n", plans[i], err, serial)
			return nil
		}
		fmt.Fprintf(stdout, "ok    %v: %v\n", plans[i], r)
		return nil
	})
	if err == nil {
		fmt.Fprintf(stdout, "%d passed, %d failed\n", len(plans)-failed, failed)
	}
	return failed, err
}
