package waits

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-delve/delve/pkg/proc/core"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

const programs = "../../../qemu/testdata/deadlocks"

var (
	buildLarge = sync.OnceValues(func() (string, error) { return buildOf(programs) })
	buildSmall = sync.OnceValues(func() (string, error) { return buildOf(programs, "-tags=small") })
)

// build returns the executable that has one of the programs, in the smallest form.
func build(program string) (string, error) {
	if program == "server" || program == "body" {
		return buildLarge()
	}
	return buildSmall()
}

var built []string // before tests run side by side

// buildOf builds a program into a folder of its own.
func buildOf(source string, flags ...string) (string, error) {
	dir, err := os.MkdirTemp("", "deadlocks")
	if err != nil {
		return "", err
	}
	exe := filepath.Join(dir, filepath.Base(source))
	built = append(built, exe)
	cmd := exec.Command("go", append(append([]string{"build", "-o", exe}, flags...), ".")...)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return exe, nil
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, exe := range built {
		os.RemoveAll(filepath.Dir(exe))
	}
	os.Exit(code)
}

// start starts one of the programs and returns it once it has begun.
func start(t *testing.T, exe string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(exe, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if !strings.HasPrefix(line, "begin ") {
		t.Fatalf("%v: %q, %v", args, line, err)
	}
	return cmd
}

func analyze(t *testing.T, exe, coreFile string, opt Options) *Graph {
	t.Helper()
	group, err := core.OpenCore(coreFile, exe, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer group.Detach(false)
	file, err := symbol.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	g, err := Analyze(group.Selected, file, opt)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestStopped stops each of the programs that stop, once it has, and wants the culprit named, and
// nobody else.
func TestStopped(t *testing.T) {
	for _, c := range readStops(t) {
		t.Run(c.Program, func(t *testing.T) {
			exe, err := build(c.Program)
			if err != nil {
				t.Fatal(err, exe)
			}
			t.Parallel()
			name := filepath.Join(t.TempDir(), "core")
			// The program says when it begins, and not when it has stopped: it is looked at again
			// and again until it has. Of one that hangs a part is found before, and as long as a
			// thread still looks for a goroutine, one that waits for ever is called stuck.
			cmd := start(t, exe, c.Program, "stay")
			var g *Graph
			await.Poll(t, fmt.Sprintf("findings %q", c.Want), func() bool {
				if err := dump(cmd.Process.Pid, name); err != nil {
					t.Fatal(err)
				}
				g = analyze(t, exe, name, Options{Hang: c.Hang})
				looks := func(f Finding) bool { return strings.HasPrefix(f.Text, "stuck: ") }
				return len(g.Findings) >= len(c.Want) && !slices.ContainsFunc(g.Findings, looks) &&
					(!c.Hang || len(c.differences(g)) == 0)
			})
			c.check(t, g)
		})
	}
}

type stopped struct {
	Program string
	Hang    bool
	Want    []string // a pattern for each finding
}

// readStops reads the table of the programs that stop.
func readStops(t *testing.T) (list []stopped) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(programs, "want.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		pattern, isPattern := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case isPattern:
			c := &list[len(list)-1]
			word := "deadlock"
			if c.Hang {
				word = "hang"
			}
			c.Want = append(c.Want, "^"+word+": "+pattern)
		default:
			name, hang := strings.CutPrefix(line, "hang ")
			list = append(list, stopped{Program: name, Hang: hang})
		}
	}
	if len(list) != 21 {
		t.Fatalf("%d programs, want 21", len(list))
	}
	return list
}

// works are the programs that work.
var works = []string{"mutexes", "readers", "pipeline", "groups", "conds", "selects", "tickers", "server", "contexts", "spinlocks", "yields"}

// TestWorks stops each of the programs that work, wherever it is, and wants nobody named.
func TestWorks(t *testing.T) { testWorks(t, 2) }

// TestWorksOften does so again and again.
func TestWorksOften(t *testing.T) { testWorks(t, 10) }

func testWorks(t *testing.T, times int) {
	for _, program := range works {
		t.Run(program, func(t *testing.T) {
			exe, err := build(program)
			if err != nil {
				t.Fatal(err, exe)
			}
			t.Parallel()
			name := filepath.Join(t.TempDir(), "core")
			cmd := start(t, exe, program)
			for range times {
				if err := dump(cmd.Process.Pid, name); err != nil {
					t.Fatal(err)
				}
				for _, f := range analyze(t, exe, name, Options{}).Findings {
					t.Errorf("named: %s", f.Text)
				}
			}
		})
	}
}

func (c *stopped) check(t *testing.T, g *Graph) {
	t.Helper()
	if g.Note != "" {
		t.Error(g.Note)
	}
	for _, f := range g.Findings {
		t.Log(f.Text)
	}
	for _, d := range c.differences(g) {
		t.Error(d)
	}
}

// differences says what of the findings is not as it is wanted.
func (c *stopped) differences(g *Graph) (list []string) {
	for i, f := range g.Findings {
		if i >= len(c.Want) || !regexp.MustCompile(c.Want[i]).MatchString(f.Text) {
			list = append(list, "not wanted: "+f.Text)
		}
	}
	if len(g.Findings) < len(c.Want) {
		list = append(list, fmt.Sprintf("%d findings, want %q", len(g.Findings), c.Want))
	}
	return list
}

// TestIO: of who waits for a connection it is said which.
func TestIO(t *testing.T) {
	exe, err := build("server")
	if err != nil {
		t.Fatal(err, exe)
	}
	name := filepath.Join(t.TempDir(), "core")
	cmd := start(t, exe, "server")
	await.Poll(t, "one that accepts and one that reads from a connection to it", func() bool {
		if err := dump(cmd.Process.Pid, name); err != nil {
			t.Fatal(err)
		}
		listens, reads := "", ""
		for _, x := range analyze(t, exe, name, Options{}).Goroutines {
			if x.Wait == nil || x.Wait.IO == nil || x.Wait.IO.Descriptor < 0 {
				continue
			}
			io := x.Wait.IO
			link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", cmd.Process.Pid, io.Descriptor))
			if err == nil && !strings.HasPrefix(link, "socket:") {
				t.Errorf("%v: that is %s", io, link)
			}
			if io.Network != "tcp" || !strings.HasPrefix(io.Local, "127.0.0.1:") {
				t.Errorf("%v: want a connection of tcp at 127.0.0.1", io)
			}
			switch {
			case io.Operation == "accept" && io.Peer == "":
				listens = io.Local
			case io.Operation == "read" && io.Peer != "":
				reads = io.Peer + " " + io.Local
			}
		}
		if listens != "" && strings.Contains(reads, listens) {
			t.Logf("%s listens, %s reads", listens, reads)
			return true
		}
		return false
	})
}
