package main

import (
	"debug/elf"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			fmt.Fprintln(os.Stderr, "bench-symbol:", f.error)
			os.Exit(1)
		default:
			panic(f)
		}
	}()
	if len(os.Args) > 4 && os.Args[1] == "measure" {
		measureHere(get(strconv.Atoi(os.Args[2])), os.Args[3], os.Args[4:])
		return
	}
	b := &bench{}
	parts := b.parts()
	if only := os.Args[1:]; len(only) > 0 {
		for _, name := range only {
			if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
				fmt.Fprintf(os.Stderr, "usage: go run ./tools/symbol/bench [PART...]   (see its doc.go; there is no part %q)\n", name)
				os.Exit(2)
			}
		}
		parts = slices.DeleteFunc(parts, func(p part) bool { return !slices.Contains(only, p.name) })
	}
	file := get(os.Create("bench-symbol.txt"))
	b.out = io.MultiWriter(os.Stdout, file)
	b.run(parts)
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

func (b *bench) figure(name string, value any) { fmt.Fprintf(b.out, "%s\t%v\t-\t-\n", name, value) }

func (b *bench) atMost(name string, value, goal float64) {
	b.compare(name, value, "≤", goal, value <= goal)
}

func (b *bench) compare(name string, value float64, sign string, goal float64, met bool) {
	verdict := "short"
	if met {
		verdict = "ok"
	}
	fmt.Fprintf(b.out, "%s\t%.4g\t%s %g\t%s\n", name, value, sign, goal, verdict)
}

// A part is a number of figures, with what they need besides zf, the peers and a vmlinux.
type part struct {
	name  string
	needs []func()
	run   func()
}

func (b *bench) parts() []part {
	program := []func(){b.getProgram}
	decoder := []func(){b.getDecoder}
	return []part{
		{"equal", nil, b.equal},
		{"equal-go", program, b.equalGo},
		{"kernel", []func(){b.getNoAranges}, b.kernel},
		{"index", append(decoder, b.getProgram), b.index},
		{"oops", decoder, b.oops},
		{"oopslog", nil, b.oopsLog},
		{"go", program, b.goProgram},
		{"live", program, b.live},
		{"big", []func(){b.getGimli}, b.big},
		{"folded", []func(){b.getGimli}, b.foldedRace},
		{"cxx", []func(){b.getGimli, b.getCxx}, b.cxxProgram},
	}
}

func (b *bench) run(parts []part) {
	b.dir = get(os.MkdirTemp("", "zf-bench-symbol-"))
	defer os.RemoveAll(b.dir)
	b.setUp()
	for _, p := range parts {
		for _, get := range p.needs {
			get()
		}
	}
	for _, p := range parts {
		p.run()
	}
}

// textAddresses returns n addresses spread evenly over a file's code, always the
// same ones.
func textAddresses(path string, n int) []uint64 {
	f := get(elf.Open(path))
	defer f.Close()
	var text []*elf.Section
	total := uint64(0)
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Type == elf.SHT_PROGBITS {
			text, total = append(text, s), total+s.Size
		}
	}
	if total == 0 {
		fatal("%s has no code", path)
	}
	r := rand.New(rand.NewSource(1))
	addrs := make([]uint64, n)
	for i := range addrs {
		at := uint64(r.Int63n(int64(total)))
		for _, s := range text {
			if at < s.Size {
				addrs[i] = s.Addr + at
				break
			}
			at -= s.Size
		}
	}
	return addrs
}

// write puts addresses into a file, one a line, each with tail behind it.
func (b *bench) write(name string, addrs []uint64, tail string) string {
	var text strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&text, "%#x%s\n", a, tail)
	}
	path := filepath.Join(b.dir, name)
	check(os.WriteFile(path, []byte(text.String()), 0o666))
	return path
}

// equal counts the addresses of vmlinux for which zf and LLVM say the same.
func (b *bench) equal() {
	progress("100000 addresses of vmlinux: zf against %s", filepath.Base(b.llvm))
	share := b.share("equal", textAddresses(b.vmlinux, 100000), b.addr(b.vmlinux), []string{b.llvm, "-afi", "-e", b.vmlinux})
	b.compare("vmlinux.equal.percent", share, "≥", 99.95, share >= 99.95)
}

// share returns for how many addresses, in percent, two commands say the same.
func (b *bench) share(name string, addrs []uint64, commands ...[]string) float64 {
	in := b.write(name, addrs, "")
	var answers [2][]string
	for i, args := range commands {
		if answers[i] = split(answer(args, in)); len(answers[i]) != len(addrs) {
			fatal("%s: %d answers to %d addresses", args[0], len(answers[i]), len(addrs))
		}
	}
	same := 0
	for i := range addrs {
		if answers[0][i] == answers[1][i] {
			same++
		}
	}
	return 100 * float64(same) / float64(len(addrs))
}

// answer returns what a command says to the input in a file.
func answer(args []string, in string) string {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin = get(os.Open(in))
	out, err := cmd.Output()
	if err != nil {
		fatal("%s: %w", args[0], err)
	}
	return string(out)
}

// split splits addr2line's answers at their addresses, and evens out how an unknown
// line is written.
func split(out string) []string {
	var answers []string
	for _, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		if strings.HasPrefix(line, "0x") {
			answers = append(answers, "")
			continue
		}
		if i := strings.Index(line, " (discriminator"); i >= 0 {
			line = line[:i]
		}
		if strings.HasSuffix(line, ":?") {
			line = line[:len(line)-1] + "0"
		}
		if n := len(answers); n > 0 {
			answers[n-1] += line + "\n"
		}
	}
	return answers
}

// addr is the command that resolves with zf, without an index.
func (b *bench) addr(file string) []string {
	return []string{b.zf, "addr", "-index=off", "-afi", "-e", file}
}

// kernel measures vmlinux.
func (b *bench) kernel() {
	addrs := textAddresses(b.vmlinux, 100000)
	few := make([]uint64, len(addrs))
	for i := range few {
		few[i] = addrs[i*7919%500]
	}
	eu, llvm := []string{"eu-addr2line", "-afi", "-e", b.vmlinux}, []string{b.llvm, "-afi", "-e", b.vmlinux}
	for _, row := range []struct {
		name       string
		addrs      []uint64
		file       string
		peer       []string
		runs       int
		wall, goal float64 // goals for time and memory, 0 if there is none
	}{
		{"vmlinux.addr1", addrs[:1], b.vmlinux, eu, 15, 0.35, 0.3},
		{"vmlinux.addr24", addrs[:24], b.vmlinux, eu, 9, 0.45, 0},
		{"vmlinux.addr1000", addrs[:1000], b.vmlinux, llvm, 5, 0.25, 0},
		{"vmlinux.addr100000", addrs, b.vmlinux, llvm, 5, 0.25, 0.3},
		{"vmlinux.addr100000of500", few, b.vmlinux, llvm, 5, 0.2, 0.3},
		{"vmlinux.noaranges.addr1", addrs[:1], b.noAranges, []string{b.llvm, "-afi", "-e", b.noAranges}, 9, 0.4, 0},
	} {
		b.row(row.name, row.addrs, b.addr(row.file), row.peer, row.runs, row.wall, row.goal)
	}
}

// goProgram measures a big Go program.
func (b *bench) goProgram() {
	addrs := textAddresses(b.goELF, 100000)
	info := get(os.Stat(b.goELF))
	b.figure("go.size.mb", info.Size()/1e6)
	peer := []string{"go", "tool", "addr2line", b.goELF}
	for _, row := range []struct {
		name       string
		n, runs    int
		wall, goal float64
	}{
		{"go.addr1", 1, 9, 0.05, 0.25}, {"go.addr24", 24, 9, 0.05, 0.25}, {"go.addr100000", len(addrs), 5, 0.4, 0},
	} {
		b.row(row.name, addrs[:row.n], b.addr(b.goELF), peer, row.runs, row.wall, row.goal)
	}
}

// row measures two commands that answer the same addresses.
func (b *bench) row(name string, addrs []uint64, zf, peer []string, runs int, wallGoal, memoryGoal float64) {
	in := b.write(name, addrs, "")
	b.rowOf(name, in, zf, peer, runs, wallGoal, memoryGoal)
}

// rowOf measures two commands with the same input, in turns.
func (b *bench) rowOf(name, in string, zf, peer []string, runs int, wallGoal, memoryGoal float64) {
	b.rowOf2(name, zf, peer, in, in, runs, wallGoal, memoryGoal)
}

// rowOf2 measures two commands, each with its input, in turns.
func (b *bench) rowOf2(name string, zf, peer []string, in, peerIn string, runs int, wallGoal, memoryGoal float64) {
	progress("%s: zf against %s", name, strings.Join(peer[:min(len(peer), 3)], " "))
	var ours, theirs []usage
	for range runs {
		for _, who := range []struct {
			args []string
			in   string
			to   *[]usage
		}{{zf, in, &ours}, {peer, peerIn, &theirs}} {
			u := measure(who.args, who.in)
			*who.to = append(*who.to, u)
		}
	}
	us, them := median(ours), median(theirs)
	b.figure(name+".ms", fmt.Sprintf("%.1f", us.wall*1000))
	b.figure(name+".peer.ms", fmt.Sprintf("%.1f", them.wall*1000))
	b.atMost(name+".ratio", us.wall/them.wall, wallGoal)
	b.atMost(name+".cpu.ratio", us.cpu/them.cpu, 1.5)
	if memoryGoal > 0 {
		b.atMost(name+".memory.ratio", us.memory/them.memory, memoryGoal)
	}
}

// median returns the median of each quantity.
func median(all []usage) usage {
	of := func(get func(u usage) float64) float64 {
		v := make([]float64, len(all))
		for i := range all {
			v[i] = get(all[i])
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	return usage{
		wall:   of(func(u usage) float64 { return u.wall }),
		cpu:    of(func(u usage) float64 { return u.cpu }),
		memory: of(func(u usage) float64 { return u.memory }),
	}
}
