package qemu

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// Deaths in the panic path itself, stage by stage; what follows a fatal trace; and
// traces that are asked for and after which the kernel goes on.

const (
	nestedTail = "boot: main.nestedC main.nestedB main.nestedA" + tail
	// How a fault in the first stage got where it is, from the hook outwards.
	nestedPath = "panic: main.nestedFault main.nestedHook kernel/fault.runHook kernel/fault.writeDetails kernel/fault.fullTrace kernel/fault.writeStage" +
		" arch/amd64.onStack trap pf: arch/amd64.OnStack arch.OnStack kernel/fault.onPanicStack kernel/fault.WriteTrace kernel/fault.fatalTrap kernel/fault.Trap arch/amd64.trapEntry trap "
)

// TestPanicStages: stage 1 dies behind its first frame; stage 2 tells in full how the
// panic path came to fault, down to the first fault; when it dies too, one line
// is left; then nothing, but the machine still ends as after any trace.
func TestPanicStages(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"text", "markup", "compact"} {
		for _, tt := range []struct {
			stage string
			last  string // the start of the last line, or ""
			want  []death
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
			t.Run(form+"/"+tt.stage, func(t *testing.T) {
				t.Parallel()
				path, symbols := lab(t, image.AllLoaders)
				res, serial, err := boot(t, Config{Kernel: path}, "crash=early.nested crash.stage="+tt.stage+" trace="+form)
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
					// These stages have no stack table, which names the stacks in the compact form.
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
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, machine := range []string{"q35", "pc", "microvm"} {
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			for _, option := range []string{"", "panic=exit", "panic=reset"} {
				res, serial, err := boot(t, Config{Kernel: path, Machine: machine}, "crash=early.ud2 "+option)
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
			out.For(t, "zf1 done")
			waitHalted(t, vm)
		})
	}
}

// TestNoDebugExit: without QEMU's device the kernel halts, as on a real machine.
func TestNoDebugExit(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.AllLoaders)
	for _, tt := range []struct{ cmdline, last string }{
		{"crash=early.ud2", "zf1 done"},
		{"", "the kernel has ended: halted"},
	} {
		// A second device takes the port, and answers reads like no device.
		vm, out := start(t, Config{Kernel: path, Append: tt.cmdline, Extra: []string{"-device", "isa-debugcon,iobase=0xf4,chardev=sink", "-chardev", "null,id=sink"}}, "")
		out.For(t, tt.last)
		waitHalted(t, vm)
	}
}

// TestTripleFaultOfTheKernel: no trace, no exit status: a failure of the machine.
func TestTripleFaultOfTheKernel(t *testing.T) {
	t.Parallel()
	res, serial, err := boot(t, Config{}, "crash=early.triple")
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

// spinning is the chain without what the loop calls, or what it called last to say
// that it spins.
func spinning(tr *labTrace) string { return called.ReplaceAllString(tr.chain(), "boot: main.spinC ") }

var called = regexp.MustCompile(`^boot: ((arch|kernel)[/.]\S+ )+main\.spinC `)

// lastLine is a trace's, when it has come whole.
var lastLine = regexp.MustCompile(`zf1 done \d+ crc=0x[0-9a-f]+\r\n`)

// TestNMI: an NMI from outside traces an endless loop, and the loop goes on: it
// can be traced again, and again. So it is on each machine.
func TestNMI(t *testing.T) {
	t.Parallel()
	for _, machine := range []string{"q35", "pc", "microvm"} {
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			path, symbols := lab(t, image.AllLoaders)
			vm, out := start(t, Config{Kernel: path, Machine: machine, Append: "crash=early.spin"}, "")
			out.For(t, "spinning\r\n")
			const times = 3
			for n := 1; n <= times; n++ {
				if err := vm.InjectNMI(); err != nil {
					t.Fatal(err)
				}
				out.waitForTraces(t, n)
			}
			all := traces(t, symbols, out.String())
			if len(all) != times {
				t.Fatalf("%d traces; want %d", len(all), times)
			}
			for _, tr := range all {
				got := spinning(tr)
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

// nmiCounted is in the line that says how many NMIs have come while a trace was written.
const nmiCounted = " NMI came while the trace was written and was not traced\r\n"

// TestNMIBurst: NMIs that come while one is being traced are counted, whatever the
// trace has to do meanwhile (here: a load that faults, and whose return lets the
// next NMI in), and none of them breaks anything.
func TestNMIBurst(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	vm, out := start(t, Config{Kernel: path, Append: "crash=early.spin-unmapped"}, "")
	out.For(t, "spinning\r\n")
	// It says so before it does: in the loop it is at PAUSE, or at the jump behind that.
	entry := entryOf(t, path, "main.smashAndSpin")
	code, _ := symbols.BytesAt(entry, 64)
	pause := bytes.Index(code, []byte{0xf3, 0x90})
	if pause < 0 {
		t.Fatalf("main.smashAndSpin is %x; want a PAUSE in it", code)
	}
	await.Poll(t, "the program spins", func() bool {
		regs, err := vm.Registers()
		if err != nil {
			t.Fatal(err)
		}
		rip, ok := hex(regs, "RIP=")
		return ok && rip-(entry+uint64(pause)) <= 2
	})
	for range 40 {
		if err := vm.InjectNMI(); err != nil {
			t.Fatal(err)
		}
	}
	// It is alive: another NMI is answered, after whatever those have made. One that comes
	// between the end of a trace and the return is counted, too, and so another one is sent.
	for range 3 {
		before := len(lastLine.FindAllString(out.String(), -1))
		for answered := false; !answered; {
			counted := strings.Count(out.String(), nmiCounted)
			if err := vm.InjectNMI(); err != nil {
				t.Fatal(err)
			}
			out.Until(t, func(sent string) bool {
				answered = len(lastLine.FindAllString(sent, -1)) > before
				return answered || strings.Count(sent, nmiCounted) > counted
			}, "a trace, or a line with %q", nmiCounted)
		}
	}
	// Another trace may have begun by now; it is left out.
	serial := out.String()
	ends := lastLine.FindAllStringIndex(serial, -1)
	all := traces(t, symbols, serial[:ends[len(ends)-1][1]])
	if len(all) < 3 {
		t.Errorf("%d traces; want at least 3: of the burst and of what came after it", len(all))
	}
	// The walk reads the two first; the last comes from the stack words that it carries.
	const want = "boot: main.smashAndSpin main.spinUnmappedC main.spinUnmappedB"
	for i, tr := range all {
		if tr.Kind != "nmi" || tr.chain() != want || tr.End != "unreadable" || tr.Damaged {
			t.Errorf("trace %d = %s, %q, %s, damaged %v; want nmi, %q, unreadable", i, tr.Kind, tr.chain(), tr.End, tr.Damaged, want)
		}
	}
}

// TestPanicStagesUnreadable: the walk of the second stage runs into memory that is not
// there. The fault is fixed up on a stack that is not its own.
func TestPanicStagesUnreadable(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for stage, want := range map[string]int{"1": 2, "2": 3} {
		res, serial, err := boot(t, Config{Kernel: path}, "crash=early.rbp-unmapped crash.stage="+stage)
		all := traces(t, symbols, serial)
		if err != nil || res.Outcome != Traced || len(all) != want {
			t.Errorf("stage %s: %v, %v, %d traces; want %d", stage, res.Outcome, err, len(all), want)
			continue
		}
		if stage == "1" && (all[1].End != "unreadable" || all[1].Damaged || !strings.HasSuffix(all[1].chain(), "boot: main.smash main.unmappedC")) {
			t.Errorf("the second stage's trace: %q, %s, damaged %v; want it to end as unreadable", all[1].chain(), all[1].End, all[1].Damaged)
		}
	}
}

// TestMachineCheck: a machine check has its stack and its trace.
func TestMachineCheck(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	vm, out := start(t, Config{Kernel: path, Append: "crash=early.spin"}, "")
	out.For(t, "spinning\r\n")
	// CPU 0, bank 0, status: valid, uncorrected, enabled, context corrupt; MCG
	// status: machine check in progress.
	if _, err := vm.QMP("human-monitor-command", map[string]string{"command-line": "mce 0 0 0xb200000000000000 0x4 0 0"}); err != nil {
		t.Fatal(err)
	}
	res, err := vm.Wait()
	all := traces(t, symbols, out.String())
	if err != nil || res.Outcome != Traced || len(all) != 1 {
		t.Fatalf("the machine: %v, %v, %d traces; want one", res.Outcome, err, len(all))
	}
	tr := all[0]
	if tr.Kind != "fault" || tr.Reason != "machine check" || tr.Vector == nil || *tr.Vector != 18 || !tr.Complete || tr.stack("mc").Used == 0 {
		t.Errorf("trace = %s, %q, vector %v, complete %v, stack mc used %d", tr.Kind, tr.Reason, tr.Vector, tr.Complete, tr.stack("mc").Used)
	}
	if got, want := spinning(tr), "boot: main.spinC main.spinB main.spinA"+tail; got != want {
		t.Errorf("chain = %s\nwant    %s", got, want)
	}
}
