package main

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed figures.txt setup.sh testdata
var files embed.FS

// bench is one run of the benchmark.
type bench struct {
	out        io.Writer
	cache, dir string            // for the next runs too; for this one
	paths      map[string]string // what setup.sh has made
	commands   map[string][]string
}

// ways are the ways to measure, by their words in figures.txt.
var ways = map[string]func(b *bench, f []string){
	"race": (*bench).race, "equal": (*bench).equal, "rate": (*bench).rate, "live": (*bench).live,
}

func main() {
	if len(os.Args) > 4 && os.Args[1] == "measure" {
		measureHere(number(os.Args[2]), os.Args[3], os.Args[4:])
		return
	}
	b := &bench{dir: get(os.MkdirTemp("", "zf-bench-symbol-")), paths: map[string]string{},
		commands: map[string][]string{}}
	defer func() {
		os.RemoveAll(b.dir)
		if why := recover(); why != nil {
			fmt.Fprintln(os.Stderr, "bench-symbol:", why)
			os.Exit(1)
		}
	}()
	b.cache = filepath.Join(get(os.UserCacheDir()), "zeroframe", "bench-symbol")
	check(os.MkdirAll(b.cache, 0o777))
	check(os.CopyFS(b.dir, files))
	file := get(os.Create("bench-symbol.txt"))
	b.out = io.MultiWriter(os.Stdout, file)
	parts := map[string]bool{}
	var todo [][]string
	for line := range strings.Lines(string(get(fs.ReadFile(files, "figures.txt")))) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2 || f[0] == "#":
		case f[0] == "command":
			b.commands[f[1]] = f[2:]
		default:
			if parts[f[0]] = true; len(os.Args) == 1 || slices.Contains(os.Args[1:], f[0]) {
				todo = append(todo, f[1:])
			}
		}
	}
	for _, name := range os.Args[1:] {
		if !parts[name] {
			panic(fmt.Sprintf("there is no part %s: they are %s", name,
				strings.Join(slices.Sorted(maps.Keys(parts)), ", ")))
		}
	}
	for _, f := range todo {
		fmt.Fprintln(os.Stderr, "bench-symbol:", strings.Join(f, " "))
		ways[f[0]](b, f[1:])
	}
	check(file.Close())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func get[T any](v T, err error) T {
	check(err)
	return v
}

func number(s string) int { return get(strconv.Atoi(s)) }

// path returns the path of what setup.sh makes.
func (b *bench) path(name string) string {
	if b.paths[name] == "" {
		cmd := exec.Command("sh", filepath.Join(b.dir, "setup.sh"), name, b.cache, b.dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			panic(fmt.Sprintf("setup.sh %s: %v", name, err))
		}
		b.paths[name] = strings.TrimSpace(string(out))
	}
	return b.paths[name]
}

// command returns a command of figures.txt for a file.
func (b *bench) command(name, file string) (args []string) {
	for _, word := range b.commands[name] {
		if rest, ok := strings.CutPrefix(word, "@"); ok && rest == "" {
			word = b.path(file)
		} else if ok {
			word = b.path(rest)
		}
		args = append(args, word)
	}
	return args
}

// figure prints a line: the value, its goal, if it is not "-", and whether it is met.
func (b *bench) figure(name string, value float64, sign, goal string) {
	verdict := "-"
	if n, err := strconv.ParseFloat(goal, 64); err == nil {
		if verdict = "short"; sign == "≤" && value <= n || sign == "≥" && value >= n {
			verdict = "ok"
		}
		goal = sign + " " + goal
	}
	fmt.Fprintf(b.out, "%s\t%.4g\t%s\t%s\n", name, value, goal, verdict)
}

// race measures zf and its peers in turns. A peer that fails, knows no line, or takes twenty times
// the processor's time of zf, and 10 s, is left out and named.
func (b *bench) race(f []string) {
	name, in, peers, runs, goals := f[0], b.input(f[1], f[2]), strings.Split(f[3], ","),
		number(f[4]), f[5:]
	zf := "zf"
	if strings.HasPrefix(f[2], "oops") {
		zf = "oops"
	}
	var commands [][]string
	for _, command := range append([]string{zf}, peers...) {
		commands = append(commands, b.command(command, f[1]))
	}
	took := make([][]usage, len(commands))
	best := usage{math.Inf(1), math.Inf(1), math.Inf(1)}
	for range runs {
		for i, args := range commands {
			if args == nil {
				continue
			}
			limit := 0
			if i > 0 {
				limit = 10 + int(20*took[0][0].cpu)
			}
			u, err := measure(args, in, limit)
			if err != nil && i == 0 {
				panic(err)
			} else if err != nil {
				fmt.Fprintf(os.Stderr, "bench-symbol: %s: without %s: %v\n", name, peers[i-1], err)
				commands[i] = nil
				continue
			}
			took[i] = append(took[i], u)
		}
	}
	us := median(took[0])
	b.figure(name+".ms", us.wall*1000, "", "-")
	for i, p := range peers {
		if commands[i+1] == nil {
			fmt.Fprintf(b.out, "%s.%s.ms\t-\t-\t-\n", name, p)
			continue
		}
		m := median(took[i+1])
		b.figure(name+"."+p+".ms", m.wall*1000, "", "-")
		best = usage{min(best.wall, m.wall), min(best.cpu, m.cpu), min(best.memory, m.memory)}
	}
	b.figure(name+".ratio", us.wall/best.wall, "≤", goals[0])
	b.figure(name+".cpu.ratio", us.cpu/best.cpu, "≤", goals[1])
	b.figure(name+".memory.ratio", us.memory/best.memory, "≤", goals[2])
}

// equal counts the addresses for which zf says what a peer says.
func (b *bench) equal(f []string) {
	in := b.input(f[1], f[2])
	ours, theirs := answers("zf", b.ask("zf", f[1], in)), answers(f[3], b.ask(f[3], f[1], in))
	if n := number(f[2]); len(ours) != n || len(theirs) != n {
		panic(fmt.Sprintf("%d and %d answers to %d addresses", len(ours), len(theirs), n))
	}
	asked, same := 0.0, 0.0
	for i, theirs := range theirs {
		if theirs == unasked {
			continue
		}
		if asked++; as(f[3], ours[i]) == theirs {
			same++
		}
	}
	b.figure(f[0], 100*same/asked, "≥", f[4])
}

// rate measures a log: how many frames there are in a second. No peer takes as much in a
// reasonable time.
func (b *bench) rate(f []string) {
	var all []usage
	for range number(f[3]) {
		all = append(all, get(measure(b.command("oops", f[1]), b.input(f[1], f[2]), 0)))
	}
	m := median(all)
	b.figure(f[0], float64(number(f[2][len("oops"):]))/m.wall, "≥", f[4])
	b.figure(f[0]+".cpu_s", m.cpu, "", "-")
	b.figure(f[0]+".mb", m.memory/(1<<20), "", "-")
}

// live measures the answers to single lines in a pipe: the first, and the median of the others.
func (b *bench) live(f []string) {
	addrs := textAddresses(b.path(f[1]), number(f[2]))
	var first, rest [3][]usage
	for range 5 {
		for i, name := range []string{"zf", "eu", "json"} {
			times := converse(b.command(name, f[1]), addrs)
			first[i], rest[i] = append(first[i], times[0]), append(rest[i], times[1:]...)
		}
	}
	ours, line := median(first[0]).wall, median(rest[0]).wall
	b.figure(f[0]+".first.ms", ours*1000, "", "-")
	b.figure(f[0]+".line.ms", line*1000, "", "-")
	b.figure(f[0]+".first.ratio", ours/median(first[1]).wall, "≤", f[3])
	b.figure(f[0]+".line.ratio", line/median(rest[2]).wall, "≤", f[4])
}
