package qemu

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// Several CPUs: they are found and started, and a death is shown with all of them.

// cpuTail is how every chain of another CPU than the first ends.
const cpuTail = " kernel/smp.main boot.apStart boot.apLong"

// idleTail is how every chain of a CPU ends that is idle while others run the program's threads.
const idleTail = " kernel/thread.idle kernel/thread.awaitThread arch/amd64.beginStack"

// checkCPUs checks the traces of a death: the first one is of CPU dead, and one of each other CPU
// follows, in their order, whole, with the number of the first.
func checkCPUs(t *testing.T, all []*labTrace, cpus, dead int) {
	t.Helper()
	if len(all) != cpus {
		t.Fatalf("%d traces of %d CPUs", len(all), cpus)
	}
	if cpus == 1 {
		if all[0].CPU != nil || all[0].Of != 0 {
			t.Errorf("the trace of the one CPU has cpu %v, of %d", *all[0].CPU, all[0].Of)
		}
		return
	}
	next := 0
	for i, tr := range all {
		want, of := dead, 0
		if i > 0 {
			if next == dead {
				next++
			}
			want, of = next, 1
			next++
		}
		if tr.CPU == nil || *tr.CPU != want || tr.Of != of || tr.Damaged {
			t.Fatalf("trace %d: cpu, of, damaged = %v, %d, %v; want %d, %d, false", i+1, tr.CPU, tr.Of, tr.Damaged, want, of)
		}
		end := tail[strings.Index(tail, " kernel.early"):]
		if want != 0 {
			end = cpuTail
		}
		if got := tr.chain(); !tr.Complete || !strings.HasSuffix(got, end) {
			t.Errorf("trace %d, of CPU %d: complete %v, %s; want it to end with%s", i+1, want, tr.Complete, got, end)
		}
		if i > 0 && tr.Kind != "trace" {
			t.Errorf("trace %d has the kind %s", i+1, tr.Kind)
		}
	}
}

// TestCPUs: each machine has as many CPUs as QEMU was told, and a death shows them all. Each waits
// for what it is to do.
func TestCPUs(t *testing.T) {
	t.Parallel()
	for _, machine := range []string{"q35", "pc", "microvm"} {
		for _, n := range []int{1, 2, 4, 8, 64} {
			t.Run(fmt.Sprintf("%s/%d", machine, n), func(t *testing.T) {
				t.Parallel()
				path, symbols := lab(t, image.AllLoaders)
				res, serial, err := boot(t, Config{Kernel: path, Machine: machine, CPUs: n, Icount: true, VirtualTime: true}, "crash=early.div0")
				if err != nil || res.Outcome != Traced {
					t.Fatalf("the machine: %v, %v\n%s", res.Outcome, err, serial)
				}
				report := ""
				if n > 1 {
					report = fmt.Sprintf("cpus    %d of %d by ACPI", n, n)
				}
				if line := regexp.MustCompile(`(?m)^cpus  .*\S`).FindString(serial); line != report {
					t.Errorf("the boot report says %q, want %q", line, report)
				}
				all := traces(t, symbols, serial)
				checkCPUs(t, all, n, 0)
				for _, tr := range all[1:] {
					if want := "boot: arch/amd64.WaitForInterrupt arch.WaitForInterrupt" + cpuTail; tr.Reason != "stopped" || tr.chain() != want {
						t.Errorf("CPU %d: %s: %s; want %s", *tr.CPU, tr.Reason, tr.chain(), want)
					}
				}
			})
		}
	}
}

// TestFewerCPUs: the option cpus=, and RAM that is not enough for the stacks of all.
func TestFewerCPUs(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, c := range []struct {
		memory       int
		line, report string
		most         int
	}{
		{128, "cpus=3", `^cpus    3 of 64 by ACPI$`, 3},
		{128, "cpus=1", `^cpus    1 of 64 by ACPI$`, 1},
		{128, "cpus=0", `^cpus=0 is ignored: want a number of CPUs from 1 to 64$`, 64},
		{18, "", `^cpus    \d+ of 64 by ACPI; there is not enough RAM behind the image for the stacks of more \(QEMU: -m\)$`, 40},
	} {
		t.Run(fmt.Sprint(c.memory, c.line), func(t *testing.T) {
			t.Parallel()
			res, serial, err := boot(t, Config{Kernel: path, CPUs: 64, MemoryMiB: c.memory, Icount: true, VirtualTime: true}, "crash=early.div0 "+c.line)
			serial = strings.ReplaceAll(serial, "\r\n", "\n")
			if err != nil || res.Outcome != Traced || !regexp.MustCompile(`(?m)`+c.report).MatchString(serial) {
				t.Fatalf("the machine: %v, %v; want %s in\n%s", res.Outcome, err, c.report, serial)
			}
			if all := traces(t, symbols, serial); len(all) > c.most {
				t.Errorf("%d traces; want %d at most", len(all), c.most)
			} else {
				checkCPUs(t, all, len(all), 0)
			}
		})
	}
}

// TestCPUDeaths: what the first CPU can die of, another one can, with the same trace; and that of
// the first shows who waits for it.
func TestCPUDeaths(t *testing.T) {
	t.Parallel()
	_, list, _ := boot(t, Config{}, "crash=no-such-kind")
	known := map[string]death{}
	for _, d := range deaths {
		known[strings.TrimPrefix(d.kind, "early.")] = d
	}
	for _, m := range regexp.MustCompile(`(?m)^  cpu\.(\S+)`).FindAllStringSubmatch(list, -1) {
		d, ok := known[m[1]]
		if !ok {
			switch m[1] {
			case "both", "all", "spinning", "triple", "nmi", "nmi-stuck", "nmi-late", "start-16", "start-32", "start-64", "start-fault-32", "start-fault-64", "start-triple", "skew": // below
			default:
				t.Errorf("the kind %s has no test", m[1])
			}
			continue
		}
		t.Run(m[1], func(t *testing.T) {
			t.Parallel()
			path, symbols := lab(t, image.AllLoaders)
			res, serial, err := boot(t, Config{Kernel: path, CPUs: 3, Icount: true, VirtualTime: true}, "crash=cpu."+m[1])
			all := traces(t, symbols, serial)
			if len(all) == 0 {
				t.Fatalf("no trace: %v\n%s", err, serial)
			}
			d.chain = strings.Replace(d.chain, tail, " main.dieLater kernel/smp.call"+cpuTail, 1)
			checkDeath(t, all[0], d)
			checkTrace(t, all[0])
			if d.trace == "trace" {
				if err != nil || res.Outcome != Exited || len(all) != 1 || !strings.Contains(serial, "the call is over") {
					t.Errorf("%v, %v, %d traces; want it to go on behind one", res.Outcome, err, len(all))
				}
				return
			}
			if err != nil || res.Outcome != Traced {
				t.Errorf("the machine: %v, %v", res.Outcome, err)
			}
			if d.end != "zero" { // whose chain does not come to the CPU's start
				all[0].Frames, all[0].Complete = append(all[0].Frames, all[len(all)-1].Frames...), true
			}
			checkCPUs(t, all, 3, 2)
			if got := all[1].chain(); !strings.Contains(got, " kernel/smp.Wait main.runOnCPU main.lab ") {
				t.Errorf("CPU 0: %s; want it to be in smp.Wait", got)
			}
		})
	}
}

// TestCPUsAtOnce: CPUs that die at the same time, or spin with interrupts off; and one that resets
// the machine.
func TestCPUsAtOnce(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, c := range []struct {
		kind string
		cpus int
		dead string // those in the functions of that name, of the CPUs but the first trace's
	}{
		{"both", 2, "main.undefinedC main.undefinedB main.bothA"},
		{"both", 4, "main.undefinedC main.undefinedB main.bothA"},
		{"all", 8, "main.allA"},
		{"all", 64, "main.allA"},
		{"spinning", 8, "main.spinningA"},
	} {
		for _, icount := range []bool{false, true} {
			if c.cpus > 8 && !icount {
				continue // the host would not let so many run in time
			}
			t.Run(fmt.Sprintf("%s/%d/%v", c.kind, c.cpus, icount), func(t *testing.T) {
				t.Parallel()
				res, serial, err := boot(t, Config{Kernel: path, CPUs: c.cpus, Icount: icount, VirtualTime: icount}, "crash=cpu."+c.kind)
				if err != nil || res.Outcome != Traced {
					t.Fatalf("the machine: %v, %v\n%s", res.Outcome, err, serial)
				}
				checkAtOnce(t, symbols, serial, c.cpus, c.dead)
			})
		}
	}
	t.Run("triple", func(t *testing.T) {
		t.Parallel()
		if res, _, err := boot(t, Config{Kernel: path, CPUs: 2, Icount: true, VirtualTime: true}, "crash=cpu.triple"); err == nil {
			t.Errorf("the machine: %v, and no error; want a triple fault", res.Outcome)
		}
	})
}

// TestCPUUnderProgram: another CPU dies while the first one runs a program: the thread that runs
// there is in its trace, and the goroutine, be it in its own code or in an interrupt that has come
// there. Now and then it is the runtime's monitor that runs: then another machine is asked.
func TestCPUUnderProgram(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	const machines = 10
	found := 0
	for i := 0; i < machines && found < 2; i++ {
		form := []string{"text", "compact"}[i%2]
		res, serial, err := boot(t, Config{Kernel: path, CPUs: 2, Icount: true, VirtualTime: true}, "crash=go.cpu trace="+form)
		all := traces(t, symbols, serial)
		if err != nil || res.Outcome != Traced || len(all) != 2 {
			t.Fatalf("%v, %v, %d traces\n%s", res.Outcome, err, len(all), serial)
		}
		dead, ran := all[0], all[1]
		if want := "irq: kernel/crashlab/golab.divideOnCPU kernel/smp.call kernel/smp.Answer kernel/fault.interruptLocked kernel/fault.TrapLocked arch/amd64.trapEntry trap "; dead.Reason != "runtime error: integer divide by zero" ||
			dead.Context != "kernel" || *dead.CPU != 1 || !dead.Complete || !strings.HasPrefix(dead.chain(), want) {
			t.Errorf("CPU %d, %s, %s: %s; want %s", *dead.CPU, dead.Context, dead.Reason, dead.chain(), want)
		}
		inGoroutine := strings.HasSuffix(ran.chain(), "golab.otherCPUB kernel/crashlab/golab.otherCPUA runtime.goexit") && ran.Goroutine != 0
		if ran.Reason != "stopped" || ran.Context == "early" || *ran.CPU != 0 || ran.Of != 1 || ran.Thread == 0 || !ran.Complete ||
			!inGoroutine && !strings.HasSuffix(ran.chain(), "runtime.mstart") && !strings.HasSuffix(ran.chain(), "runtime.goexit") {
			t.Errorf("CPU %d, of %d, %s, goroutine %d, thread %d: %s", *ran.CPU, ran.Of, ran.Context, ran.Goroutine, ran.Thread, ran.chain())
		}
		if inGoroutine {
			found++
		}
	}
	if found == 0 {
		t.Errorf("none of %d machines ran the goroutine", machines)
	}
}

// TestCPUDiesWaitedFor: a CPU dies while it has the kernel lock, and while another one waits for it
// to drop pages: both are in the traces, with what the first one waits for.
func TestCPUDiesWaitedFor(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, c := range []struct{ kind, died, waits, lock string }{
		{"go.cpu-lock-dies", "lockDiesB", `kernel/percpu\.\(\*Record\)\.(wait|TryLock) (kernel/percpu\.\(\*Record\)\.Lock )?kernel/linux\.HandleLocked arch/amd64\.syscallEntry .*golab\.callForEver kernel/crashlab/golab\.lockDiesA runtime\.goexit$`,
			`CPU 1 has the kernel lock for \(interrupt\) since \d+ us; CPU 0 waits for it for getppid at 0x[0-9a-f]+ since \d+ us`},
		{"go.cpu-flush-dies", "flushDiesB", `kernel/percpu\.FlushOthers kernel/mem\.callFlushOthers .*arch/amd64\.syscallEntry .*golab\.mapForEver kernel/crashlab/golab\.flushDiesA runtime\.goexit$`,
			`CPU 0 has the kernel lock for (munmap|mmap) at 0x[0-9a-f]+ since \d+ us`},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			res, serial, err := boot(t, Config{Kernel: path, CPUs: 2}, "crash="+c.kind)
			all := traces(t, symbols, serial)
			if err != nil || res.Outcome != Traced || len(all) != 2 {
				t.Fatalf("%v, %v, %d traces\n%s", res.Outcome, err, len(all), serial)
			}
			dead, other := all[0], all[1]
			if want := "irq: kernel/crashlab/golab.divideOnCPU kernel/crashlab/golab." + c.died + " kernel/smp.call kernel/smp.Answer kernel/fault.interruptLocked"; dead.Reason != "runtime error: integer divide by zero" ||
				*dead.CPU != 1 || !dead.Complete || !strings.HasPrefix(dead.chain(), want) {
				t.Errorf("CPU %d: %s: %s; want %s", *dead.CPU, dead.Reason, dead.chain(), want)
			}
			if other.Reason != "stopped" || *other.CPU != 0 || !other.Complete || !regexp.MustCompile(c.waits).MatchString(other.chain()) {
				t.Errorf("CPU %d: %s: %s; want %s", *other.CPU, other.Reason, other.chain(), c.waits)
			}
			if !regexp.MustCompile(c.lock).MatchString(serial) {
				t.Errorf("of the lock, it does not say %s:\n%s", c.lock, serial)
			}
		})
	}
}

// TestCPUPanicStages: when the panic path faults on another CPU than the first, what is left of the
// others comes as its next stage can say it.
func TestCPUPanicStages(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for stage, want := range map[int][]string{
		1: {"nil pointer dereference, write to 0x8", "in the panic path: nil pointer dereference, write to 0x10", "stopped", "stopped"},
		2: {"nil pointer dereference, write to 0x8", "in the panic path: nil pointer dereference, write to 0x10",
			"in the panic path: nil pointer dereference, write to 0x10", "CPU 0: stopped", "CPU 1: stopped"},
		3: {"nil pointer dereference, write to 0x8", "in the panic path: nil pointer dereference, write to 0x10"},
	} {
		t.Run(fmt.Sprint(stage), func(t *testing.T) {
			t.Parallel()
			res, serial, err := boot(t, Config{Kernel: path, CPUs: 3, Icount: true, VirtualTime: true}, fmt.Sprintf("crash=cpu.nil-write crash.stage=%d", stage))
			if err != nil || res.Outcome != Traced {
				t.Fatalf("the machine: %v, %v\n%s", res.Outcome, err, serial)
			}
			var got []string
			for _, tr := range traces(t, symbols, serial) {
				got = append(got, tr.Reason)
				if stage == 1 && tr.Of != 0 && (!tr.Complete || tr.CPU == nil || *tr.CPU > 1) {
					t.Errorf("of CPU %v: complete %v: %s", tr.CPU, tr.Complete, tr.chain())
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q\nwant %q", got, want)
			}
		})
	}
}

// checkAtOnce checks the traces of CPUs that were at the function of that name, each in one.
func checkAtOnce(t *testing.T, symbols *symbol.File, serial string, cpus int, at string) {
	t.Helper()
	all := traces(t, symbols, serial)
	if len(all) == 0 || all[0].CPU == nil {
		t.Fatalf("%d traces\n%s", len(all), serial)
	}
	checkCPUs(t, all, cpus, *all[0].CPU)
	if !strings.Contains(all[0].chain(), "main.undefinedC main.undefinedB "+strings.Fields(at)[len(strings.Fields(at))-1]) {
		t.Errorf("the first: %s", all[0].chain())
	}
	for _, tr := range all[1:] {
		waits := strings.Contains(tr.chain(), "arch/amd64.WaitForInterrupt ") && strings.Contains(at, "bothA")
		if !waits && !strings.Contains(tr.chain(), strings.Fields(at)[len(strings.Fields(at))-1]) {
			t.Errorf("CPU %d: %s: %s; want %s in it", *tr.CPU, tr.Reason, tr.chain(), at)
		}
		if died := strings.HasPrefix(tr.Reason, "died at the same time: invalid opcode"); !died && tr.Reason != "stopped" {
			t.Errorf("CPU %d: %s", *tr.CPU, tr.Reason)
		}
	}
}

// TestPreviousCPUs: the boot after a death has the traces of all CPUs, as far as there is room for
// them in the crash log, and says how many there was none for.
func TestPreviousCPUs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cpus, told    int // how many traces there are at least
		kind, options string
	}{
		{2, 2, "cpu.nil-write", ""},
		{4, 4, "cpu.panic", "trace=compact"},
		{4, 4, "cpu.ud2", "trace=text crash.others=spin"},
		{4, 4, "early.div0", "trace=markup"},
		{2, 2, "go.cpu", "report=off"},
		{64, 16, "go.panic-error", "report=off"},
	} {
		t.Run(fmt.Sprint(tt.cpus, tt.kind), func(t *testing.T) {
			t.Parallel()
			_, second, all := twoBoots(t, Config{CPUs: tt.cpus, Icount: true, VirtualTime: true}, "crash="+tt.kind+" "+tt.options)
			var died, told []*labTrace
			for _, tr := range all {
				switch {
				case tr.Previous > 0:
					told = append(told, tr)
				case tr.Of != 0 || len(died) == 0: // those of goroutines are not in the crash log
					died = append(died, tr)
				}
			}
			if len(died) != tt.cpus || len(told) < tt.told || len(told) > tt.cpus {
				t.Fatalf("%d traces, and %d by the next boot; want %d, and %d or more", len(died), len(told), tt.cpus, tt.told)
			}
			for i, got := range told {
				want := died[i]
				if got.Previous != 1 || got.Damaged || got.CPU == nil || *got.CPU != *want.CPU || got.Of != want.Of || got.Kind != want.Kind ||
					got.Context != want.Context || got.Thread != want.Thread || got.Goroutine != want.Goroutine || got.Complete != want.Complete {
					t.Errorf("the boot before: %+v\nof the death itself: %+v", got, want)
				}
				if got.Reason != want.Reason || got.chain() != want.chain() {
					t.Errorf("%s: %s\nwant %s: %s", got.Reason, got.chain(), want.Reason, want.chain())
				}
			}
			left := ""
			if n := len(died) - len(told); n > 0 {
				left = fmt.Sprintf("there was no room for the traces of %d more CPUs\r\n", n)
			}
			if got := regexp.MustCompile("there was no room for the traces .*\r\n").FindString(second); got != left {
				t.Errorf("it says %q; want %q", got, left)
			}
			if said := strings.Contains(second, "previous boot's last lines:\r\n  | "); said != (tt.kind == "go.panic-error") {
				t.Errorf("the last lines of the boot before are told: %v: %q", said, second)
			}
		})
	}
}

// checkCPUNumbers checks of which CPUs the traces of a death are.
func checkCPUNumbers(t *testing.T, all []*labTrace, cpus, dead int) {
	t.Helper()
	seen := map[int]bool{}
	for i, tr := range all {
		if tr.CPU == nil || seen[*tr.CPU] || (*tr.CPU == dead) != (i == 0) || (tr.Of != 0) != (i > 0) || tr.Damaged {
			t.Errorf("trace %d: cpu %v, of %d, damaged %v", i+1, tr.CPU, tr.Of, tr.Damaged)
			continue
		}
		seen[*tr.CPU] = true
	}
	if len(seen) != cpus {
		t.Errorf("traces of %d CPUs; want %d", len(seen), cpus)
	}
}

// TestCPUStart: a CPU that hangs or faults in its first instructions is left out, and the boot
// report says how far it has come; the others start. One that resets the machine ends it.
func TestCPUStart(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, c := range []struct {
		kind, came string
		cpus       int // one that hangs is waited for so long that a busy host may be late with others
	}{
		{"start-16", "come to 16-bit code", 2}, {"start-32", "come to 32-bit code", 2}, {"start-64", "come to 64-bit code", 2},
		{"start-fault-32", "faulted in 32-bit code", 2}, {"start-fault-64", "faulted in 64-bit code", 4},
	} {
		for _, machine := range []string{"q35", "microvm"} {
			t.Run(c.kind+"/"+machine, func(t *testing.T) {
				t.Parallel()
				res, serial, err := boot(t, Config{Kernel: path, Machine: machine, CPUs: c.cpus}, "crash=cpu."+c.kind)
				if err != nil || res.Outcome != Traced {
					t.Fatalf("the machine: %v, %v\n%s", res.Outcome, err, serial)
				}
				report := fmt.Sprintf("cpus    %d of %d by ACPI; no answer within 100 ms from 1, which has %s\r\n", c.cpus-1, c.cpus, c.came)
				if !strings.Contains(serial, report) {
					t.Errorf("the boot report has no %q:\n%s", report, serial)
				}
				all := traces(t, symbols, serial)
				checkCPUs(t, all, c.cpus-1, 0)
				if want := "boot: main.undefinedC main.undefinedB main.undefinedA" + tail; all[0].chain() != want {
					t.Errorf("%s; want %s", all[0].chain(), want)
				}
			})
		}
	}
	t.Run("start-triple", func(t *testing.T) {
		t.Parallel()
		if res, _, err := boot(t, Config{Kernel: path, CPUs: 2, Icount: true, VirtualTime: true}, "crash=cpu.start-triple"); err == nil {
			t.Errorf("the machine: %v, and no error; want a triple fault", res.Outcome)
		}
	})
}

// TestSkew: CPUs whose counters of time are off are found, and told of, and their clock is that of
// the others: behind or ahead, by seconds, so that each would be seen. The counter itself is
// QEMU's, which is the same for all and cannot be written to: what is wrong is what the kernel adds
// to it.
func TestSkew(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.AllLoaders)
	for _, tt := range []struct {
		machine string
		cpus    int
		report  string // cpu n is n<<33 ticks off, behind if n is odd
		most    float64
	}{
		{"q35", 2, `CPU 1's TSC is (\d+) us behind`, 1 << 33},
		{"microvm", 3, `the TSCs of 2 CPUs are off, most of all: CPU 2's TSC is (\d+) us ahead`, 2 << 33},
		{"q35", 8, `the TSCs of 7 CPUs are off, most of all: CPU 7's TSC is (\d+) us behind`, 7 << 33},
	} {
		t.Run(fmt.Sprint(tt.machine, tt.cpus), func(t *testing.T) {
			t.Parallel()
			res, serial, err := boot(t, Config{Kernel: path, Machine: tt.machine, CPUs: tt.cpus, Icount: true, VirtualTime: true}, "crash=cpu.skew")
			if err != nil || res.Outcome != Exited || res.Program != 0 || said(serial) != "the clock is one\n" {
				t.Errorf("the machine: %v, status %d, %v\n%s", res.Outcome, res.Program, err, serial)
			}
			m := regexp.MustCompile(fmt.Sprintf(`(?m)^cpus    %d of %d by ACPI; %s\r?\nclock   (\d+) MHz`, tt.cpus, tt.cpus, tt.report)).FindStringSubmatch(serial)
			if m == nil {
				t.Fatalf("want %s in\n%s", tt.report, serial)
			}
			var us, mhz float64
			fmt.Sscan(m[1]+" "+m[2], &us, &mhz)
			if got := us * mhz / tt.most; got < 0.995 || got > 1.005 { // the MHz are whole ones
				t.Errorf("%s us at %s MHz are %.4f of what the counter is off", m[1], m[2], got)
			}
		})
	}
}

// TestCPUInNMI: a CPU dies in its NMI handler; or it is in an NMI that does not return, while
// another one dies: then it does not answer, or is one that has died at the same time.
func TestCPUInNMI(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, cpus := range []int{2, 4} {
		for kind, want := range map[string][]string{
			"nmi":       {"CPU 3: nmi: NMI", "CPU 3: fault: in the panic path: invalid opcode", "CPU 0: trace: stopped", "CPU 1: trace: stopped", "CPU 2: trace: stopped"},
			"nmi-stuck": {"CPU 3: nmi: NMI", "CPU 0: fault: invalid opcode", "CPU 1: trace: stopped", "CPU 2: trace: stopped", "CPU 3: trace: the CPU did not answer"},
			"nmi-late":  {"CPU 0: nmi: NMI", "CPU 3: fault: invalid opcode", "CPU 0: trace: died at the same time: invalid opcode", "CPU 1: trace: stopped", "CPU 2: trace: stopped"},
		} {
			t.Run(fmt.Sprint(kind, cpus), func(t *testing.T) {
				t.Parallel()
				want := slices.Clone(want)
				if cpus == 2 {
					want = slices.DeleteFunc(want, func(s string) bool { return strings.HasSuffix(s, "stopped") && s[4] != '0' })
					for i := range want {
						want[i] = strings.Replace(want[i], "CPU 3", "CPU 1", 1)
					}
				}
				res, serial, err := boot(t, Config{Kernel: path, CPUs: cpus}, "crash=cpu."+kind)
				if err != nil || res.Outcome != Traced {
					t.Fatalf("the machine: %v, %v\n%s", res.Outcome, err, serial)
				}
				var got []string
				for _, tr := range traces(t, symbols, serial) {
					if tr.CPU == nil {
						t.Fatal("a trace is of no CPU")
					}
					got = append(got, fmt.Sprintf("CPU %d: %s: %s", *tr.CPU, tr.Kind, tr.Reason))
					switch silent := strings.HasSuffix(tr.Reason, "answer"); {
					case tr.Kind == "nmi": // what it was at when it died, or another one did
						if !tr.Damaged || !strings.HasPrefix(tr.chain(), "boot: ") || !strings.Contains(tr.chain(), "main.idleSpin") && !strings.Contains(tr.chain(), "Pause") && !strings.Contains(tr.chain(), "arch/pc.command") {
							t.Errorf("the NMI's: damaged %v: %s", tr.Damaged, tr.chain())
						}
					case tr.Damaged, silent != (len(tr.Frames) == 0), !silent && !tr.Complete:
						t.Errorf("CPU %d: %s: damaged %v, complete %v: %s", *tr.CPU, tr.Reason, tr.Damaged, tr.Complete, tr.chain())
					case strings.Contains(tr.Reason, "invalid opcode") && !strings.Contains(tr.chain(), "main.undefinedC main.undefinedB main."):
						t.Errorf("CPU %d: %s: %s", *tr.CPU, tr.Reason, tr.chain())
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%q\nwant %q", got, want)
				}
			})
		}
	}
}

// TestCPURecords: what leads to the other CPUs has been overwritten. A death puts it back, says so,
// and shows them all.
func TestCPURecords(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, n := range []int{2, 4, 64} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			res, serial, err := boot(t, Config{Kernel: path, CPUs: n, Icount: true, VirtualTime: true}, "crash=go.cpu-record report=off")
			if err != nil || res.Outcome != Traced {
				t.Fatalf("the machine: %v, %v\n%s", res.Outcome, err, serial)
			}
			said := fmt.Sprintf("the kernel's own memory had been overwritten, and was put back: words %d, the first at 0x", 3*(n-1))
			if !strings.Contains(serial, said) {
				t.Errorf("it does not say %q:\n%s", said, serial)
			}
			var all []*labTrace
			for _, tr := range traces(t, symbols, serial) {
				if len(all) == 0 || tr.Of != 0 { // not those of goroutines
					all = append(all, tr)
				}
			}
			checkCPUNumbers(t, all, n, 0)
			if !strings.Contains(all[0].chain(), "golab.recordOfCPUC kernel/crashlab/golab.recordOfCPUB kernel/smp.call kernel/smp.Answer") {
				t.Errorf("the death: %s: %s", all[0].Reason, all[0].chain())
			}
			idle := 0
			for _, tr := range all[1:] {
				alike := strings.HasSuffix(tr.chain(), idleTail) && tr.Thread == 0
				if tr.Reason != "stopped" || !tr.Complete || strings.Contains(tr.chain(), "thread.idle ") != alike {
					t.Errorf("CPU %d: thread %d: %s: %s", *tr.CPU, tr.Thread, tr.Reason, tr.chain())
				}
				if alike {
					idle++
				}
			}
			if most := 6; idle < n-1-most { // threads of the runtime
				t.Errorf("%d CPUs are idle", idle)
			}
		})
	}
}
