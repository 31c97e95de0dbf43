package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("HOME", home)
	if code, stdout, stderr := zf(nil, "clean"); code != exitOK || !strings.HasPrefix(stdout, "nothing is kept in "+home) || stderr != "" {
		t.Errorf("zf clean without a cache = %d, %q, %q", code, stdout, stderr)
	}
	kept, other := filepath.Join(home, "zeroframe", "index", "x"), filepath.Join(home, "other")
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{kept, other} {
		if err := os.WriteFile(path, make([]byte, 3<<19), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code, stdout, _ := zf(nil, "clean"); code != exitOK || stdout != "keeps   1.5 MiB  "+filepath.Dir(kept)+"\n" {
		t.Errorf("zf clean = %d, %q; want what is kept", code, stdout)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("zf clean removed something: %v", err)
	}
	if code, stdout, _ := zf(nil, "clean", "-cache"); code != exitOK || stdout != "removed   1.5 MiB  "+filepath.Dir(kept)+"\n" {
		t.Errorf("zf clean -cache = %d, %q; want what it removes", code, stdout)
	}
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Errorf("after zf clean -cache: %v; want it gone", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("zf clean -cache removed what is not its own: %v", err)
	}
	if code, _, stderr := zf(nil, "clean", "all"); code != exitUsage || !strings.Contains(stderr, "no arguments") {
		t.Errorf("zf clean all = %d, %q", code, stderr)
	}
}
