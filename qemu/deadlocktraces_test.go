package qemu

// Who waits for whom, from traces alone: no core is there, as on a machine without a hypervisor.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// foundInTraces are the lines that say what keeps a program from going on.
var foundInTraces = regexp.MustCompile(`(?m)^zf: (?:deadlock|hang|stuck): (.*?)\r?$`)

// TestDeadlockTraces: of each of the programs that stop, its death's traces name the same
// culprit as a core does, and nobody else.
func TestDeadlockTraces(t *testing.T) {
	image := program(t, "deadlocks")
	for name, patterns := range wanted(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _ := zfRun(t, "-append", "watchdog=5", image, "--", name).CombinedOutput()
			got := foundInTraces.FindAllStringSubmatch(string(out), -1)
			for i, f := range got {
				t.Log(f[1])
				if i >= len(patterns) || !regexp.MustCompile("^"+patterns[i]).MatchString(f[1]) {
					t.Errorf("not wanted: %s", f[1])
				}
			}
			if len(got) < len(patterns) {
				t.Errorf("%d findings, want %q:\n%s", len(got), patterns, out)
			}
		})
	}
}

// waitsObject is what zf symbolize -json has of a list of goroutines, with its last trace.
type waitsObject struct {
	Goroutines []struct {
		ID       int64
		WaitsFor *struct{ Kind string } `json:"waits_for"`
	}
	Findings []struct{ Finding string }
}

// listEnd is the end of a list of goroutines.
var listEnd = regexp.MustCompile(` in all, of which run \d+\r?\n`)

// TestSpinFound: a goroutine in a loop is found to be in one at each of its instructions, between a
// comparison and its branch, and as the runtime begins to stop it, too. In slow virtual time the
// watchdog meets it at all of these.
func TestSpinFound(t *testing.T) {
	met := make(map[string]bool)
	for i := range 18 {
		// At the slower rate the runtime comes to main later, and is at work more often.
		shift, seconds := 9+i%2, 2+i/2+4*(i%2)
		out, _ := zfRun(t, "-v", "-timeout", "10m", "-qemu", "-icount", "-qemu", fmt.Sprintf("shift=%d,sleep=off", shift),
			"-append", fmt.Sprint("watchdog=", seconds), program(t, "deadlocks"), "--", "spin").CombinedOutput()
		got := foundInTraces.FindAllStringSubmatch(string(out), -1)
		if len(got) != 1 || !strings.Contains(got[0][1], " (main.spinner) spins until a change of main.flag at ") {
			t.Errorf("shift=%d, watchdog=%d: %q\n%s", shift, seconds, got, out)
		}
		if pc := regexp.MustCompile(`zf1 #0 pc (\w+)`).FindSubmatch(out); pc != nil {
			met[string(pc[1])] = true
		}
	}
	if len(met) < 3 {
		t.Errorf("met at %v only", met)
	}
}

// waitsByNMI boots a program on some CPUs and sends it n NMIs, as ^\ does, once the latest list of
// goroutines has what is waited for so often, and returns what the traces of those say.
func waitsByNMI(t *testing.T, cpus, n int, awaited *regexp.Regexp, often int, args ...string) (all []waitsObject) {
	t.Helper()
	vm, out := start(t, Config{Kernel: program(t, "deadlocks"), CPUs: cpus, Append: "-- " + strings.Join(args, " ")}, "")
	out.For(t, "begin "+args[0]+"\r\n")
	from := 0 // where what comes of the latest NMI begins
	for i := 0; i < n; {
		from = len(out.String())
		if err := vm.InjectNMI(); err != nil {
			t.Fatal(err)
		}
		out.Until(t, func(sent string) bool { return listEnd.MatchString(sent[from:]) }, "the goroutines at NMI %d", i+1)
		if len(awaited.FindAllString(out.String()[from:], -1)) >= often || i > 0 {
			i++
		}
	}
	vm.Kill()
	vm.Wait()
	return waitsInLog(t, program(t, "deadlocks"), out.String())
}

// waitsInLog has zf symbolize read a log.
func waitsInLog(t *testing.T, elf, log string) (all []waitsObject) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(log), 0o644); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(zfCommand(t), "symbolize", "-json", "-e", elf, path)
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("zf symbolize: %v\n%s", err, stderr.Bytes())
	}
	for line := range bytes.Lines(b) {
		var tr struct{ Waits *waitsObject }
		if err := json.Unmarshal(line, &tr); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if tr.Waits != nil {
			all = append(all, *tr.Waits)
		}
	}
	return all
}

// TestDeadlockAtKey: ^\, which is an NMI, names a ring of locks in a program that goes on.
func TestDeadlockAtKey(t *testing.T) {
	for _, cpus := range []int{1, 3} {
		t.Run(fmt.Sprint(cpus), func(t *testing.T) {
			t.Parallel()
			all := waitsByNMI(t, cpus, 2, regexp.MustCompile(`\[sync\.Mutex\.Lock`), 2, "abba", "stay")
			if len(all) < 2 {
				t.Fatalf("%d lists of goroutines, want 2", len(all))
			}
			for _, w := range all[len(all)-2:] {
				if len(w.Findings) != 1 || !strings.Contains(w.Findings[0].Finding, "held by goroutine") {
					t.Errorf("%+v; want the ring of locks", w.Findings)
				}
			}
		})
	}
}

// TestWorksAtKey: in ten programs that work, stopped at any moment, nobody is named.
func TestWorksAtKey(t *testing.T) {
	const times = 5
	aWait := regexp.MustCompile(`(?m)^zf1 reason goroutine \d+ \[[^r]`) // not "runnable" nor "running"
	for _, name := range []string{"mutexes", "readers", "pipeline", "groups", "conds", "selects", "tickers", "server", "contexts", "spinlocks", "yields"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lists, waiting := 0, 0
			for _, w := range waitsByNMI(t, 3, times, aWait, 1, name) {
				lists++
				for _, f := range w.Findings {
					t.Errorf("named: %s", f.Finding)
				}
				for _, g := range w.Goroutines {
					if g.WaitsFor != nil {
						waiting++
					}
				}
			}
			t.Logf("%d lists, in which %d goroutines wait", lists, waiting)
			if lists == 0 || waiting == 0 {
				t.Errorf("%d lists with %d goroutines that wait, want some with some", lists, waiting)
			}
		})
	}
}

// TestKernelLock: `zf waits` of a core says who has the kernel lock, as the machine itself does at
// its death.
func TestKernelLock(t *testing.T) {
	image := program(t, "deadlocks")
	core := filepath.Join(t.TempDir(), "core")
	out, _ := exec.Command(zfCommand(t), "run", "-v", "-smp", "3", "-core", core, "-append", "watchdog=5", image, "--", "spin").CombinedOutput()
	told := regexp.MustCompile(`(?m)^(CPU \d has the kernel lock for .*? at (0x\w+)) since`).FindSubmatch(out)
	if told == nil {
		t.Fatalf("nothing is said of the kernel lock:\n%s", out)
	}
	found, err := exec.Command(zfCommand(t), "waits", "-all", "-e", image, core).CombinedOutput()
	if len(found) == 0 {
		t.Fatal(err)
	}
	// The CPU may do something else for a moment than to spin.
	at, _ := exec.Command(zfCommand(t), "addr", "-e", image, string(told[2])).Output()
	whose := `(, goroutine \d+ \(.*\))?`
	if bytes.Contains(at, []byte("main.spinner")) {
		whose = `, goroutine \d+ \(main\.spinner\)`
	}
	if !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(string(told[1]))+whose+`$`).Match(found) || bytes.Contains(found, []byte("(system call ")) {
		t.Errorf("zf waits says\n%s\nwant %q%s, and no system call without a name; %s is %s", found, told[1], whose, told[2], at)
	}
}

// TestDeadlockInMonitor: so does the monitor's list of goroutines.
func TestDeadlockInMonitor(t *testing.T) {
	t.Parallel()
	keys, out, vm := startTyped(t, Config{Kernel: program(t, "deadlocks"), CPUs: 2, Append: "-- abba stay"})
	out.For(t, "begin abba\r\n")
	answer := ""
	for strings.Count(answer, "[sync.Mutex.Lock") < 2 {
		io.WriteString(keys, "\x1d")
		out.Until(t, func(sent string) bool { return strings.HasSuffix(sent, "monitor> ") }, "the prompt")
		answer = asked(t, keys, out, "goroutines trace")
		before := len(out.String())
		io.WriteString(keys, "continue\r")
		out.Until(t, func(sent string) bool { return len(sent) > before+len("continue\r\n")-1 }, "continue")
	}
	vm.Kill()
	vm.Wait()
	all := waitsInLog(t, program(t, "deadlocks"), out.String())
	if len(all) == 0 {
		t.Fatal("nothing is said of who waits")
	}
	if f := all[len(all)-1].Findings; len(f) != 1 || !strings.Contains(f[0].Finding, "held by goroutine") {
		t.Errorf("%+v; want the ring of locks", f)
	}
}
