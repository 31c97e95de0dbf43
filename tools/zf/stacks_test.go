package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stacksELF builds a program whose functions are called one by one.
func stacksELF(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	src := filepath.Join(dir, "s.c")
	if err := os.WriteFile(src, []byte(`
volatile int sink;
int (*hook)(int);
__attribute__((noinline)) int leaf(int x) { volatile char b[200]; b[x & 63] = 1; return b[sink & 63]; }
__attribute__((noinline)) int twice(int x) { return leaf(x) + leaf(x + 1); }
__attribute__((noinline)) int again(int n) { volatile int k = n; return n < 2 ? 1 : again(n - 1) * k; }
__attribute__((noinline)) int call(int x) { return hook(x) + 1; }
int main(int c, char **v) { hook = twice; return call(c) + again(c); }
`), 0o666); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "s.elf")
	if msg, err := exec.Command("gcc", "-O2", "-g", "-o", out, src).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, msg)
	}
	return out
}

func TestStacks(t *testing.T) {
	path := stacksELF(t)
	notes := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(notes, []byte("calls call: twice\ndepth again: 10\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.txt")
	if err := os.WriteFile(bad, []byte("\nwhat is this\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args        []string
		code        int
		out, errors string // in the output
	}{
		{[]string{"-e", path, "-f", "twice"}, exitOK, " bound  function\n", ""},
		{[]string{"-e", path, "-f", "call"}, exitUnbounded, "     -  call\n        indirect call at ", ""},
		{[]string{"-e", path, "-f", "again", "-f", "twice"}, exitUnbounded, "     -  again\n        recursion: again -> again\n", ""},
		{[]string{"-e", path, "-f", "again", "-f", "call", "-notes", notes}, exitOK, "  call\n", ""},
		{[]string{"-e", path, "-f", "twice", "-v"}, exitOK, "  leaf\n", ""},
		{[]string{"-e", path}, exitUsage, "", "there is no kernel in "},
		{[]string{"-e", path, "-f", "none"}, exitUsage, "", "has no function none"},
		{[]string{"-e", path, "-f", "call", "-notes", bad}, exitUsage, "", `line 2: unknown note "what"`},
		{[]string{"-e", path, "twice"}, exitUsage, "", "functions are named with -f"},
		{[]string{"-f", "twice"}, exitUsage, "", "-e ELF is missing"},
		{[]string{"-e", path + "x"}, exitUsage, "", "no such file"},
		{[]string{"-x"}, exitUsage, "", "`zf stacks -h` lists the flags"},
	} {
		var out, errors strings.Builder
		code := zfTo("stacks", tt.args, strings.NewReader(""), &out, &errors)
		if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errors.String(), tt.errors) || (tt.errors == "") != (errors.Len() == 0) {
			t.Errorf("%q: %d\n%s\n%s\nwant %d, %q, %q", tt.args, code, &out, &errors, tt.code, tt.out, tt.errors)
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > stackWidth+1 {
				t.Errorf("%q: a line of %d columns: %s", tt.args, len(line)-1, line)
			}
		}
	}

	var out, errors strings.Builder
	if code := zfTo("stacks", []string{"-e", path, "-f", "again", "-notes", notes, "-json"}, strings.NewReader(""), &out, &errors); code != exitOK {
		t.Fatalf("%d %s", code, &errors)
	}
	var r stackRow
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil || r.Bytes == nil || len(r.Chain) != 10 {
		t.Fatalf("%s: %v; want ten calls of again", &out, err)
	}
	sum := int64(0)
	for _, s := range r.Chain {
		if sum += s.Bytes; s.Func != "again" {
			t.Errorf("%+v in the chain", s)
		}
	}
	if sum != int64(*r.Bytes) {
		t.Errorf("the chain has %d bytes; the bound is %d", sum, *r.Bytes)
	}
}
