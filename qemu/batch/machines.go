package batch

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

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// A Result is what has become of a machine. It embeds [Sent].
type Result interface {
	// Line tells of it in one line, without its number; bad is set if the table has that line.
	Line() (line string, bad bool)
	// Take returns what the machine has sent, and forgets it.
	Take() string
}

// Sent is what a machine has sent.
type Sent struct{ Serial string }

// Take is that of [Result].
func (s *Sent) Take() (serial string) {
	serial, s.Serial = s.Serial, ""
	return serial
}

// Machines is a command that boots many machines, each with a case that depends on a seed and the
// machine's number, and makes a table of what became of them.
type Machines[R Result] struct {
	Name, Usage string
	Package     string // import path of the program
	N           int    // how many machines, if -n does not say it
	Flags       func(*flag.FlagSet)
	// Prepare is called once, with the program built; nil: nothing is to be prepared.
	Prepare func(*Lab) error
	// Boot runs one machine to its end.
	Boot func(ctx context.Context, l *Lab, seed uint64, n int) (R, error)
	// The table has the first cell Corner, a column for each of Columns and one for all, and Rows: in
	// each cell the sum of what its results count for the row.
	Corner        string
	Columns, Rows []string
	Column        func(R) int
	Count         func(R) []int
	// More is a last cell of a row of that sum, of all results; nil: there is none.
	More func(sum int, all []R) string
}

// Settings say which machines are booted.
type Settings struct {
	N, First, Parallel int
	Seed               uint64
	out                string
}

// Command runs with the given arguments. The table goes to standard output, and to -o FILE, there
// after each hundred machines, too. A run that is stopped makes the table of what it has done.
func (m *Machines[R]) Command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var s Settings
	fs := flag.NewFlagSet(m.Name, flag.ContinueOnError)
	fs.IntVar(&s.N, "n", m.N, "boot `N` machines")
	fs.IntVar(&s.First, "first", 0, "begin with machine `NUMBER`")
	fs.Uint64Var(&s.Seed, "seed", 1, "choose the cases by this `NUMBER`")
	only := fs.Int("only", -1, "boot the one machine with that `NUMBER`, and print what it sends")
	fs.IntVar(&s.Parallel, "j", runtime.NumCPU(), "boot `N` machines at once")
	fs.StringVar(&s.out, "o", "", "write the table to `FILE`, too")
	if m.Flags != nil {
		m.Flags(fs)
	}
	err := Parse(fs, args, m.Usage, stdout, func() error {
		if s.N < 1 || s.Parallel < 1 || s.First < 0 {
			return errors.New("-n and -j must be more than 0, and -first not less")
		}
		return nil
	})
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", m.Name+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	l, err := m.Lab(ctx, tmp, stderr)
	if err != nil {
		return err
	}
	defer l.Symbols.Close()
	if *only >= 0 {
		r, err := m.Boot(ctx, l, s.Seed, *only)
		if err == nil {
			serial := r.Take()
			text, _ := r.Line()
			fmt.Fprintf(stdout, "%s%d\t%s\n", serial, *only, text)
		}
		return err
	}
	results, err := m.Sweep(ctx, l, s, stderr)
	if err != nil && len(results) > 0 {
		err = fmt.Errorf("%w; -first %d -n %d does the rest", err, s.First+len(results), s.N-len(results))
	}
	table := m.Table(results, s)
	_, said := io.WriteString(stdout, table)
	return errors.Join(err, s.write(table), said)
}

// Lab builds the program in the folder dir.
func (m *Machines[R]) Lab(ctx context.Context, dir string, stderr io.Writer) (*Lab, error) {
	file := filepath.Join(dir, "image.elf")
	l, err := Build(ctx, image.BuildOptions{Package: m.Package, Output: file, Stderr: stderr})
	if err == nil && m.Prepare != nil {
		err = m.Prepare(l)
	}
	return l, err
}

func (s *Settings) write(table string) error {
	if s.out == "" {
		return nil
	}
	return Replace(s.out, table)
}

// Sweep boots the machines and returns their results, in the order of their numbers; with an error,
// those up to the first machine that is missing.
func (m *Machines[R]) Sweep(
	ctx context.Context, l *Lab, s Settings, progress io.Writer,
) ([]R, error) {
	results, done := make([]R, s.N), make([]bool, s.N)
	so := func() int { // how many there are from the first on
		n := 0
		for n < s.N && done[n] {
			n++
		}
		return n
	}
	var mu sync.Mutex // of done, results, count and progress
	count, began := 0, time.Now()
	err := Each(ctx, s.N, s.Parallel, func(ctx context.Context, i int) error {
		r, err := m.Boot(ctx, l, s.Seed, s.First+i)
		if err != nil {
			return fmt.Errorf("machine %d: %w", s.First+i, err)
		}
		r.Take()
		mu.Lock()
		defer mu.Unlock()
		results[i], done[i] = r, true
		if text, bad := r.Line(); bad {
			fmt.Fprintf(progress, "%d\t%s\n", s.First+i, text)
		}
		if count++; count%100 == 0 {
			fmt.Fprintf(progress, "%d/%d machines, %.0f s\n", count, s.N, time.Since(began).Seconds())
			return s.write(m.Table(results[:so()], s))
		}
		return nil
	})
	return results[:so()], err
}

// Table makes the table, and a line for each machine that is bad.
func (m *Machines[R]) Table(results []R, s Settings) string {
	all := len(m.Columns)
	sums := make([][]int, len(m.Rows))
	for i := range sums {
		sums[i] = make([]int, all+1)
	}
	var bad strings.Builder
	for n, r := range results {
		for i, count := range m.Count(r) {
			sums[i][m.Column(r)] += count
			sums[i][all] += count
		}
		if text, is := r.Line(); is {
			fmt.Fprintf(&bad, "%d\t%s\n", s.First+n, text)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d machines, from %d, seed %d\n\n", m.Name, len(results), s.N,
		s.First, s.Seed)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\t%s\tall\t\n", m.Corner, strings.Join(m.Columns, "\t"))
	for i, name := range m.Rows {
		fmt.Fprintf(w, "%s\t", name)
		for _, n := range sums[i] {
			fmt.Fprintf(w, "%d\t", n)
		}
		if m.More != nil {
			fmt.Fprintf(w, "%s\t", m.More(sums[i][all], results))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.String() + "\n" + bad.String()
}

// If counts 1 for what is so.
func If(so bool) int {
	if so {
		return 1
	}
	return 0
}
