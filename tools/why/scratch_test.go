package why

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

func TestScratch(t *testing.T) {
	elf := os.Getenv("WHY_ELF")
	src, _ := os.ReadFile("/tmp/h/why/qemu/testdata/culprits/main.go")
	lines := map[string]int{}
	for i, l := range strings.Split(string(src), "\n") {
		if _, k, ok := strings.Cut(l, "// culprit "); ok {
			lines[k] = i + 1
		}
	}
	f, err := symbol.Open(elf)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range strings.Fields(os.Getenv("WHY_KINDS")) {
		one(t, elf, f, kind, lines[kind])
	}
}

func one(t *testing.T, elf string, f *symbol.File, kind string, want int) {
	dir := t.TempDir()
	rr := filepath.Join(dir, "rr")
	cfg := qemu.Config{Kernel: elf, Append: "report=off -- " + kind, CPU: "max", Extra: []string{"-icount", "shift=0,rr=record,rrfile=" + rr, "-net", "none"}, MemoryMiB: 64}
	vm, err := qemu.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	vm.Wait()
	rec := time.Since(began)
	n := 0
	launch := func(ctx context.Context) (*qemu.VM, string, string, error) {
		n++
		sock := filepath.Join(dir, fmt.Sprint("g", n))
		c := cfg
		c.Stdout, c.Paused = nil, true
		c.Extra = []string{"-icount", "shift=0,rr=replay,rrfile=" + rr, "-net", "none"}
		c.GDB = "unix:" + sock + ",server=on,wait=off"
		vm, err := qemu.Start(ctx, c)
		return vm, "unix", sock, err
	}
	w, err := New(launch, elf, f)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	verbose := os.Getenv("WHY_V") != ""
	if verbose {
		w.Progress = func(s string) { fmt.Println("#", time.Since(began).Round(time.Millisecond), s) }
	}
	s, err := w.Death(t.Context())
	verdict := "WRONG"
	if s != nil {
		if h := s.Culprit(); h != nil && h.Line == want {
			verdict = "right"
		} else if h != nil {
			verdict = fmt.Sprint("WRONG ", h.Line)
		}
	}
	fmt.Printf("== %s: %s err %v, %d replays, recorded %v, all %v\n", kind, verdict, err, w.Replays, rec, time.Since(began))
	if s != nil && (verbose || verdict[:5] != "right") {
		s.Write(os.Stdout)
		for _, c := range s.Causes {
			for _, h := range c.Hops {
				fmt.Printf("    %d %#x %s %s %#x %s:%d by %s\n", h.Count, h.PC, h.How, h.Place, h.Value, h.Function, h.Line, h.By)
			}
			fmt.Println("   ", c.End)
		}
	}
}
