package main

import (
	"go/version"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/batch"
)

// TestAdd: passed and failed tests are counted, and only those that failed are quoted.
func TestAdd(t *testing.T) {
	const events = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"a word of A\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB/x","Output":"a word of B\n"}
{"Action":"fail","Package":"p","Test":"TestB/x"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestC"}
a linker's complaint
{"Action":"output","Package":"p","Output":"FAIL p\n"}
{"Action":"fail","Package":"p"}
{"ImportPath":"q","Action":"build-output","Output":"q.go:1: no\n"}
{"ImportPath":"q","Action":"build-fail"}
`
	var out strings.Builder
	c := count{out: &out, toolchain: "go1.99"}
	if passed, failed := c.add("p", batch.ReadTests([]byte(events), nil)); passed != 1 || failed != 2 || c.passed != 1 || c.failed != 2 {
		t.Errorf("%d passed, %d failed, %+v; want 1 passed, 2 failed", passed, failed, c)
	}
	for _, want := range []string{"go1.99: p TestB\na word of B\n", "go1.99: p\na linker's complaint\nFAIL p\nq.go:1: no\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "word of A") {
		t.Errorf("it quotes a test that passed:\n%s", &out)
	}
}

// TestModuleFor: the module itself serves a new toolchain, and a copy that asks for less
// an old one.
func TestModuleFor(t *testing.T) {
	t.Chdir("../..")
	if dir, err := moduleFor(t.Context(), "go1.99.0", t.TempDir()); dir != "." || err != nil {
		t.Errorf("moduleFor(go1.99.0) = %s, %v; want the module itself", dir, err)
	}
	tmp := t.TempDir()
	dir, err := moduleFor(t.Context(), "go1.25.14", tmp)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(tmp, "main"); dir != want {
		t.Errorf("moduleFor(go1.25.14) = %s; want %s", dir, want)
	}
	for _, name := range []string{"kernel/doc.go", "tools/setup.sh", "qemu/toolchains/main_test.go"} {
		a, errA := os.Stat(name)
		b, errB := os.Stat(filepath.Join(dir, name))
		if errA != nil || errB != nil || a.Size() != b.Size() || b.Mode()&0o111 != a.Mode()&0o111 {
			t.Errorf("%s: %v, %v; want a copy", name, errA, errB)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "vendor", "golang.org", "x", "sys", "cpu")); err != nil {
		t.Errorf("what qemu/soak/testdata/workers imports is not there: %v", err)
	}
	said, err := batch.Output(t.Context(), dir, nil, "go", "list", "-m", "-f", "{{.GoVersion}}")
	if err != nil || strings.TrimSpace(said) != "1.25" {
		t.Errorf("the copy's go.mod asks for Go %q, %v; want 1.25", said, err)
	}
	list, err := os.ReadFile(filepath.Join(dir, "vendor", "modules.txt"))
	if err != nil {
		t.Fatal(err)
	}
	asked := vendoredGo.FindAllSubmatch(list, -1)
	for _, m := range asked {
		if version.Compare("go"+string(m[1]), "go1.25") > 0 {
			t.Errorf("vendor/modules.txt has %q; want nothing newer than Go 1.25", m[0])
		}
	}
	if len(asked) < 5 {
		t.Errorf("vendor/modules.txt has %d modules with a version of Go; want all that the tests need", len(asked))
	}
}

// TestLowered: only what asks for more is changed.
func TestLowered(t *testing.T) {
	const list = `# a v1
## explicit; go 1.26.0
a/b
# c v2
## go 1.25.0
# d v3
## explicit
# e v4
## go 1.9
# f v5
## go 1.27rc1
`
	const want = `# a v1
## explicit; go 1.25
a/b
# c v2
## go 1.25
# d v3
## explicit
# e v4
## go 1.9
# f v5
## go 1.25
`
	if got := string(lowered([]byte(list), "1.25")); got != want {
		t.Errorf("lowered = %s; want %s", got, want)
	}
}
