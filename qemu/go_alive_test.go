package qemu

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// The kinds under the Go runtime that do not die by themselves: they end, or are looked
// at from outside by an NMI.

// goElsewhere are the kinds that are not in goDeaths.
var goElsewhere = map[string]bool{
	"go.triple": true, "go.mcall": true, "go.spin": true, "go.hang": true, "go.sleep": true,
	"go.exit": true, "go.recover-20000": true, "go.bad-pointer": true, "go.step": true, "go.step-entry": true,
	"go.mutual":         true, // deep_test.go
	"go.over-limit":     true, // boot_test.go
	"go.kernel-spin":    true, // run_hang_test.go
	"go.cpu":            true, // cpus_test.go
	"go.cpu-record":     true, // cpus_test.go
	"go.cpu-busy":       true, // deaths
	"go.cpu-lock-dies":  true, // cpus_test.go
	"go.cpu-lock-ends":  true, // lockup_test.go
	"go.cpu-flush-dies": true, // cpus_test.go
	"go.cpu-lock":       true, // lockup_test.go
	"go.cpu-deaf":       true, // lockup_test.go
	"go.cpu-deaf-line":  true, // lockup_test.go
	"go.no-lock":        true, // lockcheck_test.go
}

// TestEveryGoKindIsTested: the crash lab lists no kind that has no test.
func TestEveryGoKindIsTested(t *testing.T) {
	t.Parallel()
	_, serial, _ := boot(t, Config{}, "crash=no-such-kind")
	tested := map[string]bool{}
	for _, d := range goDeaths {
		tested[d.kind] = true
	}
	listed := 0
	for l := range strings.Lines(serial) {
		if !strings.HasPrefix(l, "  go.") {
			continue
		}
		listed++
		if k := strings.Fields(l)[0]; !tested[k] && !goElsewhere[k] {
			t.Errorf("the kind %s has no test", k)
		}
	}
	if want := len(goDeaths) + len(goElsewhere); listed != want {
		t.Errorf("%d kinds are listed; want %d", listed, want)
	}
}

// TestGoEnds: programs that end by themselves, with a status and without a trace.
func TestGoEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind   string
		status int
		says   string
	}{
		{"go.exit", 7, ""},
		{"go.recover-20000", 0, `recovered 20000 of 20000 faults`},
		{"go.bad-pointer", 0, `bad pointers: 1\d\d calls, 0 wrong answers`},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			res, serial, err := boot(t, Config{}, "crash="+tt.kind)
			if err != nil || res.Outcome != Exited || res.Program != tt.status {
				t.Errorf("the machine: %v, status %d, %v; want status %d", res.Outcome, res.Program, err, tt.status)
			}
			if strings.Contains(serial, "zf1 ") {
				t.Error("there is a trace")
			}
			if !regexp.MustCompile(tt.says).MatchString(serial) {
				t.Errorf("the program did not say %q", tt.says)
			}
		})
	}
}

// TestGoTriple: a triple fault of a goroutine is a failure of the machine.
func TestGoTriple(t *testing.T) {
	t.Parallel()
	res, _, err := boot(t, Config{}, "crash=go.triple")
	if res.Outcome != Failed || !errors.Is(err, ErrReset) {
		t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, ErrReset)
	}
}

// TestGoSleep: a second of the program is a second of the machine, to the millisecond. The
// counter's frequency, which the kernel measures, is 1,000 MHz with virtual time.
func TestGoSleep(t *testing.T) {
	t.Parallel()
	for _, machine := range []string{"q35", "pc", "microvm"} {
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			_, serial, err := boot(t, Config{Machine: machine, Extra: virtualTime}, "crash=go.sleep")
			if err != nil || !strings.Contains(serial, "\nclock   1000 MHz by ") || !strings.Contains(serial, "\nslept 1000 ms\r\n") {
				t.Errorf("%v; want a clock of 1000 MHz, and a sleep of 1000 ms", err)
			}
		})
	}
}

// nmiTraces sends n NMIs, each when all has been said about the one before, and returns
// all traces. An NMI that came earlier would strike where the one before has struck:
// the processor takes it before the program's next instruction. Behind the last one come
// at least that many traces of goroutines.
func nmiTraces(t *testing.T, vm *VM, out *log, n, goroutines int) []*labTrace {
	t.Helper()
	_, symbols := lab(t, image.AllLoaders)
	for i := range n {
		if err := vm.InjectNMI(); err != nil {
			t.Fatal(err)
		}
		out.Until(t, func(sent string) bool { return nmisDone(sent) > i }, "a trace of NMI %d", i+1)
		waitRunning(t, vm)
	}
	out.waitForTraces(t, n+goroutines)
	serial := out.String()
	ends := lastLine.FindAllStringIndex(serial, -1)
	return traces(t, symbols, serial[:ends[len(ends)-1][1]])
}

// waitRunning waits until the program goes on after an NMI: the answer is written on stacks
// of the kernel's, which are in the image, below those of the program.
func waitRunning(t *testing.T, vm *VM) {
	t.Helper()
	await.Poll(t, "the program goes on", func() bool {
		regs, err := vm.Registers()
		if err != nil {
			t.Fatal(err)
		}
		rsp, ok := hex(regs, "RSP=")
		return ok && rsp >= 4<<30 || strings.Contains(regs, "HLT=1")
	})
}

// nmisDone is the number of traces of NMIs that have come whole.
func nmisDone(sent string) (n int) {
	parts := strings.Split(sent, "zf1 begin ")
	for _, p := range parts[1:] {
		if f := strings.Fields(p); len(f) > 1 && f[1] == "nmi" && lastLine.MatchString(p) {
			n++
		}
	}
	return n
}

// TestGoNMI: an NMI traces a goroutine that spins, wherever it strikes, and the program
// goes on.
func TestGoNMI(t *testing.T) {
	t.Parallel()
	for _, machine := range []string{"q35", "pc", "microvm"} {
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			path, _ := lab(t, image.AllLoaders)
			vm, out := start(t, Config{Kernel: path, Machine: machine, Append: "crash=go.spin"}, "")
			out.For(t, "spinning\r\n")
			const want = "g: golab.spinC golab.spinB golab.spinA runtime.goexit"
			n, here := 0, 0
			for _, tr := range nmiTraces(t, vm, out, 10, 0) {
				if tr.Kind != "nmi" {
					continue
				}
				n++
				checkNMI(t, tr)
				if strings.HasSuffix(tr.ourChain(), want) {
					here++
				} else {
					t.Logf("elsewhere: %s", tr.chain())
				}
			}
			// Now and then it strikes the kernel, or another thread of the runtime.
			if n != 10 || here < 5 {
				t.Errorf("%d traces, %d of them in the loop; want 10, and most of them", n, here)
			}
		})
	}
}

// checkNMI wants a trace of an NMI that is complete.
func checkNMI(t *testing.T, tr *labTrace) {
	t.Helper()
	if tr.Reason != "NMI" || tr.Vector == nil || *tr.Vector != 2 || tr.Damaged {
		t.Errorf("reason, vector, damaged = %s, %v, %v; want NMI, 2, false", tr.Reason, tr.Vector, tr.Damaged)
	}
	if !tr.Complete {
		t.Errorf("the trace ends with %s: %s", tr.End, tr.chain())
	}
}

// TestGoMcall: two goroutines only yield, so that most NMIs strike the scheduler, on the
// stack of g0: there the trace goes on, across mcall, with what the goroutine was at.
func TestGoMcall(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.AllLoaders)
	vm, out := start(t, Config{Kernel: path, Append: "crash=go.mcall"}, "")
	out.For(t, "yielding\r\nyielding\r\n")
	const want = " runtime.mcall g: runtime.Gosched golab.yieldC golab.yieldB "
	crossed, places := 0, map[string]bool{}
	for _, tr := range nmiTraces(t, vm, out, 40, 0) {
		if tr.Kind != "nmi" {
			continue
		}
		checkNMI(t, tr)
		places[tr.Frames[0].Address] = true
		if chain := strings.ReplaceAll(tr.chain(), "kernel/crashlab/", ""); strings.Contains(chain, want) {
			crossed++
		} else if strings.Contains(chain, "mcall") {
			t.Logf("mcall: %s", chain)
		}
	}
	if crossed < 10 || len(places) < 8 {
		t.Errorf("%d of 40 traces cross mcall, from %d places; want most of them, from many", crossed, len(places))
	}
	t.Logf("%d traces cross mcall, from %d places", crossed, len(places))
}

// TestGoHang: an NMI says of every goroutine what it waits for.
func TestGoHang(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.AllLoaders)
	vm, out := start(t, Config{Kernel: path, Append: "crash=go.hang"}, "")
	out.For(t, "hanging\r\n")
	waitIdle(t, vm)
	want := map[string]bool{
		"[sync.WaitGroup.Wait] g: golab.hangGroup golab.hangA golab.Main main.main runtime.main runtime.goexit": true,
		"[sync.Mutex.Lock] g: golab.hangLock runtime.goexit":                                                    true,
		"[chan receive] g: golab.hangReceive runtime.goexit":                                                    true,
		"[select] g: golab.hangSelect runtime.goexit":                                                           true,
		"[sync.Cond.Wait] g: golab.hangCond runtime.goexit":                                                     true,
		"[sleep] g: golab.hangSleep runtime.goexit":                                                             true,
	}
	all := nmiTraces(t, vm, out, 1, len(want))
	for _, tr := range all[1:] {
		_, state, _ := strings.Cut(tr.Reason, fmt.Sprintf("goroutine %d ", tr.Goroutine))
		got := state + " " + tr.ourChain()
		if tr.Kind != "trace" || !tr.Complete || tr.Damaged || !want[got] {
			t.Errorf("a trace of kind %s, %q: %s; want one of %v", tr.Kind, tr.Reason, got, want)
		}
		delete(want, got)
	}
	if all[0].Kind != "nmi" || len(want) > 0 {
		t.Errorf("the first trace is of kind %s, and no trace says %v", all[0].Kind, want)
	}
	checkNMI(t, all[0])
}
