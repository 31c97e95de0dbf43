package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

func TestMain(m *testing.M) {
	image.RunTool()
	os.Exit(m.Run())
}

// TestRandomCases: random deaths of machines with several CPUs, each as it must be.
func TestRandomCases(t *testing.T) {
	m := newDeaths()
	l, err := m.Lab(t.Context(), t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Symbols.Close()
	for _, n := range []int{20, 100} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			results, err := m.Sweep(t.Context(), l, batch.Settings{N: n, Seed: uint64(n), Parallel: runtime.NumCPU()}, t.Output())
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range results {
				if text, bad := r.Line(); bad {
					t.Errorf("%d\t%s", i, text)
				}
			}
		})
	}
}

// TestJudge: what is wrong is found.
func TestJudge(t *testing.T) {
	end := tracer.EndZero.String()
	one := wire.Trace{Reason: "invalid opcode", HasCPU: true, CPU: 1, End: end}
	add := func(t *wire.Trace, names string) {
		for name := range strings.FieldsSeq(names) {
			t.Frames = append(t.Frames, wire.Frame{Kind: tracer.RA, Calls: []lookup.Call{{Function: name}}})
		}
	}
	add(&one, "main.undefinedC main.undefinedB main.undefinedA boot.apLong")
	other := wire.Trace{Reason: "stopped", HasCPU: true, Of: 1, End: end}
	add(&other, "kernel/smp.Wait main.runOnCPU boot.long")
	ud2 := 0
	for kinds[ud2].name != "ud2" {
		ud2++
	}
	for _, c := range []struct {
		want   string
		change func(one, other *wire.Trace) []*wire.Trace
	}{
		{"", func(one, other *wire.Trace) []*wire.Trace { return []*wire.Trace{one, other} }},
		{"1 traces", func(one, other *wire.Trace) []*wire.Trace { return []*wire.Trace{one} }},
		{"trace 2 is of CPU 1, which has one", func(one, other *wire.Trace) []*wire.Trace { other.CPU = 1; return []*wire.Trace{one, other} }},
		{"trace 2 is damaged", func(one, other *wire.Trace) []*wire.Trace { other.Damaged = true; return []*wire.Trace{one, other} }},
		{"not whole", func(one, other *wire.Trace) []*wire.Trace { one.End = ""; return []*wire.Trace{one, other} }},
		{"the wrong function", func(one, other *wire.Trace) []*wire.Trace {
			one.Frames = one.Frames[1:]
			return []*wire.Trace{one, other}
		}},
		{"does not say right", func(one, other *wire.Trace) []*wire.Trace { other.Of = 0; return []*wire.Trace{one, other} }},
		{"no answer", func(one, other *wire.Trace) []*wire.Trace {
			other.Reason = "the CPU did not answer"
			return []*wire.Trace{one, other}
		}},
	} {
		r := result{death: death{kind: ud2, cpus: 2}}
		a, b := one, other
		if got := r.judge(c.change(&a, &b)); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%q; want %q", got, c.want)
		}
	}
}

// TestUsage: -h says what it does, and a wrong flag is an error.
func TestUsage(t *testing.T) {
	var out bytes.Buffer
	if err := newDeaths().Command(t.Context(), []string{"-h"}, &out, t.Output()); err == nil || !strings.Contains(out.String(), "-seed") {
		t.Errorf("-h: %v\n%s", err, &out)
	}
	if err := newDeaths().Command(t.Context(), []string{"-n", "0"}, &out, t.Output()); err == nil {
		t.Error("-n 0 is no error")
	}
}
