package qemu

// The place that the last lines of zf run name: the program's own, however it dies.

import (
	"bytes"
	"encoding/json"
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
)

const placesFolder = "testdata/places"

// deathNames are the names of the deaths in the program, and deathMarks the lines to be named.
var (
	deathNames = regexp.MustCompile(`(?m)^\t+(?:deaths\[)?"([a-z-]+)"(?:: |\])`)
	deathMarks = regexp.MustCompile(`// (dies|again): ([A-Za-z-]+)`)
	// What zf says of them.
	firstNamed  = regexp.MustCompile(`(?m)^zf \w+: in (\S+) at \S*?([^/ ]+:\d+) \(\d+ frames, complete\)$`)
	stillNamed  = regexp.MustCompile(`(?m)^zf \w+: in (\S+) at \S*?([^/ ]+:\d+)(?: \(goroutine 1 \[[^\]]*\]\))?$`)
	secondNamed = regexp.MustCompile(`(?m)^zf \w+: then in (\S+) at \S*?([^/ ]+:\d+)$`)
	noneNamed   = regexp.MustCompile(`(?m)^zf \w+: the program's own place cannot be told `)
	exitStatus  = regexp.MustCompile(`(?m)^zf \w+: the program exited with status [13]$`)
)

// A marked place is where a death is to be seen: "panics.go:7". Again is the second, or "".
type marked struct{ dies, again string }

// deathPlaces reads the program for the places of its deaths, by their names.
func deathPlaces(t *testing.T) map[string]marked {
	t.Helper()
	all := make(map[string]marked)
	marks := make(map[string]marked)
	files, _ := filepath.Glob(placesFolder + "/*.go")
	for _, path := range append(files, placesFolder+"/lib/lib.go") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range deathNames.FindAllStringSubmatch(string(text), -1) {
			all[m[1]] = marked{}
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, m := range deathMarks.FindAllStringSubmatch(line, -1) {
				at, mark := fmt.Sprintf("%s:%d", filepath.Base(path), i+1), marks[m[2]]
				if m[1] == "dies" {
					mark.dies = at
				} else {
					mark.again = at
				}
				marks[m[2]] = mark
			}
		}
	}
	for name, mark := range marks {
		all[name] = mark
	}
	return all
}

// unmarked are the deaths that have no place in the program, and why.
var unmarked = map[string]*regexp.Regexp{"exit": exitStatus, "log-fatal": exitStatus, "goexit": noneNamed}

// timeouts are the deaths of programs that do not end by themselves.
var timeouts = map[string]bool{"sleep": true, "spin": true, "read": true, "accept": true, "spin-library": true, "blocked": true,
	"spin-three": true}

// TestPlaces: each death is told by the line of the program that it came from, and a panic in a
// deferred function by both; in JSON likewise.
func TestPlaces(t *testing.T) {
	t.Parallel()
	elf := program(t, "places")
	places := deathPlaces(t)
	if len(places) < 40 {
		t.Fatalf("%d deaths found; want 40 at least", len(places))
	}
	for name, want := range places {
		if strings.HasPrefix(name, "Test") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			diesAt(t, want, unmarked[name], elf, name)
		})
	}
}

// TestPlacesOfCPUs: on however many CPUs, what a program did when its time was over is told by its own
// place, and each CPU that did nothing of it in a line.
func TestPlacesOfCPUs(t *testing.T) {
	t.Parallel()
	elf, places := program(t, "places"), deathPlaces(t)
	for _, name := range []string{"spin", "spin-library", "blocked", "sleep"} {
		for _, cpus := range []string{"1", "4"} {
			t.Run(name+"/"+cpus, func(t *testing.T) {
				t.Parallel()
				out := outOfTime(func(limit string) *exec.Cmd {
					cmd := exec.Command(zfCommand(t), "run", "-timeout", limit, "-smp", cpus, elf, "--", name)
					cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
					return cmd
				})
				m := stillNamed.FindStringSubmatch(out)
				ofZf := strings.Replace(out, name+" begins\n", "", 1)
				if m == nil || m[2] != places[name].dies || strings.Count(ofZf, "\n") > 16 {
					t.Errorf("want %s and 16 lines at most:\n%s", places[name].dies, out)
				}
			})
		}
	}
}

// alike are the numbers of goroutines that have one trace.
var alike = regexp.MustCompile(`^\d+ goroutines \[.*\]: ([\d, ]+)$`)

// TestRunningWithoutCPU: of goroutines that run, by the runtime's word, there is a trace also while
// the kernel has given the CPU to another thread, or is about to give it to theirs. Those that the
// runtime has just stopped may have one trace together, and of one that it is about to stop the
// number, then 0, is not known.
func TestRunningWithoutCPU(t *testing.T) {
	t.Parallel()
	want := deathPlaces(t)["spin-three"].dies
	elf := program(t, "places")
	vm, out := start(t, Config{Kernel: elf, Append: "-- spin-three"}, "")
	out.For(t, "spinning\r\n")
	var answers []string
	for n := range 40 {
		from := len(out.String())
		if err := vm.InjectNMI(); err != nil {
			t.Fatal(err)
		}
		out.Until(t, func(sent string) bool { return listEnd.MatchString(sent[from:]) }, "the goroutines at NMI %d", n+1)
		answers = append(answers, out.String()[from:])
	}
	vm.Kill()
	vm.Wait()
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(zfCommand(t), "symbolize", "-json", "-e", elf, file).Output()
	if err != nil {
		t.Fatal(err)
	}
	var spin []map[string]bool // by NMI
	for line := range bytes.Lines(text) {
		var trace struct {
			Kind, Reason string
			Goroutine    int
			Culprit      *int
			Frames       []labFrame
		}
		if err := json.Unmarshal(line, &trace); err != nil {
			t.Fatal(err)
		}
		if trace.Kind == "nmi" {
			spin = append(spin, map[string]bool{})
		}
		if trace.Culprit == nil {
			continue // of a CPU that is at the runtime's work
		}
		if f := trace.Frames[*trace.Culprit]; fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line) != want {
			continue
		}
		numbers := []string{strconv.Itoa(trace.Goroutine)}
		if m := alike.FindStringSubmatch(trace.Reason); m != nil {
			numbers = strings.Split(m[1], ", ")
		}
		for _, g := range numbers {
			spin[len(spin)-1][g] = true
		}
	}
	if len(spin) != len(answers) {
		t.Fatalf("%d traces of NMIs; want %d", len(spin), len(answers))
	}
	all := 0 // at the first NMIs not all have come there
	for n, now := range spin {
		if len(now) > 3 {
			delete(now, "0") // the one without a number is one of the three
		}
		if all = max(all, len(now)); len(now) < all {
			t.Errorf("NMI %d: the goroutines %v spin; want three:\n%s", n+1, slices.Collect(maps.Keys(now)), answers[n])
		}
	}
	if all != 3 {
		t.Errorf("%d goroutines spin; want 3", all)
	}
}

// TestPlacesOfTests: of what dies in a test the test's own place is named, not that of package
// testing, which panics again.
func TestPlacesOfTests(t *testing.T) {
	t.Parallel()
	for name, want := range deathPlaces(t) {
		if strings.HasPrefix(name, "Test") {
			t.Run(name, func(t *testing.T) {
				saysAt(t, firstNamed, want, nil, outputOf(zfTest(t, "-count=1", "-timeout", "10m", "-run", "^"+name+"$", "./"+placesFolder)))
			})
		}
	}
}

// TestPlacesOfBuilds: so it is in images that were built in other ways.
func TestPlacesOfBuilds(t *testing.T) {
	t.Parallel()
	places := deathPlaces(t)
	for _, flags := range []string{"-ldflags=-w", "-ldflags=-s -w", "-trimpath", "-gcflags=all=-N -l"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			elf := filepath.Join(t.TempDir(), "places.elf")
			if out, err := exec.Command(zfCommand(t), "build", flags, "-o", elf, "./"+placesFolder).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, name := range []string{"nil-map", "waitgroup", "done", "unlock", "callback", "generic", "once-func", "repanic", "goroutine"} {
				t.Run(name, func(t *testing.T) {
					diesAt(t, places[name], nil, elf, name)
				})
			}
		})
	}
}

// diesAt has the program die, and compares what is said of the place with what should be.
func diesAt(t *testing.T, want marked, none *regexp.Regexp, elf, name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "traces")
	run := func(limit string) *exec.Cmd {
		return zfRun(t, "-timeout", limit, "-q", "-json", file, elf, "--", name)
	}
	if timeouts[name] {
		saysAt(t, stillNamed, want, none, outOfTime(run))
		return // the first trace is that of the CPU
	}
	function := saysAt(t, firstNamed, want, none, outputOf(run("10m")))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if none == exitStatus && len(first) == 0 {
		return
	}
	var trace struct {
		Culprit *int
		Frames  []labFrame
	}
	if err := json.Unmarshal(first, &trace); err != nil {
		t.Fatal(err)
	}
	if (trace.Culprit == nil) != (want.dies == "") {
		t.Fatalf("the JSON's culprit: %v", trace.Culprit)
	}
	if trace.Culprit != nil {
		f := trace.Frames[*trace.Culprit]
		if at := fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line); at != want.dies || !strings.HasSuffix(f.Function, function) {
			t.Errorf("the JSON names %s at %s; want %s at %s", f.Function, at, function, want.dies)
		}
	}
}

// outOfTime runs the program until its time is over, and returns what was said.
func outOfTime(command func(limit string) *exec.Cmd) (said string) {
	untilBegun("begins\n", func(limit string, says io.Writer) {
		said = outputTo(says, command(limit))
	})
	return said
}

// outputOf runs a command and returns what it says. Its status is others' affair.
func outputOf(cmd *exec.Cmd) string { return outputTo(io.Discard, cmd) }

// outputTo passes it on, too, as it comes.
func outputTo(to io.Writer, cmd *exec.Cmd) string {
	var said bytes.Buffer
	cmd.Stdout = io.MultiWriter(&said, to)
	cmd.Stderr = cmd.Stdout
	cmd.Run()
	return said.String()
}

// saysAt compares what the last lines of a command say of the place, by a pattern, with what they
// should, and returns the function that they name.
func saysAt(t *testing.T, named *regexp.Regexp, want marked, none *regexp.Regexp, said string) (function string) {
	t.Helper()
	var got marked
	if m := named.FindStringSubmatch(said); m != nil {
		function, got.dies = m[1], m[2]
	}
	if m := secondNamed.FindStringSubmatch(said); m != nil {
		got.again = m[2]
	}
	if got != want || none != nil && !none.MatchString(said) || none == nil && want.dies == "" {
		t.Errorf("named is %+v; want %+v, %v:\n%s", got, want, none, said)
	}
	return function
}
