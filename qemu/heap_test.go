package qemu

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/handle"
)

// The heap profile of a program.

// TestResourceHeap: the heap profile, as go tool pprof reads it, and as zf leaks does.
func TestResourceHeap(t *testing.T) {
	t.Parallel()
	file, raw := filepath.Join(t.TempDir(), "heap"), t.TempDir()
	cmd := exec.Command(zfCommand(t), "run", "-q", "-timeout", "10m", "-memprofile", file, "-records", raw, "-append", "env.GODEBUG=memprofilerate=4096", "./testdata/resources", "--", "heap")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	// The second record has what runtime.MemProfile says just behind it.
	data, err := os.ReadFile(filepath.Join(raw, "2-heap"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := handle.ReadHeap(data)
	if err != nil {
		t.Fatal(err)
	}
	var sum handle.HeapSite
	for _, s := range h.Sites {
		sum.Allocs += s.Allocs
		sum.Frees += s.Frees
		sum.AllocBytes += s.AllocBytes
		sum.FreeBytes += s.FreeBytes
	}
	if want := fmt.Sprintln("profile", sum.Allocs, sum.Frees, sum.AllocBytes, sum.FreeBytes); !strings.Contains(string(said), want) || h.Rate != 4096 || !h.Settled {
		t.Errorf("the kernel's %q (rate %d, settled %v) is not what the runtime says:\n%s", want, h.Rate, h.Settled, said)
	}
	text := zfSays(t, 1, "leaks", file+".1", file+".2")
	if !regexp.MustCompile(`\n\+19\d objects \(0, now 19\d\), \+12 MiB\n`).MatchString(text) || !strings.Contains(text, "main.keep ") {
		t.Errorf("zf leaks of two heap profiles:\n%s", text)
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", "-unit=MB", "-inuse_space", file+".2").CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^ +16(\.\d+)?MB .* main\.keep$`).Match(out) {
		t.Errorf("go tool pprof: %v\n%s", err, out)
	}
	out, err = exec.Command(zfCommand(t), "run", "-q", "-timeout", "10m", "-memprofile", file, program(t, "profiled")).CombinedOutput()
	if !strings.Contains(string(out), "keeps no heap profile") || exitCode(t, err) != 2 {
		t.Errorf("an image without a profile: %v\n%s", err, out)
	}
}
