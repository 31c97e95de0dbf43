// Deaths boots many machines with 1 to 8 CPUs that die in random ways, and makes a table of what
// their traces said. It is what `make deaths` runs; -h says more.
//
//	main.go   the command: which cases, how many at once, the table
//	case.go   a case, by seed and number: how the machine dies
//	judge.go  one machine, and what its traces must say
//
// A case depends on the seed and its number alone. Time is virtual, but where CPUs are to die at the
// same time: half of those machines have a thread of the host for each CPU. Context: the host.
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
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

const usageText = `Usage: deaths [flags]

Deaths boots -n machines with 1 to 8 CPUs. In each, the last CPU dies in a way
that is chosen by chance, at a time that is, too, while the others wait, spin
with interrupts off, or die as well. A quarter of them run a program that keeps
all CPUs busy, and dies in the kernel or in a goroutine. Every trace must be
whole, every CPU must have one, and the first must be of the function that died.
The table says of how many that is so; behind it is a line for each other one.
A run that is interrupted makes the table of what it has done, and says with
which -first to go on.

Exit status: 0 the table is complete, whatever is in it; 2 it is not.

Flags:

`

// settings are what the command line says.
type settings struct {
	n, first, only, parallel int
	seed                     uint64
}

func main() {
	image.RunTool() // if the go command started us in the compiler's place
	batch.Main("deaths", command)
}

// command runs with the given arguments.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var s settings
	fs := flag.NewFlagSet("deaths", flag.ContinueOnError)
	fs.IntVar(&s.n, "n", 10000, "boot `N` machines")
	fs.IntVar(&s.first, "first", 0, "begin with machine `NUMBER`")
	fs.Uint64Var(&s.seed, "seed", 1, "choose the cases by this `NUMBER`")
	fs.IntVar(&s.only, "only", -1, "boot the one machine with that `NUMBER`, and print what it sends")
	fs.IntVar(&s.parallel, "j", runtime.NumCPU(), "boot `N` machines at once")
	out := fs.String("o", "", "write the table to `FILE`, too")
	err := batch.Parse(fs, args, usageText, stdout, func() error {
		if s.n < 1 || s.parallel < 1 || s.first < 0 {
			return errors.New("-n and -j must be more than 0, and -first not less")
		}
		return nil
	})
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "deaths-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	l, err := prepare(ctx, tmp, stderr)
	if err != nil {
		return err
	}
	defer l.symbols.Close()
	if s.only >= 0 {
		r, err := l.boot(ctx, choose(s.seed, s.only))
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%s%s", r.serial, line(s.only, &r))
		return nil
	}
	results, err := sweep(ctx, l, s, stderr)
	if err != nil && len(results) > 0 {
		err = fmt.Errorf("%w; -first %d -n %d does the rest", err, s.first+len(results), s.n-len(results))
	}
	table := format(results, s)
	if *out != "" {
		if werr := os.WriteFile(*out, []byte(table), 0o644); err == nil {
			err = werr
		}
	}
	if _, werr := io.WriteString(stdout, table); err == nil {
		err = werr
	}
	return err
}

// lab is what the machines share.
type lab struct {
	image   string
	symbols *symbol.File
}

// prepare builds the crash lab in the folder dir.
func prepare(ctx context.Context, dir string, stderr io.Writer) (*lab, error) {
	built, err := image.Build(ctx, image.BuildOptions{
		Package: "github.com/zeroframe/zeroframe/kernel/crashlab", Output: filepath.Join(dir, "lab.elf"), Stderr: stderr,
	})
	if err != nil {
		return nil, err
	}
	symbols, err := symbol.Open(built.Path)
	if err != nil {
		return nil, err
	}
	return &lab{image: built.Path, symbols: symbols}, nil
}

// sweep boots the machines and returns their results, in the order of their numbers; with an error,
// those up to the first machine that is missing.
func sweep(ctx context.Context, l *lab, s settings, progress io.Writer) ([]result, error) {
	results := make([]result, s.n)
	var mu sync.Mutex // of done and progress
	done, began := 0, time.Now()
	err := batch.Each(ctx, s.n, s.parallel, func(ctx context.Context, i int) error {
		n := s.first + i
		r, err := l.boot(ctx, choose(s.seed, n))
		if err != nil {
			return fmt.Errorf("machine %d: %w", n, err)
		}
		r.serial = ""
		mu.Lock()
		defer mu.Unlock()
		if results[i] = r; r.wrong != "" {
			io.WriteString(progress, line(n, &r))
		}
		if done++; done%100 == 0 {
			fmt.Fprintf(progress, "%d/%d machines, %.0f s\n", done, s.n, time.Since(began).Seconds())
		}
		return nil
	})
	for i := range results {
		if results[i].cpus == 0 {
			return results[:i], err
		}
	}
	return results, err
}

// format makes the table, a column for each number of CPUs, and the lines of what was not right.
func format(results []result, s settings) string {
	var b strings.Builder
	fmt.Fprintf(&b, "deaths: %d of %d machines, from %d, seed %d\n\n", len(results), s.n, s.first, s.seed)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "CPUs\t")
	for n := range mostCPUs {
		fmt.Fprintf(w, "%d\t", n+1)
	}
	fmt.Fprint(w, "all\t\n")
	for _, row := range []struct {
		name string
		of   func(r *result) int
	}{
		{"machines", func(r *result) int { return 1 }},
		{"under a program", func(r *result) int { return bit(r.busy) }},
		{"whose CPUs are threads", func(r *result) int { return bit(r.threads) }},
		{"right", func(r *result) int { return bit(r.wrong == "") }},
		{"traces", func(r *result) int { return r.traces }},
		{"traces of CPUs that died, too", func(r *result) int { return r.died }},
		{"did not answer", func(r *result) int { return r.silent }},
	} {
		fmt.Fprintf(w, "%s\t", row.name)
		all := 0
		for n := range mostCPUs {
			sum := 0
			for i := range results {
				if r := &results[i]; r.cpus == n+1 {
					sum += row.of(r)
				}
			}
			all += sum
			fmt.Fprintf(w, "%d\t", sum)
		}
		fmt.Fprintf(w, "%d\t\n", all)
	}
	w.Flush()
	b.WriteString("\n")
	for i := range results {
		if results[i].wrong != "" {
			b.WriteString(line(s.first+i, &results[i]))
		}
	}
	return b.String()
}

func bit(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

// line tells of one machine.
func line(n int, r *result) string {
	what := r.wrong
	if what == "" {
		what = "right"
	}
	return fmt.Sprintf("%d\t%s, %d CPUs\t%s\t%.160s\n", n, r.machine, r.cpus, r.cmdline(), strings.ReplaceAll(what, "\n", "; "))
}
