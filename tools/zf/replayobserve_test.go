package main

import (
	"slices"
	"strings"
	"testing"
)

// What zf replay observes of a machine is tested in package qemu.

func TestTwoArguments(t *testing.T) {
	for _, tt := range []struct{ args, want []string }{
		{[]string{"-print-on", "main.f", "c.id", "x.zfr"}, []string{"-print-on", "main.f c.id", "x.zfr"}},
		{[]string{"--print-on", "main.f c.id", "x.zfr"}, []string{"--print-on", "main.f c.id", "x.zfr"}},
		{[]string{"-q", "-print-on", "main.f", "c.id, d", "-print-on", "main.g", "e"}, []string{"-q", "-print-on", "main.f c.id, d", "-print-on", "main.g e"}},
		{[]string{"-print-on", "main.f"}, []string{"-print-on", "main.f"}},
	} {
		if got := twoArguments(tt.args); !slices.Equal(got, tt.want) {
			t.Errorf("%q becomes %q, not %q", tt.args, got, tt.want)
		}
	}
}

func TestExpressions(t *testing.T) {
	for s, want := range map[string][]string{
		"c.id":                      {"c.id"},
		"c.id, m[\"a,b\"] ,f(x, y)": {"c.id", "m[\"a,b\"]", "f(x, y)"},
		"*(*main.T)(0x10)":          {"*(*main.T)(0x10)"},
		"":                          nil,
		"a b":                       nil,
		"a)+(b":                     nil,
	} {
		got, err := expressions(s)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q has %q (%v), not %q", s, got, err, want)
		}
	}
}

// TestLines: what is said begins a line of its own, and the other output stays as it is.
func TestLines(t *testing.T) {
	var b strings.Builder
	l := &lines{w: &b}
	l.say("one")
	l.Write([]byte("half"))
	l.say("two")
	l.Write([]byte("whole\n"))
	l.say("three")
	if want := "one\nhalf\ntwo\nwhole\nthree\n"; b.String() != want {
		t.Errorf("%q, not %q", b.String(), want)
	}
}

func TestPoints(t *testing.T) {
	for s, want := range map[string]point{
		"death":     {text: "death", fromEnd: true, death: true},
		"death-5":   {text: "death-5", fromEnd: true, death: true, instructions: 5},
		"death-1ms": {text: "death-1ms", fromEnd: true, death: true, isTime: true, time: 1e6},
		"end-1ms":   {text: "end-1ms", fromEnd: true, isTime: true, time: 1e6},
		"12":        {text: "12", instructions: 12},
	} {
		if got, err := parsePoint(s); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", s, got, err, want)
		}
	}
	for _, s := range []string{"death+1", "deathly", "end 1", "-5ms", ""} {
		if p, err := parsePoint(s); err == nil {
			t.Errorf("%q is %+v", s, p)
		}
	}
}
