package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/coretest"
)

// TestCoreAlone: the commands on a dead program, by its core alone.
func TestCoreAlone(t *testing.T) {
	d := coretest.Make(t, "../postmortem/inspect/testdata/dead")
	if err := os.Rename(d.ELF, d.ELF+".moved"); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"goroutines", "heap", "waits", "dlv"} {
		if code, _, stderr := zf(nil, command, d.Core); code != exitUsage || !strings.Contains(stderr, "-e ELF is missing") {
			t.Errorf("zf %s without the ELF file: %d, %q", command, code, stderr)
		}
	}
	for _, beside := range []string{d.Core + ".elf", filepath.Join(filepath.Dir(d.Core), "dead.elf")} {
		if err := os.Link(d.ELF+".moved", beside); err != nil {
			t.Fatal(err)
		}
		for command, want := range map[string]string{"goroutines": "\n#3 main.worker.func1(...)\n", "heap": "main.node",
			"waits": "", "print -goroutine 1 -frame 5": "main.main\n"} {
			if code, stdout, stderr := zf(nil, append(strings.Fields(command), d.Core)...); code == exitUsage || !strings.Contains(stdout, want) {
				t.Errorf("zf %s with %s: %d, %q; want %q in\n%s", command, beside, code, stderr, want, stdout)
			}
		}
		if got := askedBy(d.Core, beside); got != d.Core {
			t.Errorf("asked by %s", got)
		}
		os.Remove(beside)
	}
	if code, _, stderr := zf(nil, "print", "-e", d.ELF+".moved", d.Core, "list.nexd", "main.lst"); code != exitUsage ||
		!strings.Contains(stderr, "(did you mean next?)") || !strings.Contains(stderr, "(did you mean list?)") {
		t.Errorf("zf print of wrong names: %d, %q", code, stderr)
	}
	if got := askedBy(d.Core, "x.elf"); got != "-e x.elf "+d.Core {
		t.Errorf("asked by %s", got)
	}
}
