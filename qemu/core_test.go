package qemu

// A core file of a trace, in a debugger that knows nothing of traces. What gdb says of
// it must be what the trace says, which the tests of a debugger on the living machine
// (gdb_test.go) have held against another gdb's view: the frames of each side of each
// boundary, the registers, the words of the stack, and the line of the source.

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// coreLog writes a log and makes a core file of it.
func coreLog(t *testing.T, elf, serial string) (path string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte(serial), 0o666); err != nil {
		t.Fatal(err)
	}
	path = log + ".core"
	if out, err := exec.Command(zfCommand(t), "core", "-e", elf, "-o", path, log).CombinedOutput(); err != nil {
		t.Fatalf("zf core: %v: %s", err, out)
	}
	return path
}

// A side is what one thread of a core file has to show: frames of a trace on one
// side of a boundary.
type side struct {
	frames []labFrame
	last   bool // nothing of the trace lies behind
	cut    bool // a folded run ends it, of which the core has only the beginning
	of     *labTrace
}

// canonical reports whether a CPU takes an address of 48 bits.
func canonical(a uint64) bool { return a>>47 == 0 || a>>47 == 1<<17-1 }

// sides cuts a trace at its boundaries: a trap, a pc, another stack, a stack pointer that
// is no address, by which no debugger finds the caller. Functions that the host infers
// are on no stack, and no debugger sees them.
func sides(tr *labTrace) (all []side) {
	fresh := true
	at := "" // stack and pc of the frame before
	for _, f := range tr.Frames {
		switch {
		case f.Kind == "trap":
			fresh = true
			continue
		case f.Kind == "inferred":
			continue
		}
		inline := len(all) > 0 && at == f.Stack+f.Address && !fresh
		if !inline && (fresh || f.Kind == "pc" || !strings.HasPrefix(at, f.Stack+"0x")) {
			all = append(all, side{})
		}
		sp, _ := strconv.ParseUint(f.SP, 0, 64)
		fresh, at = !canonical(sp), f.Stack+f.Address
		s := &all[len(all)-1]
		s.frames = append(s.frames, f)
	}
	for i := range all {
		// A core file has no more frame records of a run.
		var whole bool
		if all[i].frames, whole = unfold(all[i].frames, 256); !whole {
			all[i].cut = true
		}
	}
	if n := len(all); n > 0 {
		all[n-1].last = true
	}
	for i := range all {
		all[i].of = tr
	}
	return all
}

// words64 are the values of gdb's x/4gx.
var words64 = regexp.MustCompile(`0x[0-9a-f]{16}\b`)

func TestCoreDeaths(t *testing.T) {
	t.Parallel()
	gdb := need(t, "gdb")
	for _, tt := range []struct {
		kind, option string
		sides        int
	}{
		{"early.nil-write", "", 1},
		{"early.nil-write", "trace=markup", 1},
		{"early.nil-write", "trace=compact", 1},
		{"early.leaf", "", 1},
		{"early.nil-call", "", 1},
		{"early.panic", "", 1},
		{"early.bounds", "", 1},
		{"early.runtime", "", 1},
		{"early.in-irq", "", 2},
		{"early.in-irq", "trace=compact", 2},
		{"early.double-fault", "", 1},
		{"early.rbp-reused", "", 1},
		{"early.deep", "crash.depth=100", 1},
		{"early.rsp-noncanonical", "", 2},
		{"go.panic", "", 2},
		{"go.overflow", "", 2},
		{"go.throw-deadlock", "", 1},
		{"go.nil-read", "", 3},
		{"go.ud2", "", 2},
		{"go.in-irq", "", 2},
		{"go.syscall-bug", "", 2},
	} {
		t.Run(strings.TrimSpace(tt.kind+" "+tt.option), func(t *testing.T) {
			t.Parallel()
			path, symbols := lab(t, image.AllLoaders)
			_, serial, err := boot(t, Config{Kernel: path}, "crash="+tt.kind+" trace.stack=8192 "+tt.option)
			if err != nil {
				t.Fatal(err)
			}
			tr := onlyTrace(t, traces(t, symbols, serial))
			checkCore(t, gdb, path, coreLog(t, path, serial), sides(tr), serial, tt.sides)
		})
	}
}

// TestCoreCPUs: a core file has threads of each CPU, those of the one that died first.
func TestCoreCPUs(t *testing.T) {
	t.Parallel()
	gdb := need(t, "gdb")
	for _, tt := range []struct {
		kind, option string
		cpus, sides  int
	}{
		{"cpu.nil-write", "", 2, 2},
		{"cpu.in-irq", "trace=compact", 4, 5},
		{"cpu.ud2", "trace=markup crash.others=spin", 4, 4},
		{"go.cpu", "", 2, 0}, // how many are of CPU 0 depends on where it was
	} {
		t.Run(strings.TrimSpace(tt.kind+" "+tt.option), func(t *testing.T) {
			t.Parallel()
			path, symbols := lab(t, image.AllLoaders)
			_, serial, err := boot(t, Config{Kernel: path, CPUs: tt.cpus, Icount: true, VirtualTime: true}, "crash="+tt.kind+" trace.stack=8192 "+tt.option)
			if err != nil {
				t.Fatal(err)
			}
			var all []side
			for _, tr := range traces(t, symbols, serial) {
				all = append(all, sides(tr)...)
			}
			if tt.sides == 0 {
				tt.sides = len(all)
			}
			checkCore(t, gdb, path, coreLog(t, path, serial), all, serial, tt.sides)
		})
	}
}

// checkCore looks at a core file with gdb. Thread 1 is the first side.
func checkCore(t *testing.T, gdb, path, core string, all []side, serial string, threads int) {
	t.Helper()
	if len(all) != threads {
		t.Fatalf("there are %d sides, the first in %s; want %d", len(all), all[0].of.chain(), threads)
	}
	script := []string{"set backtrace past-main on", "core-file " + core}
	for i, s := range all {
		script = append(script, fmt.Sprintf("thread %d", i+1))
		script = append(script, gdbLook(0, len(s.frames))...)
	}
	views := runGDB(t, gdb, path, script)
	for i, s := range all {
		first := s.frames[0]
		v := views[i]
		if len(v.frames) == 0 {
			t.Fatalf("thread %d has no frames", i+1)
		}
		if first.Kind == "ra" {
			// It stands at the call that returns there.
			at, _ := strconv.ParseUint(v.frames[0].Address, 0, 64)
			ra, _ := strconv.ParseUint(first.Address, 0, 64)
			if c, ok := labSymbols(t).Code().CallBefore(ra); !ok || c.At != at {
				t.Errorf("thread %d stands at %#x; want the call before %#x", i+1, at, ra)
			}
			for j := range s.frames {
				if s.frames[j].Address == first.Address {
					s.frames[j].Address = v.frames[0].Address
				}
			}
		}
		v.compare(t, s.frames, 0, s.of.Complete && s.last && !s.cut && s.of.Context == "early")
		if first.Kind == "pc" && (v.registers["rsp"] != first.SP || v.registers["rbp"] != first.FP) {
			t.Errorf("thread %d: rsp, rbp = %s, %s; want %s, %s", i+1, v.registers["rsp"], v.registers["rbp"], first.SP, first.FP)
		}
	}
	checkCoreText(t, gdb, path, core, all[0].of, serial, all[0].frames[0])
}

// checkCoreText looks at what the commands say that people use.
func checkCoreText(t *testing.T, gdb, path, core string, tr *labTrace, serial string, first labFrame) {
	t.Helper()
	line := func(mark string) []string { return []string{"-ex", `printf "` + mark + `\n"`} }
	args := []string{"-nx", "-batch", "-iex", "set auto-load no", "-iex", "set width 0"}
	args = append(args, line("=registers")...)
	args = append(args, "-ex", "info registers")
	args = append(args, line("=words")...)
	args = append(args, "-ex", "x/4gx $rsp")
	args = append(args, line("=list")...)
	args = append(args, "-ex", "list", "-ex", "x/gx &'"+module+"kernel/stack.Table'", path, core)
	cmd := exec.Command(gdb, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
	b, err := cmd.CombinedOutput()
	out := string(b)
	for l := range strings.Lines(out) {
		if strings.HasPrefix(l, "warning:") && !strings.Contains(l, "more recent than executable") {
			t.Errorf("gdb warns (%v): %s", err, l)
		}
	}
	start, rest, _ := strings.Cut(out, "=registers\n")
	registers, rest, _ := strings.Cut(rest, "=words\n")
	memory, list, _ := strings.Cut(rest, "=list\n")
	if want := "Core was generated by `" + tr.Reason[:min(len(tr.Reason), 79)] + "'"; !strings.Contains(start, want) {
		t.Errorf("gdb begins with %q; want %q in it", start, want)
	}
	if !strings.Contains(start, "Program terminated with signal SIG") {
		t.Errorf("gdb begins with %q; want a signal in it", start)
	}

	n := 0
	for l := range strings.Lines(registers) {
		f := strings.Fields(l)
		if len(f) < 2 {
			continue
		}
		name := f[0]
		if name == "eflags" {
			name = "rflags"
		}
		want, ok := tr.Registers[name]
		if !ok || name == "rip" && first.Kind == "ra" {
			continue
		}
		if n++; f[1] != want {
			t.Errorf("%s = %s; want %s", name, f[1], want)
		}
	}
	carried := len(tr.Registers)
	for _, name := range []string{"cr2", "cr3"} { // no core file has these
		if tr.Registers[name] != "" {
			carried--
		}
	}
	if first.Kind == "ra" {
		carried--
	}
	if n != carried {
		t.Errorf("%d registers are compared; want all %d:\n%s", n, carried, registers)
	}

	var got []uint64
	for l := range strings.Lines(memory) {
		_, values, _ := strings.Cut(l, ":\t")
		if strings.Contains(values, "Cannot access memory") {
			continue
		}
		for _, w := range words64.FindAllString(values, -1) {
			x, _ := strconv.ParseUint(w, 0, 64)
			got = append(got, x)
		}
	}
	all := carriedWords(t, serial)
	sp, _ := strconv.ParseUint(tr.Registers["rsp"], 0, 64)
	var want []uint64
	for a := sp; a < sp+32 && canonical(sp); a += 8 {
		w, ok := all[a]
		if !ok {
			t.Fatalf("the trace has no word at %#x", a)
		}
		want = append(want, w)
	}
	if !slices.Equal(got, want) {
		t.Errorf("x/4gx $rsp = %#x; want %#x\n%s", got, want, memory)
	}

	if first.File != "" {
		source, err := os.ReadFile(first.File)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("\n%d\t%s\n", first.Line, strings.Split(string(source), "\n")[first.Line-1])
		if !strings.Contains("\n"+list, want) {
			t.Errorf("list does not show %q but\n%s", want, list)
		}
	}
	// What nobody knows, gdb must not make up.
	if !strings.Contains(list, "Cannot access memory") {
		t.Errorf("a variable can be read: %s", list)
	}
}

// carriedWords returns the words of memory in a log: those of the mem lines, or in the
// compact form what the reader of traces finds.
func carriedWords(t *testing.T, serial string) map[uint64]uint64 {
	t.Helper()
	words := make(map[uint64]uint64)
	for _, m := range memLine.FindAllStringSubmatch(serial, -1) {
		a, _ := strconv.ParseUint(m[1], 16, 64)
		for _, w := range strings.Fields(m[2]) {
			x, err := strconv.ParseUint(w, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			words[a] = x
			a += 8
		}
	}
	if len(words) > 0 {
		return words
	}
	f, err := trace.NewFilter(nil, trace.Options{OnTrace: func(tr *wire.Trace) { maps.Copy(words, tr.Words) }})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, serial)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return words
}

// zfTraceLine is a frame as gdb's command zf-trace shows it, or a trap.
var zfTraceLine = regexp.MustCompile(`(?m)^(?:#\d+ +(pc|ra) (0x[0-9a-f]+) (\S+) at (\S+):(\d+) \[(\S+)\]|-- (trap), vector (\d+), error 0x[0-9a-f]+ --)$`)

func labSymbols(t *testing.T) *symbol.File {
	_, symbols := lab(t, image.AllLoaders)
	return symbols
}
