package main

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/image"
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
	if err := command([]string{"-run", "^(lin|imag)es?$"}, &out); err != nil {
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

// TestGoesOn: what cannot be measured is said, and what comes behind it is measured.
func TestGoesOn(t *testing.T) {
	var out strings.Builder
	b := &bench{out: &out, lab: "no such file"}
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
	if err := command([]string{"-short"}, &out); err != nil {
		t.Error(err)
	}
	for _, topic := range new(bench).topics() {
		if !strings.Contains(out.String(), "\n"+topic+".") && !strings.HasPrefix(out.String(), topic+".") {
			t.Errorf("nothing of %s is measured", topic)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-run", "("}, {"-run", "nothing"}, {"-x"}, {"walk"}} {
		var out strings.Builder
		if err := command(args, &out); !errors.Is(err, errUsage) || out.Len() > 0 {
			t.Errorf("%q: %v, %q", args, err, out.String())
		}
	}
	var out strings.Builder
	if err := command([]string{"-h"}, &out); err != nil || !strings.Contains(out.String(), "-run REGEXP") || !strings.Contains(out.String(), "bench.txt") {
		t.Errorf("-h: %v, %q", err, out.String())
	}
	for _, topic := range new(bench).topics() {
		if !strings.Contains(out.String(), " "+topic+" ") && !strings.Contains(out.String(), " "+topic+"\n") {
			t.Errorf("-h does not tell of %s", topic)
		}
	}
}

// TestDocumented: doc.go tells of all that is measured.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range new(bench).topics() {
		if !regexp.MustCompile(`(?m)^//\t` + topic + `\.\* `).Match(text) {
			t.Errorf("doc.go does not tell of %s.*", topic)
		}
	}
}
