package waits

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// unknown are the forms of which the ring is not found: what they locked, no frame has kept.
var unknown = []string{"mapped", "loop", "asserted", "expression"}

// TestForms stops testdata/forms once, and wants a ring of each form of rings.go, and nobody named
// of misses.go.
func TestForms(t *testing.T) {
	exe, err := buildOf("testdata/forms")
	if err != nil {
		t.Fatal(err, exe)
	}
	name := filepath.Join(t.TempDir(), "core")
	cmd := start(t, exe)
	var g *Graph
	await.Poll(t, "all to wait", func() bool {
		if err := dump(cmd.Process.Pid, name); err != nil {
			t.Fatal(err)
		}
		g = analyze(t, exe, name, Options{})
		return !slices.ContainsFunc(g.Goroutines, func(x *Goroutine) bool {
			return x.Wait == nil && !x.System && form(x) != ""
		})
	})
	checkForms(t, g)
}

// form is the form that a goroutine belongs to, "" if to none.
func form(x *Goroutine) string {
	m := regexp.MustCompile(`^main\.(\w+)\.func`).FindStringSubmatch(x.Function)
	if m == nil || m[1] == "main" || m[1] == "taken" {
		return ""
	}
	return m[1]
}

func checkForms(t *testing.T, g *Graph) {
	want := make(map[string]int)
	for file, n := range map[string]int{"rings.go": 2, "misses.go": 0} {
		b, err := os.ReadFile(filepath.Join("testdata/forms", file))
		if err != nil {
			t.Fatal(err)
		}
		list := regexp.MustCompile(`(?s)func\(\){(.*?)\n}`).FindSubmatch(b)[1]
		for _, f := range regexp.MustCompile(`\w+`).FindAllString(string(list), -1) {
			want[f] = n
			body := regexp.MustCompile(`(?ms)^func ` + f + `\(\) {.*?^}`).Find(b)
			if m := regexp.MustCompile(`// \[(\d)\]`).FindSubmatch(body); m != nil {
				want[f] = int(m[1][0] - '0')
			}
		}
	}
	got, wrong := make(map[string]int), 0
	for _, f := range g.Findings {
		name := form(g.byID[f.Goroutines[0]])
		got[name] = len(f.Goroutines)
		if got[name] != want[name] {
			wrong++
			t.Errorf("wrong: %s: %s", name, f.Text)
		}
	}
	found, rings := 0, 0
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if want[name] == 0 {
			continue
		}
		rings++
		switch {
		case got[name] == want[name]:
			found++
		case !slices.Contains(unknown, name):
			t.Errorf("%s: not found", name)
		}
		if testing.Verbose() && got[name] != want[name] {
			for _, x := range g.Goroutines {
				if form(x) == name && x.Wait != nil {
					t.Log(name, x.label(), x.Wait.words(nil), g.whoElse(x), x.held, x.heldOK)
				}
			}
		}
	}
	t.Logf("of %d rings %d found; %d wrong of %d forms", rings, found, wrong, len(want))
}

// TestTimers: of a program that hangs nobody is blamed for waiting for a timer, for what a timer's
// function or a context's deadline brings, or for running a finalizer; and where nothing is certain, the flags are named that say more.
func TestTimers(t *testing.T) {
	exe, err := buildOf("testdata/timers")
	if err != nil {
		t.Fatal(err, exe)
	}
	name := filepath.Join(t.TempDir(), "core")
	cmd := start(t, exe)
	var g *Graph
	await.Poll(t, "all to wait", func() bool {
		if err := dump(cmd.Process.Pid, name); err != nil {
			t.Fatal(err)
		}
		g = analyze(t, exe, name, Options{})
		return len(g.Goroutines) > 14 && !slices.ContainsFunc(g.Goroutines, func(x *Goroutine) bool {
			return !x.System && (x.Wait == nil || x.status == gSyscall) // it still says something
		})
	})
	for all, want := range map[bool]string{
		false: "nothing is known to keep the program from going on; -all lists what each goroutine waits for; -hang takes it that ",
		true:  "nothing is known to keep the program from going on; -hang takes it that ",
	} {
		var b strings.Builder
		if g.WriteText(&b, all); !strings.HasPrefix(b.String(), want) {
			t.Errorf("%t: want %q in\n%s", all, want, b.String())
		}
	}
	g = analyze(t, exe, name, Options{Hang: true})
	c := stopped{Hang: true, Want: []string{
		`^hang: goroutine 1 \(main\.main\) waits to receive from the channel main\.none at 0x\w+ \(unbuffered\); no goroutine can run that would send to it or close it$`,
		`^hang: goroutine \d+ \(main\.served\) waits to receive from the channel .*, to be sent to by goroutine \d+ \(main\.tick\), which waits to receive from the channel .* \(of a timer\)$`,
		`^hang: goroutine \d+ \(main\.holder\) waits to receive from the channel at 0x\w+ \(of a timer\); goroutine \d+ \(main\.locker\) waits for the mutex main\.mu at 0x\w+, held by it$`,
	}}
	c.check(t, g)
	if t.Failed() {
		g.WriteText(t.Output(), true)
	}
}
