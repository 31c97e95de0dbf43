package qemu

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tracer"
)

// What the CPU that dies did last: the option last=, the forms of a trace, zf trace.

// wireTraces returns the traces of a serial log, and what is shown of it.
func wireTraces(t testing.TB, symbols trace.Options, serial string) (all []*wire.Trace, shown string) {
	t.Helper()
	var out strings.Builder
	symbols.OnTrace = func(tr *wire.Trace) { all = append(all, tr) }
	f, err := trace.NewFilter(&out, symbols)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, serial)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return all, out.String()
}

// kinds returns the kinds of events, with the names of system calls.
func kinds(events []wire.Event) string {
	var words []string
	for _, e := range events {
		s := e.Kind.String()
		if e.Kind == tracer.EventCall {
			s = tracer.CallName(e.Number)
		}
		words = append(words, s)
	}
	return strings.Join(words, " ")
}

func TestLastEvents(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, tt := range []struct {
		crash, options string
		n              int
		last           string // the latest events
	}{
		{"go.syscall-bug", "", 20, "fault"},
		{"go.syscall-bug", "last=3", 3, "fault"},
		{"go.syscall-bug", "last=3 trace=compact", 3, "fault"},
		{"go.syscall-bug", "last=3 trace=markup", 3, "fault"},
		{"go.syscall-bug", "last=128", 128, "fault"},
		{"go.syscall-bug", "last=0", 0, ""},
		{"go.nil-map", "", 20, "write exit_group"},
		{"go.hang", "watchdog=1", 20, "interrupt"},
		{"early.nil-read", "", 1, "fault"},
	} {
		for _, cpus := range []int{1, 3} {
			t.Run(fmt.Sprint(tt.crash, "/", tt.options, "/", cpus), func(t *testing.T) {
				t.Parallel()
				_, serial, err := boot(t, Config{Kernel: path, CPUs: cpus, Icount: true, VirtualTime: true}, tt.options+" crash="+tt.crash)
				all, shown := wireTraces(t, trace.Options{Symbols: symbols}, serial)
				if err != nil || len(all) < cpus {
					t.Fatalf("%d traces, %v", len(all), err)
				}
				events := all[0].Events
				if all[0].Damaged || len(events) > tt.n || len(events) < tt.n && tt.n != 128 || tt.n == 128 && len(events) < 30 { // the CPU that dies may have come late
					t.Fatalf("%d events, want %d; %s", len(events), tt.n, all[0].Damage)
				}
				if got := kinds(events); !strings.HasSuffix(got, tt.last) {
					t.Errorf("the events are %s; want %s at their end", got, tt.last)
				}
				for i := range events[:max(len(events)-1, 0)] {
					if events[i].Ago < events[i+1].Ago {
						t.Errorf("event %d was %d ns before the death, the one behind it %d", i, events[i].Ago, events[i+1].Ago)
					}
				}
				if (tt.n > 1) != strings.Contains(shown, "did last, in us before its death:") {
					t.Errorf("the table is not shown, or is of nothing")
				}
				for _, tr := range all[1:] {
					if tr.Of != 0 && len(tr.Events) > 0 {
						t.Errorf("the trace of CPU %d has events, too", tr.CPU)
					}
				}
				if n := len(events); tt.last == "fault" {
					pc, ok := events[n-1].PC()
					if !ok || len(events[n-1].Calls) == 0 || pc != all[0].Frames[0].Address {
						t.Errorf("the fault was at %#x %v; the trace begins at %#x", pc, events[n-1].Calls, all[0].Frames[0].Address)
					}
				}
			})
		}
	}
}

// TestLastEventsKept: they survive a reset, in the crash log.
func TestLastEventsKept(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	_, serial, err := boot(t, Config{Kernel: path, Reboots: 1, Icount: true, VirtualTime: true}, "panic=reset crash=go.syscall-bug crash.then=none")
	all, _ := wireTraces(t, trace.Options{Symbols: symbols}, serial)
	if err != nil || len(all) != 2 || all[1].Previous != 1 {
		t.Fatalf("%d traces, %v\n%s", len(all), err, serial)
	}
	a, b := all[0].Events, all[1].Events
	if len(a) != 20 || kinds(a) != kinds(b) {
		t.Errorf("the death had %s, the next boot has %s", kinds(a), kinds(b))
	}
	for i := range min(len(a), len(b)) {
		if a[i].Event != b[i].Event {
			t.Errorf("event %d is %+v, and %+v in the next boot", i, a[i].Event, b[i].Event)
		}
	}
}

// TestTraceCommand: zf trace of a log has what the trace has, and of a core all CPUs' events, in
// Perfetto's form.
func TestTraceCommand(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.AllLoaders)
	dir := t.TempDir()
	log, core := filepath.Join(dir, "log"), filepath.Join(dir, "core")
	c := zfRun(t, "-q", "-smp", "3", "-core", core, "-append", "crash=go.syscall-bug", path)
	out, _ := c.CombinedOutput()
	if err := os.WriteFile(log, out, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		from         string
		cpus, events int
	}{{log, 1, 15}, {core, 3, 100}} {
		file := filepath.Join(dir, "trace.json")
		if out, err := exec.Command(zfCommand(t), "trace", "-e", path, "-o", file, tt.from).CombinedOutput(); err != nil {
			t.Fatalf("zf trace %s: %v\n%s", tt.from, err, out)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			TraceEvents []struct {
				Name, Ph string
				Ts, Dur  float64
				PID, TID int
				Args     map[string]any
			}
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		cpus, faults, deaths := map[int]bool{}, 0, 0
		for _, e := range got.TraceEvents {
			if e.Ph == "M" {
				cpus[e.PID] = true
				continue
			}
			if e.Ts < 0 || e.Dur < 0 || e.Ph != "i" && e.Ph != "X" {
				t.Errorf("%s: a row %+v", tt.from, e)
			}
			if strings.HasPrefix(e.Name, "#PF at 0x") && e.Args["function"] != nil {
				faults++
			}
			if strings.HasPrefix(e.Name, "death: ") {
				deaths++
			}
		}
		if len(cpus) != tt.cpus || len(got.TraceEvents) < tt.events || faults == 0 || deaths != 1 {
			t.Errorf("%s: %d CPUs, %d rows, %d faults, %d deaths", tt.from, len(cpus), len(got.TraceEvents), faults, deaths)
		}
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"trace", "-e", path, path}, "is an ELF file"},
		{[]string{"trace", path}, "-e"},
	} {
		c := exec.Command(zfCommand(t), tt.args...)
		out, _ := c.CombinedOutput()
		if c.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), tt.want) {
			t.Errorf("zf %q: status %d, %s", tt.args, c.ProcessState.ExitCode(), out)
		}
	}
}
