package inspect

// A program with goroutines in many states dies, and the core is compared with what the program
// itself printed as it died: Go's own traceback.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/coretest"
)

// shared is a dead program that the tests only read.
var shared struct {
	sync.Once
	dead coretest.Dead
	dir  string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "inspect")
	if err != nil {
		panic(err)
	}
	shared.dir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// dead returns it.
func dead(t testing.TB) coretest.Dead {
	t.Helper()
	shared.Do(func() {
		d := coretest.Make(t, "testdata/dead")
		for _, f := range []*string{&d.ELF, &d.Core} {
			to := filepath.Join(shared.dir, filepath.Base(*f))
			b, err := os.ReadFile(*f)
			if err == nil {
				err = os.WriteFile(to, b, 0o700)
			}
			if err != nil {
				t.Fatal(err)
			}
			*f = to
		}
		shared.dead = d
	})
	if shared.dead.Core == "" {
		t.Fatal("there is no core; see the first test")
	}
	return shared.dead
}

func open(t testing.TB) *Program {
	t.Helper()
	d := dead(t)
	p, err := Open(d.Core, d.ELF, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

var shape = regexp.MustCompile(`\[.*\]`)

// line is a frame as both sides have it. A generic function has its types in DWARF and dots in
// a traceback.
func line(f *Frame) string {
	return fmt.Sprintf("%s %s:%d %t", shape.ReplaceAllString(f.Function, "[...]"), f.File, f.Line, f.Inlined)
}

// TestAgainstTraceback: numbers, states, reasons, stacks, creators are those that Go's own
// traceback has. Of the goroutine that died it begins with panic, and the core with what the
// runtime does after it.
func TestAgainstTraceback(t *testing.T) {
	p := open(t)
	if !p.BuildKnown() {
		t.Error("the core does not say its build")
	}
	got, err := p.Goroutines()
	if err != nil {
		t.Fatal(err)
	}
	want, err := ReadTraceback(strings.NewReader(dead(t).Text))
	if err != nil || len(want) < 15 {
		t.Fatalf("%d goroutines, %v, in\n%s", len(want), err, dead(t).Text)
	}
	slices.SortFunc(want, func(a, b *Goroutine) int { return int(a.ID - b.ID) })
	if len(got) != len(want) {
		t.Fatalf("%d goroutines; the traceback has %d", len(got), len(want))
	}
	for i, g := range got {
		w := want[i]
		if g.ID != w.ID || g.Status() != w.Status() || g.Error != "" || g.Parent != w.Parent {
			t.Errorf("goroutine %d [%s] of %d, %q; want %d [%s] of %d", g.ID, g.Status(), g.Parent, g.Error, w.ID, w.Status(), w.Parent)
		}
		var have, should []string
		for k := range g.Frames {
			have = append(have, line(&g.Frames[k]))
		}
		for k := range w.Frames {
			if w.Frames[k].Function == "panic" {
				w.Frames[k].Function = "runtime.gopanic"
			}
			should = append(should, line(&w.Frames[k]))
		}
		if g.State == "running" || g.State == "syscall" {
			if n := len(have) - len(should); n > 0 {
				have = have[n:]
			}
		}
		if g.State == "syscall" && len(have) > 0 && len(should) > 0 {
			// There the traceback begins with the call by which the runtime is told of it, or in
			// the program's first function around it; the core, where the thread really stood.
			have[0], should[0] = "", ""
		}
		if !slices.Equal(have, should) {
			t.Errorf("goroutine %d [%s]:\n%s\nwant\n%s", g.ID, g.Status(), strings.Join(have, "\n"), strings.Join(should, "\n"))
		}
		switch {
		case (g.By == nil) != (w.By == nil):
			t.Errorf("goroutine %d is created by %v, want %v", g.ID, g.By, w.By)
		case g.By != nil && line(g.By) != line(w.By):
			t.Errorf("goroutine %d is created by %s, want %s", g.ID, line(g.By), line(w.By))
		}
	}
}

// TestText: groups, labels, columns, JSON.
func TestText(t *testing.T) {
	all, err := open(t).Goroutines()
	if err != nil {
		t.Fatal(err)
	}
	show := func(v View) string {
		var b bytes.Buffer
		if err := Write(&b, all, v); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	text := show(View{})
	for _, want := range []string{
		`[chan receive] {"job":"1"}:` + "\nmain.worker.func1(...)\n",
		"main.inlined(...) [inlined]\n", "main.deep(...)\n", "\ncreated by main.main in goroutine 1\n",
		", locked to thread]:\n", "[finalizer wait] of the runtime", fmt.Sprintf("\n%d goroutines", len(all)),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "runtime.main(") || !strings.Contains(show(View{All: true}), "runtime.main(") {
		t.Error("the runtime's frames of the main goroutine are shown, or not with -t")
	}
	if k := show(View{Columns: true}); !regexp.MustCompile(`(?m)^[0-9a-f]{16} [0-9a-f]{16} main\.deep\+0x[0-9a-f]+$`).MatchString(k) {
		t.Errorf("no columns in\n%s", k)
	}
	// Goroutines at the same place are a group.
	twice := append(slices.Clone(all), all...)
	var b bytes.Buffer
	if err := Write(&b, twice, View{}); err != nil || !strings.Contains(b.String(), "\n2 goroutines [") {
		t.Errorf("%v, no group in\n%s", err, b.String())
	}
	b.Reset()
	if err := WriteJSON(&b, all); err != nil {
		t.Fatal(err)
	}
	n := 0
	for l := range strings.Lines(b.String()) {
		var g struct {
			ID     int64
			State  string
			Frames []struct{ Address, Function string }
		}
		if err := json.Unmarshal([]byte(l), &g); err != nil || g.ID == 0 || g.State == "" || len(g.Frames) == 0 || g.Frames[0].Address[:2] != "0x" {
			t.Errorf("%v: %s", err, l)
		}
		n++
	}
	if n != len(all) {
		t.Errorf("%d objects, want %d", n, len(all))
	}
}

// TestEval: package variables, and those of frames. deep has its arguments on the stack while it
// waits; what it does with local is in DWARF's location lists.
func TestEval(t *testing.T) {
	p := open(t)
	for _, test := range []struct{ expr, want string }{
		{"main.list.name", `"n999"`}, {"list.next.next.name", `"n997"`}, {`m["k"]`, "42"}, {"s[3:7]", "[]int len: 4, cap: 6, [3,4,5,6]"},
		{"len(c)", "2"}, {"cap(c)", "5"}, {"len(s)", "9"}, {"main.large[7].name", `"l"`}, {"nested[7][1]", `"y"`},
		{"iface.(*main.T).b", "4"}, {"s[2]+s[3]", "5"}, {"list == list.next", "false"}, {"len(held)", "50"},
	} {
		v, err := p.Eval(test.expr, Place{}, DefaultLimits)
		if err != nil || v.Value == nil || *v.Value != test.want {
			t.Errorf("%s = %v, %v; want %s", test.expr, v.String(), err, test.want)
		}
	}
	addr, err := p.Eval("&list", Place{}, DefaultLimits)
	if err != nil || addr.Value == nil {
		t.Fatal(addr, err)
	}
	list, err := p.Eval("uintptr(list)", Place{}, DefaultLimits)
	if err != nil || list.Value == nil {
		t.Fatal(list, err)
	}
	if v, err := p.Eval("(*(*main.node)("+*list.Value+")).name", Place{}, DefaultLimits); err != nil || v.String() != `"n999"` {
		t.Errorf("by address: %v, %v", v.String(), err)
	}
	for _, bad := range []string{"nosuch", "list.nosuch", "s[100]", "f(", "fn()", "*(*int)(1)"} {
		if v, err := p.Eval(bad, Place{}, DefaultLimits); err == nil && v.Why == "" {
			t.Errorf("%s = %s", bad, v.String())
		}
	}
	for bad, want := range map[string]string{
		"lst": "no variable here has the name lst", "len(lst)": "no variable here has the name lst", "list.nexd": "which has no field nexd, only name, next",
		"list.nexd.name": "main.list is of type *main.node, which has no field nexd", "list.next.next.nam": "main.list.next.next is of type *main.node, which has no field nam",
		"main.lst": "package main has no variable or type lst", "strngs.x": "no package with variables, has the name strngs", "fn()": "calls no functions",
		"m.x": "which has no fields", "*(*main.nod)(1)": "package main has no variable or type nod",
	} {
		_, err := p.Eval(bad, Place{}, DefaultLimits)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", bad, err, want)
		}
		if wrong := (*NoName)(nil); strings.HasSuffix(want, "lst") && (!errors.As(err, &wrong) || !slices.Contains(wrong.Known, "list")) {
			t.Errorf("%s: list is not among %v", bad, wrong)
		}
	}
	all, err := p.Goroutines()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, g := range all {
		for i := range g.Frames {
			if g.Frames[i].Function != "main.deep" {
				continue
			}
			vars, err := p.Variables(Place{g.ID, i}, DefaultLimits)
			if err != nil {
				t.Errorf("frame %d: %v", i, err)
			}
			for _, v := range vars {
				if v.Value == nil && v.Why == "" {
					t.Errorf("frame %d: %s has neither a value nor a reason", i, v.Name)
				}
				if v.Name == "n" && v.Value != nil {
					seen[*v.Value] = true
				}
				if v.Name == "local" && v.Value != nil && !slices.Contains([]string{"0", "3", "6", "9", "12", "15"}, *v.Value) {
					t.Errorf("frame %d: local = %s", i, *v.Value)
				}
			}
		}
	}
	for n := range 6 {
		if len(seen) > 0 && !seen[fmt.Sprint(n)] {
			t.Logf("n = %d is optimized away", n)
		}
	}
	if _, err := p.Variables(Place{1, 1000}, DefaultLimits); err == nil {
		t.Error("frame 1000")
	}
	if _, err := p.Variables(Place{99999, 0}, DefaultLimits); err == nil {
		t.Error("goroutine 99999")
	}
}

// TestBadCores: one sentence each.
func TestBadCores(t *testing.T) {
	d := dead(t)
	core, err := os.ReadFile(d.Core)
	if err != nil {
		t.Fatal(err)
	}
	other := coretest.Make(t, "testdata/dead", "-ldflags=-X=main.x=y -B 0x0123456789abcdef0123456789abcdef01234567").ELF
	dir := t.TempDir()
	file := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	corrupt := bytes.Clone(core)
	for i := 64 + 56; i < 64+56*8; i++ { // the table of segments
		corrupt[i] ^= 0x5a
	}
	for _, test := range []struct{ name, core, elf, want string }{
		{"another build", d.Core, other, "the core is of another build"},
		{"half", file("half", core[:len(core)/2]), d.ELF, "the core is cut short"},
		{"header only", file("header", core[:64]), d.ELF, "the core is cut short or corrupt"},
		{"corrupt", file("corrupt", corrupt), d.ELF, "corrupt"},
		{"empty", file("empty", nil), d.ELF, ErrNotCore.Error()},
		{"text", file("text", []byte("hello")), d.ELF, ErrNotCore.Error()},
		{"the ELF file", d.ELF, d.ELF, ErrNotCore.Error()},
		{"no file", filepath.Join(dir, "none"), d.ELF, "no such file"},
		{"no ELF file", d.Core, file("elf", []byte("hello")), "is no ELF file"},
	} {
		p, err := Open(test.core, test.elf, false)
		if err == nil {
			p.Close()
			t.Errorf("%s: no error", test.name)
			continue
		}
		if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %s", test.name, err, test.want)
		}
		if want := test.want == ErrNotCore.Error(); errors.Is(err, ErrNotCore) != want {
			t.Errorf("%s: ErrNotCore: %t", test.name, !want)
		}
	}
	if p, err := Open(d.Core, other, true); err != nil {
		t.Errorf("force: %v", err)
	} else {
		p.Close()
	}
}
