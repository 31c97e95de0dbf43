package qemu

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// TestGoGDB is TestGDBDeaths (gdb_test.go) for goroutines: of a panic, whose callers gdb looks
// at as it begins; of a fault that no signal handler has seen; and of a bug in a system
// call, on both sides of the boundary.
func TestGoGDB(t *testing.T) {
	t.Parallel()
	gdb := need(t, "gdb")
	path, symbols := lab(t, image.AllLoaders)
	for _, tt := range []struct {
		kind, stop string // at the entry of this function, or where the trace begins
		first      string // function of the first frame that is compared
	}{
		{"go.panic", "runtime.gopanic", "main.panicC"},
		{"go.double-fault", "", "main.doubleC"},
		{"go.syscall-bug", "", module + "kernel/crashlab/golab.syscallBugE"},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			_, serial, err := boot(t, Config{Kernel: path}, "crash="+tt.kind)
			if err != nil {
				t.Fatalf("without gdb: %v", err)
			}
			first := onlyTrace(t, traces(t, symbols, serial))
			from := 0
			for from < len(first.Frames) && first.Frames[from].Function != tt.first {
				from++
			}

			socket := filepath.Join(guestDir, strings.TrimPrefix(tt.kind, "go.")+".gogdb")
			vm, out := start(t, Config{
				Kernel: path, Append: "crash=" + tt.kind, GDB: "unix:" + socket + ",server=on,wait=off", Paused: true,
			}, "")
			where, skip := first.Frames[0].Address, 0
			if tt.stop != "" {
				where, skip = fmt.Sprintf("%#x", entryOf(t, path, tt.stop)), 1
			}
			n := len(first.Frames)
			trap := first.trapAt()
			script := append([]string{"target remote " + socket, "hbreak *" + where, "continue"}, gdbLook(skip, n)...)
			if trap < n {
				script = append(script, gdbInterrupted(first.Frames[trap-1].FP, n)...)
			}
			views := runGDB(t, gdb, path, append(script, "detach"))
			if _, err := vm.Wait(); err != nil {
				t.Fatalf("after gdb: %v", err)
			}
			tr := onlyTrace(t, traces(t, symbols, out.String()))
			if got, want := tr.chain(), first.chain(); got != want || from == n {
				t.Fatalf("chain under gdb = %s\nwant the same as without, %s, with %s", got, want, tt.first)
			}
			views[0].compare(t, tr.Frames[from:trap], skip, false)
			if tt.stop == "" {
				for _, r := range []string{"rip", "rsp", "rbp"} {
					if got, want := tr.Registers[r], views[0].registers[r]; got != want {
						t.Errorf("register %s = %s; want %s, as gdb says", r, got, want)
					}
				}
			}
			if trap < n {
				views[1].compare(t, tr.Frames[trap+1:], 0, false)
				f := tr.Frames[trap+1]
				if r := views[1].registers; r["rip"] != f.Address || r["rsp"] != f.SP || r["rbp"] != f.FP || r["vector"] != "0x101" {
					t.Errorf("interrupted rip, rsp, rbp = %s, %s, %s; want %v, as gdb says", f.Address, f.SP, f.FP, r)
				}
			}
			if last := tr.Frames[n-1].Function; last != "runtime.goexit" {
				t.Errorf("the trace ends in %s; want runtime.goexit", last)
			}
			t.Logf("%d frames", n-from)
		})
	}
}
