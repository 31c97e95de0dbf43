//go:build sqlite

package qemu

import (
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// TestSQLite: SQLite, with its files mapped, locks them and finds all that it has written, by
// either journal.
func TestSQLite(t *testing.T) {
	t.Parallel()
	elf := built(t, image.BuildOptions{Package: ".", Dir: "testdata/sqlite", Env: testEnv()})
	linux, ours := bootBoth(t, elf, "")
	if ours != linux || strings.Count(ours, " ok 1000000000\n") != 2 {
		t.Errorf("the program wrote\n%s\nand on Linux\n%s", ours, linux)
	}
}
