package qemu

import (
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// TestLockUps: a CPU that keeps the kernel lock, and one that lets no interrupt in, are found by
// another one. A report has a trace of both sides, and the program goes on; with lockup=panic the
// machine ends. The machine's time is its host's, as a CPU that spins lets no virtual time go by.
func TestLockUps(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, c := range []struct{ kind, reason, chain, lock string }{
		{"go.cpu-lock", "has had the kernel lock for 5 s, while this one waits for it", "golab.lockHeldB kernel/smp.call", `CPU 1 has the kernel lock for \(interrupt\) since \d+ us; CPU 0 waits for it for \S+ at 0x[0-9a-f]+ since \d+ us`},
		{"go.cpu-deaf", "has let no interrupt in for 10 s", "golab.deafC kernel/crashlab/golab.deafB kernel/smp.call", `CPU 0 has the kernel lock for \S+ at 0x`},
		{"go.cpu-deaf-line", "has let no interrupt in for 10 s, and nobody else is to take the kernel lock before it", "golab.deafC kernel/smp.call", `nobody has the kernel lock; CPU 0 waits for it for \S+ at 0x[0-9a-f]+ since \d+ us; CPU 1 waits for it for getppid at 0x[0-9a-f]+ since \d+ us`},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			res, serial, err := boot(t, Config{Kernel: path, CPUs: 2}, "lockup=panic crash="+c.kind)
			all := traces(t, symbols, serial)
			if err != nil || res.Outcome != Traced || len(all) != 2 {
				t.Fatalf("%v, %v, %d traces\n%s", res.Outcome, err, len(all), serial)
			}
			if want := "lock-up: CPU 1 " + c.reason; all[0].Reason != want || *all[0].CPU != 0 || !all[0].Complete {
				t.Errorf("CPU %d: %s: %s; want %s", *all[0].CPU, all[0].Reason, all[0].chain(), want)
			}
			if other := all[1]; other.Reason != "stopped" || *other.CPU != 1 || !other.Complete || !strings.Contains(other.chain(), c.chain) {
				t.Errorf("CPU %d: %s: %s; want %s", *other.CPU, other.Reason, other.chain(), c.chain)
			}
			if !regexp.MustCompile(c.lock).MatchString(serial) {
				t.Errorf("of the lock, it does not say %s:\n%s", c.lock, serial)
			}
		})
	}
}

// TestLockUpReported: the last CPU reports that the first one keeps the kernel lock, and the program
// goes on. The first one then checks its own stacks, not those that the report has shown.
func TestLockUpReported(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	res, serial, err := boot(t, Config{Kernel: path, CPUs: 2}, "crash=go.cpu-lock-ends")
	all := traces(t, symbols, serial)
	if err != nil || res.Outcome != Exited || res.Program != 0 || len(all) != 2 ||
		!strings.HasSuffix(serial, "\nit goes on\r\n") {
		t.Fatalf("%v, status %d, %v, %d traces\n%s", res.Outcome, res.Program, err, len(all), serial)
	}
	const want = "lock-up: CPU 0 has had the kernel lock for 5 s, while this one waits for it"
	if tr := all[0]; tr.Reason != want || *tr.CPU != 1 || !tr.Complete {
		t.Errorf("CPU %d: %s: %s; want %s", *tr.CPU, tr.Reason, tr.chain(), want)
	}
	if tr := all[1]; *tr.CPU != 0 || !tr.Complete || !strings.Contains(tr.chain(), "golab.lockEndsB ") {
		t.Errorf("CPU %d: %s: %s; want golab.lockEndsB", *tr.CPU, tr.Reason, tr.chain())
	}
}
