// Modules runs the tests of well-known Go modules on the host and on the kernel, and makes a
// table of how they compare: qemu/modules-table.txt in the repository. It is what `make
// test-modules` runs; -h says more.
//
//	main.go    the command: which modules, some at once, and the progress
//	list.go    qemu/modules.txt: the modules, their versions, and reasons
//	module.go  one module: its copy and its packages
//	package.go one package, on the host and on the kernel
//	events.go  what a test has printed -> which tests passed, and how the two compare
//	stream.go  where the events of the two differ
//	table.go   the table and its sum, written and read
//
// A package is tested by the commands `go test` and `zf test` with the same flags, as a user
// would do it. Context: the host.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/qemu/batch"
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

Behind the package are the tests that pass on both, those that pass on Linux
alone, and the seconds that the package takes on Linux and on the kernel. The
limit on the kernel is 30 times what the host has needed, and 5 minutes at
least. Where all that passes on Linux passes on the kernel, the events of the
two (-json) are the same but for times, rates and addresses; "other events"
says where not. The last lines are the sum.

Modules come from the Go module proxy. Without a network, and without the module
in Go's cache, there is no table.

Exit status: 0 the table is complete, whatever is in it; 2 it is not.

Flags:

`

// settings are what the command line says.
type settings struct {
	only, run *regexp.Regexp
	resume    bool
	timeout   time.Duration // on the host
	memoryMiB int
	parallel  int
	logs      string // folder, "" for none
	zf        string // path of the command
	dir       string // folder for the modules' copies
}

func main() { batch.Main("modules", command) }

// command runs with the given arguments.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var s settings
	fs := flag.NewFlagSet("modules", flag.ContinueOnError)
	file := fs.String("list", "qemu/modules.txt", "read the list of modules from `FILE`")
	only := fs.String("only", "", "try only the modules whose path matches `REGEXP`")
	run := fs.String("run", "", "try only the packages whose import path matches `REGEXP`")
	fs.BoolVar(&s.resume, "resume", false, "do not try again what the -o file has already")
	fs.DurationVar(&s.timeout, "timeout", 5*time.Minute, "end a package's tests on the host after `TIME`")
	fs.IntVar(&s.memoryMiB, "m", 4096, "RAM of each machine in `MIB`")
	fs.IntVar(&s.parallel, "p", 2, "try `N` modules at once")
	out := fs.String("o", "", "write the table to `FILE` after each package (default: print it at the\nend); what it says of other packages stays")
	fs.StringVar(&s.logs, "logs", "", "keep what each package's tests printed, in folder `DIR`")
	err := batch.Parse(fs, args, usageText, stdout, func() (err error) {
		if s.parallel < 1 || s.timeout <= 0 {
			return errors.New("-p and -timeout must be more than 0")
		}
		if s.resume && *out == "" {
			return errors.New("-resume needs -o")
		}
		if s.only, err = regexp.Compile(*only); err == nil {
			s.run, err = regexp.Compile(*run)
		}
		return err
	})
	if err != nil {
		return err
	}
	l, err := readList(*file)
	if err != nil {
		return err
	}
	if s.logs != "" {
		if err := os.MkdirAll(s.logs, 0o755); err != nil {
			return fmt.Errorf("-logs: %w", err)
		}
	}
	if s.dir, err = os.MkdirTemp("", "modules-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	if s.zf, err = batch.BuildZF(ctx, s.dir); err != nil {
		return err
	}
	t := &table{list: l, head: fmt.Sprintf("# The tests of modules on %s, linux/amd64, here and on the kernel, %d MiB.", runtime.Version(), s.memoryMiB)}
	if *out != "" {
		if err := t.load(*out, s.resume || *only+*run != ""); err != nil {
			return err
		}
	}
	if err := s.all(ctx, t, *out, stderr); err != nil {
		return err
	}
	if *out == "" {
		_, err = io.WriteString(stdout, t.String())
		return err
	}
	fmt.Fprintf(stdout, "%sThe table is in %s.\n", t.sum(), *out)
	return replace(*out, t.String()) // the list may say more than it did
}

// load takes the rows of a table that was written before, if there is one. One of another
// Go or other machines is an error where its rows are to stay.
func (t *table) load(file string, stay bool) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if was, _, _ := strings.Cut(string(text), "\n"); was != t.head {
		if !stay {
			return nil
		}
		return fmt.Errorf("%s begins with %q, and not with %q; remove it, or make it without -only, -run and -resume", file, was, t.head)
	}
	if err := t.parse(string(text)); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// all tries all modules. With a file, the table is written to it after each package.
func (s *settings) all(ctx context.Context, t *table, file string, progress io.Writer) error {
	var modules []module
	for _, m := range t.list.modules {
		if s.only.MatchString(m.path) {
			modules = append(modules, m)
		}
	}
	if len(modules) == 0 {
		return fmt.Errorf("-only %s matches no module of the list", s.only)
	}
	var mu sync.Mutex // of t, tried and progress
	tried := 0
	done := func(r row) error {
		mu.Lock()
		defer mu.Unlock()
		t.put(r)
		tried++
		fmt.Fprint(progress, t.list.format(r.pkg, r))
		if file == "" {
			return nil
		}
		return replace(file, t.String())
	}
	err := batch.Each(ctx, len(modules), s.parallel, func(ctx context.Context, i int) error {
		m := modules[i]
		pkgs, dir, err := s.fetch(ctx, m)
		if err != nil {
			return fmt.Errorf("%v: %w", m, err)
		}
		defer os.RemoveAll(dir.path)
		mu.Lock()
		t.trim(m, pkgs)
		mu.Unlock()
		for n, p := range pkgs {
			if !s.run.MatchString(p.ImportPath) {
				continue
			}
			mu.Lock()
			known := s.resume && t.has(m, p.ImportPath)
			mu.Unlock()
			if known {
				continue
			}
			r, err := s.try(ctx, t.list, m, p, dir)
			if err == nil {
				err = done(r)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", p.ImportPath, err)
			}
			if n == len(pkgs)-1 {
				fmt.Fprintf(progress, "module %d of %d\n", i+1, len(modules))
			}
		}
		return nil
	})
	if err == nil && tried == 0 && !s.resume {
		err = fmt.Errorf("-run %s matches no package that has tests", s.run)
	}
	return err
}

// replace writes a file so that it is whole at any time.
func replace(file, text string) error {
	next := file + ".new"
	if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(next, file)
}

// log keeps what a test printed.
func (s *settings) log(pkg, where string, out []byte) error {
	if s.logs == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(s.logs, strings.ReplaceAll(pkg, "/", "_")+"."+where+".json"), out, 0o644)
}
