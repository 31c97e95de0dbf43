package qemu

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/format/profile"
)

// The sampling profiler: against the walk of a trace at every instruction, against what the
// Go runtime's own profiler says of the same program, and as a user has it.

// byInstructions makes a machine's time go by instructions, two nanoseconds each, so that
// a busy host takes no part in a profile.
var byInstructions = []string{"-qemu", "-icount", "-qemu", "shift=1"}

// profiled runs testdata/profiled with zf and returns what the two say.
func profiled(t *testing.T, flags []string, args ...string) string {
	t.Helper()
	all := append([]string{"-q"}, append(flags, byInstructions...)...)
	cmd := zfRun(t, append(append(all, program(t, "profiled"), "--"), args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "profiled: done true") {
		t.Fatalf("zf %q: %v\n%s", all, err, out)
	}
	return string(out)
}

// readPprof reads a profile.
func readPprof(t *testing.T, path string) *pprof.Profile {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return p
}

// within returns how many samples are in each of the functions or what they call.
func within(p *pprof.Profile, names ...string) (n []float64) {
	n = make([]float64, len(names))
	for _, s := range p.Sample {
		for i, name := range names {
			if holds(s, name) {
				n[i] += float64(s.Value[0])
			}
		}
	}
	return n
}

// holds reports whether a sample's stack has the function.
func holds(s *pprof.Sample, name string) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function.Name == name {
				return true
			}
		}
	}
	return false
}

// TestProfileEveryInstruction: wherever a sample falls, in a prologue, in an epilogue, in a
// function without a frame, on any stack, it has the frames that a trace has there. (That
// these are right, TestEveryInstruction says.)
func TestProfileEveryInstruction(t *testing.T) {
	t.Parallel()
	said := profiled(t, []string{"-m", "256", "-append", "profile=on depot=8000000", "-records", t.TempDir()}, "step")
	m := regexp.MustCompile(`compared (\d+) differ (\d+)`).FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("no comparison in\n%s", said)
	}
	if n, _ := strconv.Atoi(m[1]); n < 100_000 || m[2] != "0" {
		t.Errorf("%s instructions, %s stacks differ; want 100000 or more, and none\n%s", m[1], m[2], said)
	}
}

// TestProfileOnCPUs: with several CPUs each takes samples of its own, so a program that runs on two
// for a second has two seconds of running time.
func TestProfileOnCPUs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cpu")
	profiled(t, []string{"-smp", "2", "-cpuprofile", file, "-profilerate", "1000"}, "both", "1000")
	p := readPprof(t, file)
	if n := within(p, "main.left", "main.right"); n[0] < 850 || n[0] > 1100 || n[1] < 850 || n[1] > 1100 {
		t.Errorf("%.0f samples in main.left, %.0f in main.right; want 1000 each, of a second", n[0], n[1])
	}
}

// TestProfileShares: the kernel's profile and runtime/pprof's of one program agree with
// each other, and with what the program does.
func TestProfileShares(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "cpu")
	said := profiled(t, []string{"-cpuprofile", file, "-profilerate", "19997", "-records", dir, "-append", "syscalls=log"}, "shares", "1500")
	// The runtime does with setitimer where it has no timer for each thread.
	if !strings.Contains(said, " system calls") || strings.Contains(said, "timer_") {
		t.Errorf("want that the system calls are counted, and timer_create answered:\n%s", said)
	}
	theirs, err := filepath.Glob(filepath.Join(dir, "*-pprof"))
	if err != nil || len(theirs) != 1 {
		t.Fatalf("records %q, %v; want one of runtime/pprof's", theirs, err)
	}
	// The kernel's has so many samples that two in a hundred are seven standard deviations.
	for _, p := range []struct {
		name string
		p    *pprof.Profile
		n    float64
	}{{"zf run -cpuprofile", readPprof(t, file), 30_000}, {"runtime/pprof", readPprof(t, theirs[0]), 300}} {
		sum := shares(t, p.name, p.p)
		if sum < p.n*9/10 {
			t.Errorf("%s: %.0f samples; want %.0f or so", p.name, sum, p.n)
		}
		for _, s := range p.p.Sample {
			if holds(s, "main.spin") && !holds(s, "main.one") && !holds(s, "main.three") && !holds(s, "main.six") {
				t.Errorf("%s: a sample in main.spin without its caller", p.name)
			}
		}
	}
}

// shares compares what the three functions of testdata/profiled have of a profile with what
// they have of the work, and returns the number of samples.
func shares(t *testing.T, name string, p *pprof.Profile) (sum float64) {
	t.Helper()
	n := within(p, "main.one", "main.three", "main.six")
	sum = n[0] + n[1] + n[2]
	for i, want := range []float64{0.1, 0.3, 0.6} {
		got := n[i] / sum
		t.Logf("%s: %.0f samples, %.4f of all; want %.1f", name, n[i], got, want)
		if allowed := 7 * math.Sqrt(want*(1-want)/sum); math.Abs(got-want) > allowed {
			t.Errorf("%s: part %d of the time is %.4f; want %.1f, to %.4f", name, i, got, want, allowed)
		}
	}
	return sum
}

// TestProfileStalled: a host that stops the machine for a while makes no function's share
// larger: its ticks are in no stack, or are marked if it was in a system call.
func TestProfileStalled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, pidFile := filepath.Join(dir, "cpu"), filepath.Join(dir, "pid")
	cmd := zfRun(t, "-q", "-cpuprofile", file, "-records", dir, "-qemu", "-pidfile", "-qemu", pidFile,
		program(t, "profiled"), "--", "until", "4000")
	out := new(log)
	cmd.Stdout, cmd.Stderr = out, out
	keys, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait(); out.End() }()
	t.Cleanup(func() { keys.Close(); cmd.Process.Kill() })
	out.For(t, "profiled: spinning")
	pid, err := strconv.Atoi(strings.TrimSpace(readText(t, pidFile)))
	if err != nil {
		t.Fatal(err)
	}
	// The time is the subject: it is the host's, and measured. Between the stalls the machine
	// goes on for a while, so that not all are in the call that has written the line.
	stalled := time.Duration(0)
	passes := func(d time.Duration) {
		began := time.Now()
		await.Poll(t, "the host's time passes", func() bool { return time.Since(began) >= d })
	}
	for range 5 {
		passes(50 * time.Millisecond)
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		passes(200 * time.Millisecond)
		stalled += time.Since(began)
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	io.WriteString(keys, "\n")
	if err := <-ended; err != nil {
		t.Fatalf("zf run: %v", err)
	}
	r := profileRecord(t, dir)
	late := r.Stalled
	for _, c := range r.Counts {
		if c.Late {
			late += c.Ticks
		}
	}
	t.Logf("%d of %d ticks are late, %d of them in no stack; the host stalled the machine for %v", late, r.Ticks, r.Stalled, stalled)
	if want := stalled.Seconds() * float64(r.Hz) * 0.9; float64(late) < want {
		t.Errorf("%d ticks are late; want %.0f or more", late, want)
	}
	p := readPprof(t, file)
	p.Sample = slices.DeleteFunc(p.Sample, func(s *pprof.Sample) bool { return s.Label["late"] != nil })
	shares(t, "of those that are not late", p)
	if note := "ticks are in no stack: the host had stalled the machine"; r.Stalled > r.Ticks/100 && !strings.Contains(out.String(), note) {
		t.Errorf("zf run does not say %q", note)
	}
}

// callsOf are the system calls that functions make.
var callsOf = map[string]string{
	"syscall.write": "write", "syscall.read": "read", "syscall.Kill": "kill", "runtime.clone": "clone gettid",
	"runtime.futex": "futex", "runtime.usleep": "nanosleep", "main.reads": "read", "main.writes": "write",
}

// TestProfileSwitches: a tick that fell due in a system call is of that call, whichever
// thread runs behind it, and no function has a call that it has not made.
func TestProfileSwitches(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cpu")
	profiled(t, []string{"-cpuprofile", file, "-profilerate", "49999"}, "switches")
	p := readPprof(t, file)
	calls := map[string]float64{}
	for _, s := range p.Sample {
		call, ok := strings.CutPrefix(s.Location[0].Line[0].Function.Name, "[kernel] ")
		if !ok {
			continue
		}
	frames:
		for _, l := range s.Location {
			for _, line := range l.Line {
				want, ok := callsOf[line.Function.Name]
				if !ok {
					continue
				}
				calls[line.Function.Name] += float64(s.Value[0])
				if !slices.Contains(strings.Fields(want), call) {
					t.Errorf("%d samples of %s in %s", s.Value[0], call, line.Function.Name)
				}
				break frames
			}
		}
	}
	t.Log(calls)
	if w, r := calls["syscall.write"], calls["syscall.read"]; w+r < 300 || w < r || r < w/4 {
		t.Errorf("%.0f ticks in write and %.0f in read; write copies an eighth more, and wakes the reader", w, r)
	}
	if calls["runtime.clone"] == 0 {
		t.Error("no samples of clone")
	}
}

// TestProfileCalls: time in the kernel is that of the system call.
func TestProfileCalls(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cpu")
	profiled(t, []string{"-cpuprofile", file}, "calls")
	p := readPprof(t, file)
	n := within(p, "[kernel] read", "main.main", "syscall.Read")
	all := 0.0
	for _, s := range p.Sample {
		all += float64(s.Value[0])
		if holds(s, "[kernel] read") && !holds(s, "syscall.Read") && !holds(s, "runtime.mcall") && holds(s, "main.main") {
			t.Error("a read that nobody has called")
		}
	}
	if all < 50 || n[0] < all/4 || n[2] < n[0]*9/10 {
		t.Errorf("%.0f samples, %.0f of them in read; want more than a quarter, of 50 or more, called by syscall.Read (%.0f)", all, n[0], n[2])
	}
}

// TestProfileShown: as a user has it, from the run to each of the pictures.
func TestProfileShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "cpu.pprof")
	said := profiled(t, []string{"-cpuprofile", file, "-profilerate", "1999"}, "deep", "20")
	if !regexp.MustCompile(`zf run: \d+ samples in .*/cpu\.pprof, [0-9.e-]+ % of the running time`).MatchString(said) {
		t.Errorf("zf run says nothing of the profile:\n%s", said)
	}
	top := zfSays(t, 0, "profile", file)
	if !regexp.MustCompile(`(?m)^ +[0-9.]+m?s +(9\d\.\d|100\.0) % .*  main\.spin$`).MatchString(top) {
		t.Errorf("main.spin does not lead\n%s", top)
	}
	lines, flame := filepath.Join(dir, "lines"), filepath.Join(dir, "flame.svg")
	zfSays(t, 0, "profile", "-folded", lines, "-svg", flame, file)
	folded, svg := readText(t, lines), readText(t, flame)
	want := "runtime.goexit;runtime.main;main.main;main.deep;main.deep;"
	if !strings.HasPrefix(folded, want) && !strings.Contains(folded, "\n"+want) {
		t.Errorf("no line of the stacks begins with %s\n%.500s", want, folded)
	}
	if !strings.Contains(svg, "<title>main.spin (") {
		t.Errorf("the flame graph has no main.spin")
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", "-lines", file).CombinedOutput()
	if err != nil || !regexp.MustCompile(`main\.spin .*main\.go:\d+`).Match(out) {
		t.Errorf("go tool pprof: %v\n%s", err, out)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestProfileSampleCost: a sample of a stack of 32 frames that the depot has.
func TestProfileSampleCost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	profiled(t, []string{"-append", "profile=1999", "-records", dir}, "deep", "27")
	r := profileRecord(t, dir)
	per := float64(r.Cost) / float64(r.Samples) * 1e9 / float64(r.CostHz) / 2
	t.Logf("%d samples, %.0f instructions each, %.3f %% of the time", r.Samples, per, 100*r.Overhead())
	if r.Samples < 500 || r.Lost != 0 || per > 1200 {
		t.Errorf("%d samples, %d lost, %.0f instructions each; want 500 or more, none, about 1000", r.Samples, r.Lost, per)
	}
	deep := 0
	for _, c := range r.Counts {
		if frames, _ := r.Stacks.Stack(c.ID); len(frames) >= 32 {
			deep += int(c.Ticks)
		}
	}
	if deep < int(r.Ticks)*9/10 {
		t.Errorf("%d of %d ticks have 32 frames", deep, r.Ticks)
	}
}

// profileRecord reads the one profile in a folder of records.
func profileRecord(t *testing.T, dir string) *profile.Record {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*-"+profile.Kind))
	if err != nil || len(files) != 1 {
		t.Fatalf("records %q, %v; want one profile", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	r, err := profile.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestProfileSmallDepot: ticks without room are counted, and said.
func TestProfileSmallDepot(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cpu")
	said := profiled(t, []string{"-cpuprofile", file, "-append", "depot=4096"}, "alloc", "1500")
	m := regexp.MustCompile(`(\d+) of (\d+) ticks were lost`).FindStringSubmatch(said)
	if m == nil || !strings.Contains(said, "larger depot=") {
		t.Fatalf("a depot of 4 KiB is not said to be full\n%s", said)
	}
	lost, _ := strconv.Atoi(m[1])
	ticks, _ := strconv.Atoi(m[2])
	kept := 0.0
	p := readPprof(t, file)
	for _, s := range p.Sample {
		kept += float64(s.Value[0])
	}
	if lost+int(kept) != ticks || kept == 0 {
		t.Errorf("%d ticks are lost and %.0f kept, of %d", lost, kept, ticks)
	}
	var text bytes.Buffer
	if fmt.Fprint(&text, p); !strings.Contains(text.String(), "ticks were lost") {
		t.Error("the profile itself does not say that ticks were lost")
	}
}

// TestProfileOfDead: a program that dies leaves its profile.
func TestProfileOfDead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cpu")
	args := append([]string{"-q", "-cpuprofile", file}, byInstructions...)
	out, err := zfRun(t, append(args, program(t, "profiled"), "--", "die")...).CombinedOutput()
	if exitCode(t, err) != 1 || !strings.Contains(string(out), "nil pointer dereference") {
		t.Errorf("zf run: %v; want status 1 and a trace\n%s", err, out)
	}
	if n := within(readPprof(t, file), "main.spin"); n[0] < 20 {
		t.Errorf("%.0f samples in main.spin; want 20 or more", n[0])
	}
}

// TestProfileOption: what profile= cannot be is said.
func TestProfileOption(t *testing.T) {
	t.Parallel()
	said := profiled(t, []string{"-append", "profile=fast depot=12"}, "nothing")
	for _, want := range []string{"profile=fast is ignored: want on, off or samples a second", "depot=12 is ignored"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}
