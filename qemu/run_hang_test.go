package qemu

// A program that hangs: an NMI from outside and the watchdog say where it is stuck and
// what each of its goroutines waits for, and that is what the Go runtime says itself, as
// the program has printed it just before.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// hung runs testdata/waits so that it hangs, and returns its output and the traces. With
// poke, it is looked at from outside, and then ended. More are arguments for QEMU.
func hung(t *testing.T, poke bool, options, how string, more ...string) (serial string, all []*labTrace, status int, stderr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "traces.json")
	args := []string{"-json", file, "-append", options}
	socket := filepath.Join(plainFolder(t), "s")
	if poke {
		more = append(more, "-qmp", "unix:"+socket+",server=on,wait=off")
	}
	for _, a := range more {
		args = append(args, "-qemu", a)
	}
	cmd := zfRun(t, append(args, program(t, "waits"), "--", how)...)
	out := new(log)
	var msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &msg
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if poke {
		out.For(t, "hanging\n")
		waitIdle(t, secondMonitor(t, socket)) // who has said it waits as well
		cmd.Process.Signal(syscall.SIGQUIT)
		// A trace of the NMI, and one of each goroutine.
		out.Until(t, func(sent string) bool {
			n := 1 // the NMI's
			for _, m := range regexp.MustCompile(`\nzf1 reason (?:(\d+) goroutines|goroutine) (?s:.*?)\nzf1 done `).FindAllStringSubmatch(sent, -1) {
				k, _ := strconv.Atoi(m[1])
				n += max(k, 1)
			}
			return n >= 1+len(goWaits(sent))
		}, "a trace of each goroutine")
		cmd.Process.Signal(syscall.SIGINT)
	}
	status = exitCode(t, cmd.Wait())
	js, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(js)); d.More(); {
		tr := new(labTrace)
		if err := d.Decode(tr); err != nil {
			t.Fatal(err)
		}
		all = append(all, tr)
	}
	return out.String(), all, status, msg.String()
}

// TestKernelHangs: the kernel spins with interrupts off. Where the board has an alarm, which is an
// NMI, the machine dies by itself, and the trace is of who spins.
func TestKernelHangs(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	want := regexp.MustCompile(`^kernel: golab\.kernelSpinD golab\.kernelSpinHandler kernel/linux\.noSuchCall ` +
		`kernel/linux\.\(\*call\)\.do kernel/linux\.Handle arch/amd64\.syscallEntry trap g: \S+Syscall6 syscall\.RawSyscall6 syscall\.RawSyscall golab\.kernelSpinC golab\.kernelSpinB golab\.kernelSpinA `)
	for _, machine := range []string{"q35", "pc"} {
		res, serial, err := boot(t, Config{Kernel: path, Machine: machine, Extra: []string{"-icount", "shift=5,sleep=off"}}, "crash=go.kernel-spin watchdog=2")
		all := traces(t, symbols, serial)
		if err != nil || res.Outcome != Traced || len(all) == 0 {
			t.Fatalf("%s: %v, %v, %d traces; the serial port: %q", machine, res.Outcome, err, len(all), serial)
		}
		tr := all[0]
		if chain := strings.ReplaceAll(tr.chain(), "kernel/crashlab/", ""); tr.Kind != "panic" || tr.Context != "kernel" || !tr.Complete || tr.Damaged || !want.MatchString(chain) ||
			!strings.HasPrefix(tr.Reason, "watchdog: the kernel has let no interrupt of its timer in for ") {
			t.Errorf("%s: %s in %s, %q, complete %v: %s", machine, tr.Kind, tr.Context, tr.Reason, tr.Complete, chain)
		}
	}
}

// secondMonitor connects with a second monitor of a machine that zf runs.
func secondMonitor(t *testing.T, socket string) *VM {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	vm := &VM{monitor: newMonitor(conn, func(qmpMessage) {})}
	if err := vm.monitor.handshake(); err != nil {
		t.Fatal(err)
	}
	return vm
}

// goWaits are the goroutines in what runtime.Stack has printed: what each waits for.
func goWaits(serial string) map[int]string {
	waits := map[int]string{}
	re := regexp.MustCompile(`(?m)^goroutine (\d+) \[([^],]+).*\]:$`)
	for _, m := range re.FindAllStringSubmatch(serial, -1) {
		id, _ := strconv.Atoi(m[1])
		waits[id] = m[2]
	}
	return waits
}

// checkWaits holds the list of goroutines against the Go runtime's.
func checkWaits(t *testing.T, serial string, all []*labTrace) {
	t.Helper()
	want := goWaits(serial)
	if want[1] != "running" || len(want) < 29 {
		t.Fatalf("the Go runtime says %v", want)
	}
	want[1] = "chan receive" // it has gone on
	seen := map[string]bool{}
	for _, w := range want {
		seen[w] = true
	}
	for _, w := range []string{
		"chan receive", "chan send", "select", "select (no cases)", "chan receive (nil chan)", "chan send (nil chan)",
		"sync.Mutex.Lock", "sync.RWMutex.RLock", "sync.RWMutex.Lock", "sync.WaitGroup.Wait", "sync.Cond.Wait", "sleep", "IO wait", "syscall", "coroutine",
	} {
		if !seen[w] {
			t.Errorf("no goroutine waits for %s: %v", w, want)
		}
	}
	got := map[int]string{}
	starts := map[string]bool{}
	for _, tr := range all {
		m := regexp.MustCompile(`(?:goroutine (\d+)|\d+ goroutines) \[([^],]+)[^]]*\](?:: (.*))?$`).FindStringSubmatch(tr.Reason)
		if m == nil || !slices.Contains(strings.Split(m[1]+m[3], ", "), strconv.Itoa(tr.Goroutine)) {
			t.Errorf("a trace of goroutine %d says %q", tr.Goroutine, tr.Reason)
			continue
		}
		for _, id := range strings.Split(m[1]+m[3], ", ") {
			n, _ := strconv.Atoi(id)
			got[n] = m[2]
		}
		if !tr.Complete || tr.Damaged || tr.Frames[len(tr.Frames)-1].Function != "runtime.goexit" {
			t.Errorf("goroutine %d: the trace ends with %s: %s", tr.Goroutine, tr.End, tr.chain())
			continue
		}
		starts[tr.Frames[len(tr.Frames)-2].Function] = true
		if tr.Goroutine != 1 {
			compareCalls(t, tr, serial)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the goroutines wait for\n%v\nwant, as the Go runtime says,\n%v", got, want)
	}
	for _, f := range []string{
		"runtime.main", "main.onReceive", "main.onRange", "main.onSend", "main.onForever", "main.onMutex", "main.onReadLock", "main.onGroup",
		"main.onCond", "main.onSleep", "main.onTimer", "main.onPipe", "main.onSyscall", "main.onAccept", "main.onConn", "main.onDeep",
		"runtime.corostart", "runtime.runFinalizers", "runtime.runCleanups",
	} {
		if !starts[f] {
			t.Errorf("no trace ends with %s, where a goroutine began", f)
		}
	}
}

// compareCalls holds a trace against what runtime.Stack has printed of the goroutine, in
// which most of the runtime's own functions are left out.
func compareCalls(t *testing.T, tr *labTrace, serial string) {
	t.Helper()
	list, _ := goTraceback(t, serial, false, tr.Goroutine)
	got, want := notRuntime(tr.goFrames()), notRuntime(list)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("goroutine %d has called\n%q\nwant, as the Go runtime says,\n%q", tr.Goroutine, got, want)
	}
}

// notRuntime is what is called, without functions of package runtime.
func notRuntime(list []goFrame) (calls []string) {
	for _, f := range list {
		if !strings.HasPrefix(f.function, "runtime.") {
			calls = append(calls, fmt.Sprint(f.function, " ", f.file, ":", f.line))
		}
	}
	return calls
}

// TestHangWatchdog: the watchdog ends a program that hangs. By the host's clock, a program
// that does not get far in some seconds would be one.
func TestHangWatchdog(t *testing.T) {
	t.Parallel()
	serial, all, status, stderr := hung(t, false, "watchdog=3", "hang", virtualTime...)
	if status != 1 || len(all) == 0 {
		t.Fatalf("zf run = %d with %d traces, %s; want 1", status, len(all), stderr)
	}
	const says = "watchdog: the program has read and written nothing for 3 s"
	if first := all[0]; first.Kind != "panic" || first.Reason != says+": goroutine 1 [chan receive]" ||
		!strings.HasSuffix(first.chain(), "main.hang main.main runtime.main runtime.goexit") {
		t.Errorf("the first trace is of kind %s, %q: %s", first.Kind, first.Reason, first.chain())
	}
	if want := "zf run: " + says; !strings.Contains(stderr, want) {
		t.Errorf("zf run says %q; want %q", stderr, want)
	}
	checkWaits(t, serial, all)
}

// TestHangMany: goroutines that wait alike are one trace with their number, the longest
// waiting first, and one line of the monitor.
func TestHangMany(t *testing.T) {
	t.Parallel()
	serial, all, status, stderr := hung(t, false, "watchdog=3", "many", virtualTime...)
	if status != 1 || len(all) < 2 {
		t.Fatalf("zf run = %d with %d traces, %s; want 1", status, len(all), stderr)
	}
	var got []string
	for _, tr := range all[1:] {
		got = append(got, tr.Reason)
		if !tr.Complete || tr.Damaged {
			t.Errorf("%s: the trace ends with %s", tr.Reason, tr.End)
		}
	}
	want := []string{
		`^12 goroutines \[chan receive, 3 s\]: (\d+, ){8}\.\.\.$`,
		`^3 goroutines \[chan send(, 0 s)?\]: \d+, \d+, \d+$`,
	}
	if len(got) != len(want) {
		t.Fatalf("the goroutines that wait are\n%s\nwant 2 groups; %s", strings.Join(got, "\n"), serial)
	}
	for i := range want {
		if !regexp.MustCompile(want[i]).MatchString(got[i]) {
			t.Errorf("group %d is %q; want %s", i, got[i], want[i])
		}
	}
}

// TestMonitorMany: so it is in the monitor's list.
func TestMonitorMany(t *testing.T) {
	t.Parallel()
	keys, out, _ := startTyped(t, Config{Kernel: program(t, "waits"), Append: "-- many", Extra: virtualTime})
	out.For(t, "hanging\r\n")
	io.WriteString(keys, "\x1dgoroutines\r")
	list := out.Until(t, func(s string) bool { return strings.Contains(s, "runtime's own") }, "the list")
	re := regexp.MustCompile(`\n +12 goroutines \[chan receive, \d+ s\] main\.onReceive.*: (\d+, ){8}\.\.\.\r\n(?:.*\r\n)* +3 goroutines \[chan send(?:, \d+ s)?\] main\.many\.func1.*: \d+, \d+, \d+\r\n`)
	if !re.MatchString(list) {
		t.Errorf("the list is\n%s", list)
	}
}

// TestHangNMI: so does an NMI, and the program goes on hanging.
func TestHangNMI(t *testing.T) {
	t.Parallel()
	serial, all, status, stderr := hung(t, true, "x=y", "hang")
	if status != 130 || !strings.Contains(stderr, "interrupted") || len(all) == 0 {
		t.Fatalf("zf run = %d with %d traces, %s; want 130, interrupted", status, len(all), stderr)
	}
	if all[0].Kind != "nmi" || !all[0].Complete {
		t.Errorf("the first trace is of kind %s, ends with %s: %s", all[0].Kind, all[0].End, all[0].chain())
	}
	checkWaits(t, serial, all[1:])
}

// TestHangSpin: the watchdog says where a loop is. Its seconds are of few instructions.
func TestHangSpin(t *testing.T) {
	t.Parallel()
	_, all, status, stderr := hung(t, false, "watchdog=2", "spin", "-icount", "shift=3,sleep=off")
	if status != 1 || len(all) == 0 || !strings.HasSuffix(all[0].chain(), "main.spin main.main runtime.main runtime.goexit") ||
		!strings.Contains(stderr, "zf run: in main.spin at ") {
		t.Errorf("zf run = %d with %d traces, %s; want one of main.spin", status, len(all), stderr)
	}
}

// TestHangMonitored: the watchdog's trace is of who hangs, not of the runtime's own thread that
// is at work just then. An instruction takes long, so that it is at work often.
func TestHangMonitored(t *testing.T) {
	t.Parallel()
	for shift := 3; shift <= 5; shift++ {
		_, all, status, stderr := hung(t, false, "watchdog=2", "monitored", "-icount", fmt.Sprintf("shift=%d,sleep=off", shift))
		if status != 1 || len(all) == 0 || !strings.Contains(all[0].chain(), "main.") || strings.Contains(stderr, "runtime.sysmon") {
			t.Errorf("shift=%d: zf run = %d with %d traces, %s; want one of the program", shift, status, len(all), stderr)
			for _, tr := range all {
				t.Log(tr.Reason, ": ", tr.chain())
			}
		}
	}
}

// TestHangSignalled: the watchdog's trace is of what hangs, not of the handler of a signal that was
// at work just then.
func TestHangSignalled(t *testing.T) {
	t.Parallel()
	for shift := 3; shift <= 5; shift++ {
		_, all, status, stderr := hung(t, false, "watchdog=2", "signalled", "-icount", fmt.Sprintf("shift=%d,sleep=off", shift))
		if status != 1 || len(all) == 0 || !strings.HasSuffix(all[0].chain(), "main.signalled main.main runtime.main runtime.goexit") ||
			strings.Contains(all[0].chain(), "runtime.sigtramp") {
			t.Errorf("shift=%d: zf run = %d with %d traces, %s; want one of main.signalled", shift, status, len(all), stderr)
			for _, tr := range all {
				t.Log(tr.Reason, ": ", tr.chain())
			}
		}
	}
}

// TestHangLab: the crash lab's way to hang, under the watchdog, on each machine.
func TestHangLab(t *testing.T) {
	t.Parallel()
	_, symbols := lab(t, image.AllLoaders)
	for _, machine := range []string{"q35", "pc", "microvm"} {
		res, serial, err := boot(t, Config{Machine: machine, Extra: virtualTime}, "crash=go.hang watchdog=2")
		all := traces(t, symbols, serial)
		if err != nil || res.Outcome != Traced || len(all) < 6 {
			t.Errorf("%s: %v, %v with %d traces; want %v with 6", machine, res.Outcome, err, len(all), Traced)
			continue
		}
		if want := "watchdog: the program has read and written nothing for 2 s: goroutine 1 [sync.WaitGroup.Wait]"; all[0].Reason != want {
			t.Errorf("%s: reason = %q; want %q", machine, all[0].Reason, want)
		}
	}
}

// TestNoWatchdog: it leaves programs alone that read or write, and is off by default.
func TestNoWatchdog(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ options, how, says string }{
		{"watchdog=3", "write", strings.Repeat(".", 12) + "done\n"},
		{"watchdog=3", "read", "done\n"},
		{"x=y", "sleep", "done\n"},
		{"watchdog=0", "sleep", "done\n"},
		{"watchdog=60", "sleep", "done\n"},
	} {
		t.Run(fmt.Sprint(tt.options, " ", tt.how), func(t *testing.T) {
			t.Parallel()
			// By the host's clock a program that stands still for some seconds, as the
			// host is busy, would be one that hangs.
			res, serial, err := boot(t, Config{Kernel: program(t, "waits"), Extra: virtualTime}, tt.options+" -- "+tt.how)
			if err != nil || res.Outcome != Exited || res.Program != 0 || said(serial) != tt.says {
				t.Errorf("the machine: %v, status %d, %v; it says %q; want status 0, %q", res.Outcome, res.Program, err, said(serial), tt.says)
			}
		})
	}
}
