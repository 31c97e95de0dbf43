package qemu

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/tools/image"
)

// Deaths in the panic path itself, rung by rung; what follows a fatal trace; and
// traces that are asked for and after which the kernel goes on.

const (
	nestedTail = "boot: main.nestedC main.nestedB main.nestedA" + tail
	// How a fault in the first rung got where it is, from the hook outwards.
	nestedPath = "panic: main.nestedFault main.nestedHook kernel.runPanicHook kernel.fullTrace kernel.writeRung" +
		" arch/amd64.onStack trap pf: arch/amd64.OnStack kernel.perform kernel.die kernel.trap arch/amd64.trapEntry trap "
)

// TestLadder: rung 1 dies behind its first frame; rung 2 tells in full how the
// panic path came to fault, down to the first fault; when it dies too, one line
// is left; then nothing, but the machine still ends as after any trace.
func TestLadder(t *testing.T) {
	for _, form := range []string{"text", "markup", "compact"} {
		for _, tt := range []struct {
			rung string
			last string // the start of the last line, or ""
			want []death
		}{
			{"1", "", []death{
				{"", "fault", 14, "nil pointer dereference, write to 0x8", "boot: main.nestedC", "", nil},
				{"", "fault", 14, "in the panic path: nil pointer dereference, write to 0x10", nestedPath + nestedTail, "zero", nil},
			}},
			{"2", "zf1 last fault 0x", []death{
				{"", "fault", 14, "nil pointer dereference, write to 0x8", "boot: main.nestedC", "", nil},
				{"", "fault", 14, "in the panic path: nil pointer dereference, write to 0x10", "panic: main.nestedFault", "", nil},
				{"", "fault", -1, "in the panic path: nil pointer dereference, write to 0x10", "main.nestedFault", "", nil},
			}},
			{"3", "", []death{
				{"", "fault", 14, "nil pointer dereference, write to 0x8", "boot: main.nestedC", "", nil},
				{"", "fault", 14, "in the panic path: nil pointer dereference, write to 0x10", "panic: main.nestedFault", "", nil},
			}},
		} {
			t.Run(form+"/"+tt.rung, func(t *testing.T) {
				t.Parallel()
				path, symbols := lab(t, image.AllLoaders)
				res, err, serial := boot(t, Config{Kernel: path}, "crash=early.nested crash.rung="+tt.rung+" trace="+form)
				if err != nil || res.Outcome != Traced {
					t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
				}
				all := traces(t, symbols, serial)
				if len(all) != len(tt.want) {
					t.Fatalf("%d traces; want %d", len(all), len(tt.want))
				}
				for i, tr := range all {
					got, want := tr, tt.want[i]
					vector := -1
					if got.Vector != nil {
						vector = *got.Vector
					}
					// These rungs have no stack table, which names the stacks in the compact form.
					chain := strings.NewReplacer("stack8:", "panic:", "stack0:", "boot:", "stack1:", "pf:").Replace(got.chain())
					if got.Kind != want.trace || vector != want.vector || got.Reason != want.reason || chain != want.chain || got.End != want.end {
						t.Errorf("trace %d = %s, %d, %q, %q, %q\nwant      %s, %d, %q, %q, %q", i, got.Kind, vector, got.Reason, chain, got.End,
							want.trace, want.vector, want.reason, want.chain, want.end)
					}
				}
				lines := strings.Split(strings.TrimSpace(serial), "\r\n")
				if last := lines[len(lines)-1]; tt.last != "" && !strings.HasPrefix(last, tt.last) {
					t.Errorf("the last line is %q; want %q", last, tt.last)
				}
			})
		}
	}
}

// TestPanicOption: panic=exit|halt|reset.
func TestPanicOption(t *testing.T) {
	path, symbols := lab(t, image.AllLoaders)
	for _, machine := range []string{"q35", "pc", "microvm"} {
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			for _, option := range []string{"", "panic=exit", "panic=reset"} {
				res, err, serial := boot(t, Config{Kernel: path, Machine: machine}, "crash=early.ud2 "+option)
				want, wantErr := Traced, error(nil)
				if option == "panic=reset" {
					want, wantErr = Failed, ErrReset
				}
				if res.Outcome != want || !errors.Is(err, wantErr) {
					t.Errorf("%q: %v, %v; want %v, %v", option, res.Outcome, err, want, wantErr)
				}
				if n := len(traces(t, symbols, serial)); n != 1 {
					t.Errorf("%q: %d traces; want 1", option, n)
				}
			}
			vm, out := start(t, Config{Kernel: path, Machine: machine, Append: "crash=early.ud2 panic=halt"}, "")
			out.waitFor(t, "zf1 done")
			halted := false
			for end := time.Now().Add(limit / 2); !halted && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				var err error
				if halted, err = vm.Halted(); err != nil {
					t.Fatal(err)
				}
			}
			if !halted {
				t.Errorf("panic=halt: the CPU does not halt")
			}
		})
	}
}

// TestNoDebugExit: without QEMU's device the kernel halts, as on a real machine.
func TestNoDebugExit(t *testing.T) {
	path, _ := lab(t, image.AllLoaders)
	for _, tt := range []struct{ cmdline, last string }{
		{"crash=early.ud2", "zf1 done"},
		{"", "the kernel has ended: halted"},
	} {
		// A second device takes the port, and answers reads like no device.
		vm, out := start(t, Config{Kernel: path, Append: tt.cmdline, Extra: []string{"-device", "isa-debugcon,iobase=0xf4,chardev=sink", "-chardev", "null,id=sink"}}, "")
		out.waitFor(t, tt.last)
		for end := time.Now().Add(limit / 2); ; time.Sleep(10 * time.Millisecond) {
			if halted, err := vm.Halted(); err == nil && halted {
				break
			} else if time.Now().After(end) {
				t.Fatalf("%q: the CPU does not halt: %v, %v", tt.cmdline, halted, err)
			}
		}
	}
}

// TestTripleFaultOfTheKernel: no trace, no exit status: a failure of the machine.
func TestTripleFaultOfTheKernel(t *testing.T) {
	res, err, serial := boot(t, Config{}, "crash=early.triple")
	if res.Outcome != Failed || !errors.Is(err, ErrReset) {
		t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, ErrReset)
	}
	_, symbols := lab(t, image.AllLoaders)
	if tr := traces(t, symbols, serial); len(tr) != 0 {
		t.Errorf("%d traces; want none", len(tr))
	}
	if fr := symbols.Lookup(res.RIP, false); len(fr) == 0 || fr[0].Function != module+"arch/amd64.TripleFault" {
		t.Errorf("RIP is in %v; want arch/amd64.TripleFault", fr)
	}
}

// TestNMI: an NMI from outside traces an endless loop, and the loop goes on: it
// can be traced again, and again. So it is on each machine.
func TestNMI(t *testing.T) {
	for _, machine := range []string{"q35", "pc", "microvm"} {
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			path, symbols := lab(t, image.AllLoaders)
			vm, out := start(t, Config{Kernel: path, Machine: machine, Append: "crash=early.spin"}, "")
			out.waitFor(t, "spinning")
			const times = 3
			for n := 1; n <= times; n++ {
				if err := vm.InjectNMI(); err != nil {
					t.Fatal(err)
				}
				for end := time.Now().Add(limit / 2); strings.Count(out.String(), "zf1 done") < n; time.Sleep(5 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("NMI %d has no trace", n)
					}
				}
			}
			all := traces(t, symbols, out.String())
			if len(all) != times {
				t.Fatalf("%d traces; want %d", len(all), times)
			}
			for _, tr := range all {
				got := strings.Replace(tr.chain(), "arch/amd64.Pause ", "", 1) // it may be in the loop or in what the loop calls
				checkDeath(t, &labTrace{Kind: tr.Kind, Context: tr.Context, Vector: tr.Vector, Reason: tr.Reason, Complete: tr.Complete, End: tr.End},
					death{"", "nmi", 2, "NMI", "", "zero", nil})
				if want := "boot: main.spinC main.spinB main.spinA" + tail; got != want {
					t.Errorf("chain = %s\nwant    %s", got, want)
				}
				checkTrace(t, tr)
				if tr.stack("nmi").Used == 0 {
					t.Errorf("stack nmi has not been used")
				}
			}
		})
	}
}
