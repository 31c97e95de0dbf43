package qemu

// Files that tests write come back to this host, as they are beside `go test`.

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/trace"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// TestZfTestFiles: a coverage profile is the same as go test's, of packages with and without
// tests; profiles and a trace can be read, and artifacts are whole.
func TestZfTestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	test := func(command string, args ...string) string {
		t.Helper()
		out, err := exec.Command(command, append([]string{"test"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s test %q: %v\n%s", command, args, err, out)
		}
		return string(out)
	}
	read := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}

	// Without -count=1, Go 1.26 adds the profile of a cached result that go clean -testcache has ended.
	want := test("go", "-count=1", "-coverprofile="+at("go.cover"), "-covermode=count", "./testdata/covered/...")
	got := test(zfCommand(t), "-coverprofile="+at("zf.cover"), "-covermode=count", "./testdata/covered/...")
	for _, s := range sameInBoth {
		got, want = s.re.ReplaceAllString(got, s.to), s.re.ReplaceAllString(want, s.to)
	}
	if got != want || !strings.Contains(got, "coverage: 57.1% of statements") {
		t.Errorf("zf test -coverprofile prints\n%s\nwant\n%s", got, want)
	}
	if got, want := read("zf.cover"), read("go.cover"); sortedLines(string(got)) != sortedLines(string(want)) {
		t.Errorf("the coverage profile is\n%s\nwant\n%s", got, want)
	}

	test(zfCommand(t), "-outputdir="+dir, "-trace=trace", "-blockprofile=block", "-mutexprofile=mutex", "-artifacts", "./testdata/covered")
	for _, name := range []string{"block", "mutex"} {
		if p, err := profile.ParseData(read(name)); err != nil || len(p.SampleType) != 2 {
			t.Errorf("-%sprofile: %v", name, err)
		}
	}
	var own bytes.Buffer
	if err := trace.Start(&own); err != nil {
		t.Fatal(err)
	}
	trace.Stop()
	if b := read("trace"); !bytes.Equal(b[:16], own.Bytes()[:16]) || len(b) < 1000 {
		t.Errorf("-trace writes %d bytes, %q first; want a trace", len(b), b[:16])
	}
	found := 0
	filepath.WalkDir(at("_artifacts"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found++
		b, err := os.ReadFile(path)
		if err != nil || len(b) != 100_000 || b[12345] != byte(12345*12345>>7&0xff) || !strings.HasSuffix(path, "/sub/data") {
			t.Errorf("%s has %d bytes (%v); want what the test wrote", path, len(b), err)
		}
		return nil
	})
	if found != 1 {
		t.Errorf("%d artifacts; want 1", found)
	}
}
