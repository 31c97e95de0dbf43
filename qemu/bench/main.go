package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/image"
)

func main() {
	image.RunTool()
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "usage: go run ./qemu/bench   (it takes no arguments; see its doc.go)")
		os.Exit(2)
	}
	file, err := os.Create("bench.txt")
	if err == nil {
		b := &bench{out: io.MultiWriter(os.Stdout, file)}
		if err = b.run(); err == nil {
			err = file.Close()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of the benchmark.
type bench struct {
	out io.Writer
	dir string // of the images

	// Images: the crash lab, and the programs of testdata.
	lab, plain, fmt, cost, load string
}

// progress says on standard error what is measured, and what it is compared with.
func (b *bench) progress(text string) { fmt.Fprintln(os.Stderr, "bench:", text) }

// figure prints one figure that has no goal.
func (b *bench) figure(name string, value any) { fmt.Fprintf(b.out, "%s\t%v\t-\t-\n", name, value) }

// atMost and atLeast print a figure with its goal.
func (b *bench) atMost(name string, value, goal float64) {
	b.compare(name, value, "≤", goal, value <= goal)
}

func (b *bench) atLeast(name string, value, goal float64) {
	b.compare(name, value, "≥", goal, value >= goal)
}

func (b *bench) compare(name string, value float64, sign string, goal float64, met bool) {
	verdict := "short"
	if met {
		verdict = "ok"
	}
	fmt.Fprintf(b.out, "%s\t%s\t%s %s\t%s\n", name, decimals(value), sign, decimals(goal), verdict)
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
	b.progress("building the programs to measure")
	for _, p := range []struct {
		image     *string
		pkg, name string
	}{
		{&b.lab, "./kernel/crashlab", "lab.elf"},
		{&b.plain, "./qemu/bench/testdata/plain", "plain.elf"},
		{&b.fmt, "./qemu/bench/testdata/fmt", "fmt.elf"},
		{&b.cost, "./qemu/bench/testdata/costs", "costs.elf"},
		{&b.load, "./qemu/bench/testdata/load", "load.elf"},
	} {
		if *p.image, err = b.build(p.pkg, p.name); err != nil {
			return err
		}
	}
	for _, step := range []func() error{
		b.size, b.times, b.costs, b.memory, b.smallest, b.traces, b.walks, b.host, b.watermarks, b.depot, b.profiles, b.probes, b.resources, b.network, b.records, b.lines, b.std,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func ratio(a, b float64) string { return fmt.Sprintf("%.2f", a/b) }

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
