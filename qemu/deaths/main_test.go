package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/image"
)

func TestMain(m *testing.M) {
	image.RunTool()
	os.Exit(m.Run())
}

// TestRandomCases: random deaths of machines with several CPUs, each as it must be.
func TestRandomCases(t *testing.T) {
	l, err := prepare(t.Context(), t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	defer l.symbols.Close()
	for _, n := range []int{20, 150} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			results, err := sweep(t.Context(), l, settings{n: n, seed: uint64(n), parallel: runtime.NumCPU()}, t.Output())
			if err != nil {
				t.Fatal(err)
			}
			for i := range results {
				if r := &results[i]; r.wrong != "" {
					t.Errorf("%s", line(i, r))
				}
			}
		})
	}
}

// TestJudge: what is wrong is found.
func TestJudge(t *testing.T) {
	one := said{Reason: "invalid opcode", CPU: new(1), Complete: true}
	add := func(t *said, names string) {
		for name := range strings.FieldsSeq(names) {
			t.Frames = append(t.Frames, struct{ Function, Kind string }{name, "ra"})
		}
	}
	add(&one, "main.undefinedC main.undefinedB main.undefinedA boot.apLong")
	other := said{Reason: "stopped", CPU: new(0), Of: 1, Complete: true}
	add(&other, "kernel/smp.Wait main.runOnCPU boot.long")
	ud2 := 0
	for kinds[ud2].name != "ud2" {
		ud2++
	}
	for _, c := range []struct {
		want   string
		change func(one, other *said) []said
	}{
		{"", func(one, other *said) []said { return []said{*one, *other} }},
		{"1 traces", func(one, other *said) []said { return []said{*one} }},
		{"trace 2 is of CPU 1, which has one", func(one, other *said) []said { other.CPU = new(1); return []said{*one, *other} }},
		{"trace 2 is damaged", func(one, other *said) []said { other.Damaged = true; return []said{*one, *other} }},
		{"not whole", func(one, other *said) []said { one.Complete = false; return []said{*one, *other} }},
		{"the wrong function", func(one, other *said) []said { one.Frames = one.Frames[1:]; return []said{*one, *other} }},
		{"does not say right", func(one, other *said) []said { other.Of = 0; return []said{*one, *other} }},
		{"no answer", func(one, other *said) []said { other.Reason = "the CPU did not answer"; return []said{*one, *other} }},
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
	if err := command(t.Context(), []string{"-h"}, &out, t.Output()); err == nil || !strings.Contains(out.String(), "-seed") {
		t.Errorf("-h: %v\n%s", err, &out)
	}
	if err := command(t.Context(), []string{"-n", "0"}, &out, t.Output()); err == nil {
		t.Error("-n 0 is no error")
	}
}
