package qemu

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublic: a program calls all that it may call of the kernel, and each call does what its
// comment says.
func TestPublic(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	traces, snapshots := filepath.Join(dir, "traces"), filepath.Join(dir, "snapshots")
	cmd := zfRun(t, "-q", "-json", traces, "-handles", snapshots, "-append", "record=user", program(t, "public"))
	var out bytes.Buffer
	cmd.Stdout = &out
	status := exitCode(t, cmd.Run())
	said := strings.ReplaceAll(out.String(), "\r", "")
	const want = `early: true 0 [7 1]
true false true
deep: true true
refused: true
reset: true true
secret: true
version: true
`
	if status != 1 || !strings.HasPrefix(said, want) {
		t.Errorf("status %d, and the program says\n%s\nwant 1, and\n%s", status, said, want)
	}
	b, err := os.ReadFile(traces)
	if err != nil {
		t.Fatal(err)
	}
	tr := new(labTrace)
	if err := json.Unmarshal(b, tr); err != nil {
		t.Fatal(err)
	}
	if chain := tr.chain(); tr.Reason != "the program gave up" || chain != "g: main.giveUp main.main runtime.main runtime.goexit" {
		t.Errorf("the trace is of %q: %s", tr.Reason, chain)
	}
	open := zfSays(t, 0, "handles", "-kinds", "buffer", snapshots+".1")
	if !strings.Contains(open, "\n1 buffer, open since ") || !strings.Contains(open, "\n  0x2 (200 B)\n    main.handles ") {
		t.Errorf("of what is open zf handles says\n%s", open)
	}
}
