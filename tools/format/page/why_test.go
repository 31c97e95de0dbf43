package page

import (
	"strings"
	"testing"
)

// TestPageWhy: the page tells why a machine has died, with whatever it says as text, and says
// nothing where that is not known.
func TestPageWhy(t *testing.T) {
	hostile := "<b>\u202ex\x1b</b>"
	steps := []WhyStep{
		{Before: 1, How: "took it", Value: "0x28", Where: "main.f (main.go:7), goroutine 1", Source: "sink = numbers[n]"},
		{Before: 1234567, How: "computed it", Value: "0x28", Where: hostile, Source: hostile, Also: "RBX"},
	}
	for _, c := range []struct {
		why    *Why
		wants  []string
		wanted bool // the section
	}{
		{nil, nil, false},
		{&Why{Death: "a fault in main.f", Culprit: "main.g (main.go:9)", Causes: []WhyCause{{"RDX holds 0x28", steps, "the constant 0"}}}, []string{
			"a fault in main.f", "It was made so by main.g (main.go:9)", "RDX holds 0x28", "sink = numbers[n]", "1\u202f234\u202f567", "computed it also of RBX", `\u202e`, `\x1b`, "the constant 0",
		}, true},
		{&Why{Death: hostile, Note: "interrupted"}, []string{`\u202e`, "Who has made it so cannot be told", "interrupted"}, true},
		{&Why{Causes: []WhyCause{{"RAX", make([]WhyStep, 1000), hostile}}}, []string{"RAX"}, true},
	} {
		r, err := New(Options{Title: "x", Why: c.why})
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		root := check(t, finish(t, r))
		all := strings.Join(strings.Fields(text(root)), " ")
		for _, w := range c.wants {
			if !strings.Contains(all, strings.Join(strings.Fields(w), " ")) {
				t.Errorf("%q is not on the page: %s", w, all)
			}
		}
		found := false
		for _, s := range find(root, "section", "") {
			if attribute(s, "id") == "why" {
				found = true
				if n := len(find(s, "tr", "")); n > 2+2*maxWhySteps {
					t.Errorf("%d rows", n)
				}
			}
		}
		if found != c.wanted {
			t.Errorf("%+v: the section is there: %v; want %v", c.why, found, c.wanted)
		}
	}
}
