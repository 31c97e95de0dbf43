package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

func main() {
	image.RunTool()
	batch.Main("bench", command)
}

const usageText = `Measures Zeroframe, from the top of the repository. Standard output gets a line
a figure: name, value, goal, and "ok" or "short"; standard error what is
measured. All of it takes some minutes, and goes to bench.txt, too. -run
measures a part; that and -short leave the file alone. What cannot be measured is said,
the rest goes on, and the exit status is 1:

    make bench                                all
    go run ./qemu/bench -run '^walk$'         the figures walk.*
    go run ./qemu/bench -run 'depot|profile'  those of depot.* and profile.*
    go run ./qemu/bench -short                each thing once

What there is to measure:

    %s

`

// bench is one run of the benchmark.
type bench struct {
	ctx         context.Context
	out, stderr io.Writer
	short       bool
	wanted      *regexp.Regexp // what names of figures begin with; nil: all
	runs        int            // after how many a race is given up

	dir    string                // of the images
	images map[string]*batch.Lab // by package
	samples
	failed []error // what could not be measured
}

// command runs with the given arguments.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	b := &bench{ctx: ctx, out: stdout, stderr: stderr}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	some := fs.String("run", "", "measure only those that `REGEXP` matches")
	fs.BoolVar(&b.short, "short", false, "measure each thing once, in smaller machines, to see that "+
		"all of it works: the figures meet no goal")
	fs.IntVar(&b.runs, "runs", 40, "give up a race that is not seen in `N` runs")
	usage := fmt.Sprintf(usageText, strings.Join(topics(sections...), " "))
	err := batch.Parse(fs, args, usage, stdout, func() (err error) {
		if b.runs < 1 {
			return fmt.Errorf("-runs: want 1 or more, not %d", b.runs)
		}
		if *some == "" {
			return nil
		}
		all := topics(sections...)
		b.wanted, err = regexp.Compile(*some)
		if err == nil && !slices.ContainsFunc(all, b.wanted.MatchString) {
			err = fmt.Errorf("%q matches none of %s", *some, strings.Join(all, ", "))
		}
		return err
	})
	if err != nil {
		return err
	}
	if *some != "" || b.short {
		return batch.Failed(b.run())
	}
	file, err := os.Create("bench.txt")
	if err != nil {
		return batch.Failed(err)
	}
	b.out = io.MultiWriter(stdout, file)
	return batch.Failed(errors.Join(b.run(), file.Close()))
}

// run measures all that is wanted.
func (b *bench) run() (err error) {
	if b.dir, err = os.MkdirTemp("", "zf-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.images == nil {
		b.images = map[string]*batch.Lab{}
	}
	for _, s := range sections {
		if !slices.ContainsFunc(topics(s), b.wants) {
			continue
		}
		b.progress(s.about)
		b.samples = samples{}
		if err := b.measure(s); err != nil {
			b.miss("what is left of "+strings.Join(topics(s), " "), err)
			continue
		}
		for _, l := range s.lines {
			if err := b.evaluate(l); err != nil {
				b.miss(cmp.Or(l.name, l.formula), err)
			}
		}
	}
	return errors.Join(b.failed...)
}

// wants reports whether a topic is to be measured.
func (b *bench) wants(topic string) bool { return b.wanted == nil || b.wanted.MatchString(topic) }

// progress says on standard error what is measured.
func (b *bench) progress(text string) { fmt.Fprintln(b.stderr, "bench:", text) }

// miss says what could not be measured, and why; the rest goes on.
func (b *bench) miss(what string, why error) {
	err := fmt.Errorf("%s was not measured: %w", what, why)
	b.failed = append(b.failed, err)
	b.progress(err.Error())
}

// print prints a figure, if it is wanted.
func (b *bench) print(name, value, goal, verdict string) {
	if topic, _, _ := strings.Cut(name, "."); b.wants(topic) {
		fmt.Fprintf(b.out, "%s\t%s\t%s\t%s\n", name, value, goal, verdict)
	}
}

// image builds a package of the repository with the kernel in it, once.
func (b *bench) image(pkg string) (l *batch.Lab, err error) {
	if l = b.images[pkg]; l == nil {
		b.progress("building " + pkg)
		path := filepath.Join(b.dir, filepath.Base(pkg)+".elf")
		l, err = batch.Build(b.ctx, image.BuildOptions{Package: pkg, Test: pkg == racy, Output: path,
			Stderr: b.stderr})
		if err == nil {
			b.images[pkg] = l
		}
	}
	return l, err
}

// goBuild builds a package for Linux with the go command's defaults, without cgo.
func (b *bench) goBuild(pkg, out string) error {
	cmd := exec.CommandContext(b.ctx, "go", "build", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	cmd.Stderr = b.stderr
	return cmd.Run()
}
