package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/zeroframe/zeroframe/qemu/coretest"
)

// TestPrompt: questions to a dead program, from a script and typed.
func TestPrompt(t *testing.T) {
	d := coretest.Make(t, "../postmortem/inspect/testdata/dead")
	t.Run("script", func(t *testing.T) { testPromptScript(t, d) })
	t.Run("terminal", func(t *testing.T) { testPromptTerminal(t, d) })
}

// questioned are lines of a script, and what the prompt has to answer.
var questioned = []struct{ lines, stdout, stderr string }{
	{"print list.next.name\nm[\"k\"]\n\t# nothing\r\n\nprint\ts[3:5]\r", "\n\"n998\"\n42\n[]int len: 2, cap: 6, [3,4]\n", ""},
	{"frame", "\ngoroutine 1, frame 5: main.main\n", ""},
	{"source 1", "    println(\"HeapAlloc\", st.HeapAlloc, \"HeapObjects\", st.HeapObjects)\n> 142 |     panic(\"dead\")\n  143 | }\n", ""},
	{"up\ndown 2", ", frame 6: runtime.main\n", ""},
	{"up\ndown 2", ", frame 4: runtime.gopanic\n", ""},
	{"locals", "\ncaptured = (*main.T)(0x", ""},
	{"goroutine", "goroutine 1 [running]:\n#5 main.main(...)\n", ""},
	{"frame 6\ngoroutine", ", frame 6: runtime.main\n", ""},
	{"goroutines -running", "goroutine 1 [running]:\n#5 main.main(...)\n", ""},
	{"heap -n 3\nheap -held -n 3", "more types; -n shows more\n", ""},
	{"waits -all", "waits for the mutex main.mu at ", ""},
	{"heap -h", "Usage: zf heap", ""},
	{"help", "goroutine [N]        take goroutine N", ""},
	{"nosuch\n1+2", "\n3\n", "nosuch: no variable here has the name nosuch"},
	{"1\nlist.nexd\n2", "\n1\n2\n", "list.nexd: list is of type *main.node, which has no field nexd, only name, next (did you mean next?)\n"},
	{"gorotines", "", "(did you mean goroutines?)"},
	{"gorotine 7", "", "unknown command gorotine (did you mean goroutine?); help lists them\n"},
	{"frame 3\nlist", ", frame 3: runtime.fatalpanic\n", "no variable here has the name list, but there is main.list\n"},
	{"frame 3\nlist.next", ", frame 3: runtime.fatalpanic\n", "no variable here has the name list, but there is main.list\n"},
	{strings.Repeat("a", 1<<14), "", "no variable here has the name aaa"},
	{"down 6", "", "down: frame 0 is the innermost\n"},
	{"up 1000", "", "up: goroutine 1 has no frame 1005: it has "},
	{"frame x", "", "frame: x is no number from 0 on\n"},
	{"frame -1", "", "frame: -1 is no number"},
	{"goroutine 0", "", "goroutine: want a goroutine first: goroutines lists them"},
	{"goroutine 9999", "", "goroutine: no goroutine 9999"},
	{"goroutine 99999999999999999999", "", "is no number"},
	{"locals x", "", "print x shows one variable"},
	{"print", "", "print: want an expression\n"},
	{"heap -nosuch", "", "heap: flag provided but not defined: -nosuch"},
	{"heap other.core", "", "heap: at the prompt it is about "},
	{"waits -e x", "", "waits: at the prompt it is about "},
	{"fn()", "", "a dead program calls no functions"},
	{"\x1b[2J", "", `\x1b[2J`},
}

func testPromptScript(t *testing.T, d coretest.Dead) {
	var script strings.Builder
	var begins []int // the line of each
	for i, q := range questioned {
		fmt.Fprintf(&script, "goroutine 1\n\"case %d\"\n", i)
		begins = append(begins, 1+strings.Count(script.String(), "\n"))
		script.WriteString(q.lines + "\n")
	}
	code, stdout, stderr := zf(strings.NewReader(script.String()+"exit\nnosuch\n"), "print", "-e", d.ELF, d.Core)
	if code != exitUsage || strings.Contains(stderr, "\x1b") {
		t.Errorf("%d, want %d; %q", code, exitUsage, stderr)
	}
	answers := strings.Split(stdout, "\"case ")[1:]
	if len(answers) != len(questioned) {
		t.Fatalf("%d answers to %d questions: %s\n%s", len(answers), len(questioned), stderr, stdout)
	}
	for i, q := range questioned {
		if !strings.Contains(answers[i], q.stdout) {
			t.Errorf("%q: want %q in\n%s", q.lines, q.stdout, answers[i])
		}
		said := ""
		for n := range strings.Count(q.lines, "\n") + 1 {
			_, at, found := strings.Cut(stderr, fmt.Sprintf("zf print: line %d: ", begins[i]+n))
			if line, _, _ := strings.Cut(at, "\n"); found {
				said += line + "\n"
			}
		}
		if !strings.Contains(said, q.stderr) || q.stderr == "" && said != "" {
			t.Errorf("%q: it said %q; want %q", q.lines, said, q.stderr)
		}
	}
	if strings.Count(stderr, "\n") != strings.Count(stderr, "zf print: line ") {
		t.Errorf("there are other lines in %q", stderr)
	}
	if code, _, stderr := zf(strings.NewReader(strings.Repeat("x", maxQuestion+1)), "print", "-e", d.ELF, d.Core); code != exitUsage ||
		!strings.Contains(stderr, "token too long") {
		t.Errorf("a line that is too long: %d, %q", code, stderr)
	}
	if code, stdout, stderr := zf(strings.NewReader("1\n#\n"), "print", "-e", d.ELF, d.Core); code != exitOK || stdout != "1\n" || stderr != "" {
		t.Errorf("a script without an error: %d, %q, %q", code, stdout, stderr)
	}
	if code, stdout, stderr := zf(strings.NewReader("locals\n1\n"), "print", "-json", "-e", d.ELF, d.Core); code != exitOK ||
		!strings.HasPrefix(stdout, `{"name":`) || !strings.HasSuffix(stdout, `{"name":"1","type":"int","value":"1"}`+"\n") {
		t.Errorf("-json: %d, %s\n%s", code, stderr, stdout)
	}
	// A source that is elsewhere.
	moved := t.TempDir()
	if err := os.WriteFile(filepath.Join(moved, "main.go"), []byte(strings.Repeat("//\n", 141)+"// moved\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	from, err := filepath.Abs("../postmortem/inspect/testdata/dead")
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]string{moved: "\n> 142 | // moved\n", t.TempDir(): ""} {
		code, stdout, stderr := zf(strings.NewReader("source 1"), "print", "-source", from+"="+to, "-e", d.ELF, d.Core)
		if want != "" && (code != exitOK || !strings.Contains(stdout, want)) {
			t.Errorf("a moved source: %d, %q, %q", code, stdout, stderr)
		}
		if said := "main.go:142 is not here; "; want == "" && (code != exitUsage || !strings.Contains(stderr, said)) {
			t.Errorf("no source: %d, %q, %q", code, stdout, stderr)
		}
	}
}

func testPromptTerminal(t *testing.T, d coretest.Dead) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	if err := pty.Setsize(master, &pty.Winsize{Rows: 25, Cols: 200}); err != nil {
		t.Fatal(err)
	}
	before, err := term.GetState(int(slave.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	var screen buffer
	go io.Copy(&screen, master)
	done := make(chan int)
	go func() { done <- dispatch([]string{"print", "-e", d.ELF, d.Core}, slave, slave, slave) }()
	at := screen.behind(t, 0, "goroutine 1, frame 5: main.main\r\n")
	at = screen.behind(t, at, "(zf) ")
	for _, step := range []struct{ typed, want string }{
		{"print lis\t.ne\t.na\t", "list.next.name"},
		{"\r", "\"n998\"\r\n"},
		{"held\x1b[D\x1b[D\x1b[D\x1b[D", "held"}, // a name is completed in the middle of a line
		{"len(\x05)\r", "50\r\n"},
		{"nonsense\x03s[3]+40\r", "43\r\n"},
		{"\x1b[A", "s[3]+40"},
		{"\r", "43\r\n"},
		{"heap -hel\t", "heap -held"},
		{"\x03large[7].\t\t", "name  next\r\n"},
		{"a\t\r", "\"l\"\r\n"},
		{"runtime.waitReasonSt\t[1]\r", "\r\n"},
		{"ru\t", "runtime."},
		{"\x03gor\t", "goroutine"},
		{"\t", "goroutine  goroutines"},
		{"\x03goroutine 99999\r", "no goroutine 99999"},
		{"goroutine zz\t\x03nosuch.\t\t\x03help\r", "  quit "},
		{"4", "4"},
	} {
		master.WriteString(step.typed)
		if at = screen.behind(t, at, step.want); strings.HasSuffix(step.typed, "\r") {
			at = screen.behind(t, at, "(zf) ")
		}
	}
	master.WriteString("\x03\x04")
	if code := <-done; code != exitOK {
		t.Errorf("status %d", code)
	}
	after, err := term.GetState(int(slave.Fd()))
	if err != nil || *after != *before {
		t.Errorf("the terminal is not given back: %v", err)
	}
}
