package main

import (
	"errors"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

func TestMain(m *testing.M) {
	image.RunTool()
	os.Exit(m.Run())
}

// TestRun: -run measures what it names and nothing else, and leaves bench.txt alone.
func TestRun(t *testing.T) {
	t.Chdir("../..")
	before, errBefore := os.Stat("bench.txt")
	var out strings.Builder
	if err := command(t.Context(), []string{"-run", "^(lin|imag)es?$"}, &out, t.Output()); err != nil {
		t.Fatal(err)
	}
	topics := map[string]int{}
	for line := range strings.Lines(out.String()) {
		topic, _, _ := strings.Cut(line, ".")
		topics[topic]++
		if strings.Count(line, "\t") != 3 {
			t.Errorf("%q has no four columns", line)
		}
	}
	if len(topics) != 2 || topics["lines"] < 10 || topics["image"] < 6 {
		t.Errorf("figures of %v; want those of lines and image", topics)
	}
	if after, err := os.Stat("bench.txt"); (err == nil) != (errBefore == nil) || err == nil && !after.ModTime().Equal(before.ModTime()) {
		t.Error("bench.txt has been written")
	}
}

// TestGoesOn: what cannot be measured is said, and what comes after it is measured.
func TestGoesOn(t *testing.T) {
	var out strings.Builder
	b := &bench{ctx: t.Context(), out: &out, stderr: t.Output(), images: map[string]*batch.Lab{lab: {Image: "no such file"}}}
	b.wanted = regexp.MustCompile("^(core|std)$")
	t.Chdir("../..")
	if err := b.run(); err == nil || !strings.Contains(err.Error(), "what is left of core was not measured: ") {
		t.Errorf("the error is %v", err)
	}
	if !strings.Contains(out.String(), "std.packages\t") {
		t.Errorf("measured is %q", out.String())
	}
}

// TestShort: each thing can be measured, so that make bench comes to its end.
func TestShort(t *testing.T) {
	t.Chdir("../..")
	var out strings.Builder
	if err := command(t.Context(), []string{"-short"}, &out, t.Output()); err != nil {
		t.Error(err)
	}
	for _, topic := range topics(sections...) {
		if !strings.Contains(out.String(), "\n"+topic+".") && !strings.HasPrefix(out.String(), topic+".") {
			t.Errorf("nothing of %s is measured", topic)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-run", "("}, {"-run", "nothing"}, {"-x"}, {"walk"}} {
		var out strings.Builder
		if err := command(t.Context(), args, &out, &out); !errors.Is(err, batch.ErrUsage) || out.Len() > 0 {
			t.Errorf("%q: %v, %q", args, err, out.String())
		}
	}
	var out strings.Builder
	if err := command(t.Context(), []string{"-h"}, &out, &out); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "-run REGEXP") || !strings.Contains(out.String(), "bench.txt") {
		t.Errorf("-h: %v, %q", err, out.String())
	}
	for _, topic := range topics(sections...) {
		if !strings.Contains(out.String(), " "+topic+" ") && !strings.Contains(out.String(), " "+topic+"\n") {
			t.Errorf("-h does not tell of %s", topic)
		}
	}
}

// TestFigures: how figures are made of samples, and held against their goals.
func TestFigures(t *testing.T) {
	var out strings.Builder
	b := &bench{out: &out, stderr: t.Output()}
	for name, values := range map[string][]float64{
		"a.x.ns": {3, 1, 2}, "b.x.ns": {4}, "n.d": {7}, "many": {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110},
	} {
		for _, v := range values {
			b.add(name, v)
		}
	}
	all := readSections(`# text
[one] about it
let twice b.x.ns*2
want twice==8 && a.x.ns@0==1
t.median - - a.x.ns
t.three 3 ≤1 twice/3
t.three 3 ≥1 twice/3
t.rounded 0 ≤1 1e6/1e6+0.4
t.p90 - - many@90
u.$.value - - $.d-1
v.own
`)
	if len(all) != 1 || all[0].about != "about it" || strings.Join(topics(all...), " ") != "t u v" {
		t.Fatalf("sections %+v, topics %q", all, topics(all...))
	}
	for _, l := range all[0].lines {
		if err := b.evaluate(l); err != nil {
			t.Error(err)
		}
	}
	const want = "t.median\t2\t-\t-\nt.three\t2.667\t≤ 1\tshort\nt.three\t2.667\t≥ 1\tok\nt.rounded\t1\t≤ 1\tok\nt.p90\t100\t-\t-\nu.n.value\t6\t-\t-\n"
	if out.String() != want {
		t.Errorf("figures\n%swant\n%s", out.String(), want)
	}
	for _, formula := range []string{"nothing", "$.nothing", "twice/(twice-8)", "twice twice"} {
		if err := b.evaluate(line{kind: "figure", name: "x", decimals: "-", goal: "-", formula: formula}); err == nil {
			t.Errorf("%s gives a figure", formula)
		}
	}
	if err := b.evaluate(line{kind: "want", formula: "twice==9"}); err == nil {
		t.Error("twice is 9")
	}
}

// TestTable: what the table names is there, and its patterns are patterns.
func TestTable(t *testing.T) {
	t.Chdir("../..")
	for _, s := range sections {
		if len(s.machines) == 0 && measurements[s.name] == nil {
			t.Errorf("section %s measures nothing", s.name)
		}
		for _, m := range s.machines {
			if strings.HasPrefix(m.Kernel, "./") {
				if _, err := os.Stat(m.Kernel); err != nil {
					t.Error(err)
				}
			}
			for _, pattern := range append(m.Marks, m.Says) {
				if _, err := regexp.Compile(pattern); err != nil {
					t.Error(err)
				}
			}
			if readers[m.Read] == nil {
				t.Errorf("section %s: no reader %s", s.name, m.Read)
			}
		}
	}
	for name := range measurements {
		if !slices.ContainsFunc(sections, func(s section) bool { return s.name == name }) {
			t.Errorf("no section %s", name)
		}
	}
}

// TestDocumented: doc.go tells of all that is measured.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range topics(sections...) {
		if !regexp.MustCompile(`(?m)^//\t` + topic + `\.\* `).Match(text) {
			t.Errorf("doc.go does not tell of %s.*", topic)
		}
	}
}
