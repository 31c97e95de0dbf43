package goinfo_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// TestItems: this package and tools/machine/image have the same list of items.
func TestItems(t *testing.T) {
	var items []string
	for i := range goinfo.NumItems() {
		name, known := goinfo.Item(i)
		items = append(items, name)
		if known {
			t.Errorf("%s is known in a program that zf build has not made", name)
		}
	}
	if want := image.GoItems(); !slices.Equal(items, want) {
		t.Errorf("items of kernel/goinfo are\n%q;\nthose of tools/machine/image\n%q", items, want)
	}
}

// TestNotFilled: without a table nothing is known, and nothing is believed.
func TestNotFilled(t *testing.T) {
	if goinfo.Known() {
		t.Error("Known() = true without a table")
	}
	if n := goinfo.NumG(); n != 0 {
		t.Errorf("NumG() = %d; want 0", n)
	}
	if _, ok := goinfo.GAt(0); ok {
		t.Error("GAt(0) found a goroutine")
	}
	if s := goinfo.StatusName(1); s != "???" {
		t.Errorf("StatusName(1) = %q; want ???", s)
	}
	if goinfo.SetMaxStack(1 << 20) {
		t.Error("SetMaxStack says that it has set the limit")
	}
	if name, known := goinfo.Item(goinfo.NumItems()); name != "" || known {
		t.Errorf("Item(NumItems()) = %q, %v; want nothing", name, known)
	}
}

// The types of testdata/goroutines.
type (
	report struct {
		Known   bool
		Missing []string
		Gs      []goroutine
		Stacks  string
		Self    thread
		TID     uint64
		Names   []string
		Bad     string
	}
	goroutine struct {
		goinfo.G
		State, Status, Reason             string
		Start, Go                         string
		Dead, Running, InSyscall, Waiting bool
		Saved                             bool
		SavedPC                           string
		SavedSP                           uintptr
	}
	thread struct {
		FS, G, M      uintptr
		Curg          uintptr
		ProcID        uint64
		StackHasLocal bool
	}
)

// program returns testdata/goroutines with its table filled, and its output. The environment
// variable GOTOOLCHAIN chooses another Go version for it.
func program(t *testing.T) (path string, r report) {
	t.Helper()
	programOnce.Do(func() {
		programDir, programErr = os.MkdirTemp("", "goinfo")
		if programErr != nil {
			return
		}
		out := filepath.Join(programDir, "goroutines")
		cmd := exec.Command("go", "build", "-o", out, "./testdata/goroutines")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, msg)
		}
		file, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		notes, err := image.FillGoTable(file, image.KernelPackage+image.GoTableName)
		if err != nil || len(notes) > 0 {
			t.Fatalf("FillGoTable = %q, %v; want nothing to note", notes, err)
		}
		if err := os.WriteFile(out, file, 0o755); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd = exec.Command(out)
		cmd.Stderr = &stderr
		b, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			t.Fatalf("goroutines: %v\n%s", err, stderr.Bytes())
		}
		if err := json.Unmarshal(b, &programReport); err != nil {
			t.Fatal(err)
		}
		programPath = out
	})
	if programErr != nil {
		t.Fatal(programErr)
	}
	if programPath == "" {
		t.Fatal("goroutines could not be built or run")
	}
	return programPath, programReport
}

var (
	programOnce   sync.Once
	programDir    string
	programPath   string
	programReport report
	programErr    error
)

func TestMain(m *testing.M) {
	code := m.Run()
	if programDir != "" {
		os.RemoveAll(programDir)
	}
	os.Exit(code)
}

// told is a goroutine in the text of runtime.Stack.
type told struct {
	id        uint64
	state     string
	top       string // function, the innermost
	createdBy string // function
	parent    uint64
	locked    bool
}

var (
	header    = regexp.MustCompile(`^goroutine (\d+) \[([^],]*)(?:, \d+ minutes)?(, locked to thread)?\]:`)
	createdBy = regexp.MustCompile(`(?m)^created by (.*) in goroutine (\d+)$`)
)

// parseStacks reads the text of runtime.Stack.
func parseStacks(t *testing.T, text string) (all []told) {
	t.Helper()
	for _, s := range strings.Split(strings.TrimSpace(text), "\n\n") {
		m := header.FindStringSubmatch(s)
		if m == nil {
			t.Fatalf("cannot read %q", s)
		}
		g := told{state: m[2], locked: m[3] != ""}
		g.id, _ = strconv.ParseUint(m[1], 10, 64)
		line := strings.Split(s, "\n")[1]
		g.top = line[:strings.LastIndex(line, "(")]
		if m := createdBy.FindStringSubmatch(s); m != nil {
			g.createdBy = m[1]
			g.parent, _ = strconv.ParseUint(m[2], 10, 64)
		}
		all = append(all, g)
	}
	return all
}

// TestGoroutines compares what this package reads with the runtime's own traceback of the same
// goroutines.
func TestGoroutines(t *testing.T) {
	_, r := program(t)
	if !r.Known || len(r.Missing) > 0 {
		t.Fatalf("Known() = %v, missing items %q; want all", r.Known, r.Missing)
	}
	read := map[uint64]goroutine{}
	dead := 0
	for _, g := range r.Gs {
		if g.Dead {
			dead++
			continue
		}
		if old, ok := read[g.ID]; ok {
			t.Errorf("two goroutines %d: %+v and %+v", g.ID, old, g)
		}
		read[g.ID] = g
	}
	if dead == 0 {
		t.Error("no dead goroutine was read; those that ended are missing")
	}
	all := parseStacks(t, r.Stacks)
	if len(all) < 12 {
		t.Fatalf("runtime.Stack tells of %d goroutines; want at least 12", len(all))
	}
	states := map[string]string{} // by the function that the goroutine began with
	for _, w := range all {
		g, ok := read[w.id]
		if !ok {
			t.Errorf("goroutine %d [%s] was not read", w.id, w.state)
			continue
		}
		states[g.Start] = w.state
		if g.State != w.state {
			t.Errorf("goroutine %d: State() = %q; want %q", w.id, g.State, w.state)
		}
		if w.createdBy != "" && (g.Go != w.createdBy || g.ParentID != w.parent) {
			t.Errorf("goroutine %d: created by %s in goroutine %d; want %s in %d", w.id, g.Go, g.ParentID, w.createdBy, w.parent)
		}
		if (g.LockedM != 0) != (w.locked || g.Running) { // main has locked itself since
			t.Errorf("goroutine %d: locked to m %#x; want locked %v", w.id, g.LockedM, w.locked)
		}
		if g.Running {
			continue
		}
		if !g.Saved || g.SavedSP <= g.StackLo || g.SavedSP >= g.StackHi {
			t.Errorf("goroutine %d: SavedState has sp %#x, ok %v; stack is %#x to %#x", w.id, g.SavedSP, g.Saved, g.StackLo, g.StackHi)
		}
		// The runtime omits its own innermost functions (as gopark), so the tops are compared where
		// it does not.
		if g.InSyscall && g.SavedPC != w.top && !strings.HasPrefix(g.SavedPC, "runtime.") {
			t.Errorf("goroutine %d: SavedState is in %s; want %s", w.id, g.SavedPC, w.top)
		}
		if g.Waiting && g.SavedPC != "runtime.gopark" {
			t.Errorf("goroutine %d: SavedState is in %s; want runtime.gopark", w.id, g.SavedPC)
		}
	}
	// Each way of waiting has been compared.
	for start, want := range map[string]string{
		"runtime.main": "running", "main.onReceive": "chan receive", "main.onSend": "chan send", "main.onSelect": "select",
		"main.onMutex": "sync.Mutex.Lock", "main.onGroup": "sync.WaitGroup.Wait", "main.onSleep": "sleep", "main.onForever": "select (no cases)",
		"main.onLocked": "chan receive", "main.onRead": "syscall", "main.onFile": "IO wait", "main.parent": "chan receive", "main.child": "chan receive",
	} {
		if got := states[start]; got != want {
			t.Errorf("the goroutine that began with %s is %q; want %q", start, got, want)
		}
	}
	// The runtime omits its own goroutines from the text; all others must be in it.
	for id, g := range read {
		if !slices.ContainsFunc(all, func(w told) bool { return w.id == id }) && !strings.HasPrefix(g.Start, "runtime.") {
			t.Errorf("goroutine %d, which began with %s, is not in runtime.Stack", id, g.Start)
		}
	}
	if r.Bad != "" {
		t.Errorf("accepted what is no goroutine: %s", r.Bad)
	}
}

func TestStatusNames(t *testing.T) {
	_, r := program(t)
	for i, want := range []string{"idle", "runnable", "running", "syscall", "waiting"} {
		if r.Names[i] != want {
			t.Errorf("StatusName(%d) = %q; want %q", i, r.Names[i], want)
		}
	}
	for _, want := range []string{"dead", "copystack", "preempted"} {
		if !slices.Contains(r.Names, want) {
			t.Errorf("StatusName knows no %q; only %q", want, r.Names)
		}
	}
	if last := r.Names[len(r.Names)-1]; last != "???" {
		t.Errorf("StatusName(1<<31) = %q; want ???", last)
	}
}

// TestThread: from the FS base to the goroutine, to its thread and back.
func TestThread(t *testing.T) {
	_, r := program(t)
	s := r.Self
	if s.G == 0 || s.Curg != s.G {
		t.Errorf("Curg(m) = %#x; want %#x, which GofFS found", s.Curg, s.G)
	}
	if i := slices.IndexFunc(r.Gs, func(g goroutine) bool { return g.Addr == s.G }); i < 0 || r.Gs[i].ID != 1 || r.Gs[i].M != s.M {
		t.Errorf("GofFS = %#x, with m %#x; that is not goroutine 1", s.G, s.M)
	}
	if !s.StackHasLocal {
		t.Error("a local variable is not within the goroutine's stack")
	}
	if s.ProcID != r.TID {
		t.Errorf("ProcID(m) = %d; want %d", s.ProcID, r.TID)
	}
}

// TestSetMaxStack: a recursion dies at the limit that was set, not at the runtime's.
func TestSetMaxStack(t *testing.T) {
	path, _ := program(t)
	var stderr bytes.Buffer
	cmd := exec.Command(path, "overflow")
	cmd.Stderr = &stderr
	if err := cmd.Run(); err == nil {
		t.Error("the endless recursion ended well")
	}
	if want := "goroutine stack exceeds 1048576-byte limit"; !strings.Contains(stderr.String(), want) {
		t.Errorf("the recursion died without %q:\n%.500s", want, stderr.Bytes())
	}
}
