package qemu

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/kernel/crashlog"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// Across a reboot: what a death leaves in RAM for the next boot, and what that makes of it.

const diedBefore = "previous boot died"

// twoBoots boots the lab with panic=reset, lets it reset once, and returns what both
// boots have said: they are to end in peace.
func twoBoots(t *testing.T, cfg Config, cmdline string) (first, second string, all []*labTrace) {
	t.Helper()
	path, symbols := lab(t, image.AllLoaders)
	cfg.Kernel, cfg.Reboots = path, 1
	res, serial, err := boot(t, cfg, cmdline+" panic=reset crash.then=none")
	if err != nil || res.Outcome != Exited || res.Program != 0 {
		t.Errorf("the machine: %v, status %d, %v; want status 0 of a second boot", res.Outcome, res.Program, err)
	}
	const report = "zeroframe "
	i := strings.LastIndex(serial, report)
	if strings.Count(serial, "\n"+report) != 1 {
		t.Fatalf("%d boots; want 2", strings.Count(serial, "\n"+report)+1)
	}
	return serial[:i], serial[i:], traces(t, symbols, serial)
}

// TestPreviousBoot: the boot after a death tells the very same chain of functions.
func TestPreviousBoot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ machine, kind, options string }{
		{"q35", "early.nil-write", ""},
		{"pc", "early.panic", ""},
		{"microvm", "early.panic-type", ""},
		{"q35", "early.overflow", "trace=compact"},
		{"microvm", "early.in-irq", "trace=markup"},
		{"q35", "early.double-fault", "trace.stack=65536"},
		{"q35", "go.panic-error", "report=off"},
		{"pc", "go.overflow", ""},
		{"microvm", "go.in-irq", "trace=compact"},
		{"q35", "go.throw-deadlock", ""},
		{"q35", "go.kernel-panic", ""},
	} {
		t.Run(tt.machine+"/"+tt.kind, func(t *testing.T) {
			t.Parallel()
			_, second, all := twoBoots(t, Config{Machine: tt.machine}, "crash="+tt.kind+" "+tt.options)
			var before *labTrace
			for _, tr := range all {
				if tr.Previous > 0 {
					before = tr
				}
			}
			if before == nil {
				t.Fatalf("no trace of the boot before in %q", second)
			}
			died := all[0] // what follows it in its own boot lists goroutines
			if before.Previous != 1 || before.Damaged || before.Complete != died.Complete || before.BuildID != died.BuildID ||
				before.Kind != died.Kind || before.Context != died.Context || before.Goroutine != died.Goroutine {
				t.Errorf("the boot before: %+v\nof the death itself: %+v", before, died)
			}
			if before.Reason != died.Reason || before.chain() != died.chain() {
				t.Errorf("%s: %s\nwant %s: %s", before.Reason, before.chain(), died.Reason, died.chain())
			}
			if len(before.Stacks) != len(died.Stacks) {
				t.Errorf("%d stacks; want %d", len(before.Stacks), len(died.Stacks))
			}
			if want := diedBefore + ": " + died.Reason; !strings.Contains(second, want) {
				t.Errorf("the second boot says %q; want %q in it", second, want)
			}
		})
	}
}

// TestPreviousConsole: the last lines of the boot that died are told, without its report.
func TestPreviousConsole(t *testing.T) {
	t.Parallel()
	_, second, _ := twoBoots(t, Config{}, "crash=go.panic-error report=off")
	if want := "last lines:\r\n  | "; !strings.Contains(second, want) || strings.Contains(second, "  | cpu") ||
		!strings.Contains(second, "  | panic: ") {
		t.Errorf("the second boot says %q; want %q and what the Go runtime said", second, want)
	}
}

// poke makes QEMU write eight bytes at each reset, as what damages RAM does. That many are never
// there already; one byte was, by chance.
func poke(addr int) []string {
	return []string{"-device", fmt.Sprintf("loader,addr=%#x,data=0xa5c3965a0ff069b4,data-len=8", addr)}
}

// TestPreviousDamaged: one copy of the record may be damaged; of two nothing is believed.
func TestPreviousDamaged(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	const one, two = crashlog.Place + 100, crashlog.Place + crashlog.Size + 60
	for _, tt := range []struct {
		name  string
		extra []string
		told  bool
	}{
		{"first", poke(one), true},
		{"second", poke(two), true},
		{"both", append(poke(one), poke(two)...), false},
		{"lengths", append(poke(crashlog.Place+19), poke(crashlog.Place+crashlog.Size+19)...), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, serial, err := boot(t, Config{Kernel: path, Reboots: 1, Extra: tt.extra}, "crash=early.nil-write panic=reset crash.then=none")
			if err != nil || res.Outcome != Exited || res.Program != 0 {
				t.Errorf("the machine: %v, status %d, %v; want status 0 of a second boot", res.Outcome, res.Program, err)
			}
			previous := 0
			for _, tr := range traces(t, symbols, serial) {
				if tr.Previous > 0 && !tr.Damaged {
					previous++
				}
			}
			damaged := strings.Contains(serial, diedBefore+", but its crash record is damaged")
			if told := previous == 1; told != tt.told || damaged == tt.told {
				t.Errorf("told %v, called damaged %v; want it told %v", told, damaged, tt.told)
			}
		})
	}
}

// TestPreviousTwice: a death is told once, and the next one counts.
func TestPreviousTwice(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	res, serial, err := boot(t, Config{Kernel: path, Reboots: 3}, "crash=early.nil-write panic=reset crash.then=early.div0")
	if res.Outcome != Failed || !errors.Is(err, ErrReset) {
		t.Errorf("the machine: %v, %v; want %v after the fourth boot", res.Outcome, err, ErrReset)
	}
	var got []string
	for _, tr := range traces(t, symbols, serial) {
		got = append(got, fmt.Sprintf("%d %s", tr.Previous, tr.Reason))
	}
	const write, divide = "nil pointer dereference, write to 0x8", "runtime error: integer divide by zero"
	want := []string{"0 " + write, "1 " + write, "0 " + divide, "2 " + divide, "0 " + divide, "3 " + divide, "0 " + divide}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the traces are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPreviousNone: a reset of a machine that has not died leaves nothing to tell; nor is
// a death told that another boot has told already.
func TestPreviousNone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cmdline, up string // what the machine says when it stands still
		tellers     int    // boots that have something to tell
	}{
		{"crash=early.spin", "kernel    ", 0}, // the last row of the boot report
		{"crash=early.nil-write panic=reset crash.then=go.spin", "spinning", 1},
	} {
		path, _ := lab(t, image.AllLoaders)
		vm, out := start(t, Config{Kernel: path, Reboots: 1 + tt.tellers, Append: tt.cmdline}, "")
		out.For(t, tt.up)
		if _, err := vm.QMP("system_reset", nil); err != nil {
			t.Fatal(err)
		}
		if tt.tellers > 0 {
			vm.Wait() // it dies once more
		} else {
			out.waitForBoots(t, 2)
		}
		serial := out.String()
		if n, want := strings.Count(serial, "\nloader  "), 2+tt.tellers; n != want {
			t.Errorf("%s: %d boots; want %d", tt.cmdline, n, want)
		}
		if n := strings.Count(serial, diedBefore); n != tt.tellers {
			t.Errorf("%s: %d boots tell of one before; want %d: %q", tt.cmdline, n, tt.tellers, serial)
		}
	}
}

// waitForBoots waits until that many boots have written their report.
func (l *log) waitForBoots(t *testing.T, n int) {
	t.Helper()
	const lastRow = "\nkernel    "
	l.Times(t, lastRow, n)
}

// TestPreviousOfNested: a death in the panic path leaves a record of the first death, which
// says less the later the stage that ended it; with all stages dead it has the reason.
func TestPreviousOfNested(t *testing.T) {
	t.Parallel()
	for stage, frames := range map[int]bool{1: true, 2: false, 3: false} {
		first, second, all := twoBoots(t, Config{}, fmt.Sprintf("crash=early.nil-write crash.stage=%d", stage))
		if said := strings.Contains(first, lastWord); said != (stage == 3) {
			t.Errorf("stage %d: the last word is said: %v", stage, said)
		}
		if want := diedBefore + ": nil pointer dereference, write to 0x8"; !strings.Contains(second, want) {
			t.Errorf("stage %d: the second boot says %q; want %q", stage, second, want)
		}
		told := all[len(all)-1]
		switch {
		case told.Previous > 0 != frames:
			t.Errorf("stage %d: a trace of the boot before: %v; want %v", stage, told.Previous > 0, frames)
		case frames && !strings.HasSuffix(told.chain(), ": main.nilWriteC main.nilWriteB main.nilWriteA"+tail):
			t.Errorf("stage %d: chain %s", stage, told.chain())
		}
	}
}
