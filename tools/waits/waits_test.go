package waits

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-delve/delve/pkg/proc/core"

	"github.com/zeroframe/zeroframe/tools/await"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

const programs = "../../qemu/testdata/deadlocks"

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "deadlocks")
	if err != nil {
		return "", err
	}
	exe := filepath.Join(dir, "deadlocks")
	cmd := exec.Command("go", "build", "-o", exe, ".")
	cmd.Dir = programs
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return exe, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if exe, err := build(); err == nil {
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
	exe, err := build()
	if err != nil {
		t.Fatal(err, exe)
	}
	for _, c := range stops {
		t.Run(c.Program, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "core")
			// The program says when it begins, and not when it has stopped: it is looked at again
			// and again until it has.
			cmd := start(t, exe, c.Program, "stay")
			var g *Graph
			await.Poll(t, fmt.Sprintf("%d findings", len(c.Want)), func() bool {
				if err := dump(cmd.Process.Pid, name); err != nil {
					t.Fatal(err)
				}
				g = analyze(t, exe, name, Options{Hang: c.Hang})
				return len(g.Findings) >= len(c.Want)
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

// stops are the programs that stop, with what is to be said of each.
var stops = []stopped{
	{"abba", false, []string{`^deadlock: goroutine 1 \(main\.takeBA\) waits for the mutex main\.mu1 at 0x\w+, held by goroutine \d+ \(main\.takeAB\), which waits for the mutex main\.mu2 at 0x\w+, held by goroutine 1$`}},
	{"upgrade", false, []string{`^deadlock: goroutine 1 \(main\.\(\*cache\)\.load\) waits to write-lock the RWMutex main\.theCache\.rw at 0x\w+, held for reading by itself$`}},
	{"lostwakeup", false, []string{`^deadlock: goroutine 1 \(main\.lostWakeUp\) waits for the Cond b\.full of main\.lostWakeUp at 0x\w+; no goroutine can run that would signal it$`}},
	{"chain", false, []string{`^deadlock: goroutine \d+ \(main\.stage\) waits to send to the channel c of main\.chain at 0x\w+ \(full, 1 of 1\); no goroutine can run that would receive from it; goroutine \d+ \(main\.stage\) waits to send to the channel b of main\.chain at 0x\w+ \(full, 1 of 1\), to be received from by it$`}},
	{"nilchan", false, []string{`^deadlock: goroutine 1 \(main\.\(\*hub\)\.listen\) waits to receive from a nil channel; that never ends$`}},
	{"waitgroup", false, []string{`^deadlock: goroutine 1 \(main\.waitGroup\) waits for the WaitGroup main\.group at 0x\w+ \(1 not done\); no goroutine can run that would call Done$`}},
	{"cond", false, []string{`^deadlock: goroutine 1 \(main\.\(\*queue\)\.take\) waits for the Cond main\.theQueue\.some at 0x\w+; no goroutine can run that would signal it$`}},
	{"select", false, []string{`^deadlock: goroutine 1 \(main\.listen\) waits in a select to receive from the channel stop of main\.selectNone at .*; no goroutine can run that would serve one of the cases$`}},
	{"self", false, []string{`^deadlock: goroutine 1 \(main\.\(\*account\)\.lock\) waits for the mutex a\.mu of main\.\S+ at 0x\w+, held by itself$`}},
	{"dining", false, []string{`^deadlock: goroutine \d+ \(main\.\(\*table\)\.philosopher\) waits for the mutex t\.forks\[\d\] of main\.\S+ at 0x\w+(, held by goroutine \d+ \(main\.\(\*table\)\.philosopher\), which waits for the mutex t\.forks\[\d\] of main\.\S+ at 0x\w+){4}, held by goroutine \d+$`}},
	{"once", false, []string{`^deadlock: goroutine 1 \(main\.configName\) waits for the Once main\.config at 0x\w+, run by itself$`}},
	{"semaphore", false, []string{`^deadlock: goroutine \d+ \(main\.limited\) waits to send to the channel main\.places at 0x\w+ \(full, 2 of 2\); no goroutine can run that would receive from it; goroutine 1 \(main\.semaphore\) waits for the WaitGroup all of main\.semaphore`}},
	{"timer", false, []string{`^deadlock: goroutine 1 \(main\.timerStopped\) waits to receive from the channel t\.C of main\.timerStopped at 0x\w+ \(of a timer that is stopped\); it never fires$`}},
	{"pool", false, []string{`^deadlock: goroutine \d+ \(main\.transfer\) waits to receive from the channel main\.conns at 0x\w+ \(empty, 0 of 2\), to be sent to by goroutine \d+ \(main\.transfer\) at .*, which waits to receive from the channel main\.conns`}},
	{"body", true, []string{
		`^hang: goroutine 1 \(main\.bodyNotClosed\) waits for a connection of a net/http\.Transport$`,
		`^hang: goroutine \d+ \(net/http\.\(\*persistConn\)\.readLoop\) waits until the body of a response has been read to its end or closed$`}},
	{"context", false, []string{`^deadlock: goroutine \d+ \(main\.watcher\) waits to receive from the channel .*at 0x\w+ \(unbuffered\); no goroutine can run that would send to it or close it; goroutine 1 \(main\.contextNotCancelled\) waits for the WaitGroup all`}},
	{"finalizer", false, []string{`^deadlock: goroutine 1 \(main\.finalizer\) waits to receive from the channel main\.finalized at 0x\w+ \(unbuffered\), to be sent to by goroutine \d+ \(main\.\(\*resource\)\.release\) at .*, which waits for the mutex main\.registry at 0x\w+, held by goroutine 1$`}},
	{"syscall", true, []string{`^hang: goroutine \d+ \(main\.\(\*device\)\.read\) is in a system call, read; goroutine 1 \(main\.\(\*device\)\.close\) waits for the mutex d\.mu of main\.\S+ at 0x\w+, held by it$`}},
	{"spin", false, []string{`^deadlock: goroutine \d+ \(main\.spinner\) spins until a change of main\.flag at 0x\w+ \(0x0\); no other goroutine can run; goroutine 1 \(main\.spin\) waits to receive from the channel done of main\.spin at 0x\w+ \(unbuffered\), to be closed by it$`}},
	{"osthread", false, []string{`^deadlock: goroutine 1 \(main\.lockedThread\) waits to receive from the channel done of main\.lockedThread at 0x\w+ \(unbuffered\), to be closed by goroutine \d+ \(main\.onMain\) at .*, which waits to send to the channel main\.mainWork at 0x\w+ \(unbuffered\), to be received from by goroutine 1`}},
}

// works are the programs that work.
var works = []string{"mutexes", "readers", "pipeline", "groups", "conds", "selects", "tickers", "server", "contexts", "spinlocks"}

// TestWorks stops each of the programs that work, wherever it is, and wants nobody named.
func TestWorks(t *testing.T) { testWorks(t, 2) }

// TestWorksOften does so again and again.
func TestWorksOften(t *testing.T) { testWorks(t, 20) }

func testWorks(t *testing.T, times int) {
	exe, err := build()
	if err != nil {
		t.Fatal(err, exe)
	}
	for _, program := range works {
		t.Run(program, func(t *testing.T) {
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
	for i, f := range g.Findings {
		t.Log(f.Text)
		if i >= len(c.Want) || !regexp.MustCompile(c.Want[i]).MatchString(f.Text) {
			t.Errorf("not wanted: %s", f.Text)
		}
	}
	if len(g.Findings) < len(c.Want) {
		t.Errorf("%d findings, want %q", len(g.Findings), c.Want)
	}
}
