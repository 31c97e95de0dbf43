package qemu

import (
	stdelf "debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/probe"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/initrd"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// The option watch= and the monitor's command: each write to a watched place has a trace, with who
// has written what.

// address returns where an image has a variable.
func address(t testing.TB, path, name string) uint64 {
	t.Helper()
	file, err := stdelf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == name {
			return s.Value
		}
	}
	t.Fatalf("%s has no %s", path, name)
	return 0
}

// told returns what traces of watched places say: the reason and the chain of functions.
func told(all []*labTrace) (lines []string) {
	for _, tr := range all {
		line := fmt.Sprintf("%s: %s: %s", tr.Kind, tr.Reason, tr.chain())
		if !tr.Complete {
			line += " (not complete)"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestWatch(t *testing.T) {
	t.Parallel()
	path := program(t, "watched")
	symbols, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { symbols.Close() })
	count, text, fill, loaded := address(t, path, "main.count"), address(t, path, "main.text"), address(t, path, "main.fill"), address(t, path, "main.loaded")+4<<10
	const tail = " main.main runtime.main runtime.goexit"
	for _, tt := range []struct {
		what, options string
		want          []string // without "trace: watch: "
	}{
		{"writes", fmt.Sprintf("watch=%#x", count), []string{
			fmt.Sprintf("%#x written: 0x0 -> 0x1: g: main.set%s", count, tail),
			fmt.Sprintf("%#x written: 0x1 -> 0x5: g: main.add%s", count, tail),
			fmt.Sprintf("%#x written: 0x5 -> 0x9: g: main.through%s", count, tail),
		}},
		{"writes", fmt.Sprintf("watch=%#x:2:w trace=compact", count), []string{
			fmt.Sprintf("%#x written: 0x0 -> 0x1: g: main.set%s", count, tail),
			fmt.Sprintf("%#x written: 0x1 -> 0x5: g: main.add%s", count, tail),
			fmt.Sprintf("%#x written: 0x5 -> 0x9: g: main.through%s", count, tail),
		}},
		{"read", fmt.Sprintf("watch=%#x:4:rw", loaded), []string{
			fmt.Sprintf("%#x read or written: 0x0: g: main.load%s", loaded, tail),
			fmt.Sprintf("%#x written: 0x0 -> 0x7: g:%s", loaded, tail),
		}},
		{"kernel", fmt.Sprintf("watch=%#x:8", text), []string{
			fmt.Sprintf("%#x written: 0x0 -> 0x3736353433323130: kernel: arch/amd64.CopyUser arch.CopyUser kernel/linux.copyOut", text),
		}},
		{"repeated", fmt.Sprintf("watch=%#x:1 watch=%#x:1", fill+60, fill+9), []string{
			fmt.Sprintf("%#x written: 0x0 -> 0x9: g:%s", fill+9, tail),
			fmt.Sprintf("%#x written: 0x0 -> 0x3c: g:%s", fill+60, tail),
			fmt.Sprintf("%#x written: 0x9 -> 0x0: g: runtime.memclrNoHeapPointers main.clear%s", fill+9, tail),
			fmt.Sprintf("%#x written: 0x3c -> 0x0: g: runtime.memclrNoHeapPointers main.clear%s", fill+60, tail),
		}},
	} {
		for _, cpus := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%s/%d", tt.what, tt.options, cpus), func(t *testing.T) {
				t.Parallel()
				res, serial, err := boot(t, Config{Kernel: path, CPUs: cpus}, tt.options+" -- "+tt.what)
				if err != nil || res.Outcome != Traced && res.Outcome != Exited || res.Program != 0 {
					t.Fatalf("the machine: %v, %d, %v\n%s", res.Outcome, res.Program, err, serial)
				}
				got := told(traces(t, symbols, serial))
				for i := range max(len(got), len(tt.want)) {
					if i >= len(got) || i >= len(tt.want) || !strings.HasPrefix(got[i], "trace: watch: "+tt.want[i]) || strings.HasSuffix(got[i], ")") {
						t.Fatalf("the traces say\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
					}
				}
			})
		}
	}

	// Three goroutines on three CPUs: each of the 15 writes, in their order, by the right one.
	t.Run("goroutines", func(t *testing.T) {
		t.Parallel()
		_, serial, err := boot(t, Config{Kernel: path, CPUs: 3}, fmt.Sprintf("watch=%#x -- goroutines", count))
		all := traces(t, symbols, serial)
		if err != nil || len(all) != 15 {
			t.Fatalf("%d traces, %v", len(all), err)
		}
		by := map[string]int{}
		for i, line := range told(all) {
			want := fmt.Sprintf("trace: watch: %#x written: %#x -> %#x: g: main.", count, i, i+1)
			rest, ok := strings.CutPrefix(line, want)
			if !ok {
				t.Errorf("write %d: %s; want %s", i, line, want)
			}
			by[rest]++
		}
		if by["add main.main.func1 sync.(*WaitGroup).Go.func1 runtime.goexit"] != 5 || by["through main.main.func1 sync.(*WaitGroup).Go.func1 runtime.goexit"] != 10 {
			t.Errorf("the writers are %v", by)
		}
	})

	// The first write ends the machine.
	for _, cpus := range []int{1, 3} {
		t.Run(fmt.Sprint("panic/", cpus), func(t *testing.T) {
			t.Parallel()
			res, serial, err := boot(t, Config{Kernel: path, CPUs: cpus}, fmt.Sprintf("watch=%#x watch.panic=on -- writes", count))
			all := traces(t, symbols, serial)
			if err != nil || res.Outcome != Traced || len(all) != cpus {
				t.Fatalf("the machine: %v, %v, %d traces", res.Outcome, err, len(all))
			}
			if got, want := told(all)[0], fmt.Sprintf("panic: watch: %#x written: 0x0 -> 0x1: g: main.set%s", count, tail); got != want {
				t.Errorf("%s; want %s", got, want)
			}
		})
	}

	// Probes step over instructions, one of them the write itself.
	for _, cpus := range []int{1, 3} {
		t.Run(fmt.Sprint("probes/", cpus), func(t *testing.T) {
			t.Parallel()
			plan, err := probe.Choose(symbols, []string{"main.*"})
			if err != nil {
				t.Fatal(err)
			}
			var a initrd.Archive
			a.AddFile("/"+probe.File, 0o444, plan.Table(false))
			cfg := Config{Kernel: path, CPUs: cpus, Initrd: filepath.Join(t.TempDir(), "initrd")}
			if err := a.WriteFile(cfg.Initrd); err != nil {
				t.Fatal(err)
			}
			_, serial, err := boot(t, cfg, fmt.Sprintf("watch=%#x -- writes", count))
			got := told(traces(t, symbols, serial))
			if err != nil || len(got) != 3 || !strings.Contains(serial, "end") {
				t.Fatalf("%v; the traces say\n%s", err, strings.Join(got, "\n"))
			}
			for i, want := range []string{"0x0 -> 0x1: g: main.set", "0x1 -> 0x5: g: main.add", "0x5 -> 0x9: g: main.through"} {
				if !strings.Contains(got[i], want+tail) {
					t.Errorf("%s; want %s", got[i], want)
				}
			}
		})
	}
}

// TestWatchRefused: what cannot be watched is said to be ignored, and why.
func TestWatchRefused(t *testing.T) {
	t.Parallel()
	path := program(t, "watched")
	_, serial, err := boot(t, Config{Kernel: path}, "watch=main.count watch=0x1001:8 watch=0x1000:3 watch=0x1000:4:x watch=0xffff800000000000 watch=0x1000:1 watch=0x1008:w watch=0x1010:4:rw watch=0x1018 watch=0x1020 watch.panic=maybe")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"watch=main.count is ignored: want ADDRESS[:LENGTH][:w|rw]",
		"watch=0x1001:8 is ignored: the address must be a multiple of the length",
		"watch=0x1000:3 is ignored: the length must be 1, 2, 4 or 8",
		"watch=0x1000:4:x is ignored: want ADDRESS",
		"watch=0xffff800000000000 is ignored: that is no address of a program",
		"watch=0x1020 is ignored: this CPU can watch 4 places, which are all in use",
		"watch.panic=maybe is ignored: want on",
	} {
		if !strings.Contains(serial, want) {
			t.Errorf("the boot does not say %q", want)
		}
	}
	if n := strings.Count(serial, "is ignored"); n != 7 {
		t.Errorf("%d values are ignored:\n%s", n, serial)
	}
}

// TestWatchMonitor: what is watched is changed in the monitor, for all CPUs; and what a trap writes
// is refused.
func TestWatchMonitor(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	stage := address(t, path, "github.com/zeroframe/zeroframe/kernel/percpu.first")
	for _, cpus := range []int{1, 3} {
		t.Run(fmt.Sprint(cpus), func(t *testing.T) {
			t.Parallel()
			keys, out, vm := startTyped(t, Config{Kernel: path, CPUs: cpus, Append: "monitor crash=go.nil-map"})
			out.For(t, "monitor> ")
			for _, c := range []struct{ command, want string }{
				{"watch", "nothing is watched"},
				{"watch 0x1003", "must be a multiple"},
				{"watch none", "is no number, register or function"},
				{fmt.Sprintf("watch %#x", stage), "what each trap writes cannot be watched"},
				{"watch 0x2000 : 4 : rw", "  0  0x2000  4 bytes, reads and writes"},
				{"watch main.main", "  1  0x"},
				{"watch off 0", "  1  0x"},
				{"watch off 0", "is no number of a watched place"},
				{"watch off", "nothing is watched"},
				{fmt.Sprintf("watch %#x:w", address(t, path, "runtime.allglen")), "bytes, writes; holds 0x0"},
			} {
				if a := asked(t, keys, out, c.command); !strings.Contains(a, c.want) {
					t.Errorf("%s: %q; want %q", c.command, a, c.want)
				}
			}
			before := len(out.String())
			fmt.Fprint(keys, "c\r")
			res, err := vm.Wait()
			all := traces(t, symbols, out.String()[before:])
			if err != nil || res.Outcome != Traced || len(all) < 2 {
				t.Fatalf("the machine: %v, %v, %d traces", res.Outcome, err, len(all))
			}
			if got := told(all)[0]; !strings.Contains(got, "written: 0x0 -> 0x1: ") || !strings.Contains(got, " runtime.allgadd ") {
				t.Errorf("the first goroutine: %s", got)
			}
		})
	}
}

// fixed are the kinds of testdata/culprits whose word is a package variable, or a part of one: how
// much of it is watched. The words of the other kinds are on the heap or on a stack, where no name
// of the image leads.
var fixed = map[string]struct {
	variable      string
	offset, bytes uint64
}{
	"nilmap":  {"main.table", 0, 8},
	"buffer":  {"main.shared", 3, 1}, // the byte that is used as an index
	"shorter": {"main.row", 8, 8},    // the length
	"atomic":  {"main.current", 0, 8},
	"method":  {"main.source", 0, 8},
	"once":    {"main.conn", 0, 8},
}

// TestWatchCulprits: the last write to the word that a program has died of is traced while it runs,
// and its line is the one to blame. QEMU does not help: it is what a real machine does.
func TestWatchCulprits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/culprits/main.go")
	if err != nil {
		t.Fatal(err)
	}
	path := program(t, "culprits")
	symbols, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { symbols.Close() })
	blame := map[string]int{}
	for i, line := range strings.Split(string(text), "\n") {
		if _, kind, ok := strings.Cut(line, "// culprit "); ok {
			blame[kind] = i + 1
		}
	}
	for kind, word := range fixed {
		for _, cpus := range []int{1, 3} {
			t.Run(fmt.Sprint(kind, "/", cpus), func(t *testing.T) {
				t.Parallel()
				option := fmt.Sprintf("watch=%#x:%d", address(t, path, word.variable)+word.offset, word.bytes)
				_, serial, err := boot(t, Config{Kernel: path, CPUs: cpus}, option+" -- "+kind)
				if err != nil {
					t.Fatal(err)
				}
				var last *labTrace
				for _, tr := range traces(t, symbols, serial) {
					if strings.HasPrefix(tr.Reason, "watch: ") {
						last = tr
					}
				}
				if last == nil {
					t.Fatalf("%s: no write was traced\n%s", option, serial)
				}
				if strings.Contains(serial, "nothing happened") {
					t.Error("the program did not die")
				}
				for _, f := range last.Frames {
					if strings.HasSuffix(f.File, "culprits/main.go") {
						// The innermost call of the program's is it, if that is another's, such as package atomic's.
						if f.Line != blame[kind] {
							t.Errorf("%s at line %d, want %d", f.Function, f.Line, blame[kind])
						}
						return
					}
				}
				t.Errorf("no function of the program's is in the trace: %s", last.chain())
			})
		}
	}
}

// TestWatchField: a field and an element are watched, and the traces name the variable; what a
// pointer leads to is refused.
func TestWatchField(t *testing.T) {
	t.Parallel()
	out, err := zfRun(t, "-smp", "1", "-watch", "main.st.in.m", "-watch", "main.st.row[2]", program(t, "culprits6")).CombinedOutput()
	if exitCode(t, err) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, w := range []string{` written: 0x0 -> 0x3\b[\s\S]*?main\.setM\+[\s\S]*?zf: the place is main\.st\+16\b`, ` written: 0x0 -> 0x7\b[\s\S]*?main\.setRow\+[\s\S]*?zf: the place is main\.st\+32\b`} {
		if !regexp.MustCompile(w).Match(out) {
			t.Errorf("no %s in\n%s", w, out)
		}
	}
	out, _ = exec.Command(zfCommand(t), "run", "-smp", "1", "-timeout", "10m", "-watch", "main.st.row[2]", program(t, "culprits6")).CombinedOutput()
	if !strings.Contains(string(out), " written: 0x0 -> 0x7 (main.st+32)\n") {
		t.Errorf("in few lines:\n%s", out)
	}
	for place, want := range map[string]string{"main.list.next.n": "goes through a pointer", "main.st.q": "has no member q", "main.st.row[4]": "index out of bounds"} {
		if out, err := zfRun(t, "-watch", place, program(t, "culprits6")).CombinedOutput(); exitCode(t, err) != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s", place, err, out)
		}
	}
}
