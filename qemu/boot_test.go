package qemu

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// The boot: by each loader on each machine, with little and with much memory,
// and what the boot report says of it.

// report is what the boot report is made of.
var report = regexp.MustCompile(`^zeroframe (\S+) build ([0-9a-f]{40})\r
loader  (.*)\r
memory  (\d+) KiB usable, up to (0x[0-9a-f]+); image (\d+) KiB, page tables (\d+) KiB\r
cpu     (.+)\r
clock   \d+ MHz by .+; timer .+\r
random  .+\r
branch  no records: this CPU keeps none\r
stack        size  used, at least   free  limit\r
((?:[a-z]+ +\d+ +\d+ +\d+ % +\d+ +\d+(?:  warning: above 75 %)?\r
){11})`)

func TestBoot(t *testing.T) {
	t.Parallel()
	for _, machine := range []string{"pc", "q35", "microvm"} {
		for _, tt := range []struct {
			loaders image.Loaders
			loader  string
		}{
			{image.AllLoaders, "qemu, multiboot"}, // QEMU tries multiboot first
			{image.Multiboot, "qemu, multiboot"},
			{image.PVH, "PVH"},
		} {
			for _, mib := range []int{8, 128, 5000} {
				t.Run(fmt.Sprintf("%s/%v/%d", machine, tt.loaders, mib), func(t *testing.T) {
					t.Parallel()
					path, symbols := lab(t, tt.loaders)
					res, serial, err := boot(t, Config{Kernel: path, Machine: machine, MemoryMiB: mib}, "")
					if err != nil || res.Outcome != Exited || res.Program != 0 {
						t.Errorf("the machine: %v, status %d, %v; want status 0", res.Outcome, res.Program, err)
					}
					m := report.FindStringSubmatch(serial)
					if m == nil {
						t.Fatalf("no boot report in %q", serial)
					}
					if m[2] != symbols.BuildID() || m[3] != tt.loader {
						t.Errorf("build, loader = %s, %s; want %s, %s", m[2], m[3], symbols.BuildID(), tt.loader)
					}
					// All RAM but what the firmware keeps; above the hole too.
					usable, _ := strconv.Atoi(m[4])
					if usable > mib<<10 || usable < mib<<10-1024 {
						t.Errorf("%d KiB usable; want %d MiB less at most one", usable, mib)
					}
					highest, _ := strconv.ParseUint(m[5], 0, 64)
					if above := highest > 4<<30; above != (mib > 4096) {
						t.Errorf("memory up to %#x with %d MiB", highest, mib)
					}
				})
			}
		}
	}
}

// TestLeastMemory: the kernel boots with what the image says it needs at least.
func TestLeastMemory(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.AllLoaders)
	info, err := image.InspectFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, machine := range []string{"pc", "q35", "microvm"} {
		res, _, err := boot(t, Config{Kernel: path, Machine: machine, MemoryMiB: int(info.MinRAM() >> 20)}, "crash=early.in-irq")
		if err != nil || res.Outcome != Traced {
			t.Errorf("%s with %d MiB: %v, %v; want a trace", machine, info.MinRAM()>>20, res.Outcome, err)
		}
	}
}

// TestOldCPU: a CPU without long mode is told so by the 32-bit part itself.
func TestOldCPU(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.Multiboot)
	vm, out := start(t, Config{Kernel: path, CPU: "qemu64,-lm"}, "")
	out.For(t, "zeroframe: this CPU has no 64-bit mode\r\n")
	if res, err := vm.Wait(); err != nil || res.Outcome != Traced {
		t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
	}
}

// TestNoAPIC: without a local APIC the kernel boots, says so, and dies as ever.
func TestNoAPIC(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for kind, reason := range map[string]string{
		"early.nil-write": "nil pointer dereference, write to 0x8",
		"early.in-irq":    "this CPU has no local interrupt controller: no interrupt can be raised",
	} {
		res, serial, err := boot(t, Config{Kernel: path, CPU: "qemu64,-apic"}, "crash="+kind)
		all := traces(t, symbols, serial)
		if err != nil || res.Outcome != Traced || len(all) != 1 || all[0].Reason != reason || !all[0].Complete {
			t.Errorf("%s: %v, %v, %d traces; want one: %s", kind, res.Outcome, err, len(all), reason)
		}
		if !strings.Contains(serial, "(no local interrupt controller: no interrupts)") {
			t.Errorf("%s: the boot report does not say that there is no APIC", kind)
		}
	}
}

// TestNoNX: without the NX bit the kernel boots and says what that means.
func TestNoNX(t *testing.T) {
	t.Parallel()
	res, serial, err := boot(t, Config{CPU: "qemu64,-nx"}, "")
	if res.Outcome != Exited || err != nil || !strings.Contains(serial, "(no NX: data can be executed)") {
		t.Errorf("the machine: %v, %v; want it to boot and say that there is no NX", res.Outcome, err)
	}
}

// TestStackLimit: stack.limit.NAME=BYTES panics at the end of the boot and names
// the stack; a limit that is kept does nothing; a bad one is explained.
func TestStackLimit(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, tt := range []struct {
		cmdline string
		reason  string // of the panic, or ""
		says    string
	}{
		{"stack.limit=boot:100", "stack boot is over its limit: at least ", ""},
		{"stack.limit=boot:30000", "", ""},
		{"stack.limit=boot:30000 stack.limit=boot:50", "stack boot is over its limit: at least ", ""},
		{"stack.limit=boot:50 stack.limit=boot:30000", "", ""},
		{"stack.limit.boot=100", "stack boot is over its limit: at least ", ""},
		{"stack.limit.boot=30000 stack.limit.kernel=1 stack.limit=off", "", ""},
		{"stack.limit.boot=50 stack.limit.boot=30000", "", ""},
		{"stack.limit=off stack.limit.boot=50 stack.limit=panic", "stack boot is over its limit: at least ", ""},
		{"stack.limit.bot=100", "", "stack.limit.bot=100 is ignored: want stack.limit=panic, report or off, or stack.limit.NAME=BYTES, with 1 to the stack's size and a NAME of boot pf exc irq df nmi mc debug panic nested kernel\r\n"},
		{"stack.limit.boot:100", "", "stack.limit.boot:100 is ignored: want stack.limit"},
		{"stack.limit.irq=16385", "", "stack.limit.irq=16385 is ignored: want stack.limit"},
		{"stack.limit=irq:0", "", "stack.limit=irq:0 is ignored: want stack.limit=panic, report or off, or stack.limit.NAME=BYTES"},
		{"stack.limit=irq:16385", "", "stack.limit=irq:16385 is ignored: want stack.limit=panic, report or off, or stack.limit.NAME=BYTES"},
		{"stack.limit=irq:1 stack.limit=off", "", ""},
		{"stack.limit=boot:100 stack.limit=off", "", ""},
		{"panic=later", "", "panic=later is ignored: want exit, halt, reset, monitor or keep\r\n"},
		{"x=" + strings.Repeat("y", 4500), "", "longer than the kernel keeps"},
		{"stack.limit=bot:100", "", "stack.limit=bot:100 is ignored: want stack.limit=panic, report or off, or stack.limit.NAME=BYTES, with 1 to the stack's size and a NAME of boot pf exc irq df nmi mc debug panic nested kernel\r\n"},
		{"stack.limit=boot", "", "stack.limit=boot is ignored: want stack.limit=panic, report or off, or stack.limit.NAME=BYTES"},
		{"stack.limit=boot:1x", "", "stack.limit=boot:1x is ignored: want stack.limit=panic, report or off, or stack.limit.NAME=BYTES"},
		{"stack.limit=boot:99999999999999999999999999", "", " is ignored: want stack.limit=panic, report or off, or stack.limit.NAME=BYTES"},
		{"-- stack.limit=boot:100", "", ""},
		{"profile=on depot=0", "", "profile=on is ignored: it needs a stack depot"},
		{"record=fds depot=0", "", "record=fds is ignored: it needs a stack depot"},
		{"record=", "", "record= is ignored: want pages"},
		{"trace=tekst", "", "trace=tekst is ignored: want text, markup or compact\r\n"},
		{"crash.sead=5", "", "crash.sead= is no option of this kernel; crash.seed= is (zf help kernel)\r\n"},
		{"crash=go.sleep crash.stage=10", "", "crash.stage=10 is ignored: want 1, 2 or 3\r\n"},
		{"watchdgo=5 env.X=1", "", "watchdgo= is no option of this kernel; watchdog= is (zf help kernel)\r\n"},
	} {
		res, serial, err := boot(t, Config{Kernel: path}, tt.cmdline)
		all := traces(t, symbols, serial)
		if !strings.Contains(serial, tt.says) {
			t.Errorf("%q: the kernel says %q; want %q in it", tt.cmdline, serial, tt.says)
		}
		if tt.reason == "" {
			if err != nil || res.Outcome != Exited || len(all) != 0 {
				t.Errorf("%q: %v, %v, %d traces; want a boot", tt.cmdline, res.Outcome, err, len(all))
			}
			continue
		}
		if err != nil || res.Outcome != Traced || len(all) != 1 {
			t.Errorf("%q: %v, %v, %d traces; want a panic", tt.cmdline, res.Outcome, err, len(all))
			continue
		}
		if !regexp.MustCompile(`, limit \d+, since between 0\.000 s and \d+\.\d{3} s; the trace is of what runs on it$`).MatchString(all[0].Reason) {
			t.Errorf("%q: %s; want since when, and who is on it", tt.cmdline, all[0].Reason)
		}
		checkDeath(t, &labTrace{Kind: all[0].Kind, Context: all[0].Context, End: all[0].End, Complete: all[0].Complete, Reason: all[0].Reason, Frames: all[0].Frames},
			death{"", "panic", -1, tt.reason + "*", "boot: kernel/fault.CheckStacks kernel.early boot.start boot.long", "zero", nil})
	}
}

// TestStackLimitLater: a stack that goes over its limit while a program runs is told of,
// with what runs there; then the machine ends, or with stack.limit=report goes on.
func TestStackLimitLater(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	const spins = "g: golab.overLimitC golab.overLimitB golab.overLimitA" + inGoroutine
	// 256 ns an instruction: each stack is read through within seconds of that time.
	later := Config{Kernel: path, Extra: []string{"-icount", "shift=8,sleep=off"}}
	for _, tt := range []struct{ cmdline, reason, chain string }{
		{"crash=go.over-limit", "stack irq overflowed: at least 16384 of 16384 bytes used, limit ", spins},
		{"crash=go.over-limit stack.limit=panic", "stack irq overflowed: at least 16384 of 16384 bytes used, limit ", spins},
		{"crash=go.spin stack.limit.kernel=100", "stack kernel is over its limit: at least ", "g: golab.spinC golab.spinB golab.spinA" + inGoroutine},
	} {
		res, serial, err := boot(t, later, tt.cmdline)
		all := traces(t, symbols, serial)
		if err != nil || res.Outcome != Traced || len(all) == 0 {
			t.Errorf("%q: %v, %v, %d traces; want a panic", tt.cmdline, res.Outcome, err, len(all))
			continue
		}
		tr := all[0]
		if tr.Kind != "panic" || tr.Context != "goroutine" || !strings.HasPrefix(tr.Reason, tt.reason) ||
			!regexp.MustCompile(`, limit \d+, since between \d+\.\d{3} s and \d+\.\d{3} s; nothing runs on it now, the trace is of what was interrupted$`).MatchString(tr.Reason) || strings.ReplaceAll(tr.chain(), "kernel/crashlab/", "") != tt.chain || tr.End != "goexit" {
			t.Errorf("%q: %s in %s: %s, %s, the end: %s; want %s, %s", tt.cmdline, tr.Kind, tr.Context, tr.Reason, tr.chain(), tr.End, tt.reason, tt.chain)
		}
	}

	later.Append = "crash=go.over-limit stack.limit=report"
	vm, out := start(t, later, "")
	out.waitForTraces(t, 1)
	waitRunning(t, vm) // an NMI that comes before the trace has been left is not traced
	nmiTraces(t, vm, out, 1, 0)
	all := traces(t, symbols, out.String())
	if len(all) < 2 || all[0].Kind != "trace" || !strings.HasPrefix(all[0].Reason, "stack irq overflowed") || all[1].Kind != "nmi" {
		t.Errorf("with stack.limit=report there is %+v; want a trace, and then one of the NMI", all)
	}
}

// TestWarning: above 75 % of a stack its row in the table carries a warning.
func TestWarning(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	res, serial, _ := boot(t, Config{Kernel: path}, "crash=early.watermark stack.limit=boot:32000")
	if res.Outcome != Exited || len(traces(t, symbols, serial)) != 0 {
		t.Fatalf("the machine: %v; want it to exit, below the limit", res.Outcome)
	}
	if want := "stack boot: at least "; !strings.Contains(serial, want) || !strings.Contains(serial, "warning: above 75 %") {
		t.Errorf("the kernel says %q; want %q and a warning", serial, want)
	}
}
