package trace

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// goProgram builds testdata/foreign/gopanics, edited, and opens it.
func goProgram(t *testing.T, edit func(string) string, flags ...string) (path string, sym *symbol.File) {
	t.Helper()
	src, err := os.ReadFile("testdata/foreign/gopanics/main.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(edit(string(src))), 0o666); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "prog")
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), file)...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=", "GO111MODULE=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if sym, err = symbol.Open(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sym.Close() })
	return path, sym
}

// goTraceback runs the program and returns what it says when it dies.
func goTraceback(t *testing.T, path, how, level string) []byte {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.Command(path, how)
	cmd.Env = append(os.Environ(), "GOTRACEBACK="+level)
	cmd.Stderr = &errs
	cmd.Run() // it dies
	if !bytes.Contains(errs.Bytes(), []byte("goroutine ")) {
		t.Fatalf("%s: %s; want a traceback", how, errs.Bytes())
	}
	return errs.Bytes()
}

// TestForeignGo: of each frame with an offset in the runtime's own tracebacks the
// address is told, and the runtime is never contradicted; another build of the
// program is.
func TestForeignGo(t *testing.T) {
	same := func(s string) string { return s }
	path, sym := goProgram(t, same)
	stripped, bare := goProgram(t, same, "-ldflags=-s -w")
	pie, moved := goProgram(t, same, "-buildmode=pie")
	_, other := goProgram(t, func(s string) string { return strings.Replace(s, "\ntype point", "\n\n\ntype point", 1) })
	for _, how := range []string{"nil", "index", "recovered", "goroutines"} {
		for _, level := range []string{"single", "system"} {
			for _, p := range []struct {
				path string
				sym  *symbol.File
			}{{path, sym}, {stripped, bare}, {pie, moved}} {
				in := goTraceback(t, p.path, how, level)
				r := filter(t, Options{Foreign: true, Symbols: p.sym}, in)
				frames := bytes.Count(in, []byte(" +0x"))
				shown := strings.Count(r.out.String(), " at 0x")
				if frames == 0 || shown < frames || strings.Contains(r.out.String(), "the trace says") || r.log.Len() > 0 {
					t.Errorf("%s, %s: %d of %d frames agree, log %q\n%s", how, level, shown, frames, r.log.String(), r.out.Bytes())
				}
				again := filter(t, Options{Foreign: true, Symbols: p.sym}, r.out.Bytes())
				if !bytes.Equal(again.out.Bytes(), r.out.Bytes()) {
					t.Errorf("%s, %s, again: %s; want %s", how, level, again.out.Bytes(), r.out.Bytes())
				}
			}
		}
	}
	r := filter(t, Options{Foreign: true, Symbols: other}, goTraceback(t, path, "index", "all"))
	if !strings.Contains(r.out.String(), "main.go:45 (the trace says main.go:43)") {
		t.Errorf("another build: %s; want that its lines differ", r.out.Bytes())
	}
}

// instances has a generic function and a generic type's methods, each for several types.
const instances = `package main

type list[A, B any] struct{ a A; b *B }

//go:noinline
func (l *list[A, B]) walk(n int) B {
	if n == 0 {
		return load(l.b)
	}
	return l.walk(n - 1)
}

//go:noinline
func load[T any](p *T) T { return *p }

func main() {
	x, s := 1, "s"
	(&list[string, int]{b: &x}).walk(1)
	(&list[int, string]{b: &s}).walk(1)
	(&list[int8, [3]int]{}).walk(2)
	(&list[float64, [4]int]{}).walk(2)
}
`

// TestForeignGoInstances: of the instances of a generic function the pc of the signal tells which
// one faulted; of those that nothing tells apart, all are shown and said to be so. The runtime with
// GOTRACEBACK=system says which are right.
func TestForeignGoInstances(t *testing.T) {
	path, sym := goProgram(t, func(string) string { return instances })
	frames := func(level string) (all [][]string) {
		r := filter(t, Options{Foreign: true, Symbols: sym}, goTraceback(t, path, "", level))
		for _, line := range strings.Split(r.out.String(), "\n") {
			if _, at, ok := strings.Cut(line, "+0x"); ok && strings.HasPrefix(line, "    main.") && strings.Contains(at, " at 0x") {
				_, at, _ = strings.Cut(at, " at ")
				if _, more, several := strings.Cut(at, " (or: "); several && !strings.HasPrefix(more, "1 of ") {
					all[len(all)-1] = append(all[len(all)-1], at)
				} else {
					all = append(all, []string{at})
				}
			}
		}
		return all
	}
	sure, all := frames("system"), frames("single")
	if len(sure) != 5 || len(all) != 5 {
		t.Fatalf("frames %q, with pc %q; want 5 each: load, walk three times and main", all, sure)
	}
	for i := range all {
		if len(sure[i]) != 1 || len(all[i]) == 1 && all[i][0] != sure[i][0] ||
			!slices.ContainsFunc(all[i], func(at string) bool { return strings.HasPrefix(at+" ", sure[i][0]+" ") }) {
			t.Errorf("frame %d: %q; want %q, or it among those that are marked", i, all[i], sure[i])
		}
	}
	if len(all[0]) != 1 || len(all[1]) < 2 {
		t.Errorf("load at %q, walk at %q; want the one that faulted, and several", all[0], all[1])
	}
}

// TestForeignFault: the pc of a fault is exact and the frame that it interrupted
// too; they are in the calls that were inlined there.
func TestForeignFault(t *testing.T) {
	path, sym := goProgram(t, func(s string) string { return s })
	r := filter(t, Options{Foreign: true, Symbols: sym}, goTraceback(t, path, "nil", "single"))
	out := r.out.String()
	for _, want := range []string{"pc=0x", "]\n    main.innermost (inlined) ", "main.go:26\n    main.inner (inlined) ", "main.go:24\n    main.read+0x", "main.go:22\n"} {
		i := strings.Index(out, want)
		if i < 0 {
			t.Fatalf("output = %s; want %q in it, in this order", r.out.Bytes(), want)
		}
		out = out[i+len(want):]
	}
}

// TestForeignGDB: a backtrace of a program without symbols, by gdb itself, is
// resolved with those that it had.
func TestForeignGDB(t *testing.T) {
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Fatalf("%v: run tools/setup.sh test, which installs it", err)
	}
	p := cImage(t)
	dir := t.TempDir()
	full, bare := filepath.Join(dir, "full"), filepath.Join(dir, "bare")
	for _, args := range [][]string{
		{"gcc", "-O1", "-g", "-no-pie", "-o", full, "testdata/foreign/one.c", "testdata/foreign/two.c"},
		{"strip", "-o", bare, full},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	sym, err := symbol.Open(full)
	if err != nil {
		t.Fatal(err)
	}
	defer sym.Close()
	stop := "break *" + "0x" + hexOf(p.where(t, "pc leaf:18"))
	out, err := exec.Command("gdb", "-nx", "-batch", "-ex", stop, "-ex", "run", "-ex", "bt", bare).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("#1 ")) {
		t.Fatalf("gdb cannot run the program: %v: %s", err, out)
	}
	r := filter(t, Options{Foreign: true, Symbols: sym}, out)
	got := r.out.String()
	for _, want := range []string{"#0 ", "leaf+0x", "one.c:18", "#1 ", "hold (inlined)", "one.c:29", "middle+0x", "one.c:35", "#2 ", "main+0x", "one.c:70"} {
		i := strings.Index(got, want)
		if i < 0 {
			t.Fatalf("output = %s; want %q in it, in this order", r.out.Bytes(), want)
		}
		got = got[i:]
	}
}

func hexOf(v uint64) string { return strings.TrimPrefix(fmt.Sprintf("%#x", v), "0x") }
