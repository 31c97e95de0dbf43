package qemu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// lockChecked returns the path of an image that asserts the kernel lock.
func lockChecked(t *testing.T, pkg string) string {
	t.Helper()
	return built(t, image.BuildOptions{Package: pkg, Tags: "lockcheck", Env: testEnv()})
}

// TestLockCheck: programs whose threads make system calls on several CPUs run to their end in a
// kernel that dies where it accesses its state without the kernel lock; and it does die there.
func TestLockCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pkg, args, says string }{
		{"./testdata/threads", "cpus", "private errno 0\n"},
		{"./testdata/threads", "unmap 200 7", "changes 200 faults true\n"},
		{"./soak/testdata/workers", "-seed 9 -duration 10s", ""},
		{"./soak/testdata/workers", "-seed 10 -duration 10s", ""},
	} {
		for _, cpus := range []int{2, 4} {
			t.Run(fmt.Sprintf("%s/%s/%d", c.pkg, c.args, cpus), func(t *testing.T) {
				t.Parallel()
				cfg := Config{Kernel: lockChecked(t, c.pkg), CPUs: cpus, MemoryMiB: 128}
				res, serial, err := boot(t, cfg, "-- "+c.args)
				if err != nil || res.Outcome != Exited || res.Program != 0 || !strings.Contains(said(serial), c.says) {
					t.Errorf("the machine: %v, status %d, %v; want status 0\n%s", res.Outcome, res.Program, err, serial)
				}
			})
		}
	}
	t.Run("go.no-lock", func(t *testing.T) {
		t.Parallel()
		path := lockChecked(t, "../kernel/crashlab")
		res, serial, err := boot(t, Config{Kernel: path, CPUs: 2}, "crash=go.no-lock")
		all := traces(t, opened(t, path), serial)
		if err != nil || res.Outcome != Traced || len(all) != 2 {
			t.Fatalf("%v, %v, %d traces\n%s", res.Outcome, err, len(all), serial)
		}
		const reason = "panic: kernel state is accessed without the kernel lock"
		if all[0].Reason != reason || *all[0].CPU != 1 || !all[0].Complete {
			t.Errorf("CPU %d: %s, complete %v; want CPU 1: %s", *all[0].CPU, all[0].Reason, all[0].Complete, reason)
		}
		const chain = " kernel/mem.Bytes kernel/crashlab/golab.noLockC kernel/crashlab/golab.noLockB kernel/smp.call kernel/smp.Answer kernel/fault.interruptLocked "
		if !strings.Contains(all[0].chain(), chain) {
			t.Errorf("the trace is of %s; want%s", all[0].chain(), chain)
		}
	})
}
