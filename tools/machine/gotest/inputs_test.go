package gotest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInputs: what is read, directly or by a working folder, makes a difference when it
// changes, and nothing else does.
func TestInputs(t *testing.T) {
	root := t.TempDir()
	long := time.Now().Add(-time.Hour)
	write := func(name, text string) {
		t.Helper()
		long = long.Add(time.Second)
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, long, long); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pkg/open", "pkg/stat", "pkg/sub/relative", "pkg/list/one", "pkg/absolute", "pkg/other", "outside"} {
		write(name, "1")
	}
	if err := os.Symlink("stat", filepath.Join(root, "pkg/link")); err != nil {
		t.Fatal(err)
	}
	in := Inputs{Dir: "/guest/pkg", Host: func(path string) (string, bool) {
		rest, ok := strings.CutPrefix(path, "/guest/")
		return filepath.Join(root, rest), ok
	}}
	log := []byte(logMagic + "getenv HOME\nopen open\nstat link\nopen missing\nopen list\nopen /guest/pkg/absolute\nopen /tmp/x\nchdir /guest/pkg/sub\nopen relative\nstat ../stat\n")
	id := func() string {
		t.Helper()
		s, err := in.ID(log, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	was := id()
	for _, tt := range []struct {
		what   string
		change func()
		same   bool
	}{
		{"nothing", func() {}, true},
		{"a file that is not read", func() { write("pkg/other", "23") }, true},
		{"a file outside", func() { write("outside", "23") }, true},
		{"an opened file", func() { write("pkg/open", "2") }, false},
		{"a file asked about", func() { write("pkg/stat", "2") }, false},
		{"a file at another path", func() { write("pkg/absolute", "2") }, false},
		{"a file in another folder", func() { write("pkg/sub/relative", "2") }, false},
		{"a file that was missing", func() { write("pkg/missing", "") }, false},
		{"a folder's list", func() { write("pkg/list/two", "") }, false},
		{"a file that is gone", func() { os.Remove(filepath.Join(root, "pkg/open")) }, false},
		{"a link", func() {
			os.Remove(filepath.Join(root, "pkg/link"))
			os.Symlink("absolute", filepath.Join(root, "pkg/link"))
		}, false},
	} {
		tt.change()
		is := id()
		if (is == was) != tt.same {
			t.Errorf("with a change of %s the inputs are the same: %v; want %v", tt.what, is == was, tt.same)
		}
		was = is
	}
	began := time.Now()
	long = began
	write("pkg/open", "3")
	if _, err := in.ID(log, began); err == nil || !strings.Contains(err.Error(), "pkg/open has been changed") {
		t.Errorf("a file that is as new as the test: %v", err)
	}
	if _, err := in.ID(log, time.Time{}); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"", "open x\n", logMagic + "open\n", logMagic + "write x\n"} {
		if id, err := in.ID([]byte(wrong), began); err == nil {
			t.Errorf("log %q gives %s", wrong, id)
		}
	}
}
