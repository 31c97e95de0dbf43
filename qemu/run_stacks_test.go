package qemu

// The stacks that the Go runtime gives to its threads are rows of a trace's stack table:
// that of each thread's g0, and that on which it takes signals.

import (
	"fmt"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

func TestThreadStacks(t *testing.T) {
	t.Parallel()
	_, symbols := lab(t, image.AllLoaders)
	for _, tt := range []struct {
		kind    string
		threads int  // that there are at least
		signal  bool // a thread has taken a signal
	}{
		{"go.nil-write", 2, true},
		{"go.systemstack", 2, false},
		{"go.panic", 2, false},
		{"go.throw-deadlock", 2, false},
		{"go.overflow", 2, false},
		{"go.kernel-panic", 2, false},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			res, serial, err := boot(t, Config{}, "crash="+tt.kind)
			if err != nil || res.Outcome != Traced {
				t.Fatalf("the machine: %v, %v; want a trace", res.Outcome, err)
			}
			all := traces(t, symbols, serial)
			if len(all) == 0 {
				t.Fatal("there is no trace")
			}
			tr := all[0]
			threads, most := 0, 0
			for tid := 1; tid <= 64; tid++ {
				g0, sig := tr.stack(fmt.Sprintf("g0.%d", tid)), tr.stack(fmt.Sprintf("sig.%d", tid))
				if g0.Name == "" {
					continue
				}
				threads++
				// The first g0 is what the runtime takes of the first stack, 64 KiB, the others
				// 16 KiB, and a signal stack 32 KiB (runtime/proc.go, os_linux.go).
				size := 16 << 10
				if tid == 1 {
					size = 64 << 10
				}
				if g0.Size != size || g0.Used <= 0 || g0.Used >= g0.Size || g0.Overflowed {
					t.Errorf("g0.%d: %+v; want %d bytes, some of them used", tid, g0, size)
				}
				// A thread that is just beginning has none yet.
				if sig.Name != "" && (sig.Size != 32<<10 || sig.Used < 0 || sig.Used >= sig.Size || sig.Overflowed) {
					t.Errorf("sig.%d: %+v; want 32 KiB, not all used", tid, sig)
				}
				most = max(most, sig.Used)
			}
			if tt.signal && most < 1000 { // a signal's frame is as large
				t.Errorf("at most %d bytes of a signal stack are used, after a signal", most)
			}
			if threads < tt.threads {
				t.Errorf("the stack table has %d threads; want %d or more: %+v", threads, tt.threads, tr.Stacks)
			}
			if first := tr.stack("sig.1"); first.Name == "" {
				t.Error("the first thread has no signal stack")
			}
			if tr.Goroutine > 0 {
				if g := tr.stack("g"); g.Size < 2<<10 || g.Used < 0 || g.Used > g.Size {
					t.Errorf("the goroutine's stack: %+v", g)
				}
			}
		})
	}
}
