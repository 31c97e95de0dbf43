package waits

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// TestSwitching stops a program whose holder of a lock yields without end at each instruction of
// the functions that change stacks: the holder's stack is whole, and the lock is nobody else's.
func TestSwitching(t *testing.T) {
	exe, err := build("yields")
	if err != nil {
		t.Fatal(err, exe)
	}
	name := filepath.Join(t.TempDir(), "core")
	cmd := start(t, exe, "yields")
	await.Poll(t, "one who waits", func() bool {
		if err := dump(cmd.Process.Pid, name); err != nil {
			t.Fatal(err)
		}
		return waiter(analyze(t, exe, name, Options{})) != nil
	})
	file, err := symbol.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for n := range 8 {
		fn, err := stepInto(cmd, name, file, n)
		if err != nil {
			t.Fatal(err)
		}
		g := analyze(t, exe, name, Options{})
		x := waiter(g)
		if x == nil || len(x.Wait.Objects) != 1 || !x.Wait.Objects[0].Certain || len(x.Wait.Objects[0].Holders) != 1 {
			t.Errorf("in %s: %v%s; want the one who has the lock", fn, x, g.holdersText(x))
			continue
		}
		if y := g.byID[x.Wait.Objects[0].Holders[0]]; y.has("main.(*yielder).hold") < 0 || y == x {
			t.Errorf("in %s: held by %s", fn, y.label())
		}
	}
}

// waiter returns who waits for a mutex.
func waiter(g *Graph) *Goroutine {
	for _, x := range g.Goroutines {
		if x.Wait != nil && x.Wait.Kind == Mutex {
			return x
		}
	}
	return nil
}

// stepInto lets the thread that runs go on by single steps, until it stands at instruction n, or
// the last, of one of the functions that change stacks, and writes a core.
func stepInto(cmd *exec.Cmd, name string, file *symbol.File, n int) (fn string, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tids, err := attach(cmd.Process.Pid)
	defer func() {
		for _, tid := range tids {
			unix.PtraceDetach(tid)
		}
	}()
	if err != nil {
		return "", err
	}
	for _, tid := range tids {
		var regs unix.PtraceRegs
		for range 20000 {
			if err := unix.PtraceGetRegs(tid, &regs); err != nil {
				return "", err
			}
			if f, ok := file.GoFunc(regs.Rip); ok && regs.Rip >= f.Entry {
				fn = f.Name
				if strings.Contains(fn, "futex") || strings.Contains(fn, "usleep") || strings.Contains(fn, "epoll") {
					break // it sleeps
				}
				if (fn == "runtime.mcall" || fn == "gogo") && regs.Rip-f.Entry > uint64(n*10) {
					return fmt.Sprintf("%s+%#x", fn, regs.Rip-f.Entry), write(cmd.Process.Pid, tids, name)
				}
			}
			if err := unix.PtraceSingleStep(tid); err != nil {
				return "", err
			}
			var status unix.WaitStatus
			if _, err := unix.Wait4(tid, &status, unix.WALL, nil); err != nil {
				return "", err
			}
		}
	}
	return "no thread that yields", write(cmd.Process.Pid, tids, name)
}

// TestAlarmAtWork stops a program when its scheduler runs a timer that is in no heap any more, and
// has not made the goroutine yet that the others wait for: nobody is named.
func TestAlarmAtWork(t *testing.T) {
	exe, err := build("contexts")
	if err != nil {
		t.Fatal(err, exe)
	}
	file, err := symbol.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	name := filepath.Join(t.TempDir(), "core")
	cmd := start(t, exe, "contexts")
	await.Poll(t, "a scheduler that runs a timer", func() bool {
		found, err := stepAlarm(cmd, name, file)
		if err != nil {
			t.Fatal(err)
		}
		return found
	})
	for _, f := range analyze(t, exe, name, Options{}).Findings {
		t.Errorf("named: %s", f.Text)
	}
}

// stepAlarm waits for the next timer with the thread that polls, if all others sleep, and writes a
// core when that comes to call the timer's function.
func stepAlarm(cmd *exec.Cmd, name string, file *symbol.File) (found bool, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tids, err := attach(cmd.Process.Pid)
	defer func() {
		for _, tid := range tids {
			unix.PtraceDetach(tid)
		}
	}()
	if err != nil {
		return false, err
	}
	at := func(tid int) string {
		var regs unix.PtraceRegs
		if err := unix.PtraceGetRegs(tid, &regs); err != nil {
			return ""
		}
		f, _ := file.GoFunc(regs.Rip)
		return f.Name
	}
	polls := 0
	for _, tid := range tids {
		switch fn := at(tid); {
		case strings.HasSuffix(fn, ".Syscall6"):
			polls = tid
		case fn != "runtime.futex" && fn != "runtime.usleep":
			return false, nil // it may have what the other needs
		}
	}
	for n := 0; polls != 0 && n < 20000; n++ {
		if at(polls) == "time.goFunc" {
			return true, write(cmd.Process.Pid, tids, name)
		}
		if err := unix.PtraceSingleStep(polls); err != nil {
			return false, err
		}
		var status unix.WaitStatus
		if _, err := unix.Wait4(polls, &status, unix.WALL, nil); err != nil {
			return false, err
		}
	}
	return false, nil
}
