package qemu

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// The records of branches. QEMU's emulation has none: the crash lab has some functions stand for
// them (crash.branches=on).

// branchNames returns the functions of a trace's branches, "main.a>main.b".
func branchNames(tr *wire.Trace) string {
	var all []string
	for _, b := range tr.Branches {
		from, to := "?", "?"
		if len(b.FromCalls) > 0 && len(b.ToCalls) > 0 {
			from, to = b.FromCalls[0].Function, b.ToCalls[0].Function
		}
		all = append(all, fmt.Sprintf("%s>%s:%d,%v", from, to, b.Cycles, b.Missed))
	}
	return strings.Join(all, " ")
}

const labBranches = "main.lab>main.nilWriteA:12,false main.nilWriteA>main.nilWriteB:0,true main.nilWriteB>main.lab:0,false"

// TestBranches: a fault has them in each form of the trace, of the kernel's or the program's; what
// is no fault has none, nor has a CPU without records, nor a machine that was not told that it has
// some.
func TestBranches(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, tt := range []struct{ options, want string }{
		{"crash=early.nil-write", labBranches},
		{"crash=early.kernel-panic", labBranches},
		{"crash=go.syscall-bug", labBranches},
		{"crash=go.syscall-bug trace=compact", labBranches},
		{"crash=go.syscall-bug trace=markup", labBranches},
		{"crash=go.nil-write", labBranches},
		{"crash=go.panic", ""},
		{"crash=cpu.nil-write", ""}, // which has none: only the first CPU seems to
	} {
		for _, cpus := range []int{1, 3} {
			if strings.Contains(tt.options, "cpu.") && cpus == 1 || strings.Contains(tt.options, "go.nil-write") && cpus > 1 {
				continue // there is no other; the thread may go to another behind the fault
			}
			t.Run(fmt.Sprint(tt.options, "/", cpus), func(t *testing.T) {
				t.Parallel()
				_, serial, err := boot(t, Config{Kernel: path, CPUs: cpus, Icount: true, VirtualTime: true}, tt.options+" crash.branches=on")
				all, shown := wireTraces(t, trace.Options{Symbols: symbols}, serial)
				if err != nil || len(all) < cpus || all[0].Damaged {
					t.Fatalf("%d traces, %v\n%s", len(all), err, serial)
				}
				want := tt.want
				if cpus > 1 && strings.Contains(tt.options, "=go.") && all[0].CPU != 0 {
					want = "" // it died on a CPU without records
				}
				if got := branchNames(all[0]); got != want {
					t.Errorf("the branches are %s; want %s", got, want)
				}
				for _, tr := range all[1:] {
					if len(tr.Branches) > 0 {
						t.Errorf("the trace of CPU %d has branches, too", tr.CPU)
					}
				}
				line := "zf:   main.nilWriteA at faults.go:74 -> main.nilWriteB at faults.go:77, mispredicted"
				if strings.Contains(shown, line) != (want != "") {
					t.Errorf("%q is shown, or is not:\n%s", line, shown)
				}
			})
		}
	}
	for _, options := range []string{"", "lbr=on", "lbr=off"} {
		t.Run("none/"+options, func(t *testing.T) {
			t.Parallel()
			_, serial, err := boot(t, Config{Kernel: path, Icount: true, VirtualTime: true}, options+" crash=early.nil-write")
			all, _ := wireTraces(t, trace.Options{Symbols: symbols}, serial)
			if err != nil || len(all) != 1 || len(all[0].Branches) != 0 {
				t.Errorf("%d traces, %v\n%s", len(all), err, serial)
			}
			if !strings.Contains(serial, "\nbranch  no records: this CPU keeps none\r\n") {
				t.Errorf("the boot report does not say that there are no branch records:\n%s", serial)
			}
		})
	}
}

// TestBranchesKept: they are in the crash log, and in JSON.
func TestBranchesKept(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	_, serial, err := boot(t, Config{Kernel: path, Reboots: 1, Icount: true, VirtualTime: true}, "panic=reset crash=go.syscall-bug crash.then=none crash.branches=on")
	all, _ := wireTraces(t, trace.Options{Symbols: symbols}, serial)
	if err != nil || len(all) != 2 || all[1].Previous != 1 {
		t.Fatalf("%d traces, %v\n%s", len(all), err, serial)
	}
	for i, tr := range all {
		if got := branchNames(tr); got != labBranches {
			t.Errorf("trace %d has the branches %s; want %s", i, got, labBranches)
		}
	}
	file := filepath.Join(t.TempDir(), "json")
	zfRun(t, "-q", "-json", file, "-append", "crash=early.nil-write crash.branches=on", path).Run()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type end struct {
		Address, Function, File string
		Line                    int
	}
	var got struct {
		Branches []struct {
			From, To     end
			Cycles       int
			Mispredicted bool
		}
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	if n := len(got.Branches); n != 3 {
		t.Fatalf("%d branches in %s", n, b)
	}
	if b := got.Branches[1]; b.From.Function != "main.nilWriteA" || b.To.Function != "main.nilWriteB" || b.To.Line != 77 || !strings.HasSuffix(b.To.File, "faults.go") || !b.Mispredicted || b.Cycles != 0 || got.Branches[0].Cycles != 12 {
		t.Errorf("the branches are %+v", got.Branches)
	}
}
