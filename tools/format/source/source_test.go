package source

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
)

// writeFile writes a file with its folders and returns its path.
func writeFile(t testing.TB, content string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestFind: where a file of an ELF file is looked for.
func TestFind(t *testing.T) {
	dir, cache, other := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("GOMODCACHE", cache)
	t.Setenv("GOWORK", "off")
	writeFile(t, "module example.com/mine\n\ngo 1.21\n", dir, "go.mod")
	own := writeFile(t, "package mine\n", dir, "sub", "own.go")
	module := writeFile(t, "package m\n", cache, "github.com", "!some!one", "m@v1.2.3", "f.go")
	moved := writeFile(t, "int x;\n", other, "lib", "x.c")
	exact := writeFile(t, "int y;\n", other, "only.c")
	text := writeFile(t, "secret", other, "id_rsa")
	pipe := filepath.Join(other, "pipe.go")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(other, "secret.go")
	if err := errors.Join(os.Symlink(text, secret), os.Symlink("lib/x.c", filepath.Join(other, "link.c"))); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	goroot := strings.TrimSpace(string(out))
	s := New(dir, []Remap{{"/build", "/nowhere"}, {"/build/src", filepath.Join(other, "wrong")}, {"/build/src", other}, {"/gone/only.c", exact}})
	for _, tt := range []struct{ file, want string }{
		{own, own},
		{"sub/own.go", own},
		{"example.com/mine/sub/own.go", own},
		{"github.com/SomeOne/m@v1.2.3/f.go", module},
		{"runtime/panic.go", filepath.Join(goroot, "src/runtime/panic.go")},
		{"/build/src/lib/x.c", moved},
		{"/gone/only.c", exact},
		{"/build/srclib/x.c", ""},
		{"/build/lib/x.c", ""},
		{filepath.Join(other, "lib"), ""},
		{text, ""}, // no source
		{pipe, ""},
		{secret, ""}, // a link to what is no source
		{filepath.Join(other, "link.c"), filepath.Join(other, "link.c")},
		{"../" + filepath.Base(other) + "/only.c", ""}, // not in the folders
		{"", ""},
		{"a\x00b.go", ""},
		{strings.Repeat("x/", 4000) + "x.go", ""},
		{"/dev/stdin.go", ""},
	} {
		for range 2 { // the second from memory
			if got, ok := s.Find(tt.file); got != tt.want || ok != (tt.want != "") {
				t.Errorf("Find(%q) = %q, %v; want %q", tt.file, got, ok, tt.want)
			}
		}
	}
	// An empty Old is for paths that are not absolute.
	s = New(dir, []Remap{{"", other}})
	if got, _ := s.Find("lib/x.c"); got != moved {
		t.Errorf("Find(lib/x.c) = %q; want %q", got, moved)
	}
	if got, ok := s.Find("/lib/x.c"); ok {
		t.Errorf("Find(/lib/x.c) = %q; want nothing", got)
	}
	for range 2 * maxPaths {
		s.Find(strings.Repeat("y", len(s.paths)%5000) + ".c")
	}
	if len(s.paths) > maxPaths {
		t.Errorf("%d paths are kept", len(s.paths))
	}
}

func TestParseRemap(t *testing.T) {
	if r, err := ParseRemap("/a=/b=c"); err != nil || r != (Remap{"/a", "/b=c"}) {
		t.Errorf("ParseRemap = %+v, %v", r, err)
	}
	for _, s := range []string{"", "x", "x="} {
		if r, err := ParseRemap(s); err == nil {
			t.Errorf("ParseRemap(%q) = %+v; want an error", s, r)
		}
	}
}

// TestLines: the lines around one, made safe, and read again when the file has changed.
func TestLines(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, "one\r\n\ttwo\tx\n\x1b[2J\u009b\xff\u202efour\n\nlast", dir, "x.c")
	s := New(dir, nil)
	show := func(line, n int) string {
		return strings.Join(ContextLines(s.Lines(file, line, n), line), "\n")
	}
	for _, tt := range []struct {
		line, n int
		want    string
	}{
		{1, 0, "> 1 | one"},
		{2, 1, "  1 | one\n> 2 |     two x\n  3 | \\x1b[2J\\x9b\\xff\\u202efour"},
		{5, 9, "  1 | one\n  2 |     two x\n  3 | \\x1b[2J\\x9b\\xff\\u202efour\n  4 |\n> 5 | last"},
		{6, 1, ""},
		{0, 1, ""},
		{-1, 1, ""},
	} {
		if got := show(tt.line, tt.n); got != tt.want {
			t.Errorf("line %d ± %d = %q; want %q", tt.line, tt.n, got, tt.want)
		}
	}
	writeFile(t, "changed\n", file)
	s.files[0].checked = time.Now().Add(-time.Hour)
	if got := show(1, 0); got != "> 1 | changed" {
		t.Errorf("after a change: %q", got)
	}
	long := writeFile(t, strings.Repeat("x", 1<<20), dir, "long.c")
	if l := s.Lines(long, 1, 0); len(l) != 1 || len(l[0].Text) != maxSourceLine+len("…") {
		t.Errorf("a long line gave %d lines of %d bytes", len(l), len(l[0].Text))
	}
	if l := s.Lines(writeFile(t, "a\x00b\n", dir, "binary.c"), 1, 0); l != nil {
		t.Errorf("a binary file gave %v", l)
	}
	big := filepath.Join(dir, "big.c")
	if err := os.Truncate(writeFile(t, "", big), maxSource+1); err != nil {
		t.Fatal(err)
	}
	if l := s.Lines(big, 1, 0); l != nil {
		t.Errorf("a file beyond the limit gave %d lines", len(l))
	}
	for i := range 3 * maxSources {
		s.Lines(writeFile(t, "x\n", dir, strings.Repeat("n", i+1)+".c"), 1, 0)
	}
	if len(s.files) > maxSources {
		t.Errorf("%d files are kept", len(s.files))
	}
}

func TestCheckLinks(t *testing.T) {
	for s, ok := range map[string]bool{
		FileLinks: true, "vscode://file{path}:{line}": true, "x-y+1.z:{path}": true,
		"": false, "{path}": false, "http://x": false, "9:{path}": false, "x:{path}\x1b": false, "x: {path}": false, "x:{path}\x7f": false,
	} {
		if err := CheckLinks(s); (err == nil) != ok {
			t.Errorf("CheckLinks(%q) = %v; want ok %v", s, err, ok)
		}
	}
}

// FuzzSource: whatever a source file and its name hold, nothing of it drives a terminal,
// and no line is long.
func FuzzSource(f *testing.F) {
	f.Add([]byte("package x\n\tfunc\x1b[2J\r\n"), "x.go", 1)
	f.Add([]byte("\xff\u009b\u2066"), "a b;\x07.c", 1)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, name string, line int) {
		file := filepath.Join(dir, "x.go")
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
		s := New(dir, nil)
		s.env, s.asked = goEnv{GOROOT: dir, GOMODCACHE: dir, GOMOD: filepath.Join(dir, "go.mod"), module: "m"}, true
		if at, ok := s.Find(name); ok && !strings.HasPrefix(at, dir+"/") && !isAbs(name) {
			t.Fatalf("Find(%q) = %q", name, at)
		}
		for _, l := range s.Lines(file, line, 3) {
			for _, r := range l.Text {
				if terminal.IsControl(r) {
					t.Fatalf("%q in %q", r, l.Text)
				}
			}
			if len([]rune(l.Text)) > maxSourceLine+8 {
				t.Fatalf("a line of %d characters", len([]rune(l.Text)))
			}
		}
		for _, c := range []byte(percent(name)) {
			if c <= ' ' || c >= 0x7f || c == ';' {
				t.Fatalf("percent(%q) = %q", name, percent(name))
			}
		}
	})
}
