package qemu

import (
	"strings"
	"testing"
)

// The proof by what nobody here wrote: the unmodified tests of standard packages pass
// on the kernel.

func TestStandardPackages(t *testing.T) {
	t.Parallel()
	for _, pkg := range []string{
		"archive/tar", "bufio", "bytes", "compress/flate", "container/heap", "container/list", "context", "crypto/aes",
		"crypto/sha256", "encoding/binary", "encoding/gob", "encoding/json", "errors", "fmt", "hash/crc32", "html/template",
		"image/png", "io/fs", "log/slog", "maps", "math", "net/netip", "reflect", "regexp", "slices", "sort",
		"strconv", "strings", "sync/atomic", "text/tabwriter", "text/template", "unicode/utf8",
	} {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			out, err := zfTest(t, "-short", "-timeout", "20m", pkg).Output()
			if err != nil || !strings.Contains(string(out), "ok  \t"+pkg+"\t") {
				t.Errorf("zf test %s: %v\n%s", pkg, err, out)
			}
		})
	}
}
