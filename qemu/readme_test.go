package qemu

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/image"
	"github.com/zeroframe/zeroframe/tools/trace"
)

// The README shows a capture and names the kinds of crash. Both must be what a
// user sees today.

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// numbers differ from build to build: addresses, counts, lines, the build ID.
var (
	buildIDs = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
	numbers  = regexp.MustCompile(`0x[0-9a-f]+|\b[0-9a-f]+\b`)
	spaces   = regexp.MustCompile(` +`)
)

func masked(line string) string {
	line = buildIDs.ReplaceAllString(line, "ID")
	line = numbers.ReplaceAllStringFunc(line, func(n string) string {
		if strings.ContainsAny(n, "0123456789") {
			return "N"
		}
		return n
	})
	return spaces.ReplaceAllString(strings.TrimRight(line, "\r"), " ")
}

func TestReadmeCapture(t *testing.T) {
	path, symbols := lab(t, image.AllLoaders)
	_, _, serial := boot(t, Config{Kernel: path}, "crash=early.nil-write")
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	f, err := trace.NewFilter(&shown, trace.Options{Symbols: symbols, Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte(serial))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(shown.String()), "\n")
	_, rest, _ := strings.Cut(readme(t), "\n```\n")
	capture, _, ok := strings.Cut(rest, "\n```\n")
	if !ok || strings.Count(capture, "\n") < 20 {
		t.Fatalf("the README has no capture")
	}
	i, gap := 0, false
	for _, want := range strings.Split(capture, "\n") {
		if want == "..." {
			gap = true
			continue
		}
		if len(want) > 80 {
			t.Errorf("the README's line %q is longer than 80 columns", want)
		}
		for gap && i < len(got) && masked(got[i]) != masked(want) {
			i++
		}
		if i == len(got) || masked(got[i]) != masked(want) {
			t.Fatalf("the README has %q; the kernel and zf show\n%s", want, strings.Join(got[min(i, len(got)):], "\n"))
		}
		i, gap = i+1, false
	}
	if i != len(got) {
		t.Errorf("the README's capture lacks the end: %q", got[i:])
	}
}

func TestReadmeKinds(t *testing.T) {
	// `early.a` `-b` in a row stands for early.a and, with a's first word, early.a'-b.
	text := readme(t)
	_, _, serial := boot(t, Config{}, "crash=?")
	for _, l := range strings.Split(serial, "\r\n") {
		if !strings.HasPrefix(l, "  early.") {
			continue
		}
		kind := strings.Fields(l)[0]
		if strings.Contains(text, "`"+kind+"`") {
			continue
		}
		if i := strings.LastIndex(kind, "-"); i < 0 || !strings.Contains(text, "`"+kind[i:]+"`") || !strings.Contains(text, "`"+kind[:i]+"-") {
			t.Errorf("the README does not name the kind %s", kind)
		}
	}
}
