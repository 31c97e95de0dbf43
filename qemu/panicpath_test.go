package qemu

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// The panic path where its parts meet: the monitor, records, the screen and NMIs.

// damaged boots testdata/damage and returns its traces.
func damaged(t *testing.T, cfg Config, options, mode string) (serial string, all []*labTrace) {
	t.Helper()
	path, symbols, err := programSymbols(t, "damage")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Kernel = path
	res, serial, err := boot(t, cfg, options+" -- "+mode)
	if err != nil || res.Outcome != Traced {
		t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
	}
	return serial, traces(t, symbols, serial)
}

// TestDrawingDies: the screen's memory goes away. The first fault has its whole trace by the
// serial port, though a line stands begun on the screen, too.
func TestDrawingDies(t *testing.T) {
	t.Parallel()
	_, all := damaged(t, Config{Extra: []string{"-vga", "std"}}, "console=both", "screen")
	if len(all) != 1 || !all[0].Complete || all[0].Damaged || !strings.HasPrefix(all[0].Reason, "page fault, write to unmapped 0x70000") ||
		!strings.HasPrefix(all[0].chain(), "kernel: arch/amd64.Store16 arch/pc.DrawText arch.DrawText kernel/dev/screen.drawText ") {
		t.Errorf("%d traces, the first %+v", len(all), all)
	}
}

// TestThreadsDamaged: the table of threads is broken, which tells where a death was and of
// which stacks there are. The first fault has its whole trace all the same, but for the
// stacks that nobody knows of any more.
func TestThreadsDamaged(t *testing.T) {
	t.Parallel()
	for mode, reason := range map[string]string{
		"threads":      "page fault, read of unmapped 0x70000",
		"threads-wild": "general protection fault (non-canonical address",
	} {
		serial, all := damaged(t, Config{}, "", mode)
		if len(all) != 1 || !strings.HasPrefix(all[0].Reason, reason) || all[0].Thread != 1 || !all[0].Complete || all[0].Damaged ||
			!strings.Contains(all[0].chain(), " trap g: ") || // of a system call, or of the timer's interrupt before it
			!strings.HasSuffix(all[0].chain(), " main.main runtime.main runtime.goexit") {
			t.Errorf("%s: %d traces; the serial port: %q", mode, len(all), serial)
		}
	}
}

// TestFaultInPageFault: who gives pages finds no page tables, and faults in a page fault's
// handler. The CPU begins at the top of the same stack again; the trace leads past both.
func TestFaultInPageFault(t *testing.T) {
	t.Parallel()
	serial, all := damaged(t, Config{}, "report=off", "tables")
	const nowhere uint64 = arch.DirectMap + 0x70_0000_0000
	if len(all) != 1 || !strings.HasPrefix(all[0].Reason, fmt.Sprintf("page fault, read of unmapped %#x", nowhere>>16)) || !all[0].Complete || all[0].Damaged ||
		!strings.HasPrefix(all[0].chain(), "pf: kernel/mem.") || !strings.HasSuffix(all[0].chain(), " arch/amd64.trapEntry trap g: main.store main.main runtime.main runtime.goexit") {
		t.Errorf("%d traces; the serial port: %q", len(all), serial)
	}
}

// TestTablesDamaged: who writes over what the CPU needs in order to deliver a trap is told,
// as the write does not happen; without it, the next trap would be the machine's end.
func TestTablesDamaged(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"gdt", "idt", "tss"} {
		serial, all := damaged(t, Config{}, "", mode)
		if len(all) != 1 || !strings.HasPrefix(all[0].Reason, "fatal error: fault") || !all[0].Complete || all[0].Damaged ||
			!strings.HasSuffix(all[0].chain(), " runtime.sigpanic main.zero main.main runtime.main runtime.goexit") {
			t.Errorf("%s: %d traces; the serial port: %q", mode, len(all), serial)
		}
	}
}

// TestFPUTakenAway: the FPU's instructions of the entry code itself fault, as a program
// has taken the FPU away. The fault that comes next has its trace.
func TestFPUTakenAway(t *testing.T) {
	t.Parallel()
	for _, cpu := range []string{"", "max"} {
		for mode, function := range map[string]string{"task-switched": "main.taskSwitched", "no-sse": "main.noSSE"} {
			serial, all := damaged(t, Config{CPU: cpu}, "", mode)
			if len(all) != 1 || !strings.HasPrefix(all[0].Reason, nilMemory) || !all[0].Complete || all[0].Damaged ||
				!strings.HasSuffix(all[0].chain(), " runtime.sigpanic "+function+" main.main runtime.main runtime.goexit") {
				t.Errorf("%s, CPU %q: %d traces; the serial port: %q", mode, cpu, len(all), serial)
			}
		}
	}
}

// TestRecordDamaged: where the CPU finds its own data has been written over. The next crash
// has its trace.
func TestRecordDamaged(t *testing.T) {
	t.Parallel()
	serial, all := damaged(t, Config{}, "", "record")
	if len(all) != 1 || !strings.HasPrefix(all[0].Reason, nilMemory) || !all[0].Complete || all[0].Damaged ||
		!strings.HasSuffix(all[0].chain(), " runtime.sigpanic main.load main.main runtime.main runtime.goexit") {
		t.Errorf("%d traces; the serial port: %q", len(all), serial)
	}
	// All that the entry code has in it: who enters the kernel first crashes there.
	serial, all = damaged(t, Config{}, "", "record-all")
	if len(all) != 1 || all[0].Kind != "fault" || !all[0].Complete || all[0].Damaged {
		t.Errorf("all of it: %d traces; the serial port: %q", len(all), serial)
	}
}

// TestGSOfProgram: the GS base leads to the CPU's data. A program is not allowed to set it;
// if its code loads GS all the same, a system call, an interrupt, a page fault and a death
// are as ever.
func TestGSOfProgram(t *testing.T) {
	t.Parallel()
	for _, cpu := range []string{"", "max"} {
		serial, all := damaged(t, Config{CPU: cpu}, "", "gs")
		if len(all) != 1 || !strings.HasPrefix(all[0].Reason, nilMemory) || !all[0].Complete || all[0].Damaged ||
			!strings.HasSuffix(all[0].chain(), " runtime.sigpanic main.clearGS main.main runtime.main runtime.goexit") {
			t.Errorf("CPU %q: %d traces; the serial port: %q", cpu, len(all), serial)
		}
		const want = "arch_prctl(ARCH_SET_GS) is refused (EINVAL): GS is the kernel's\n" +
			"ARCH_SET_GS: invalid argument\nARCH_SET_GS: invalid argument\nmapped memory is as it was: true\n"
		if got := said(serial); !strings.HasPrefix(got, want) {
			t.Errorf("CPU %q: it says %q; want %q", cpu, got, want)
		}
	}
}

// TestOverwritten: code of the panic path has been written over, or of the way there. It is
// put back, and the trace is whole.
func TestOverwritten(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"console", "stages", "entry"} {
		serial, all := damaged(t, Config{}, "report=off", mode)
		if len(all) != 1 || !all[0].Complete || all[0].Damaged || !strings.HasSuffix(all[0].chain(), " main.load main.main runtime.main runtime.goexit") ||
			!strings.Contains(serial, overwritten) {
			t.Errorf("%s: %d traces; the serial port: %q; want one, whole, and %q", mode, len(all), serial, overwritten)
		}
	}
	if serial, _ := damaged(t, Config{}, "", "asleep"); strings.Contains(serial, overwritten) {
		t.Errorf("nothing has been written over: %q", serial)
	}
}

const overwritten = "the kernel's own memory had been overwritten, and was put back: words 1, the first at 0x"

// TestLastWord: code that each stage of the panic path needs has been written over, or the
// table of stages itself, and the copy by which it is put back is gone: no trace, but one line, and
// the end that a death has.
func TestLastWord(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"console-lost", "stages-lost"} {
		serial, all := damaged(t, Config{}, "report=off", mode)
		if len(all) != 0 || !strings.HasSuffix(serial, lastWord) {
			t.Errorf("%s: %d traces; the serial port: %q; want it to end in %q", mode, len(all), serial, lastWord)
		}
		// What panic= asks for happens all the same.
		res, serial, err := boot(t, Config{Kernel: program(t, "damage")}, "report=off panic=reset -- "+mode)
		if res.Outcome != Failed || !errors.Is(err, ErrReset) || !strings.HasSuffix(serial, lastWord) {
			t.Errorf("%s: panic=reset: %v, %v; the serial port: %q; want a reset", mode, res.Outcome, err, serial)
		}
	}
}

// lastWord is what the serial port gets, and nothing else does, when all stages have died.
const lastWord = "\r\nzeroframe: the panic path itself has failed; giving up\r\n"

// TestMuted: what says that the serial port is to be silent has been written over.
func TestMuted(t *testing.T) {
	t.Parallel()
	if serial, all := damaged(t, Config{}, "", "mute"); len(all) != 1 || !strings.HasPrefix(all[0].Reason, nilMemory) || !all[0].Complete {
		t.Errorf("%d traces; the serial port: %q", len(all), serial)
	}
}

// TestAsleep: the goroutines that are listed behind a death do not take its place, neither at
// the monitor's prompt nor in the record.
func TestAsleep(t *testing.T) {
	t.Parallel()
	const reason = "all goroutines are asleep"
	r, w := io.Pipe()
	path, symbols, err := programSymbols(t, "damage")
	if err != nil {
		t.Fatal(err)
	}
	out := new(log)
	vm, err := Start(t.Context(), Config{Kernel: path, Timeout: limit, Append: "panic=monitor report=off -- asleep", Stdin: r, Stdout: out, Reboots: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(); vm.Kill(); vm.Wait() })
	out.For(t, "monitor> ")
	listed := len(traces(t, symbols, out.String()))
	io.WriteString(w, "bt\r")
	out.For(t, fmt.Sprintf("zf1 begin %d ", listed+1))
	out.waitForTraces(t, listed+1)
	if all := traces(t, symbols, out.String()); listed < 4 || !strings.Contains(all[listed].Reason, reason) || all[listed].chain() != all[0].chain() {
		t.Errorf("%d traces, and then %q: %s; want four or more, and the first again", listed, all[listed].Reason, all[listed].chain())
	}
	// Nor does what dies at the prompt.
	io.WriteString(w, "crash nil\r")
	out.waitForTraces(t, listed+2)
	io.WriteString(w, "reboot\r")
	out.For(t, diedBefore)
	out.For(t, "previous boot's last lines")
	if _, after, _ := strings.Cut(out.String(), diedBefore); !strings.Contains(after[:min(100, len(after))], reason) {
		t.Errorf("the next boot says %.100q; want %q", after, reason)
	}
}

// TestMonitorOnDeadStack: loads of the monitor's that fault use the stack on which a page
// fault has died; `continue` ends the machine all the same.
func TestMonitorOnDeadStack(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	r, w := io.Pipe()
	out := new(log)
	vm, err := Start(t.Context(), Config{Kernel: path, Timeout: limit, Append: "crash=early.nil-write panic=monitor", Stdin: r, Stdout: out})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(); vm.Kill(); vm.Wait() })
	out.For(t, "monitor> ")
	io.WriteString(w, "x/gx 0x7000000000\r")
	out.For(t, "nothing is mapped at 0x7000000000")
	io.WriteString(w, "continue\r")
	res, err := vm.Wait()
	if all := traces(t, symbols, out.String()); err != nil || res.Outcome != Traced || len(all) != 1 {
		t.Errorf("the machine: %v, %v, %d traces; want %v and one", res.Outcome, err, len(all), Traced)
	}
}

// TestNMIInRecord: an NMI in the middle of a record's line. Its trace begins on a line of its
// own, and the record is whole.
func TestNMIInRecord(t *testing.T) {
	t.Parallel()
	path := program(t, "records")
	symbols, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	const size = 600 << 10
	vm, out := start(t, Config{Kernel: path, Timeout: 5 * limit, Append: fmt.Sprintf("report=off -- large %d", size)}, "")
	out.For(t, "\x1ezfr test.large 1 9 ")
	// One that comes while the goroutines are listed may be dropped, so the record has to go
	// on before the next one.
	const times = 3
	for n := range times {
		out.Until(t, func(sent string) bool {
			sent = sent[max(strings.LastIndex(sent, "zf1 done"), 0):]
			return strings.Contains(sent, "\x1ezfr") && !strings.Contains(sent, "zf1 begin")
		}, "more of the record")
		if err := vm.InjectNMI(); err != nil {
			t.Fatal(err)
		}
		out.Times(t, "zf1 reason NMI", n+1)
	}
	if res, err := vm.Wait(); err != nil || res.Outcome != Exited {
		t.Errorf("the machine: %v, %v", res.Outcome, err)
	}
	r := read([]byte(out.String()), nil)
	nmis := 0
	for _, tr := range traces(t, symbols, r.text.String()) {
		if tr.Kind == "nmi" && !tr.Damaged && tr.Complete {
			nmis++
		}
	}
	if nmis != times {
		t.Errorf("%d whole traces of NMIs; want %d", nmis, times)
	}
	if got := r.records["1 test.large"]; string(got) != string(recordData(7, size)) {
		t.Errorf("the record has %d bytes; want %d of the right ones (%q)", len(got), size, r.damages)
	}
}
