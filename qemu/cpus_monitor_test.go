package qemu

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// The monitor of a machine with several CPUs.

// asked types a command at the monitor's prompt and returns what it answers.
func asked(t *testing.T, keys io.Writer, out *log, command string) string {
	t.Helper()
	before := len(out.String())
	io.WriteString(keys, command+"\r")
	out.Until(t, func(sent string) bool { return strings.HasSuffix(sent[before:], "\nmonitor> ") }, "the answer to %q", command)
	return out.String()[before:]
}

// TestMonitorCPUs: while the monitor is open all CPUs stand still, and can be looked at; behind it
// they go on, and are there when they are asked for the next time. Virtual time lets no CPU fall behind
// on its way to rest.
func TestMonitorCPUs(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, n := range []int{2, 4} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			keys, out, vm := startTyped(t, Config{Kernel: path, CPUs: n, Icount: true, Append: "monitor panic=monitor crash=go.cpu"})
			out.For(t, "monitor> ")
			idle := "boot: arch/amd64.WaitForInterrupt arch.WaitForInterrupt" + cpuTail
			for range 3 { // each time they are asked anew
				list := asked(t, keys, out, "cpus")
				want := `cpu  state      thread  at\r\n\* 0  monitor +0  \S.*\r\n`
				for i := 1; i < n; i++ {
					want += fmt.Sprintf(`  %d  stopped +0  \S*WaitForInterrupt\+0x\S+ \S+\r\n`, i)
				}
				if !regexp.MustCompile(want + "monitor> $").MatchString(list) {
					t.Errorf("cpus says\n%s\nwant %s", list, want)
				}
			}
			for i, tr := range traces(t, symbols, asked(t, keys, out, "bt all")) {
				if tr.Kind != "trace" || tr.Reason != "monitor" || tr.CPU == nil || *tr.CPU != i || tr.Of != 0 || !tr.Complete || i > 0 && tr.chain() != idle {
					t.Errorf("CPU %d: cpu %v, of %d: %s: %s", i, tr.CPU, tr.Of, tr.Reason, tr.chain())
				}
			}
			if all := traces(t, symbols, asked(t, keys, out, fmt.Sprint("cpu ", n-1))); len(all) != 1 || *all[0].CPU != n-1 || all[0].chain() != idle {
				t.Errorf("cpu %d: %d traces, %+v", n-1, len(all), all)
			}
			for command, want := range map[string]string{
				"locks": "the kernel lock is not in use", "help locks": "locks \r\nwhat the kernel lock has cost",
				"cpu 0": "zf1 done", "cpu 64": "there is no such CPU", "cpu": "want the number of a CPU", "bt some": "want `bt` or `bt all`",
			} {
				if a := asked(t, keys, out, command); !strings.Contains(a, want) {
					t.Errorf("%s: %q; want %q", command, a, want)
				}
			}

			// They go on: the last one dies, as the program has it called, and the monitor opens again.
			before := len(out.String())
			io.WriteString(keys, "continue\r")
			out.For(t, "monitor: the kernel has died")
			out.Until(t, func(sent string) bool { return strings.HasSuffix(sent, "monitor> ") }, "the prompt")
			checkCPUNumbers(t, traces(t, symbols, out.String()[before:]), n, n-1)
			list := asked(t, keys, out, "cpus")
			if want := fmt.Sprintf(`(?m)^\* %d  monitor +\d+  \S`, n-1); !regexp.MustCompile(want).MatchString(list) || !strings.Contains(list, "  0  stopped ") {
				t.Errorf("cpus says\n%s\nwant %s", list, want)
			}
			if all := traces(t, symbols, asked(t, keys, out, "cpu 0")); len(all) != 1 || *all[0].CPU != 0 || all[0].Of == 0 || all[0].Reason != "stopped" || !all[0].Complete {
				t.Errorf("cpu 0: %d traces, %+v", len(all), all)
			}
			checkLockReport(t, asked(t, keys, out, "locks"))
			io.WriteString(keys, "continue\r")
			if res, err := vm.Wait(); err != nil || res.Outcome != Traced {
				t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
			}
		})
	}
}

// TestMonitorClockOnCPUs: a CPU that reads the clock when the monitor has it stand still, and so
// without the kernel lock, reads no time that is before another one's, nor one far ahead.
func TestMonitorClockOnCPUs(t *testing.T) {
	t.Parallel()
	keys, out, _ := startTyped(t, Config{Kernel: program(t, "threads"), CPUs: 4, Append: "-- shown 1000000000"})
	before := 0
	until := func(what string) { // what is sent from now on has it, or the program has found a wrong time
		t.Helper()
		out.Until(t, func(sent string) bool {
			return strings.Contains(sent[before:], what) || strings.Contains(sent, "panic: ")
		}, "%q", what)
		text := out.String()
		if strings.Contains(text, "panic: ") {
			t.Fatal(text)
		}
		before = len(text)
	}
	for range 50 {
		until("times ")
		io.WriteString(keys, "\x1d")
		until("monitor> ")
		io.WriteString(keys, "cpus\r") // meanwhile the CPUs' counters go on
		until("monitor> ")
		io.WriteString(keys, "continue\r")
	}
}

// TestMonitorCPUsDeath: the kernel dies in the monitor, while the other CPUs stand still in their
// NMIs: they are in the death as they were.
func TestMonitorCPUsDeath(t *testing.T) {
	t.Parallel()
	path, symbols, err := programSymbols(t, "monitor")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 4} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			keys, out, vm := startTyped(t, Config{Kernel: path, CPUs: n, Append: "-- echo"})
			out.For(t, "ready\r\n")
			for range 2 {
				io.WriteString(keys, "\x1d")
				out.Until(t, func(sent string) bool { return strings.HasSuffix(sent, "monitor> ") }, "the prompt")
				if a := asked(t, keys, out, "cpus"); strings.Count(a, "stopped") != n-1 {
					t.Errorf("cpus says\n%s", a)
				}
				before := len(out.String())
				io.WriteString(keys, "continue\r")
				out.Until(t, func(sent string) bool { return len(sent) > before+len("continue\r\n")-1 }, "continue")
			}
			io.WriteString(keys, "\x1d")
			out.Until(t, func(sent string) bool { return strings.HasSuffix(sent, "monitor> ") }, "the prompt")
			before := len(out.String())
			io.WriteString(keys, "crash nil\r")
			if res, err := vm.Wait(); err != nil || res.Outcome != Traced {
				t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
			}
			all := traces(t, symbols, out.String()[before:])
			checkCPUNumbers(t, all, n, 0)
			for _, tr := range all[1:] {
				if tr.Reason != "stopped" || !tr.Complete {
					t.Errorf("CPU %d: %s: %s", *tr.CPU, tr.Reason, tr.chain())
				}
			}
		})
	}
}
