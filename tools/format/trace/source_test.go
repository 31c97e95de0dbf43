package trace

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/source"
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

// sourced is a fake image whose main.f1 is in a file that is here.
func sourced(t testing.TB) (*fakeImage, string) {
	dir := t.TempDir()
	var b strings.Builder
	for i := range 400 {
		b.WriteString("line " + strings.Repeat("i", i%7) + "\tpc=0x200110\n")
	}
	m := testImage()
	for i := range m.funcs {
		m.funcs[i].file = filepath.Join(dir, "main 1.go")
	}
	writeFile(t, b.String(), dir, "main 1.go")
	return m, dir
}

// TestContext: source stands below the frame's line, in traces of all kinds, and stays
// as it is when the output is read again, with and without Context.
func TestContext(t *testing.T) {
	m, dir := sourced(t)
	linux := []byte("RIP: 0010:0x0000000000200110\nCall Trace:\n 0x0000000000200210\n")
	goroutine := []byte("goroutine 1 [running]:\nmain.x()\n\t/x.go:1 +0x1\npc=0x200310\n")
	for _, in := range [][]byte{textForm(sample(), false), textForm(sample(), true), compactForm(sample()), linux, goroutine} {
		opt := Options{Symbols: m, Foreign: true, Context: 2, Dir: dir}
		r := filter(t, opt, in)
		shown := bytes.ReplaceAll(r.out.Bytes(), []byte("\r\n"), []byte("\n"))
		if !bytes.Contains(shown, []byte("main 1.go:16\n          14 | line")) ||
			!bytes.Contains(shown, []byte("\n        > 16 | line i  pc=0x200110\n          17 |")) {
			if !bytes.Equal(in, goroutine) {
				t.Errorf("no source: %s", r.out.Bytes())
			}
		}
		for _, c := range []int{2, 0} {
			if c == 0 && bytes.HasPrefix(in, []byte("zf1:")) {
				continue // see again.go
			}
			again := opt
			again.Context = c
			if a := filter(t, again, r.out.Bytes()); !bytes.Equal(a.out.Bytes(), r.out.Bytes()) || a.stats != r.stats {
				t.Errorf("again with %d lines: %s\nwant %s", c, a.out.Bytes(), r.out.Bytes())
			}
		}
		for line := range strings.Lines(r.out.String()) {
			if len(line) > width+1 && !bytes.Contains(in, []byte(line)) {
				t.Errorf("%q is longer than %d columns", line, width)
			}
		}
	}
	opt := Options{Symbols: m, Context: 2, Dir: dir, Color: true}
	plainly := opt
	plainly.Color = false
	in := textForm(sample(), false)
	if c, p := filter(t, opt, in), filter(t, plainly, in); string(terminal.WithoutColours(c.out.Bytes())) != p.out.String() {
		t.Errorf("in colour: %q\nwithout: %q", c.out.Bytes(), p.out.Bytes())
	}
}

// TestLinks: files that are here are links, no byte of a name ends one, and the words are
// the same as without.
func TestLinks(t *testing.T) {
	m, dir := sourced(t)
	in := append(textForm(sample(), false), "pc=0x200110\n"...)
	opt := Options{Symbols: m, Foreign: true, Dir: dir, Color: true, Sanitize: true}
	without := filter(t, opt, in).out.String()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	at := (&url.URL{Path: dir}).EscapedPath() + "/main%201.go"
	for template, want := range map[string]string{
		source.FileLinks:                   "\x1b]8;;file://" + (&url.URL{Path: host}).EscapedPath() + at + "\x1b\\\x1b[2mmain 1.go:16\x1b[0m\x1b]8;;\x1b\\",
		"vscode://file{path}:{line}":       "\x1b]8;;vscode://file" + at + ":16\x1b\\\x1b[2m",
		"idea://open?file={path}&l={line}": "\x1b]8;;idea://open?file=" + at + "&l=16\x1b\\\x1b[2m",
	} {
		opt.Links = template
		got := filter(t, opt, in).out.String()
		if n := strings.Count(got, want); n != 3 {
			t.Errorf("%s: %d times %q in %q; want 3", template, n, want, got)
		}
		if string(terminal.WithoutColours([]byte(got))) != string(terminal.WithoutColours([]byte(without))) {
			t.Errorf("%s: %q\nwithout %q", template, got, without)
		}
	}
	opt.Links = source.FileLinks
	// What the target sends as a link is shown, not sent on.
	if got := filter(t, opt, []byte("\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\\n")).out.String(); strings.Contains(got, "\x1b") {
		t.Errorf("a link of the target's: %q", got)
	}
	if got := filter(t, Options{Symbols: testImage(), Links: source.FileLinks}, in).out.String(); strings.Contains(got, "\x1b") {
		t.Errorf("links to files that are not here: %q", got)
	}
	if runtime.GOOS == "linux" {
		evil := testImage()
		for i := range evil.funcs {
			evil.funcs[i].file = writeFile(t, "x\n", dir, "a\x1b\\\x07\n;b\xff.go")
		}
		opt.Symbols = evil
		got := filter(t, opt, in).out.String()
		if rest := string(terminal.WithoutColours([]byte(got))); strings.ContainsAny(rest, "\x1b\x07") || !strings.Contains(got, "a%1B%5C%07%0A%3Bb%FF.go") {
			t.Errorf("a hostile name: %q", got)
		}
	}
}
