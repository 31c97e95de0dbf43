// Modules runs the tests of well-known Go modules on the host and on the kernel, and makes a
// table of how they compare: qemu/modules-table.txt in the repository. It is what `make
// test-modules` runs; -h says more.
//
//	main.go    the command: which modules, some at once; a package on the host and on the kernel
//	list.go    qemu/modules.txt: the modules, their versions, and reasons
//	module.go  one module: its copy and its packages
//	compare.go which tests pass on both sides, and where the events of the two differ
//	table.go   the table and its sum, written and read
//
// A package is tested by the commands `go test` and `zf test` with the same flags, as a user
// would do it. Context: the host.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

const usageText = `Usage: modules [flags]

Modules runs the tests of the modules of a list, each package with -short on
this host and then on the kernel, and prints a table. What it says of a package:

  same   all tests that pass on Linux pass on the kernel
  linux  the same, and tests fail on Linux, too
  exec   what passes on Linux alone starts another program
  known  tests pass on Linux alone, and the list has the reason
  worse  tests pass on Linux alone, and the list has no reason
  left   the list leaves the package out

After the package come the tests that pass on both, those that pass on Linux
alone, and the seconds that the package takes on Linux and on the kernel. The
limit on the host is -timeout; that on the kernel is 30 times what the host has
needed, and 5 minutes at least. Where all that passes on Linux passes on the kernel, the events of the
two (-json) are the same but for times, rates and addresses; "other events"
says where not. The last lines are the sum.

Modules come from the Go module proxy. Without a network, and without the module
in Go's cache, there is no table.

Exit status: 0 the table is complete, whatever is in it; 2 it is not.

Flags:

`

// settings are what the command line says.
type settings struct {
	batch.TestFlags
	only *regexp.Regexp // modules
}

func main() { batch.Main("modules", command) }

// command runs with the given arguments.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := settings{TestFlags: batch.TestFlags{Timeout: 5 * time.Minute, MemoryMiB: 4096}}
	fs := flag.NewFlagSet("modules", flag.ContinueOnError)
	file := fs.String("list", "qemu/modules.txt", "read the list of modules from `FILE`")
	only := fs.String("only", "", "try only the modules whose path matches `REGEXP`")
	err := s.Parse(fs, args, usageText, stdout, func() (err error) {
		s.only, err = regexp.Compile(*only)
		return err
	})
	if err != nil {
		return err
	}
	l, err := readList(*file)
	if err != nil {
		return err
	}
	t := &table{list: l, rows: map[string]row{},
		head: fmt.Sprintf("# The tests of modules on %s, linux/amd64, here and on the kernel, %d MiB.",
			runtime.Version(), s.MemoryMiB)}
	return s.Make(ctx, t, *only != "", stdout, func() error { return s.all(ctx, t, stderr) })
}

// all tries all modules. With a file, the table is written to it after each package.
func (s *settings) all(ctx context.Context, t *table, progress io.Writer) error {
	var modules []module
	for _, m := range t.modules {
		if s.only.MatchString(m.path) {
			modules = append(modules, m)
		}
	}
	if len(modules) == 0 {
		return fmt.Errorf("-only %s matches no module of the list", s.only)
	}
	var mu sync.Mutex // of t, tried and progress
	tried := 0
	err := batch.Each(ctx, len(modules), s.Parallel, func(ctx context.Context, i int) error {
		m := modules[i]
		pkgs, dir, err := s.fetch(ctx, m)
		if err != nil {
			return fmt.Errorf("%v: %w", m, err)
		}
		defer os.RemoveAll(dir.path)
		mu.Lock()
		t.trim(m, pkgs)
		mu.Unlock()
		for _, p := range pkgs {
			mu.Lock()
			known := s.Resume && t.rows[p.ImportPath].module == m.String()
			mu.Unlock()
			if known || !s.Run.MatchString(p.ImportPath) {
				continue
			}
			r, err := s.try(ctx, t.list, m, p, dir)
			if err != nil {
				return fmt.Errorf("%s: %w", p.ImportPath, err)
			}
			mu.Lock()
			t.rows[r.pkg] = r
			tried++
			fmt.Fprint(progress, t.format(r.pkg, r))
			err = s.Write(t)
			mu.Unlock()
			if err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(progress, "module %d of %d\n", i+1, len(modules))
		return nil
	})
	if err == nil && tried == 0 && !s.Resume {
		err = fmt.Errorf("-run %s matches no package that has tests", s.Run)
	}
	return err
}

// The kernel gets so many times what the host has needed, and a time that suffices for a small
// package at least: emulation is some ten times slower, and more so on a busy host.
const (
	slower = 30
	least  = 5 * time.Minute
)

// try runs the tests of a package on both sides.
func (s *settings) try(ctx context.Context, l *list, m module, p image.TestPackage,
	d *folder) (row, error) {
	r := row{module: m.String(), pkg: p.ImportPath, left: l.notes["leave"][p.ImportPath] != ""}
	if r.left {
		return r, nil
	}
	test := func(command, side string, limit time.Duration, flags ...string) (*batch.Tests, error) {
		flags = append([]string{"-short", "-vet=off", "-timeout", limit.String()}, flags...)
		return s.Test(ctx, command, d.path, side+".json", p.ImportPath, environment,
			append(flags, m.flags...)...)
	}
	host, err := test("go", "host", s.Timeout)
	if err == nil {
		err = d.restore()
	}
	if err != nil {
		return r, err
	}
	guest := new(batch.Tests)
	if host.Built {
		limit := max(least, time.Duration(slower*host.Seconds*float64(time.Second)))
		if guest, err = test(s.ZF, "kernel", limit, "-m", fmt.Sprint(s.MemoryMiB)); err != nil {
			return r, err
		}
	}
	r.compare(host, guest)
	return r, nil
}
