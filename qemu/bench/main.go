package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/image"
)

func main() {
	image.RunTool()
	switch err := command(os.Args[1:], os.Stdout); {
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// errUsage is what is wrong with the arguments.
var errUsage = errors.New("-h lists the flags")

// command runs with the given arguments.
func command(args []string, stdout io.Writer) error {
	b := &bench{out: stdout}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	some := fs.String("run", "", "measure only those that `REGEXP` matches")
	fs.BoolFunc("short", "measure each thing once, in smaller machines, to see that all of it works: the figures meet no goal", func(string) error {
		runs, coldRuns, costRuns, b.short = 1, 1, 1, true
		return nil
	})
	fs.IntVar(&b.runs, "runs", chaosRuns, "give up a race that is not seen in `N` runs")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usageText)
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return nil
	case err != nil:
		return fmt.Errorf("%v; %w", err, errUsage)
	case b.runs < 1:
		return fmt.Errorf("-runs: want 1 or more, not %d; %w", b.runs, errUsage)
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected %s; %w", fs.Arg(0), errUsage)
	}
	if b.short {
		b.runs = 1
	}
	if *some != "" {
		var err error
		if b.wanted, err = regexp.Compile(*some); err != nil {
			return fmt.Errorf("-run: %v; %w", err, errUsage)
		}
		if !slices.ContainsFunc(b.topics(), b.wanted.MatchString) {
			return fmt.Errorf("-run: %q matches none of %s; %w", *some, strings.Join(b.topics(), ", "), errUsage)
		}
	}
	if *some != "" || b.short {
		return b.run()
	}
	file, err := os.Create("bench.txt")
	if err != nil {
		return err
	}
	b.out = io.MultiWriter(stdout, file)
	return errors.Join(b.run(), file.Close())
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

    image boot start cost events timer memory trace walk capture scan again callers paint
    stack depot profile probe handles netconsole record replay chaos serial cpus
    core args lines std

`

// bench is one run of the benchmark.
type bench struct {
	out    io.Writer
	short  bool
	dir    string         // of the images
	wanted *regexp.Regexp // what names of figures begin with; nil: all
	runs   int            // after how many a race is given up

	now    *measurement // that is under way
	failed []error      // what could not be measured

	// Images: the crash lab, and the programs of testdata.
	lab, plain, fmt, cost, load, serialImage, cpusImage string
}

// A measurement makes figures.
type measurement struct {
	topics string // what their names begin with
	run    func() error
	needs  []*string // images
}

func (b *bench) measurements() []measurement {
	return []measurement{
		{"image", b.size, []*string{&b.plain, &b.fmt}},
		{"boot", b.times, []*string{&b.lab, &b.plain}},
		{"boot cost events timer", b.costs, []*string{&b.cost}},
		{"start", b.starts, []*string{&b.plain, &b.cost}},
		{"start", b.commands, nil},
		{"memory", b.memory, []*string{&b.fmt}},
		{"memory", b.smallest, []*string{&b.plain, &b.fmt}},
		{"trace", b.traces, []*string{&b.lab}},
		{"walk capture scan", b.walks, []*string{&b.lab}},
		{"capture again callers paint scan", b.host, nil},
		{"stack", b.watermarks, []*string{&b.lab, &b.load}},
		{"depot", b.depot, nil},
		{"depot profile", b.profiles, nil},
		{"probe", b.probes, nil},
		{"handles", b.resources, nil},
		{"netconsole", b.network, []*string{&b.lab}},
		{"record", b.records, nil},
		{"replay", b.replay, nil},
		{"chaos", b.chaos, nil},
		{"serial", b.serial, []*string{&b.serialImage}},
		{"cpus", b.cpus, []*string{&b.cpusImage}},
		{"core", b.core, []*string{&b.lab}},
		{"core", b.dumps, []*string{&b.lab}},
		{"args", b.arguments, nil},
		{"lines", b.lines, nil},
		{"std", b.std, nil},
	}
}

// topics returns what names of figures begin with.
func (b *bench) topics() (all []string) {
	for _, m := range b.measurements() {
		for _, t := range strings.Fields(m.topics) {
			if !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	return all
}

// wants reports whether a topic is to be measured.
func (b *bench) wants(topic string) bool { return b.wanted == nil || b.wanted.MatchString(topic) }

// progress says on standard error what is measured, and what it is compared with.
func (b *bench) progress(text string) { fmt.Fprintln(os.Stderr, "bench:", text) }

// figure prints one figure that has no goal.
func (b *bench) figure(name string, value any) { b.print(name, fmt.Sprintf("%v\t-\t-", value)) }

// atMost and atLeast print a figure with its goal.
func (b *bench) atMost(name string, value, goal float64) {
	b.compare(name, value, "≤", goal, value <= goal)
}

func (b *bench) atLeast(name string, value, goal float64) {
	b.compare(name, value, "≥", goal, value >= goal)
}

func (b *bench) compare(name string, value float64, sign string, goal float64, met bool) {
	if b.short {
		b.figure(name, decimals(value))
		return
	}
	verdict := "short"
	if met {
		verdict = "ok"
	}
	b.print(name, fmt.Sprintf("%s\t%s %s\t%s", decimals(value), sign, decimals(goal), verdict))
}

// print prints a figure that is wanted.
func (b *bench) print(name, rest string) {
	topic, _, _ := strings.Cut(name, ".")
	if !slices.Contains(strings.Fields(b.now.topics), topic) {
		b.miss(name, fmt.Errorf("no figure of the measurement of %s (qemu/bench/main.go)", b.now.topics))
	}
	if b.wants(topic) {
		fmt.Fprintf(b.out, "%s\t%s\n", name, rest)
	}
}

// decimals prints a number with no more than four decimals, and no zeros at their end.
func decimals(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", v), "0"), ".")
}

func (b *bench) run() (err error) {
	if b.dir, err = os.MkdirTemp("", "zf-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	for _, m := range b.measurements() {
		if !slices.ContainsFunc(strings.Fields(m.topics), b.wants) {
			continue
		}
		b.now = &m
		if err := b.measure(&m); err != nil {
			b.miss("what is left of "+m.topics, err)
		}
	}
	return errors.Join(b.failed...)
}

func (b *bench) measure(m *measurement) error {
	for _, image := range m.needs {
		if err := b.provide(image); err != nil {
			return err
		}
	}
	return m.run()
}

// miss says what could not be measured, and why; the rest goes on.
func (b *bench) miss(what string, why error) {
	err := fmt.Errorf("%s was not measured: %w", what, why)
	b.failed = append(b.failed, err)
	b.progress(err.Error())
}

// provide builds an image, unless it is there.
func (b *bench) provide(image *string) (err error) {
	if *image != "" {
		return nil
	}
	p := map[*string]struct{ pkg, name string }{
		&b.lab:   {"./kernel/crashlab", "lab.elf"},
		&b.plain: {"./qemu/bench/testdata/plain", "plain.elf"},
		&b.fmt:   {"./qemu/bench/testdata/fmt", "fmt.elf"},
		&b.cost:  {"./qemu/bench/testdata/costs", "costs.elf"},
		&b.load:  {"./qemu/bench/testdata/load", "load.elf"},

		&b.serialImage: {"./qemu/bench/testdata/serial", "serial.elf"},
		&b.cpusImage:   {"./qemu/bench/testdata/cpus", "cpus.elf"},
	}[image]
	b.progress("building " + p.pkg)
	*image, err = b.build(p.pkg, p.name)
	return err
}

func ratio(a, b float64) string { return fmt.Sprintf("%.2f", a/b) }

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
