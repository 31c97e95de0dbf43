package qemu

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// Each function has given its parameters other values when it calls the next one. What they were
// called with is still in the frames, where the caller has set aside a place for them.
const reassigning = `package main

type pair struct{ x, y int }

type mixed struct {
	a int8
	b int64
	c string
}

func main() { text("abc", 1, true) }

func text(s string, n int, ok bool) {
	s, n, ok = "quite another text", 40, false
	slices([]byte("abc"), []int{1})
	println(s, n, ok)
}

func slices(dst []byte, all []int) {
	full := make([]byte, 40)
	copy(full, "ab")
	dst, all = full[:2], nil
	values(77, 5, nil)
	println(len(dst), len(all))
}

func values(v, w any, e error) {
	v, w = "a string", nil
	pairs(pair{1, 100}, mixed{1, 2, "three"}, [2]int{1, 2})
	println(v, w, e)
}

func pairs(p pair, m mixed, a [2]int) {
	p, a[1] = pair{7, 97}, 9
	m.b, m.c = -4, "five"
	numbers(1+2i, 'x', 2.5, main)
	println(p.x, m.a, a[0])
}

func numbers(c complex128, r rune, f float64, g func()) {
	c, r, f, g = 3-4i, 'y', -0.5, nil
	shapes("zz", 3, "why")
	println(c, r, f, g)
}

func shapes[A, B any](a A, b B, s string) {
	s = "z"
	made(a, []A{a}, pair{1, 2})
	println(s)
}

func made[A any, B any](a A, list []A, b B) {
	last(&pair{}, map[string]int{}, make(chan int))
	println(len(list))
}

func last(p *pair, m map[string]int, c chan int) {
	p, m, c = nil, nil, nil
	p.x = len(m) + cap(c)
}
`

// reassigned are the arguments as they are at the crash.
var reassigned = map[string][]string{
	"main.text":    {`s "quite another text"`, `n 40`, `ok false`},
	"main.slices":  {`dst (\[97 98\]|0x[0-9a-f]+\[:2\])`, `all nil`},
	"main.values":  {`v string\("a string"\)|v string at 0x[0-9a-f]+`, `w nil`, `e nil`},
	"main.pairs":   {`p {x:7 y:97}`, `m {a:1 b:-4 c:"five"}`, `a \[1 9\]`},
	"main.numbers": {`c \(3-4i\)`, `r 121`, `f -0.5`, `g nil`},
	"main.shapes":  {`a "zz"`, `b 3`, `s "z"`},
	"main.made":    {`a "zz"`, `list (\["zz"\]|0x[0-9a-f]+\[:1\])`, `b {x:1 y:2}`},
	"main.last":    {`p nil`, `m nil`, `c nil`},
}

// TestReassignedArguments: without optimization a variable has one place in memory, and is shown as
// it is now, all of its words of one moment.
func TestReassignedArguments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, s := range map[string]string{"main.go": reassigning, "go.mod": "module made\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	path := built(t, image.BuildOptions{Package: ".", Dir: dir, Env: testEnv(), GCFlags: "made=-N -l"})
	res, serial, err := boot(t, Config{Kernel: path}, "")
	if err != nil || res.Outcome != Traced {
		t.Fatalf("the machine: %v, %v; want a trace: %s", res.Outcome, err, serial)
	}
	known, left := 0, maps.Clone(reassigned)
	for _, f := range madeTrace(t, opened(t, path), serial).Frames {
		for k := range f.Arguments {
			name, _, _ := strings.Cut(f.Calls[k].Function, "[")
			want := left[name]
			if len(want) == 0 {
				continue
			}
			delete(left, name)
			i := 0
			for _, a := range f.Arguments[k] {
				if a.Name == ".dict" || i >= len(want) {
					continue
				}
				if got := a.Name + " " + a.Value; !a.Known {
					t.Logf("%s: %s is not known", name, a.Name)
				} else if known++; !regexp.MustCompile("^(?:" + want[i] + ")$").MatchString(got) {
					t.Errorf("%s: %s; want %s", name, got, want[i])
				}
				i++
			}
		}
	}
	if len(left) > 0 || known < 20 {
		t.Errorf("%d arguments are known, and these functions have none: %v\n%s", known, left, serial)
	}
}
