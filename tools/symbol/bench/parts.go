package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A part is a number of figures, with what they need besides zf, the peers and a vmlinux.
type part struct {
	name  string
	needs []func()
	run   func()
}

func (b *bench) parts() []part {
	return []part{
		{"equal", nil, func() {
			b.atLeast("vmlinux.equal.percent",
				b.share(textAddresses(b.vmlinux, 100000), b.addr("off", b.vmlinux), b.llvmOf(b.vmlinux)), 99.95)
		}},
		{"equal-go", []func(){b.getProgram}, b.equalGo},
		{"kernel", []func(){b.getNoAranges}, b.kernel},
		{"index", []func(){b.getDecoder, b.getProgram}, b.index},
		{"oops", []func(){b.getDecoder}, func() { b.oops("linux.oops24", "off") }},
		{"oopslog", nil, b.oopsLog},
		{"go", []func(){b.getProgram}, b.goProgram},
		{"live", []func(){b.getProgram}, func() { b.live("live", "off") }},
		{"big", []func(){b.getGimli}, func() {
			b.races("big.vmlinux.addr", b.vmlinux, textAddresses(b.vmlinux, 540_000), []int{1, 1000, 540_000}, []int{9, 3, 1})
		}},
		{"folded", []func(){b.getGimli}, func() {
			addrs := textAddresses(b.vmlinux, 1000)
			for _, kind := range []string{"zlib", "zstd"} {
				folded := b.fold(kind)
				b.races("big."+kind+".addr", folded, addrs, []int{1, 1000}, []int{3, 3})
				check(os.Remove(folded))
			}
		}},
		{"cxx", []func(){b.getGimli, b.getCxx}, b.cxxProgram},
	}
}

// kernel measures vmlinux.
func (b *bench) kernel() {
	addrs := textAddresses(b.vmlinux, 100000)
	few := make([]uint64, len(addrs))
	for i := range few {
		few[i] = addrs[i*7919%500]
	}
	eu, llvm := euOf(b.vmlinux), b.llvmOf(b.vmlinux)
	for _, c := range []struct {
		name  string
		addrs []uint64
		file  string
		r     row
	}{
		{"addr1", addrs[:1], b.vmlinux, row{peer: eu, runs: 15, wall: 0.35, memory: 0.3}},
		{"addr24", addrs[:24], b.vmlinux, row{peer: eu, runs: 9, wall: 0.45}},
		{"addr1000", addrs[:1000], b.vmlinux, row{peer: llvm, runs: 5, wall: 0.25}},
		{"addr100000", addrs, b.vmlinux, row{peer: llvm, runs: 5, wall: 0.25, memory: 0.3}},
		{"addr100000of500", few, b.vmlinux, row{peer: llvm, runs: 5, wall: 0.2, memory: 0.3}},
		{"noaranges.addr1", addrs[:1], b.noAranges, row{peer: b.llvmOf(b.noAranges), runs: 9, wall: 0.4}},
	} {
		c.r.name, c.r.in, c.r.zf = "vmlinux."+c.name, b.write(c.addrs, ""), b.addr("off", c.file)
		b.row(c.r)
	}
}

// goProgram measures a big Go program.
func (b *bench) goProgram() {
	addrs := textAddresses(b.goELF, 100000)
	b.figure("go.size.mb", "%d", get(os.Stat(b.goELF)).Size()/1e6)
	for i, r := range []row{{runs: 9, wall: 0.05, memory: 0.25}, {runs: 9, wall: 0.05, memory: 0.25}, {runs: 5, wall: 0.4}} {
		n := [...]int{1, 24, len(addrs)}[i]
		r.name, r.in = fmt.Sprint("go.addr", n), b.write(addrs[:n], "")
		r.zf, r.peer = b.addr("off", b.goELF), []string{"go", "tool", "addr2line", b.goELF}
		b.row(r)
	}
}

// equalGo counts the addresses of the program for which zf says what the program's
// own runtime says, and those for which it says what `go tool addr2line` says, which
// has the line of the innermost call and the name of the function that holds it.
func (b *bench) equalGo() {
	progress("100000 addresses of a Go program: zf against its runtime and go tool addr2line")
	addrs := textAddresses(b.goELF, 100000)
	in := b.write(addrs, "")
	truth := strings.Split(answer([]string{b.goELF}, in), "\n")
	tool := strings.Split(answer([]string{"go", "tool", "addr2line", b.goELF}, in), "\n")
	ours := split(answer(b.addr("off", b.goELF), in))
	if len(truth) != len(addrs) || len(tool) != 2*len(addrs) || len(ours) != len(addrs) {
		fatal("%d addresses: the runtime answers %d, go tool addr2line %d, zf %d", len(addrs), len(truth), len(tool)/2, len(ours))
	}
	var asked, same, sameTool float64
	for i := range addrs {
		frames := strings.Split(strings.TrimSuffix(ours[i], "\n"), "\n")
		if short(frames[len(frames)-2]) == short(tool[2*i]) && frames[1] == known(tool[2*i+1]) {
			sameTool++
		}
		if truth[i] == "-" {
			continue
		}
		asked++
		if name, line, _ := strings.Cut(truth[i], "\t"); short(frames[0]) == name && frames[1] == known(line) {
			same++
		}
	}
	b.atLeast("go.equal.runtime.percent", 100*same/asked, 100)
	b.atLeast("go.equal.addr2line.percent", 100*sameTool/float64(len(addrs)), 100)
}

// known evens out how the runtime and go tool addr2line write an unknown line.
func known(line string) string {
	if line == "?:0" || line == ":-1" {
		return "??:0"
	}
	return line
}

// short is a function's name as the runtime prints it.
func short(name string) string {
	i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if i < 0 || j < i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}

// withCache runs f with a cache folder of its own.
func withCache(dir string, f func()) {
	old, had := os.LookupEnv("XDG_CACHE_HOME")
	check(os.Setenv("XDG_CACHE_HOME", dir))
	defer func() {
		if os.Unsetenv("XDG_CACHE_HOME"); had {
			os.Setenv("XDG_CACHE_HOME", old)
		}
	}()
	f()
}

// index measures indexes against llvm-gsymutil's.
func (b *bench) index() {
	gsymutil := newest("llvm-gsymutil")
	if gsymutil == "" {
		fatal("no llvm-gsymutil in PATH: install the package that %s is of", b.llvm)
	}
	cache, gsym := filepath.Join(b.dir, "cache"), filepath.Join(b.dir, "gsym")
	withCache(cache, func() {
		b.row(row{name: "vmlinux.index.build", in: os.DevNull, zf: []string{b.zf, "index", "-rebuild", b.vmlinux},
			peer: []string{gsymutil, "--convert=" + b.vmlinux, "--out-file=" + gsym}, runs: 5, wall: 1, memory: 0.5})
		b.sameIndex(filepath.Join(cache, "zeroframe", "index", "*"))
		addrs := textAddresses(b.vmlinux, 100000)
		zf := b.addr("auto", b.vmlinux)
		b.atLeast("vmlinux.index.equal.percent", b.share(addrs, b.addr("off", b.vmlinux), zf), 100)
		for _, c := range []struct {
			n, runs int
			goal    float64
		}{{1, 25, 0.35}, {24, 25, 0.35}, {1000, 15, 0.4}, {len(addrs), 9, 0.4}} {
			peer := []string{gsymutil, "--addresses-from-stdin"}
			if c.n == 1 {
				peer = []string{gsymutil, fmt.Sprintf("--address=%#x", addrs[0]), gsym}
			}
			b.row(row{name: fmt.Sprint("vmlinux.index.addr", c.n), in: b.write(addrs[:c.n], ""),
				peerIn: b.write(addrs[:c.n], " "+gsym), zf: zf, peer: peer, runs: c.runs, wall: c.goal})
		}
		b.oops("linux.index.oops24", "auto")
		b.live("live.index", "auto")
		b.foldedOnce(addrs[:1])
	})
}

// sameIndex makes an index anew, also with fewer processors, and compares.
func (b *bench) sameIndex(pattern string) {
	var first []byte
	same := 1.0
	for _, processors := range []string{"", "1", "3"} { // "" counts for nothing
		run(".", "env", "GOMAXPROCS="+processors, b.zf, "index", "-rebuild", b.vmlinux)
		files := get(filepath.Glob(pattern))
		if len(files) != 1 {
			fatal("%d files in the folder of indexes; want one", len(files))
		}
		index := get(os.ReadFile(files[0]))
		if first == nil {
			first = index
			b.figure("vmlinux.index.mb", "%.1f", float64(len(index))/1e6)
		} else if !bytes.Equal(index, first) {
			same = 0
		}
	}
	b.atLeast("vmlinux.index.same", same, 1)
}

// fold makes a vmlinux whose debug information is compressed.
func (b *bench) fold(kind string) string {
	folded := filepath.Join(b.dir, "folded-"+kind)
	objcopy := newest("llvm-objcopy")
	if objcopy == "" {
		objcopy = "objcopy"
	}
	progress("a vmlinux compressed by %s: %s", kind, objcopy)
	run(".", objcopy, "--compress-debug-sections="+kind, b.vmlinux, folded)
	return folded
}

// foldedOnce measures the first run on a file with compressed sections, the run that begins
// when the first one ends, with caches of their own, and one with the index. LLVM remembers
// nothing.
func (b *bench) foldedOnce(addrs []uint64) {
	folded := b.fold("zlib")
	defer os.Remove(folded)
	in, zf, peer := b.write(addrs, ""), b.addr("auto", folded), b.llvmOf(folded)
	b.row(row{name: "vmlinux.zlib.addr1", in: in, zf: b.addr("off", folded), peer: peer, runs: 5, wall: 0.8})
	const second = "vmlinux.zlib.second.addr1"
	progress("%s: zf at once after zf, against %s", second, filepath.Base(b.llvm))
	var ours, theirs []usage
	for i := range 5 {
		theirs = append(theirs, measure(peer, in))
		withCache(filepath.Join(b.dir, fmt.Sprint("second", i)), func() {
			measure(zf, in)
			ours = append(ours, measure(zf, in))
		})
	}
	us, them := median(ours), median(theirs)
	b.figure(second+".ms", "%.1f", us.wall*1000)
	b.atMost(second+".ratio", us.wall/them.wall, 0.1)
	b.atMost(second+".cpu.ratio", us.cpu/them.cpu, 0.1)
	run(".", b.zf, "index", folded)
	b.row(row{name: "vmlinux.zlib.again.addr1", in: in, zf: zf, peer: peer, runs: 5, wall: 0.02})
}

// oops measures text in, text out.
func (b *bench) oops(name, index string) {
	const frames = 24
	in := b.writeOops(frames)
	r := row{name: name, in: in, zf: []string{b.zf, "symbolize", "-index=" + index, "-e", b.vmlinux},
		peer: []string{"bash", b.decoder, b.vmlinux}, runs: 3, wall: 1.0 / 200}
	// Each must have found them all, or there would be nothing to compare.
	for _, args := range [][]string{r.zf, r.peer} {
		out := answer(args, in)
		if n := strings.Count(out, ".c:") + strings.Count(out, ".h:") + strings.Count(out, ".S:"); n < frames {
			fatal("%v: %d lines of source for %d frames:\n%s", args, n, frames, out)
		}
	}
	b.row(r)
}

// oopsLog measures a log of some 50 MB of oopses: how many frames there are in a second. No peer
// takes as much in a reasonable time.
func (b *bench) oopsLog() {
	const frames = 540_000
	in := b.writeOops(frames)
	progress("a log of %d frames: zf", frames)
	var all []usage
	for range 3 {
		all = append(all, measure([]string{b.zf, "symbolize", "-index=off", "-e", b.vmlinux, in}, os.DevNull))
	}
	m := median(all)
	b.atLeast("linux.oopslog.frames_per_s", frames/m.wall, 200_000)
	b.figure("linux.oopslog.cpu_s", "%.2f", m.cpu)
	b.figure("linux.oopslog.mb", "%.0f", m.memory/(1<<20))
}

// writeOops writes oopses of 24 places each, n in all, in the kernel's functions.
func (b *bench) writeOops(n int) string {
	f := get(elf.Open(b.vmlinux))
	defer f.Close()
	text := f.Section(".text")
	all := slices.DeleteFunc(get(f.Symbols()), func(s elf.Symbol) bool {
		return s.Value-text.Addr >= text.Size || s.Name == "" || elf.ST_TYPE(s.Info) != elf.STT_FUNC && elf.ST_TYPE(s.Info) != elf.STT_NOTYPE
	})
	slices.SortStableFunc(all, func(a, c elf.Symbol) int { return int(int64(a.Value - c.Value)) })
	r := rand.New(rand.NewSource(1))
	var t strings.Builder
	for at := 0; at < n; {
		i := r.Intn(len(all) - 2)
		next := i + 1
		for next < len(all)-1 && all[next].Value == all[i].Value {
			next++
		}
		size := all[next].Value - all[i].Value
		if size < 64 || elf.ST_TYPE(all[i].Info) != elf.STT_FUNC || strings.Contains(all[i].Name, ".") {
			continue
		}
		before, after := " ", ""
		if at%24 == 0 {
			t.WriteString("[    9.000000] BUG: kernel NULL pointer dereference, address: 0000000000000010\n")
			before, after = "RIP: 0010:", "[    9.000001] Call Trace:\n[    9.000001]  <TASK>\n"
		}
		if at++; at%24 == 0 || at == n {
			after = "[    9.000002]  </TASK>\n"
		}
		fmt.Fprintf(&t, "[    9.000001] %s%s+%#x/%#x\n%s", before, all[i].Name, 8+uint64(r.Int63n(int64(size-24))), size, after)
	}
	path := filepath.Join(b.dir, "oops")
	check(os.WriteFile(path, []byte(t.String()), 0o666))
	return path
}

// live measures the answers to single lines in a pipe: the first, and the median of the others.
func (b *bench) live(name, index string) {
	const lines = 100
	addrs := textAddresses(b.vmlinux, lines)
	commands := [3][]string{b.addr(index, b.vmlinux), euOf(b.vmlinux), {b.llvmSymbolizer, "--output-style=JSON", "-e", b.vmlinux}}
	progress("%s, a pipe with %d lines: zf, eu-addr2line, %s", name, lines, filepath.Base(b.llvmSymbolizer))
	var first, rest [3][]usage
	for range 5 {
		for i, args := range commands {
			times := converse(args, addrs)
			first[i], rest[i] = append(first[i], times[0]), append(rest[i], times[1:]...)
		}
	}
	ours, line := median(first[0]).wall, median(rest[0]).wall
	b.figure(name+".first.ms", "%.1f", ours*1000)
	b.figure(name+".line.ms", "%.3f", line*1000)
	b.atMost(name+".first.ratio", ours/median(first[1]).wall, 0.5)
	b.atMost(name+".line.ratio", line/median(rest[2]).wall, 0.3)
}

// cxxProgram measures the C++ program.
func (b *bench) cxxProgram() {
	b.figure("big.cxx.size.mb", "%d", get(os.Stat(b.cxx)).Size()/1e6)
	addrs := textAddresses(b.cxx, 100_000)
	b.atLeast("big.cxx.equal.percent", b.share(addrs[:1000], b.addr("off", b.cxx), b.llvmOf(b.cxx)), 99.95)
	b.races("big.cxx.addr", b.cxx, []uint64{cxxSmallPlace}, []int{1}, []int{5})
	b.races("big.cxx.huge.addr", b.cxx, []uint64{cxxHugePlace}, []int{1}, []int{3})
	b.races("big.cxx.addr", b.cxx, addrs, []int{1000, 100_000}, []int{1, 1})
}

// A peer is a symbolizer that reads addresses from its input.
type peer struct {
	name string
	args []string
}

// races measures zf and all peers in turns, for numbers of addresses, so many times each, and
// compares zf with the best in each quantity. A peer that fails, knows no line, or takes twenty
// times the processor's time, and 10 s, is left out and named.
func (b *bench) races(name, file string, addrs []uint64, numbers, runs []int) {
	for i, n := range numbers {
		b.race(fmt.Sprint(name, n), b.write(addrs[:n], ""), runs[i], []peer{
			{"zf", b.addr("off", file)}, {"llvm", b.llvmOf(file)}, {"elfutils", euOf(file)}, {"gimli", []string{b.gimli, file}},
		})
	}
}

func (b *bench) race(name, in string, runs int, racers []peer) {
	all := make([][]usage, len(racers))
	out := func(i int, why string) {
		progress("%s: without %s: %s", name, racers[i].name, why)
		racers[i].args = nil
	}
	for i, p := range racers[1:] {
		if why := b.noUse(p, in); why != "" {
			out(i+1, why)
		}
	}
	for range runs {
		for i, p := range racers {
			if p.args == nil {
				continue
			}
			progress("%s: %s", name, p.name)
			limit := 0
			if i > 0 {
				limit = 10 + int(20*all[0][0].cpu)
			}
			u, ok := measureWithin(p.args, in, limit)
			if !ok {
				out(i, fmt.Sprintf("it takes more than %d s of the processor's time", limit))
				continue
			}
			all[i] = append(all[i], u)
		}
	}
	best := usage{math.Inf(1), math.Inf(1), math.Inf(1)}
	for i, p := range racers {
		if p.args == nil {
			b.figure(name+"."+p.name, "%s", "-")
			continue
		}
		m := median(all[i])
		b.figure(name+"."+p.name, "%s", fmt.Sprintf("%.0f ms, %.0f ms of processor, %.0f MB", m.wall*1000, m.cpu*1000, m.memory/(1<<20)))
		if i > 0 {
			best = usage{min(best.wall, m.wall), min(best.cpu, m.cpu), min(best.memory, m.memory)}
		}
	}
	us := median(all[0])
	b.atMost(name+".ratio", us.wall/best.wall, 1)
	b.atMost(name+".cpu.ratio", us.cpu/best.cpu, 1)
	b.atMost(name+".memory.ratio", us.memory/best.memory, 0.5)
}

// noUse says why a peer is no use for a file, "" if it is: it is asked the first address.
func (b *bench) noUse(p peer, in string) string {
	first, _, _ := strings.Cut(string(get(os.ReadFile(in))), "\n")
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Stdin = strings.NewReader(first + "\n")
	out, err := cmd.Output()
	switch {
	case err != nil:
		return err.Error()
	case !strings.Contains(string(out), ":") || strings.HasSuffix(strings.TrimSpace(string(out)), "??:0"):
		return "it knows no line"
	}
	return ""
}
