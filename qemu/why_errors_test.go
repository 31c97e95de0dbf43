package qemu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhyErrors: the same as [TestWhy] of testdata/culprits4: of errors, and of look-ups that have
// missed.
func TestWhyErrors(t *testing.T) {
	t.Parallel()
	whyAll(t, "culprits4", 27, nil)
}

// TestWhySays: zf why in words: of what nobody has written it says so, and of what cannot be told,
// and blames nobody for it.
func TestWhySays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind  string
		flags []string
		says  string
	}{
		{"unwritten", nil, "never written since it was made by main.newJob (lookups.go:"},
		{"never", nil, `never written: the key "never" is looked up by main.(*store).find (lookups.go:`},
		{"over", nil, "one of: main.over (main.go:"},
		{"hoard", []string{"-m", "64"}, "cannot be told: who has too much of it"},
		{"wrapped", nil, `the error *fmt.wrapError "listen: open: port -20", in it *fmt.wrapError "open: port -20", in it *errors.errorString "port -20"`},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "death.zfr")
			args := append(append([]string{"-q", "-record", file}, tt.flags...), program(t, "culprits4"), "--", tt.kind)
			if out, err := zfRun(t, args...).CombinedOutput(); exitCode(t, err) != 1 {
				t.Fatalf("zf run -record: %v, %s", err, out)
			}
			b, err := exec.Command(zfCommand(t), "why", file).CombinedOutput()
			out := unwrapped(b)
			blames := strings.Contains(out, "made so by")
			if err != nil || !strings.Contains(out, tt.says) || blames != (tt.kind == "wrapped") {
				t.Errorf("%v, %s; want %s", err, out, tt.says)
			}
		})
	}
}

// TestWhyZfTest: a recording of zf test is asked about what the test died of, not about the package
// testing, which has passed it on; and about what has let a test fail.
func TestWhyZfTest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/gone\n\ngo 1.26\n", "gone_test.go": `package gone

import (
	"reflect"
	"testing"
)

var table = map[string]int{"a": 1}

//go:noinline
func reset() { table = nil }

func TestNilMap(t *testing.T) {
	reset()
	table["c"] = 3
}

type pair struct{ a, b int }

//go:noinline
func (p *pair) spoil() { p.b = 9 }

func TestFails(t *testing.T) {
	p := &pair{1, 2}
	p.spoil()
	if p.b != 2 {
		t.Fatalf("b is %d", p.b)
	}
}

//go:noinline
func sum(a, b int) pair { return pair{a + 1, b} } // off by one

func TestEqual(t *testing.T) {
	if got, want := sum(1, 2), (pair{1, 2}); !reflect.DeepEqual(got, want) {
		t.Error("differ")
	}
}

func TestLogs(t *testing.T) {
	p := &pair{1, 2}
	p.spoil()
	if p.b != 2 {
		t.Log("b is", p.b)
		t.FailNow()
	}
}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"NilMap": "made so by example.com/gone.reset (gone_test.go:11)",
		"Fails":  "made so by example.com/gone.(*pair).spoil (gone_test.go:21)",
		"Equal":  "made so by example.com/gone.sum (gone_test.go:32)",
		"Logs":   "made so by example.com/gone.(*pair).spoil (gone_test.go:21)",
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			cmd := exec.Command(zfCommand(t), "test", "-record-failures", "-outputdir", out, "-run", name, ".")
			cmd.Dir = dir
			said, _ := cmd.CombinedOutput()
			files, _ := filepath.Glob(filepath.Join(out, "*.zfr"))
			if len(files) != 1 {
				t.Fatalf("recordings %v: %s", files, said)
			}
			if got, err := exec.Command(zfCommand(t), "why", files[0]).CombinedOutput(); err != nil || !strings.Contains(unwrapped(got), want) {
				t.Errorf("%v, %s; want %s", err, got, want)
			}
		})
	}
}
