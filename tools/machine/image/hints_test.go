package image

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHints(t *testing.T) {
	pkgs := []listed{
		{ImportPath: "os/exec", Standard: true, DepOnly: true},
		{ImportPath: "internal/testenv", Standard: true, DepOnly: true, Imports: []string{"os/exec"}},
		{ImportPath: "lib/low", DepOnly: true, Imports: []string{"os/exec", "plugin"}},
		{ImportPath: "lib/mid", DepOnly: true, Imports: []string{"lib/low"}},
		{ImportPath: "lib/other", DepOnly: true, Imports: []string{"lib/mid"}},
		{ImportPath: "main", Name: "main", Imports: []string{"lib/other", "lib/mid"}},
	}
	want := []string{
		`lib/low imports os/exec (imported by lib/mid, by main): there are no processes`,
		`lib/low imports plugin (imported by lib/mid, by main): an image loads no other code`,
	}
	got := hints(pkgs)
	if len(got) != len(want) {
		t.Fatalf("hints = %q; want %d", got, len(want))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("hint %q; want %q", got[i], want[i])
		}
	}
	if got := hints(pkgs[:2]); len(got) > 0 {
		t.Errorf("of imports in the standard library alone the hints are %q; want none", got)
	}
	// As go list -test has them.
	pkgs = []listed{
		{ImportPath: "p [p.test]", ForTest: "p", Imports: []string{"os/exec"}},
		{ImportPath: "p", Imports: nil},
		{ImportPath: "p.test", Name: "main", Imports: []string{"p [p.test]"}},
	}
	if got := hints(pkgs); len(got) != 1 || !strings.HasPrefix(got[0], "p imports os/exec: ") {
		t.Errorf("of a test's import the hints are %q", got)
	}
}

// TestHintBuild: a build says it, once, and goes on.
func TestHintBuild(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":     "module hinted\n\ngo 1.25\n",
		"main.go":    "package main\n\nimport _ \"hinted/lib\"\n\nfunc main() {}\n",
		"lib/lib.go": "package lib\n\nimport \"os/exec\"\n\nvar Command = exec.Command\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var msg bytes.Buffer
	o := BuildOptions{Package: ".", Dir: dir, Output: os.DevNull, Stderr: &msg}
	if _, err := Build(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if want := "note: hinted/lib imports os/exec (imported by hinted): there are no processes"; strings.Count(msg.String(), want) != 1 {
		t.Errorf("the build says %q; want %q once", msg.String(), want)
	}
}
