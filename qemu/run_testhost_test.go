package qemu

// A test of `zf test` finds this host's files as it does with `go test`.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// hostTest prints what it finds, and writes.
const hostTest = `package inner

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestHost(t *testing.T) {
	dir, err := os.Getwd()
	fmt.Println("in", dir, err)
	for _, name := range []string{"../other/other.go", "../data", "missing", filepath.Join(runtime.GOROOT(), "src/unicode/tables.go"), "../../beside"} {
		b, err := os.ReadFile(name)
		fmt.Println(name, len(b), err)
	}
	names, err := filepath.Glob("../*")
	fmt.Println(names, err)
	fmt.Println(os.WriteFile("../other/made", []byte("new"), 0o666), os.WriteFile("../data", []byte("changed"), 0o666))
	b, err := os.ReadFile("../data")
	fmt.Printf("%s %v\n", b, err)
}
`

// hostModule makes a module with a package that has that test, and a file beside the module.
func hostModule(t *testing.T) (dir string) {
	t.Helper()
	root := plainFolder(t)
	dir = filepath.Join(root, "mod ule")
	for name, text := range map[string]string{
		"go.mod": "module host\n\ngo 1.25\n", "inner/inner_test.go": hostTest, "other/other.go": "package other\n", "data": "first", "../beside": "no part of the module",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// testHost runs the test by a command.
func testHost(t *testing.T, dir, command string, env ...string) string {
	t.Helper()
	cmd := exec.Command(command, "test", "-count=1", "-v", "./inner")
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "GOCACHE="+goCache(t)), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	s := string(out)
	for _, in := range sameInBoth {
		s = in.re.ReplaceAllString(s, in.to)
	}
	return s
}

// TestZfTestHost: what a test finds is what it finds with go test, but for a file that is not of
// the sources, and what it writes is not this host's.
func TestZfTestHost(t *testing.T) {
	t.Parallel()
	dir := hostModule(t)
	got := testHost(t, dir, zfCommand(t))
	for name, want := range map[string]bool{"other/made": false, "data": true} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); (err == nil) != want || want && string(b) != "first" {
			t.Errorf("after zf test %s has %q, %v", name, b, err)
		}
	}
	want := strings.Replace(testHost(t, dir, "go"), "../../beside 21 <nil>", "../../beside 0 open ../../beside: no such file or directory", 1)
	if got != want || !strings.Contains(got, "\n../other/other.go 14 <nil>\n") {
		t.Errorf("zf test prints\n%s\nwant\n%s", got, want)
	}
}

// TestZfTestWithout9P: a QEMU that cannot show folders gets copies, and that is said once.
func TestZfTestWithout9P(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // zf starts no machines there
	}
	program, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "qemu")
	text := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *9p*|*fsdev*) echo \"'virtio-9p-pci' is not a valid device model name\" >&2; exit 1;; esac\nexec %q \"$@\"\n", program)
	writeProgram(t, script, text)
	got := testHost(t, hostModule(t), zfCommand(t), Variable+"="+script)
	if strings.Count(got, "zf test: note: this QEMU is built without virtio-9p, ") != 1 || !strings.Contains(got, "\n../other/other.go 0 open ") || !strings.Contains(got, "\n[../go.mod ../inner] <nil>\n") {
		t.Errorf("zf test prints\n%s", got)
	}
}
