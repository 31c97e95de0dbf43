package qemu

// A program that dies on the kernel, read by zf's own packages from the full core: its goroutines
// are those of Go's own traceback, which the program printed as it died, and those that Delve
// lists; its heap is what the runtime's statistics say.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/postmortem/heap"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

// deadProgram runs the program and returns its image, its core, and what it said.
func deadProgram(t *testing.T) (elf, core, said string) {
	t.Helper()
	elf = built(t, image.BuildOptions{Package: "../tools/postmortem/inspect/testdata/dead", Env: testEnv()})
	core = filepath.Join(t.TempDir(), "core")
	c := zfRun(t, "-q", "-core", core, "-append", "env.GOTRACEBACK=crash", elf)
	out, _ := c.CombinedOutput()
	if code := c.ProcessState.ExitCode(); code != 1 {
		t.Fatalf("exit status %d, want 1\n%s", code, out)
	}
	return elf, core, string(out)
}

// shown is a goroutine as a line: number, status, functions. A generic function has dots for its
// types in a traceback, and the runtime's gopanic is panic there.
func shown(g *inspect.Goroutine) string {
	s := fmt.Sprintf("%d [%s]", g.ID, g.Status())
	for i := range g.Frames {
		f := g.Frames[i].Function
		if b := strings.IndexByte(f, '['); b >= 0 {
			f = f[:b] + "[...]"
		}
		s += " " + strings.Replace(f, "runtime.gopanic", "panic", 1)
	}
	return s
}

// TestDeadProgram: zf, Go's traceback and Delve agree on the goroutines; the heap has the bytes
// that the runtime counts; variables have their values.
func TestDeadProgram(t *testing.T) {
	elf, core, said := deadProgram(t)
	p, err := inspect.Open(core, elf, false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if !p.BuildKnown() {
		t.Error("the core does not say its build")
	}
	ours, err := p.Goroutines()
	if err != nil {
		t.Fatal(err)
	}
	text, err := inspect.ReadTraceback(strings.NewReader(said))
	if err != nil || len(text) < 15 {
		t.Fatalf("%d goroutines, %v, in\n%s", len(text), err, said)
	}
	slices.SortFunc(text, func(a, b *inspect.Goroutine) int { return int(a.ID - b.ID) })
	if len(ours) != len(text) {
		t.Fatalf("%d goroutines; the traceback has %d", len(ours), len(text))
	}
	for i, g := range ours {
		have, want := shown(g), shown(text[i])
		if g.State == "running" || g.State == "syscall" {
			// The core has what the runtime did after it had printed, and the system call itself.
			head := fmt.Sprintf("%d [%s]", g.ID, g.Status())
			tail := strings.TrimPrefix(want, head)
			if strings.HasPrefix(have, head) && strings.HasSuffix(have, tail) {
				continue
			}
		}
		if have != want {
			t.Errorf("%s\nwant\n%s", have, want)
		}
	}

	listed := map[int64]string{}
	for _, m := range regexp.MustCompile(`(?m)^[* ] Goroutine (\d+) - (?:.*\[(.*)\])?`).FindAllStringSubmatch(delveSays(t, elf, core, "goroutines"), -1) {
		id, _ := strconv.ParseInt(m[1], 10, 64)
		why, _, _ := strings.Cut(m[2], " 9") // behind it Delve has since when
		listed[id] = why
	}
	if len(listed) != len(ours) {
		t.Errorf("Delve lists %d goroutines, zf %d", len(listed), len(ours))
	}
	for _, g := range ours {
		if why, ok := listed[g.ID]; !ok || !strings.HasPrefix(why, g.Wait) {
			t.Errorf("goroutine %d [%s]; Delve: %t, %q", g.ID, g.Status(), ok, why)
		}
	}

	for expr, want := range map[string]string{"list.next.name": `"n998"`, `m["k"]`: "42", "len(c)": "2", "s[3:5]": "[]int len: 2, cap: 6, [3,4]"} {
		if v, err := p.Eval(expr, inspect.Place{}, inspect.DefaultLimits); err != nil || v.String() != want {
			t.Errorf("%s = %s, %v; want %s", expr, v.String(), err, want)
		}
	}

	h, err := heap.Open(p, elf)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`HeapAlloc (\d+) HeapObjects (\d+)`).FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("no statistics in\n%s", said)
	}
	for i, have := range []uint64{h.Bytes, h.Objects} {
		want, _ := strconv.ParseUint(m[i+1], 10, 64)
		if max(have, want)-min(have, want) > want/100 {
			t.Errorf("%s; runtime.MemStats had %s bytes in %s objects", h.Summary(), m[1], m[2])
		}
	}
}

// TestDeadProgramCommands: the commands on a core of the kernel, as a user types them.
func TestDeadProgramCommands(t *testing.T) {
	elf, core, said := deadProgram(t)
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}
	svg := filepath.Join(t.TempDir(), "heap.svg")
	for _, test := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"goroutines", "-e", elf, "-blocked", core}, 0, `(?m)^goroutine \d+ \[sync\.Mutex\.Lock\]:$`},
		{[]string{"goroutines", "-e", elf, "-running", "-json", core}, 0, `^\{"id":1,"state":"running"`},
		{[]string{"goroutines", "-e", elf, log}, 0, `(?m)^3 goroutines \[chan receive\]:$`},
		{[]string{"goroutines", "-e", core, core}, 2, `core`},
		{[]string{"print", "-e", elf, core, "list.name", "len(held)"}, 0, `^"n999"\n50\n$`},
		{[]string{"print", "-e", elf, "-goroutine", "1", core}, 0, `^runtime\.`},
		{[]string{"print", "-e", elf, core, "nosuch"}, 2, `no variable here has the name nosuch`},
		{[]string{"heap", "-e", elf, core}, 0, `(?m)^ +48000 +\d+\.\d% +2000  main\.node$`},
		{[]string{"heap", "-e", elf, "-held", core}, 0, `(?m)  main\.held$`},
		{[]string{"heap", "-e", elf, "-svg", svg, core}, 0, `zf heap: wrote `},
		{[]string{"heap", "-e", elf, log}, 2, `no ELF core file`},
	} {
		c := exec.Command(zfCommand(t), test.args...)
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		c.Run()
		if code := c.ProcessState.ExitCode(); code != test.status || !regexp.MustCompile(test.want).Match(out.Bytes()) {
			t.Errorf("zf %q: status %d, want %d and %s:\n%s", test.args, code, test.status, test.want, out.String())
		}
	}
	if b, err := os.ReadFile(svg); err != nil || !bytes.Contains(b, []byte("main.held")) {
		t.Errorf("%v: the flame graph does not have main.held", err)
	}
}
