package qemu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plainFolder is PlainFolder for a test.
func plainFolder(t *testing.T) string {
	t.Helper()
	dir, err := PlainFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestPlainFolder(t *testing.T) {
	plain := plainFolder(t)
	for name, own := range map[string]bool{"x": true, "a b": false, "a,b": false, strings.Repeat("long", 20): false, "none/there": false} {
		tmp := filepath.Join(plain, name)
		if !strings.Contains(name, "/") {
			if err := os.Mkdir(tmp, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("TMPDIR", tmp)
		dir := plainFolder(t)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("with TMPDIR=%s: %s, %v; want a folder of our own", tmp, dir, err)
		}
		if got := filepath.Dir(dir) == tmp; got != own || strings.ContainsAny(dir, notPlain) || len(dir) > maxFolder+24 {
			t.Errorf("with TMPDIR=%s: %s; want it there: %v, and its path plain", tmp, dir, own)
		}
	}
}
