// Package percputest gives a test on the host the record of a CPU, so that kernel code that uses it
// can run there. It is for tests only.
package percputest

import (
	"runtime"
	"syscall"
	"testing"

	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Use makes the test's goroutine, on a thread of its own, a CPU with an empty record, which
// percpu.This returns there. Other goroutines have none.
func Use(t testing.TB) *percpu.Record {
	t.Helper()
	const setGS = 0x1001 // ARCH_SET_GS of arch_prctl(2): Go does not use GS
	set := func(base uintptr) {
		if _, _, e := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, setGS, base, 0); e != 0 {
			t.Fatal(e)
		}
	}
	runtime.LockOSThread()
	r := new(percpu.Record)
	percpu.Add(r)
	set(r.OnHost())
	t.Cleanup(func() {
		set(0)
		percpu.Remove()
		runtime.KeepAlive(r)
		runtime.UnlockOSThread()
	})
	return r
}
