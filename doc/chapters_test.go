package doc

// The first block of README.md and of each chapter is typed into a shell, and what it
// prints must be what stands there, except for numbers. The README's first block is what
// `make run` shows.

import (
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// An example is a block of commands, and what they print.
type example struct {
	script string // with each command printed before it runs
	prints []string
}

// readExample returns the first block of a file. A command begins with "$ " and goes on in
// lines with "> ".
func readExample(t *testing.T, file string) (e example) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, block, opened := strings.Cut(string(b), "\n```")
	lang, block, _ := strings.Cut(block, "\n")
	block, _, closed := strings.Cut(block, "\n```\n")
	if !opened || !closed || lang != "console" || !strings.HasPrefix(block, "$ ") {
		t.Fatalf("%s does not begin with an example, a block of console lines", file)
	}
	var script strings.Builder
	lines := strings.Split(block, "\n")
	for i := 0; i < len(lines); i++ {
		command, ok := strings.CutPrefix(lines[i], "$ ")
		e.prints = append(e.prints, lines[i])
		if !ok {
			continue
		}
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "> ") {
			i++
			e.prints = append(e.prints, lines[i])
			command += "\n" + lines[i][2:]
		}
		shown := "$ " + strings.ReplaceAll(command, "\n", "\n> ")
		script.WriteString("printf '%s\\n' '" + strings.ReplaceAll(shown, "'", `'\''`) + "'\n" + command + "\n")
	}
	e.script = script.String()
	return e
}

// workshop is a folder with links to the module's files, and with the images that the
// examples share: README.md's example makes them.
var workshop = sync.OnceValues(func() (string, error) {
	root, err := filepath.Abs("..")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(scratch, "workshop")
	if err := link(root, dir); err != nil {
		return "", err
	}
	for _, p := range []string{"./tools/zf", "./tools/receive/zf-receive"} {
		build := exec.Command("go", "build", "-o", filepath.Join(scratch, "bin")+"/", p)
		build.Dir, build.Stderr = root, os.Stderr
		if err := build.Run(); err != nil {
			return "", err
		}
	}
	return dir, nil
})

// link makes folder dir with links to all that is in from.
func link(from, dir string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// scratch is the tests' folder.
var scratch string

func TestMain(m *testing.M) {
	os.Setenv("ZF_ACCEL", "tcg") // whatever this machine has
	os.Exit(func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "zf-doc-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(scratch)
		return m.Run()
	}())
}

// freePort returns a port of UDP on which nobody listens, nor on the next one, which is for
// the parity of traces.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		// It is below those that systems choose by themselves: nobody else takes it in between.
		port := 20000 + rand.IntN(10000)
		free := true
		for _, p := range []int{port, port + 1} {
			c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p})
			if free = free && err == nil; err == nil {
				c.Close()
			}
		}
		if free {
			return strconv.Itoa(port)
		}
	}
	t.Fatal("no port is free")
	return ""
}

// run types the example of a file in folder dir, and holds what it prints against the file.
func run(t *testing.T, file, dir string) {
	t.Helper()
	e := readExample(t, file)
	if strings.Contains(e.script, "127.0.0.1:6666") { // somebody else may listen there
		free := freePort(t)
		e.script = strings.ReplaceAll(e.script, "6666", free)
		for i, line := range e.prints {
			e.prints[i] = strings.ReplaceAll(line, "6666", free)
		}
	}
	shell := exec.Command("bash", "-c", e.script)
	shell.Dir = dir
	shell.Env = append(os.Environ(), "PATH="+filepath.Join(scratch, "bin")+":"+os.Getenv("PATH"))
	out, _ := shell.CombinedOutput() // an example may show what fails
	text := strings.ReplaceAll(strings.TrimRight(string(out), "\n"), filepath.Join(scratch, "workshop")+"/", "")
	compare(t, file, e.prints, strings.Split(text, "\n"))
}

// What differs from run to run: addresses, counts, times, lines, build IDs.
var (
	escapes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
	numbers = regexp.MustCompile(`\b(?:0x[0-9a-f]+|[0-9a-f]{16,}|[0-9]+(?:\.[0-9]+)?(?:[mun]?s)?|[0-9a-f]*[0-9][0-9a-f]*)\b`)
	spaces  = regexp.MustCompile(` +`)
)

func masked(line string) string {
	line = escapes.ReplaceAllString(strings.TrimRight(line, "\r "), "")
	return spaces.ReplaceAllString(numbers.ReplaceAllString(line, "N"), " ")
}

// compare reports where got differs from want, in which "..." stands for any lines, and for
// the rest of a line.
func compare(t *testing.T, file string, want, got []string) {
	t.Helper()
	same := func(want, got string) bool {
		begin, cut := strings.CutSuffix(masked(want), "...")
		return masked(got) == begin || cut && strings.HasPrefix(masked(got), begin)
	}
	i, gap := 0, false
	for _, w := range want {
		if w == "..." {
			gap = true
			continue
		}
		at := i
		for gap && i < len(got) && !same(w, got[i]) {
			i++
		}
		if i == len(got) || !same(w, got[i]) {
			t.Fatalf("%s has %q; the example prints\n%s", file, w, strings.Join(got[min(at, len(got)):], "\n"))
		}
		i, gap = i+1, false
	}
	if i != len(got) && !gap {
		t.Errorf("%s lacks the end of what the example prints:\n%s", file, strings.Join(got[i:], "\n"))
	}
}

// TestReadme: the README is short, and shows a whole crash that fits on a terminal.
func TestReadme(t *testing.T) {
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); n > 200 {
		t.Errorf("README.md has %d lines; want 200 at most", n)
	}
	shown := readExample(t, "../README.md").prints
	if len(shown) < 15 {
		t.Errorf("README.md shows %d lines of a crash", len(shown))
	}
	for _, line := range shown {
		if len(line) > 80 {
			t.Errorf("README.md's line %q is longer than 80 columns", line)
		}
	}
}

// checkKinds: crashlab.md names each kind of crash. `early.a` `-b` in a row of its table
// stands for early.a and, with a's first word, early.a'-b.
func checkKinds(t *testing.T, shop string) {
	t.Helper()
	b, err := os.ReadFile("crashlab.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	list := exec.Command(filepath.Join(scratch, "bin", "zf"), "run", "-q", "-append", "crash=?", "crashlab.elf")
	list.Dir = shop
	out, _ := list.CombinedOutput() // the kernel says them
	kinds := 0
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "  early.") {
			continue
		}
		kinds++
		kind := strings.Fields(line)[0]
		if strings.Contains(text, "`"+kind+"`") {
			continue
		}
		if i := strings.LastIndex(kind, "-"); i < 0 || !strings.Contains(text, "`"+kind[i:]+"`") || !strings.Contains(text, "`"+kind[:i]+"-") {
			t.Errorf("crashlab.md does not name the kind %s", kind)
		}
	}
	if kinds < 30 {
		t.Errorf("the crash lab lists %d kinds:\n%s", kinds, out)
	}
}

func TestChapters(t *testing.T) {
	shop, err := workshop()
	if err != nil {
		t.Fatal(err)
	}
	run(t, "README.md", shop)
	run(t, "../README.md", shop)
	checkKinds(t, shop)
	files, err := filepath.Glob("*.md")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d chapters, %v", len(files), err)
	}
	for _, file := range files {
		if file == "README.md" {
			continue
		}
		t.Run(strings.TrimSuffix(file, ".md"), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(scratch, file)
			if err := link(shop, dir); err != nil {
				t.Fatal(err)
			}
			run(t, file, dir)
		})
	}
}
