package trace

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// TestForeignASan: the pc of a report by AddressSanitizer is in the function and on the line
// that the report's own frame #0 names, whether a check or a signal found the fault.
func TestForeignASan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "overflow")
	if out, err := exec.Command("gcc", "-O1", "-g", "-no-pie", "-fsanitize=address", "-o", path, "testdata/foreign/overflow.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sym, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer sym.Close()
	for _, args := range [][]string{nil, {"x"}} {
		cmd := exec.Command(path, args...)
		cmd.Env = append(os.Environ(), "ASAN_OPTIONS=symbolize=1:detect_leaks=0")
		report, err := cmd.CombinedOutput()
		if err == nil {
			t.Fatalf("%v ended well: %s", cmd, report)
		}
		frame := regexp.MustCompile(`(?m)^ *#0 0x[0-9a-f]+ in (\S+) .*/(overflow\.c:[0-9]+)`).FindSubmatch(report)
		if frame == nil {
			t.Fatalf("no frame #0 in %s", report)
		}
		r := filter(t, Options{Symbols: sym, Foreign: true}, report)
		hit := regexp.MustCompile(`(?m)^.*\bpc 0x.*\n    (\S+)\+0x[0-9a-f]+ .*(overflow\.c:[0-9]+)$`).FindSubmatch(r.out.Bytes())
		if r.stats.Foreign != 1 || hit == nil || !bytes.Equal(hit[1], frame[1]) || !bytes.Equal(hit[2], frame[2]) {
			t.Errorf("%v: the pc is %q; want %s %s\n%s", args, hit, frame[1], frame[2], r.out.Bytes())
		}
	}
}
