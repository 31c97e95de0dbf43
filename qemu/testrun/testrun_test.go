package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFailures runs the tests of a small module, in which some fail.
func TestFailures(t *testing.T) {
	t.Chdir("testdata/module")
	var out strings.Builder
	r := &results{out: &out}
	r.fuzz(t.Context(), 3*time.Second) // more than a busy host needs until the seeds have run
	r.goTest(t.Context(), nil, "-skip="+longList{{".", "TestTable/three"}, {".", "TestTable/one/other"}}.pattern(), "./...")
	status := r.end()
	var names []string
	for _, f := range r.failed {
		names = append(names, f.name)
	}
	const a, b = "example.com/module", "example.com/module/broken"
	want := []string{a + " FuzzBad/seed#0", a + " TestSkipped", a + " TestTable/two", b, "fuzz ./. FuzzBad"}
	if slices.Sort(names); !slices.Equal(names, want) || r.passed != 5 || status != 1 {
		t.Errorf("passed %d, failed %q, status %d; want 5, %q, 1", r.passed, names, status, want)
	}
	for _, want := range []string{"it is two\n", "not today\n", "broken_test.go:3:14: ", "--- FAIL: " + a + " TestTable/two (0.00s)\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %q:\n%s", want, &out)
		}
	}
	if !strings.HasSuffix(out.String(), "\n5 passed, 5 failed\n") {
		t.Errorf("the output is\n%s", &out)
	}
}

func TestGood(t *testing.T) {
	var out strings.Builder
	r := &results{out: &out}
	r.read(strings.NewReader(`{"Action":"pass","Package":"p","Test":"TestX"}` + "\n" + `{"Action":"pass","Package":"p"}` + "\n"))
	r.missing(longList{{"p", "TestX"}})
	if status := r.end(); status != 0 || !strings.HasSuffix(out.String(), "\n1 passed, 0 failed\n") {
		t.Errorf("status %d, %q; want 0", status, &out)
	}
	r.missing(longList{{"./p", "TestY"}})
	if len(r.failed) != 1 {
		t.Error("a test of the list that did not run is no failure")
	}
	r = &results{out: &out, ran: map[string]bool{"./p TestX/a": true, "./p TestX/b#01": true}}
	r.twice(longList{{"./p", "TestX/a"}, {"./p", "TestX/b"}})
	if len(r.failed) != 1 {
		t.Errorf("%v failed; want the test whose name is another's, too", r.failed)
	}
}

// testFiles returns the paths of the module's test files. Those in testdata are what tests
// run.
func testFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 100 {
		t.Fatalf("%d test files, %v", len(files), err)
	}
	return files
}

// TestLong: the list's tests exist in its folders, and no other folder has a test of the
// same name, which -skip would leave out, too.
func TestLong(t *testing.T) {
	list, err := readLong()
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string][]string{} // by name of a test
	decl := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, f := range testFiles(t) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range decl.FindAllSubmatch(b, -1) {
			folders[string(m[1])] = append(folders[string(m[1])], "./"+strings.TrimPrefix(filepath.Dir(f), "../../"))
		}
	}
	seen := map[longTest]bool{}
	for _, l := range list {
		name, _, _ := strings.Cut(l.name, "/")
		if got := folders[name]; len(got) != 1 || got[0] != l.pkg {
			t.Errorf("%s is in the folders %q; want it in %s alone", name, got, l.pkg)
		}
		if seen[l] {
			t.Errorf("%v is there twice", l)
		}
		seen[l] = true
	}
	whole := regexp.MustCompile(`^(\^[\w/=.-]+\$)(/\^.+\$)*(\|\^.+)*$`)
	if p := list.pattern(); !whole.MatchString(p) {
		t.Errorf("the pattern is %q", p)
	}
}

// TestNoSkip: no test of the module skips itself.
func TestNoSkip(t *testing.T) {
	skip := regexp.MustCompile(`\bt\.Skip(f|Now)?\(`)
	for _, f := range testFiles(t) {
		b, err := os.ReadFile(f)
		if err != nil || skip.Match(b) {
			t.Errorf("%s: %v; what is missing is a failure, which says how to get it", f, err)
		}
	}
}

// TestLoad: the busy loops end.
func TestLoad(t *testing.T) {
	ended := make(chan struct{})
	stop := load(3)
	go func() { stop(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the busy loops do not end")
	}
}

func TestFuzzTargets(t *testing.T) {
	all, err := fuzzTargets("../..")
	n := 0
	for folder, names := range all {
		if strings.Contains(folder, "testdata") {
			t.Errorf("a target in %s", folder)
		}
		n += len(names)
	}
	if err != nil || n < 60 {
		t.Errorf("%d targets, %v; want all of the module", n, err)
	}
}

func TestUsage(t *testing.T) {
	var out strings.Builder
	for _, args := range [][]string{nil, {"x"}, {"test", "all"}, {"-n", "0", "repeat"}, {"-fuzztime", "0s", "test"}, {"-nosuch"}} {
		if status := command(t.Context(), args, &out); status != 2 || out.Len() > 0 {
			t.Errorf("testrun %q = %d, %q; want 2", args, status, &out)
		}
	}
	if status := command(t.Context(), []string{"-h"}, &out); status != 0 || !strings.HasPrefix(out.String(), "Usage: testrun ") {
		t.Errorf("testrun -h = %d, %q", status, &out)
	}
}
