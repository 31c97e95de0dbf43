package qemu

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/eventstream"
	"github.com/zeroframe/zeroframe/tools/format/probe"
	"github.com/zeroframe/zeroframe/tools/machine/initrd"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// buildProbed builds the program that counts its own calls.
func buildProbed(t testing.TB) *symbol.File {
	t.Helper()
	sym, err := symbol.Open(program(t, "probes"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sym.Close() })
	return sym
}

// probed boots a program with probes and returns what it printed and the counts.
func probed(t testing.TB, sym *symbol.File, cfg Config, stacks bool, patterns ...string) (string, *probe.Plan, map[string]*probe.Counts, *probe.Report) {
	t.Helper()
	plan, err := probe.Choose(sym, patterns)
	if err != nil {
		t.Fatal(err)
	}
	var a initrd.Archive
	a.AddFile("/"+probe.File, 0o444, plan.Table(stacks))
	cfg.Kernel, cfg.Initrd = sym.Name(), filepath.Join(t.TempDir(), "initrd")
	if err := a.WriteFile(cfg.Initrd); err != nil {
		t.Fatal(err)
	}
	var rep *probe.Report
	var out strings.Builder
	text := eventstream.NewText(&out, eventstream.Options{
		OnRecord: func(r eventstream.Record) {
			if r.Kind == probe.Kind {
				if rep, err = plan.Read(r.Data); err != nil {
					t.Error(err)
				}
			}
		},
		OnDamage: func(d eventstream.Damage) { t.Error(d) },
	})
	cfg.Stdout, cfg.Timeout = text, limit
	vm, err := Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	res, err := vm.Wait()
	text.Close()
	if err != nil || res.Outcome != Exited && res.Outcome != Traced || rep == nil {
		t.Fatalf("the machine: %v, status %d, %v; counts %v; serial port:\n%s", res.Outcome, res.Program, err, rep != nil, out.String())
	}
	rep.Sort()
	rep.Name(sym)
	counts := make(map[string]*probe.Counts)
	for i := range rep.Functions {
		c := &rep.Functions[i]
		if c.Calls != c.Returns+c.Jumps+c.Unwound+c.Open || c.Untimed > 0 || c.Timed != c.Returns+c.Jumps {
			t.Errorf("%s: %d calls, but %d returns, %d jumps, %d unwound, %d open; %d timed, %d not", c.Function, c.Calls, c.Returns, c.Jumps, c.Unwound, c.Open, c.Timed, c.Untimed)
		}
		counts[c.Function] = c
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), plan, counts, rep
}

// saidBy returns the lines of a text that begin with a word, without it.
func saidBy(text, word string) (lines []string) {
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		if l, ok := strings.CutPrefix(s.Text(), word+" "); ok {
			lines = append(lines, l)
		}
	}
	return lines
}

// TestProbes: what probes count is what the program counts itself, in recursion, panics,
// Goexit, faults, moving stacks, preemption and many goroutines.
func TestProbes(t *testing.T) {
	t.Parallel()
	sym := buildProbed(t)
	native := filepath.Join(t.TempDir(), "native")
	if out, err := exec.Command("go", "build", "-o", native, "./testdata/probes").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	linux, err := exec.Command(native, "less").Output()
	if err != nil {
		t.Fatalf("the program on Linux: %v\n%s", err, linux)
	}
	for _, tt := range []struct {
		name     string
		stacks   bool
		patterns []string
	}{
		{"its own functions", false, []string{"main.*"}},
		{"by callers", true, []string{"main.*"}},
		{"thousands", false, []string{"*"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{}
			if tt.stacks {
				cfg.Append = "depot=4194304"
			}
			if tt.name != "its own functions" {
				cfg.Append += " -- less"
			}
			out, plan, counts, rep := probed(t, sym, cfg, tt.stacks, tt.patterns...)
			if wrong := saidBy(out, "WRONG"); len(wrong) > 0 {
				t.Errorf("with probes the program went wrong: %q", wrong)
			}
			if got, want := saidBy(out, "TEXT"), saidBy(string(linux), "TEXT"); len(got) != 1 || got[0] != want[0] {
				t.Errorf("with probes the program said %q; want %q", got, want)
			}
			lines := saidBy(out, "COUNT")
			if len(lines) < 18 {
				t.Fatalf("the program told %d counts:\n%s", len(lines), out)
			}
			for _, l := range lines {
				var name string
				var calls, left uint64
				if _, err := fmt.Sscan(l, &name, &calls, &left); err != nil {
					t.Fatalf("%q: %v", l, err)
				}
				c := total(rep, name)
				open := uint64(0)
				if name == "main.blocks" {
					open = 1
				}
				if c.Calls != calls || c.Unwound != left || c.Open != open {
					t.Errorf("%s: %d calls, %d did not return, %d open; want %d, %d, %d", name, c.Calls, c.Unwound, c.Open, calls, left, open)
				}
			}
			t.Logf("%d functions probed, %d refused; %d hits, %v each", len(plan.Functions), len(plan.Refused), rep.Hits, rep.Overhead/time.Duration(rep.Hits))
			if tt.stacks {
				checkCallers(t, rep, counts)
				return
			}
			if tt.patterns[0] == "*" {
				if len(plan.Functions) < 1900 {
					t.Errorf("%d functions were probed; want thousands", len(plan.Functions))
				}
				return
			}
			// A sleep lasts at least as long as it is told, and not much longer even on a
			// busy host; the functions around it last longer than those in it.
			if c := counts["main.sleeps"]; c.Min < 29*time.Millisecond || c.P50 < 25*time.Millisecond || c.P99 < c.P50 || c.Max < c.P99 || c.Mean > 10*time.Second {
				t.Errorf("main.sleeps: min %v, p50 %v, p99 %v, max %v, mean %v; want 30 ms and more", c.Min, c.P50, c.P99, c.Max, c.Mean)
			}
			if m := counts["main.main"]; m.Calls != 1 || m.Total < counts["main.sleeps"].Total || m.Total > limit {
				t.Errorf("main.main: %d calls, %v; main.sleeps has %v", m.Calls, m.Total, counts["main.sleeps"].Total)
			}
			sum := uint64(0)
			for _, b := range counts["main.recurse"].Histogram {
				sum += b.Count
			}
			if sum != counts["main.recurse"].Returns {
				t.Errorf("the histogram of main.recurse has %d calls; want %d", sum, counts["main.recurse"].Returns)
			}
		})
	}
}

// total adds up the functions of a name: a generic one has several.
func total(rep *probe.Report, name string) (sum probe.Counts) {
	for i := range rep.Functions {
		if c := &rep.Functions[i]; c.Function == name {
			sum.Calls += c.Calls
			sum.Unwound += c.Unwound
			sum.Open += c.Open
		}
	}
	return sum
}

// checkCallers: the calls by callers add up, and the callers are right.
func checkCallers(t *testing.T, rep *probe.Report, counts map[string]*probe.Counts) {
	t.Helper()
	sum := rep.LostCallers
	calls := uint64(0)
	for i := range rep.Functions {
		calls += rep.Functions[i].Calls
		for _, c := range rep.Functions[i].Callers {
			sum += c.Calls
		}
	}
	if sum != calls {
		t.Errorf("the calls by callers are %d; want %d", sum, calls)
	}
	c := counts["main.spun"].Callers
	if len(c) != 1 || c[0].Calls != 300 || c[0].Names[0] != "main.spins" {
		t.Errorf("the callers of main.spun are %+v; want main.spins, 300 times", c)
	}
	if c := counts["main.main"].Callers; len(c) != 1 || c[0].Names[0] != "runtime.main" {
		t.Errorf("the callers of main.main are %+v; want runtime.main", c)
	}
}
