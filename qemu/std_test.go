package qemu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The proof by what nobody here wrote: the unmodified tests of standard packages pass
// on the kernel.

// testEnv is the environment for builds.
func testEnv() []string { return append(os.Environ(), "GOAMD64=") }

func TestStandardPackages(t *testing.T) {
	zf := filepath.Join(t.TempDir(), "zf")
	if out, err := exec.Command("go", "build", "-o", zf, "../tools/zf").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, pkg := range []string{
		"sort", "strings", "bytes", "container/heap", "container/list", "strconv", "unicode/utf8",
		"encoding/binary", "encoding/json", "bufio", "text/tabwriter", "sync/atomic", "errors", "io/fs",
	} {
		t.Run(pkg, func(t *testing.T) {
			out, err := exec.Command(zf, "test", "-short", "-timeout", "240s", pkg).Output()
			if err != nil || !strings.Contains(string(out), "ok  \t"+pkg+"\t") {
				t.Errorf("zf test %s: %v\n%s", pkg, err, out)
			}
		})
	}
}
