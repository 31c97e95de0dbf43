package doc

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestOwnKernel boots the kernel of tracer.md and has it die in each of its ways: the trace
// is whole, and has the chain of functions that the program went through. Its functions are
// not inlined, so the chain is that of the source.
func TestOwnKernel(t *testing.T) {
	shop, err := workshop()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, args := range [][]string{
		{"go", "build", "-ldflags=-T 0x200000 -E main.entry", "-o", dir + "/linked", "./doc/example/kernel"},
		{"go", "run", "./doc/example/kernel/finish", dir + "/linked", dir + "/kernel.elf"},
	} {
		build := exec.Command(args[0], args[1:]...)
		build.Dir = shop
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, death := range []struct {
		way   string
		chain []string // innermost first
	}{
		{"nil", []string{"main.setSpeed", "main.configure", "main.dieBy", "main.start", "main.long"}},
		{"leaf", []string{"main.leaf", "main.dieBy", "main.start", "main.long"}},
		{"bounds", []string{"runtime.acquirem", "runtime.pcvalue", "runtime.pcdatavalue", "runtime.panicBounds64",
			"runtime.panicBounds", "main.set", "main.dieBy", "main.start", "main.long"}},
		{"overflow", []string{"runtime.morestack", "main.deeper", "main.deeper", "main.dieBy", "main.start", "main.long"}},
	} {
		t.Run(death.way, func(t *testing.T) {
			file := filepath.Join(dir, death.way+".json")
			cmd := exec.Command(filepath.Join(scratch, "bin", "zf"), "run", "-q", "-json", file, "-append", death.way, dir+"/kernel.elf")
			out, _ := cmd.CombinedOutput()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var trace struct {
				Complete bool
				End      string
				Damaged  bool
				Frames   []struct{ Function string }
			}
			if err := json.Unmarshal(b, &trace); err != nil {
				t.Fatalf("%v\n%s\n%s", err, b, out)
			}
			var chain []string
			for _, f := range trace.Frames {
				chain = append(chain, f.Function)
			}
			if !slices.Equal(chain, death.chain) || !trace.Complete || trace.End != "zero" || trace.Damaged || cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("complete=%v end=%s damaged=%v status %d, functions %q; want %q, complete, status 1\n%s",
					trace.Complete, trace.End, trace.Damaged, cmd.ProcessState.ExitCode(), chain, death.chain, out)
			}
		})
	}
}
