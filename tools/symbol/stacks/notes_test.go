package stacks

import (
	"strings"
	"testing"
)

func TestParseNotes(t *testing.T) {
	n, err := ParseNotes(strings.NewReader(`
prefix example.com/mod/ # a comment
calls a/b.F: c.G @d.V given e.H BX nothing
calls runtime.x: nothing
depth main.R: 12
ends c.E
never c.N
leaves a/b.L
stack s: a.S base 56 at 8192 runs b.R never c.X c.Y
stack s: a.T fresh
`))
	if err != nil {
		t.Fatal(err)
	}
	const m = "example.com/mod/"
	f := n.calls[m+"a/b.F"]
	if len(f) != 3 || f[0].name != m+"c.G" || f[1].variable != m+"d.V" || f[2].given != m+"e.H" || f[2].reg != "BX" {
		t.Errorf("calls: %+v", f)
	}
	if x, ok := n.calls["runtime.x"]; !ok || len(x) != 0 {
		t.Errorf("calls of runtime.x: %+v, %v; want none, which is known", x, ok)
	}
	if n.depth["main.R"] != 12 || !n.sets["ends"][m+"c.E"] || !n.sets["never"][m+"c.N"] || !n.sets["leaves"][m+"a/b.L"] {
		t.Errorf("%+v", n)
	}
	if len(n.stacks) != 2 || n.stacks[1].entry.Func != m+"a.T" || !n.stacks[1].entry.Fresh {
		t.Fatalf("stacks: %+v", n.stacks)
	}
	e := n.stacks[0].entry
	if e.Base != 56 || e.At != 8192 || e.Runs != m+"b.R" || strings.Join(e.Never, " ") != m+"c.X "+m+"c.Y" || e.Fresh {
		t.Errorf("entry: %+v", e)
	}
}

func TestBadNotes(t *testing.T) {
	for text, want := range map[string]string{
		"calls a.F b.G":       "want `calls FUNC: TARGET...`",
		"calls a.F:":          "want `calls FUNC: TARGET...`",
		"calls":               `"calls" wants more words`,
		"depth a.F: 0":        "want one number from 1 to",
		"depth a.F: x":        "want one number from 1 to",
		"depth a.F: 1 2":      "want one number from 1 to",
		"calls a.F: given b":  "given wants a function and a register",
		"hops a.F":            `unknown note "hops"`,
		"stack s: a.F base":   "base wants a value",
		"stack s: a.F base x": `"x" is no number of bytes`,
		"stack s: a.F over 3": "unknown option over",
		"\n\nhops a.F":        "line 3",
	} {
		if _, err := ParseNotes(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}
