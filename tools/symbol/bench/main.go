package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	defer func() {
		if f := recover(); f != nil {
			why, ok := f.(failure)
			if !ok {
				panic(f)
			}
			fmt.Fprintln(os.Stderr, "bench-symbol:", why.error)
			os.Exit(1)
		}
	}()
	if len(os.Args) > 4 && os.Args[1] == "measure" {
		measureHere(get(strconv.Atoi(os.Args[2])), os.Args[3], os.Args[4:])
		return
	}
	b := &bench{}
	parts := b.parts()
	only := os.Args[1:]
	for _, name := range only {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			fmt.Fprintf(os.Stderr, "usage: go run ./tools/symbol/bench [PART...]   (see its doc.go; there is no part %q)\n", name)
			os.Exit(2)
		}
	}
	file := get(os.Create("bench-symbol.txt"))
	b.out = io.MultiWriter(os.Stdout, file)
	b.dir = get(os.MkdirTemp("", "zf-bench-symbol-"))
	defer os.RemoveAll(b.dir)
	b.setUp()
	parts = slices.DeleteFunc(parts, func(p part) bool { return len(only) > 0 && !slices.Contains(only, p.name) })
	for _, p := range parts {
		for _, get := range p.needs {
			get()
		}
	}
	for _, p := range parts {
		p.run()
	}
	check(file.Close())
}

// failure is why something could not be measured, which ends the run. It is panicked with,
// so that what was made for the run is removed.
type failure struct{ error }

func fatal(format string, a ...any) { panic(failure{fmt.Errorf(format, a...)}) }

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func get[T any](v T, err error) T {
	check(err)
	return v
}

// bench is one run of the benchmark.
type bench struct {
	out   io.Writer
	dir   string // for this run
	cache string // for the next ones too

	zf, vmlinux, noAranges, goELF string
	llvm, llvmSymbolizer, decoder string
	gimli, cxx                    string
}

func progress(format string, a ...any) { fmt.Fprintf(os.Stderr, "bench-symbol: "+format+"\n", a...) }

func (b *bench) figure(name, format string, value any) {
	fmt.Fprintf(b.out, "%s\t"+format+"\t-\t-\n", name, value)
}

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
	fmt.Fprintf(b.out, "%s\t%.4g\t%s %g\t%s\n", name, value, sign, goal, verdict)
}

// A row measures zf beside a peer, in turns.
type row struct {
	name       string
	in, peerIn string // the files of their inputs; no peerIn: the same
	zf, peer   []string
	runs       int
	wall       float64 // the goals for the ratios of time and memory; no memory: none
	memory     float64
}

func (b *bench) row(r row) {
	progress("%s: zf against %s", r.name, strings.Join(r.peer[:min(len(r.peer), 3)], " "))
	var ours, theirs []usage
	for range r.runs {
		ours = append(ours, measure(r.zf, r.in))
		theirs = append(theirs, measure(r.peer, cmp.Or(r.peerIn, r.in)))
	}
	us, them := median(ours), median(theirs)
	b.figure(r.name+".ms", "%.1f", us.wall*1000)
	b.figure(r.name+".peer.ms", "%.1f", them.wall*1000)
	b.atMost(r.name+".ratio", us.wall/them.wall, r.wall)
	b.atMost(r.name+".cpu.ratio", us.cpu/them.cpu, 1.5)
	if r.memory > 0 {
		b.atMost(r.name+".memory.ratio", us.memory/them.memory, r.memory)
	}
}

// addr is the command that resolves with zf: the way of its flag -index.
func (b *bench) addr(index, file string) []string {
	return []string{b.zf, "addr", "-index=" + index, "-afi", "-e", file}
}

// llvmOf and euOf are the peers' commands.
func (b *bench) llvmOf(file string) []string { return []string{b.llvm, "-afi", "-e", file} }
func euOf(file string) []string              { return []string{"eu-addr2line", "-afi", "-e", file} }
