package qemu

// A full core, in the debuggers that it is for: Delve, built as its users build it, and gdb. They
// have to show of a dead machine what the trace says, and every goroutine and variable of the
// program.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
)

// delveVersion is the version of Delve that the tests use.
const delveVersion = "v1.27.2"

// delve returns the path of Delve.
func delve(t testing.TB) string {
	t.Helper()
	return builds.get(t, "delve", "dlv", func(path string) error {
		c := exec.Command("go", "install", "github.com/go-delve/delve/cmd/dlv@"+delveVersion)
		c.Env = append(testEnv(), "GOBIN="+filepath.Dir(path), "GOFLAGS=", "GOOS=", "GOARCH=")
		c.Dir = filepath.Dir(path) // of no module
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("go install Delve: %w\n%s", err, out)
		}
		return nil
	})
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// delveSays runs commands of Delve on a core and returns what it says.
func delveSays(t *testing.T, elf, core string, commands ...string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "commands")
	if err := os.WriteFile(script, []byte(strings.Join(append(commands, "exit"), "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(delve(t), "core", elf, core, "--init", script, "--allow-non-terminal-interactive=true")
	c.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("dlv core: %v\n%s", err, out)
	}
	return escapes.ReplaceAllString(string(out), "")
}

// cored is the image of testdata/cored, not optimized, so that each variable is somewhere.
func cored(t testing.TB) string {
	t.Helper()
	return built(t, image.BuildOptions{Package: "./testdata/cored", Env: testEnv(), GCFlags: "-N -l"})
}

// coreOfRun runs an image with zf run -core and returns the core and the first trace of the death.
func coreOfRun(t *testing.T, elf string, status int, args ...string) (core string, death *labTrace, said string) {
	t.Helper()
	core = filepath.Join(t.TempDir(), "core")
	records := core + ".json"
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	args = slices.Concat([]string{"-q", "-core", core, "-json", records}, args[:at], []string{elf}, args[at:])
	c := zfRun(t, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	c.Run()
	if got := c.ProcessState.ExitCode(); got != status || !strings.Contains(stderr.String(), "wrote "+core) {
		t.Fatalf("zf run -core: exit status %d, want %d\n%s", got, status, &stderr)
	}
	b, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	if line, _, _ := bytes.Cut(b, []byte("\n")); len(line) > 0 {
		death = new(labTrace)
		if err := json.Unmarshal(line, death); err != nil {
			t.Fatal(err)
		}
	}
	return core, death, stderr.String()
}

var framePC = regexp.MustCompile(`(?m)^ ?0 +0x0*([0-9a-f]+) in (\S+)`)

// standsAt checks that the core's first thread stands where the death's trace begins.
func standsAt(t *testing.T, gdb, elf, core string, death *labTrace) {
	t.Helper()
	said := delveSays(t, elf, core, "stack 3")
	m := framePC.FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("Delve shows no frame:\n%s", said)
	}
	pc, _ := strconv.ParseUint(m[1], 16, 64)
	first := death.Frames[0]
	want, _ := strconv.ParseUint(first.Address, 0, 64)
	if first.Kind == "ra" {
		call, ok := opened(t, elf).Code().CallBefore(want)
		if !ok {
			t.Fatalf("no call before %#x", want)
		}
		want = call.At
	}
	if pc != want {
		t.Errorf("Delve's first thread stands at %#x, %s; want %#x, %s", pc, m[2], want, first.Function)
	}
	out, err := exec.Command(gdb, "-nx", "-q", "-batch", "-iex", "set auto-load off", "-ex", "p/x $pc", "-ex", "x/1gx $rsp", "-ex", "info threads", "-ex", "bt 2", elf, core).CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	for _, wanted := range []string{fmt.Sprintf("$1 = %#x\n", want), "* 1 ", "#0 "} {
		if !strings.Contains(string(out), wanted) {
			t.Errorf("gdb does not say %q:\n%s", wanted, out)
		}
	}
	if strings.Contains(string(out), "Cannot access memory") {
		t.Errorf("gdb cannot read the stack:\n%s", out)
	}
}

// waiter is a goroutine of testdata/cored that waits.
var waiter = regexp.MustCompile(`(?m)^. Goroutine (\d+) - .*main\.waits .*\[chan receive\]`)

// wholeProgram checks that Delve has all goroutines and variables of testdata/cored.
func wholeProgram(t *testing.T, elf, core string) {
	t.Helper()
	all := delveSays(t, elf, core, "goroutines -t")
	ids := waiter.FindAllStringSubmatch(all, -1)
	if len(ids) != 3 || !strings.Contains(all, "main.main") {
		t.Fatalf("%d goroutines wait in main.waits; want 3, and main.main:\n%s", len(ids), all)
	}
	commands := []string{"print main.ages", "print main.list", "print main.figure", "print main.jobs.qcount", "print *main.jobs.buf", "print *main.head", "print main.head.next.name", "print main.figure.(main.square).side"}
	for _, id := range ids {
		commands = append(commands, "goroutine "+id[1]+" frame 3 args", "goroutine "+id[1]+" frame 3 locals")
	}
	said := delveSays(t, elf, core, commands...)
	for _, want := range []string{`"ann": 41`, `"bob": 7`, "[3,1,4,1,5,", "main.shape(main.square) {side: 9}", "[4]int [17,18,0,0]", `name: "first"`, `"second"`,
		"number = 1", "number = 2", "number = 3", "local = 10", "local = 20", "local = 30"} {
		if !strings.Contains(said, want) {
			t.Errorf("Delve does not say %q:\n%s", want, said)
		}
	}
}

// TestFullCore: a core of each death.
func TestFullCore(t *testing.T) {
	t.Parallel()
	gdb := need(t, "gdb")
	for _, how := range []string{"panic", "nil", "deadlock"} {
		for _, cpus := range []string{"1", "4"} {
			t.Run(how+"/"+cpus, func(t *testing.T) {
				t.Parallel()
				elf := cored(t)
				core, death, _ := coreOfRun(t, elf, 1, "-smp", cpus, "--", how)
				standsAt(t, gdb, elf, core, death)
				wholeProgram(t, elf, core)
				frames := delveSays(t, elf, core, "goroutine 1", "stack 40")
				if !strings.Contains(frames, "main.dies") || !strings.Contains(frames, "main.main") {
					t.Errorf("goroutine 1 has not its stack:\n%s", frames)
				}
			})
		}
	}
}

// TestFullCoreKernel: the kernel's own deaths.
func TestFullCoreKernel(t *testing.T) {
	t.Parallel()
	gdb := need(t, "gdb")
	for _, tt := range []struct{ kind, cpus, frame string }{
		{"early.nil-write", "1", "main.nilWriteB"},
		{"early.panic", "1", "main.panicB"},
		{"go.syscall-bug", "1", "golab.syscallBugD"},
		{"go.syscall-bug", "4", "golab.syscallBugD"},
		{"go.cpu", "4", "golab.divideOnCPU"},
	} {
		t.Run(tt.kind+"/"+tt.cpus, func(t *testing.T) {
			t.Parallel()
			elf, _ := lab(t, image.AllLoaders)
			core, death, _ := coreOfRun(t, elf, 1, "-smp", tt.cpus, "-append", "crash="+tt.kind)
			standsAt(t, gdb, elf, core, death)
			if said := delveSays(t, elf, core, "stack 5"); !strings.Contains(said, tt.frame) {
				t.Errorf("Delve's stack has no %s:\n%s", tt.frame, said)
			}
			if !strings.HasPrefix(tt.kind, "go.") {
				return
			}
			// The program's thread that the CPU worked for stands where it has entered the kernel.
			said := delveSays(t, elf, core, "goroutines -t", "threads")
			for _, want := range []string{"golab.", "Thread 1 at", fmt.Sprintf("* Thread %d at", 10000+*cpuOf(death))} {
				if !strings.Contains(said, want) {
					t.Errorf("Delve does not say %q:\n%s", want, said)
				}
			}
		})
	}
}

// cpuOf is the number of the CPU that died; with one, a trace says none.
func cpuOf(death *labTrace) *int {
	if death.CPU == nil {
		return new(int)
	}
	return death.CPU
}

// TestFullCoreTimeout: a machine that is ended for its time limit is as it was, and its exit
// status, too.
func TestFullCoreTimeout(t *testing.T) {
	t.Parallel()
	elf := cored(t)
	core := filepath.Join(t.TempDir(), "core")
	var said string
	untilBegun("cored spins\n", func(limit string, says io.Writer) {
		c := zfRun(t, "-q", "-core", core, "-json", core+".json", "-timeout", limit, elf, "--", "spin")
		said = outputTo(says, c)
		if status := c.ProcessState.ExitCode(); status != 3 {
			t.Errorf("zf run -core: exit status %d, want 3", status)
		}
	})
	for _, want := range []string{"wrote " + core, "timeout", "had not died"} {
		if !strings.Contains(said, want) {
			t.Errorf("zf run does not say %q:\n%s", want, said)
		}
	}
	wholeProgram(t, elf, core)
}

// TestFullCoreSources: the same core by the monitor, dumps, and a gdb stub.
func TestFullCoreSources(t *testing.T) {
	t.Parallel()
	elf := cored(t)
	socket := filepath.Join(plainFolder(t), "qmp")
	stub := freePort(t, "tcp4")
	vm, out := start(t, Config{Kernel: elf, Append: "-- sleep", CPUs: 2, GDB: "tcp:" + stub,
		Extra: []string{"-qmp", "unix:" + socket + ",server=on,wait=off"}}, "")
	await.Poll(t, "the goroutines to wait", func() bool {
		_, err := os.Stat(socket)
		return err == nil && strings.Contains(out.String(), "cored sleeps")
	})
	dir := t.TempDir()
	paths := map[string]string{}
	for _, paging := range []bool{false, true} {
		name := fmt.Sprintf("paging=%v", paging)
		paths[name] = filepath.Join(dir, name)
		if _, err := vm.QMP("dump-guest-memory", map[string]any{"paging": paging, "protocol": "file:" + paths[name]}); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"-qmp", socket}, {"-dump", paths["paging=false"]}, {"-dump", paths["paging=true"]}, {"-gdb", stub},
	} {
		core := filepath.Join(dir, "core")
		if out, err := exec.Command(zfCommand(t), append([]string{"core", "-e", elf, "-o", core}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("zf core %v: %v\n%s", args, err, out)
		}
		wholeProgram(t, elf, core)
	}

	// What goes wrong is said in a sentence, and leaves nothing behind.
	cut := filepath.Join(dir, "cut")
	if err := os.WriteFile(cut, readFile(t, paths["paging=false"])[:1<<20], 0o666); err != nil {
		t.Fatal(err)
	}
	other, _ := lab(t, image.AllLoaders)
	left := filepath.Join(dir, "left")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-e", elf, "-dump", cut}, "it ends before the memory does"},
		{[]string{"-e", elf, "-dump", elf}, "it is no dump"},
		{[]string{"-e", other, "-dump", paths["paging=false"]}, "another build"},
		{[]string{"-e", elf, "-qmp", filepath.Join(dir, "none")}, "no such file"},
	} {
		out, err := exec.Command(zfCommand(t), append([]string{"core", "-o", left}, tt.args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("zf core %v: %v, %q; want one line with %q", tt.args, err, out, tt.want)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*left*")); len(found) > 0 {
		t.Errorf("there is %v", found)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, ".*")); len(found) > 0 {
		t.Errorf("there is %v", found)
	}
	vm.Kill()
}

// TestFullCoreDirect: the RAM out of QEMU's own memory is what QEMU writes through the pipe, and a
// machine that ran goes on behind a dump that is not read to its end.
func TestFullCoreDirect(t *testing.T) {
	t.Parallel()
	vm, out := start(t, Config{Kernel: cored(t), Append: "-- sleep", MemoryMiB: 64}, "")
	await.Poll(t, "the program", func() bool { return strings.Contains(out.String(), "cored sleeps") })
	if _, err := vm.QMP("stop", nil); err != nil {
		t.Fatal(err)
	}
	all := [2][]byte{}
	for i := range all {
		dump, err := vm.Memory()
		if err != nil {
			t.Fatal(err)
		}
		d, err := memory.OpenDump(dump, -1)
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		if i == 1 {
			d.Direct(func(start, size uint64) (func(p []byte, addr uint64) error, error) {
				read, err := dump.Direct(start, size)
				if err != nil {
					t.Errorf("block %#x: %v", start, err)
				}
				return func(p []byte, addr uint64) error { calls++; return read(p, addr) }, err
			})
		}
		if err := d.Copy(func(addr uint64, data []byte) error {
			if end := int(addr) + len(data); end <= 64<<20 {
				all[i] = append(all[i], make([]byte, max(end-len(all[i]), 0))...)
				copy(all[i][addr:], data)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := dump.Close(); err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS == "linux" && i == 1 && calls < 32 {
			t.Errorf("%d pieces have come out of QEMU's memory; want nearly all", calls)
		}
	}
	if len(all[0]) < 60<<20 || !bytes.Equal(all[0], all[1]) {
		t.Errorf("%d bytes and %d differ", len(all[0]), len(all[1]))
	}
	if _, err := vm.QMP("cont", nil); err != nil {
		t.Fatal(err)
	}
	dump, err := vm.Memory()
	if err != nil {
		t.Fatal(err)
	}
	if err := dump.Close(); err != nil {
		t.Fatal(err)
	}
	if running, err := vm.monitor.isRunning(); err != nil || !running {
		t.Errorf("behind the dump the machine runs: %v, %v", running, err)
	}
}

// TestFullCoreKilled: a machine that is killed while its memory is read.
func TestFullCoreKilled(t *testing.T) {
	t.Parallel()
	elf := cored(t)
	vm, out := start(t, Config{Kernel: elf, Append: "-- sleep", MemoryMiB: 256}, "")
	await.Poll(t, "the program", func() bool { return strings.Contains(out.String(), "cored sleeps") })
	dump, err := vm.Memory()
	if err != nil {
		t.Fatal(err)
	}
	defer dump.Close()
	b := make([]byte, 64<<10)
	if _, err := dump.Read(b); err != nil {
		t.Fatal(err)
	}
	vm.Kill()
	for err == nil {
		_, err = dump.Read(b)
	}
	if !strings.Contains(err.Error(), "ended while its memory was read") {
		t.Errorf("the dump ends with %v", err)
	}
}

// readFile returns a file.
func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
