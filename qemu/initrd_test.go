package qemu

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// TestInitrd: an archive is passed on to both loaders, whatever its name is, and that of
// the folder for temporary files.
func TestInitrd(t *testing.T) {
	dir := t.TempDir()
	tmp := filepath.Join(dir, "tmp, too")
	if err := os.Mkdir(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	for _, name := range []string{"initrd", "a name, with both"} {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte("070701"), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, l := range []image.Loaders{image.Multiboot, image.PVH} {
			vm, out := start(t, Config{Kernel: guest(t, l), Initrd: name}, "e")
			cmdline := vm.Cmdline()
			if res, err := vm.Wait(); err != nil || res.Outcome != Exited {
				t.Errorf("with initrd %q, %v: %+v, %v, output %q; want the guest to exit", name, l, res, err, out)
			}
			i := slices.Index(cmdline, "-initrd")
			if i < 0 || strings.ContainsAny(cmdline[i+1], " ,") || !strings.ContainsAny(name, " ,") && cmdline[i+1] != name {
				t.Errorf("with initrd %q QEMU gets %q; want a plain path of it", name, cmdline)
			}
		}
	}
	if _, err := Start(t.Context(), Config{Kernel: guest(t, image.AllLoaders), Initrd: filepath.Join(dir, "nosuch")}); !errors.Is(err, ErrQEMU) || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("Start without the archive = %v; want %v and its name", err, ErrQEMU)
	}
}
