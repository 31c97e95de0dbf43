package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/symbol"
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

// TestHiddenVariables: of a variable of a call that is inlined it is said which call that is, and no
// other variable of its name is taken for it.
func TestHiddenVariables(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module hidden\n\ngo 1.26\n", "main.go": `package main

type conn struct{ id, n int }

func add(c *conn, k int) int {
	extra := k * 3
	c.n += extra
	return c.n
}

func twice(c *conn) int { return c.id*2 + 1 }

//go:noinline
func handle(c *conn) int {
	total := 0
	for i := range 3 {
		total += add(c, i)
	}
	return total + twice(c)
}

func main() { println(handle(&conn{id: 7})) }
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := func(flags ...string) *observing {
		cmd := exec.Command("go", append(append([]string{"build", "-o", "hidden.elf"}, flags...), ".")...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		image, err := inspect.OpenImage(filepath.Join(dir, "hidden.elf"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { image.Close() })
		return &observing{image: image}
	}
	find := func(o *observing, what string, exprs ...string) error {
		sym, err := symbol.Open(filepath.Join(dir, "hidden.elf"))
		if err != nil {
			t.Fatal(err)
		}
		defer sym.Close()
		o.asked = []*sought{{what: what, exprs: exprs}}
		return o.find(sym, func(string, ...any) {})
	}
	o := build()
	const add, flag = "main.add, which is inlined in main.handle at main.go:17", "; record a build with -gcflags=all=-l to see it"
	for _, tt := range []struct{ what, expr, want string }{
		{"main.handle", "extra", "extra is a variable of " + add + flag},
		{"main.handle", "len(extra.x)+1", "extra is a variable of " + add + flag},
		{"main.go:7", "extra", "extra is a variable of " + add + flag},
		{"main.handle", "i", "main.handle has it at other lines, or the compiler has left it out"},
		{"main.handle", "nosuch", "there is no variable nosuch; look at the name"},
		{"main.add", "k", "; one is in main.handle at main.go:17"},
	} {
		if err := find(o, tt.what, tt.expr); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v; want %s", tt.what, tt.expr, err, tt.want)
		}
	}
	if err := find(o, "main.go:11", "c.id", "3"); err != nil {
		t.Fatal(err)
	}
	for pc, all := range o.spots {
		for _, s := range all {
			if want := "c is a variable of main.twice, which is inlined in main.handle at main.go:19" + flag; s.hides["c.id"] != want || s.hides["3"] != "" {
				t.Errorf("%#x: %q, want %q", pc, s.hides, want)
			}
		}
	}
	o = build("-gcflags=all=-l")
	for what, expr := range map[string]string{"main.add": "k", "main.go:8": "c.n", "main.go:11": "c.id"} {
		if err := find(o, what, expr); err != nil {
			t.Errorf("without inlined calls: %s %s: %v", what, expr, err)
		}
		for _, all := range o.spots {
			if len(all[0].hides) > 0 {
				t.Errorf("without inlined calls: %s %s: %q", what, expr, all[0].hides)
			}
		}
	}
}
