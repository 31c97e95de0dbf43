// Attack overwrites eight bytes of a running kernel, once in each of many machines, and makes
// a table of how they died. It is what `make attack` runs; -h says more.
//
//	main.go             the command: which cases, and how many at once
//	target.go           what is overwritten with what, by the image's symbols
//	machine.go          one machine: what is left of it, by what zf makes of its serial port
//	table.go            the table, and a line for each machine that left no whole trace
//	testdata/victim     the program: it overwrites, works, and dies
//
// Every machine dies: of the case, or else when its work is done. So each case also shows
// whether the panic path needs what was overwritten. A case depends on the seed, its number
// and the image alone, and time is virtual. Context: the host.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

const usageText = `Usage: attack [flags]

Attack boots -n machines. In each, the program overwrites eight bytes of the kernel's code
or data, or of the runtime's data, or a whole word of the kernel's; then it works and dies.
The table says what was left of them, by what was overwritten, and behind it is a line for
each machine that did not leave a whole trace.

Exit status: 0 the table is complete, whatever is in it; 2 it is not.

Flags:

`

// settings are what the command line says.
type settings struct {
	n, only, parallel int
	seed              uint64
	append            string
}

func main() {
	image.RunTool() // if the go command started us in the compiler's place
	batch.Main("attack", command)
}

// command runs with the given arguments.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var s settings
	fs := flag.NewFlagSet("attack", flag.ContinueOnError)
	fs.IntVar(&s.n, "n", 5000, "boot `N` machines")
	fs.Uint64Var(&s.seed, "seed", 1, "choose the cases by this `NUMBER`")
	fs.IntVar(&s.only, "only", -1, "boot the one machine with that `NUMBER`, and print what it sends")
	fs.IntVar(&s.parallel, "j", runtime.NumCPU(), "boot `N` machines at once")
	fs.StringVar(&s.append, "append", "", "add `OPTIONS` to the kernel's command line")
	out := fs.String("o", "", "write the table to `FILE`, too")
	err := batch.Parse(fs, args, usageText, stdout, func() error {
		if s.n < 1 || s.parallel < 1 {
			return errors.New("-n and -j must be more than 0")
		}
		return nil
	})
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "attack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	l, all, err := prepare(ctx, tmp, stderr)
	if err != nil {
		return err
	}
	defer l.symbols.Close()
	l.append = s.append
	if s.only >= 0 {
		r, err := l.boot(ctx, all.aim(s.seed, s.only))
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%s\n%s%s\n", r.hit, r.serial, line(&r))
		return nil
	}
	results, err := sweep(ctx, l, all, s, stderr)
	if err != nil {
		return err
	}
	table := format(results, s.seed)
	if *out != "" {
		if err := os.WriteFile(*out, []byte(table), 0o644); err != nil {
			return err
		}
	}
	_, err = io.WriteString(stdout, table)
	return err
}

// prepare builds the program in the folder dir, and reads what there is to overwrite.
func prepare(ctx context.Context, dir string, stderr io.Writer) (*lab, *targets, error) {
	built, err := image.Build(ctx, image.BuildOptions{
		Package: module + "qemu/attack/testdata/victim", Output: filepath.Join(dir, "victim.elf"), Stderr: stderr,
	})
	if err != nil {
		return nil, nil, err
	}
	all, err := readTargets(built.Path)
	if err != nil {
		return nil, nil, err
	}
	symbols, err := symbol.Open(built.Path)
	if err != nil {
		return nil, nil, err
	}
	return &lab{image: built.Path, symbols: symbols}, &all, nil
}

// sweep boots the machines and returns their results, in the order of their numbers.
func sweep(ctx context.Context, l *lab, all *targets, s settings, progress io.Writer) ([]result, error) {
	results := make([]result, s.n)
	var mu sync.Mutex // of done and progress
	done, began := 0, time.Now()
	err := batch.Each(ctx, s.n, s.parallel, func(ctx context.Context, n int) error {
		r, err := l.boot(ctx, all.aim(s.seed, n))
		if err != nil {
			return fmt.Errorf("machine %d: %w", n, err)
		}
		r.serial = ""
		mu.Lock()
		defer mu.Unlock()
		results[n] = r
		if done++; done%100 == 0 {
			fmt.Fprintf(progress, "%d/%d machines, %.0f s\n", done, s.n, time.Since(began).Seconds())
		}
		return nil
	})
	return results, err
}
