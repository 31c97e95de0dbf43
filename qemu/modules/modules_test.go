package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/batch"
)

// The list of the repository.
const modulesFile = "../modules.txt"

// TestSample: ten small modules do no worse on the kernel than on Linux, but for what the
// list explains.
func TestSample(t *testing.T) {
	sample := []string{
		"github.com/BurntSushi/toml", "github.com/google/btree", "github.com/google/uuid",
		"github.com/spf13/pflag", "github.com/tidwall/sjson", "golang.org/x/sync",
	}
	file := filepath.Join(t.TempDir(), "table.txt")
	args := []string{"-list", modulesFile, "-only", "^(" + strings.Join(sample, "|") + ")$", "-o", file}
	var stdout, stderr bytes.Buffer
	if err := command(context.Background(), args, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range sample {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(path) + ` v\S+\n  (same|known|exec) +\. +[1-9]|^` + regexp.QuoteMeta(path) + ` v\S+\n  \w+ +\./`).Match(text) {
			t.Errorf("no row of %s, or no test of it passes", path)
		}
	}
	if !strings.Contains(stdout.String(), "of 6 modules: ") || !strings.Contains(stdout.String(), ", 0 worse,") || !strings.Contains(stdout.String(), "\n# 0 have other events") {
		t.Errorf("a package is worse, or has other events, without a reason in the list:\n%s%s", text, stdout.String())
	}
}

func TestList(t *testing.T) {
	l, err := readList(modulesFile)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, m := range l.modules {
		if seen[m.path] || !regexp.MustCompile(`^v\d+\.\d+\.\d+(-\d|$)`).MatchString(m.version) {
			t.Errorf("%v: no version, or it is there twice", m)
		}
		seen[m.path] = true
	}
	for i, word := range words {
		for pkg, text := range l.notes[word] {
			if n := len(indent) + len(listNotes[i]) + len(text); n > width {
				t.Errorf("the reason of %s takes %d columns in the table; want one line of %d", pkg, n, width)
			}
		}
	}
	for text, want := range map[string]string{
		"module a":                            "want module",
		"what a b":                            "want module",
		"reason a/b text":                     "is no package",
		"module a/b v1\nreason a/bc text":     "is no package",
		"module a v1\nleave a x\nleave a y":   "said twice",
		"module a v1\nevents b x":             "is no package",
		"module a v1\nmodule b v1\nleave a x": "is no package",
	} {
		file := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readList(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// event is a line of -json.
func event(action, test, output string) string {
	return fmt.Sprintf(`{"Action":%q,"Package":"p","Test":%q,"Output":%q,"Elapsed":1.5}`+"\n", action, test, output)
}

// run is the events of a test that says something.
func run(test, action, output string) string {
	return event("run", test, "") + event("output", test, "=== RUN   "+test+"\n") + event("output", test, output) + event(action, test, "")
}

// TestCompare: what is made of events on both sides.
func TestCompare(t *testing.T) {
	passes, fails := event("pass", "", ""), event("output", "", "FAIL\n")+event("fail", "", "")
	good := run("TestA", "pass", "") + run("TestB", "pass", "")
	for _, tt := range []struct{ name, host, guest, want string }{
		{"as on Linux", good + passes, good + passes, "same 2 0"},
		{"on neither", run("TestA", "fail", "    a_test.go:1: no\n") + fails, run("TestA", "fail", "") + fails, "linux 0 0 Linux: TestA: no"},
		{"better", run("TestA", "fail", "") + fails, run("TestA", "pass", "") + passes, "linux 0 0 Linux: TestA: it ended without a word"},
		{"fails", good + passes, run("TestA", "pass", "") + run("TestB", "fail", "    a_test.go:1: got 2\n") + fails, "worse 1 1 only on Linux: TestB: got 2"},
		{"skips", good + passes, run("TestA", "skip", "    a_test.go:1: not here\n") + run("TestB", "pass", "") + passes, "worse 1 1 only on Linux: TestA: skipped: not here"},
		{"subtest skips", run("TestA/x", "pass", "") + run("TestA", "pass", "") + passes, run("TestA/x", "skip", "    a_test.go:1: sub\n") + run("TestA", "pass", "") + passes,
			"worse 0 1 only on Linux: TestA: sub"},
		{"another's subtest", run("TestA/x", "pass", "") + run("TestA", "pass", "") + passes, run("TestA/y", "pass", "") + run("TestA", "pass", "") + passes, "same 1 0 other events: TestA/x: nothing for \"- run\" (and 1 more)"},
		{"dies", run("TestC", "pass", "") + good + passes, event("run", "TestC", "") + event("output", "TestC", "panic: oh\n") + fails, "worse 0 3 only on Linux: TestC: panic: oh (and 2 more)"},
		{"dies before", good + passes, event("output", "", "zf test: triple fault\n") + fails, "worse 0 2 only on Linux: TestA: not run: zf test: triple fault (and 1 more)"},
		{"dies after", good + passes, good + event("output", "", "panic: late\n") + fails, "worse 2 1 only on Linux: panic: late"},
		{"program", good + passes, run("TestA", "fail", "fork/exec x: function not implemented\n") + run("TestB", "pass", "") + fails, "exec 1 1 only on Linux: TestA: fork/exec x: function not implemented"},
		{"no build", good + passes, event("output", "", "FAIL\tp [build failed]\n") + fails + "x.go:1: undefined: x\n", "worse 0 2 only on Linux: TestA: not run: x.go:1: undefined: x (and 1 more)"},
	} {
		r := row{module: "p v1", pkg: "p"}
		r.compare(batch.ReadTests([]byte(tt.host), nil), batch.ReadTests([]byte(tt.guest), nil))
		got := strings.TrimSpace(fmt.Sprint(new(list).verdict(r), " ", r.both, " ", r.only, " ", strings.Join(r.notes, " ")))
		if got != tt.want || r.host != 1.5 {
			t.Errorf("%s: %q after %v; want %q after 1.5s", tt.name, got, r.host, tt.want)
		}
	}
	if r := batch.ReadTests([]byte(event("output", "", "FAIL\tp [build failed]\n")+fails), nil); r.Built {
		t.Error("a failed build is none")
	}
	if r := batch.ReadTests([]byte(good+passes), nil); !r.Built || !r.Passed {
		t.Errorf("%+v; want a build that passes", r)
	}
}

// TestEvents: what is compared of the events of both sides.
func TestEvents(t *testing.T) {
	output := func(test, text string) string { return event("output", test, text) }
	for _, tt := range []struct{ name, host, guest, want string }{
		{"times", output("TestA", "--- PASS: TestA (0.12s)\n") + output("TestA", "at 0xc000123456, 2026-01-02 10:11:12.5 +0000 UTC m=+0.2, 1m2.5s\n") + output("", "ok  \tp\t0.1s\n"),
			output("TestA", "--- PASS: TestA (1.00s)\n") + output("TestA", "at 0xc000654321, 2027-01-02 10:11:13.5 +0000 UTC m=+0.32, 3.5ms\n") + output("", "ok  \tp\t10.12s\n"), ""},
		{"rates", output("TestA", "80 bytes with 14.45 MB/s\n"), output("TestA", "80 bytes with 7 MB/s\n"), ""},
		{"address in a name", run("TestA/0xc000123456", "pass", ""), run("TestA/{0x1234567}", "pass", ""), `TestA/ADDRESS: nothing for "- run" (and 1 more)`},
		{"another address in a name", run("TestA/{0xc000123456}", "pass", ""), run("TestA/{0x1234567}", "pass", ""), ""},
		{"order of tests", run("TestA", "pass", "a\n") + run("TestB", "pass", ""), run("TestB", "pass", "") + run("TestA", "pass", "a\n"), ""},
		{"parts of a line", output("TestA", "one ") + output("TestA", "two\n"), output("TestA", "one two\n"), ""},
		{"output", run("TestA", "pass", "a 12\n") + run("TestB", "pass", ""), run("TestA", "pass", "a 13\n") + run("TestB", "skip", ""), `TestA: "a 13" for "a 12" (and 1 more)`},
		{"indent", output("TestA/x", "    --- PASS: TestA/x (0.00s)\n"), output("TestA/x", "--- PASS: TestA/x (0.00s)\n"), `TestA/x: "--- PASS: TestA/x (TIME)" for "    --- PASS: TestA/x (TIME)"`},
		{"missing", run("TestA", "pass", "") + event("pass", "", ""), run("TestA", "pass", ""), `nothing for "- pass"`},
		{"more", run("TestA", "pass", ""), run("TestA", "pass", "") + event("pause", "TestA", ""), `TestA: "- pause" for nothing`},
		{"no end of line", output("TestA", "x") + event("pass", "TestA", ""), output("TestA", "y") + event("pass", "TestA", ""), `TestA: "y" for "x"`},
	} {
		var r row
		if first, more := differences(readStream([]byte(tt.host)), readStream([]byte(tt.guest))); first != "" {
			r.note(first, more)
		}
		if got := strings.Join(r.notes, " "); got != tt.want {
			t.Errorf("%s: %s; want %s", tt.name, got, tt.want)
		}
	}
}

// TestTable: a table is read as it was written.
func TestTable(t *testing.T) {
	l := &list{
		modules: []module{{path: "m/b", version: "v1"}, {path: "m/a", version: "v1"}},
		notes: map[string]map[string]string{
			"reason": {"m/a/x": "it is so, " + strings.Repeat("long ", 30), "m/a/z": "exec: a shell"},
			"leave":  {"m/a/y": "no time"}, "events": {"m/a": "random numbers"},
		},
	}
	tab := &table{list: l, rows: map[string]row{}, head: "# Head"}
	for _, r := range []row{
		{module: "m/a v1", pkg: "m/a/x", both: 1, only: 2, host: 1, kernel: 3, notes: []string{"only on Linux: TestX: y"}},
		{module: "m/a v1", pkg: "m/a", both: 7, host: 0.1, kernel: 1.2, notes: []string{eventsNote + "TestX: y"}},
		{module: "m/a v1", pkg: "m/a/y", left: true},
		{module: "m/a v1", pkg: "m/a/w", linux: true, notes: []string{"Linux: TestY: no", eventsNote + "TestZ: y"}},
		{module: "m/a v1", pkg: "m/a/v", exec: true, only: 1},
		{module: "m/a v1", pkg: "m/a/z", only: 1},
		{module: "m/b v1", pkg: "m/b", only: 1, notes: []string{"only on Linux: " + strings.Repeat("x", 200)}},
	} {
		tab.rows[r.pkg] = r
	}
	text := tab.String()
	for _, want := range []string{
		"# Head\n", "\nm/b v1\n  worse . ", "\nm/a v1\n  same  . ", "\n        other events: TestX: y\n        reason of these: random numbers\n", "\n# 1 have other events", "\n  known ./x  ", "\n        reason: it is so, long ", "\n  left  ./y ", "\n        left out: no time\n", "\n  linux ./w ", "\n  exec  ./v ", "\n  exec  ./z ",
		"# 7 packages of 2 modules: 1 same, 1 linux, 1 known, 1 worse, 2 exec, 1 left.\n# Of the 4 that", " left, 2 do no worse than on Linux: 50.0 %.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %q:\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > width+1 && !strings.Contains(line, listNotes[0]) {
			t.Errorf("%q has %d columns; want %d at most", line, len(line)-1, width)
		}
	}
	again := &table{list: l, rows: map[string]row{}, head: tab.head}
	_, lines, _ := strings.Cut(text, "\n")
	if err := again.Load(lines); err != nil || again.String() != text {
		t.Errorf("read again, it is %v\n%s; want\n%s", err, again.String(), text)
	}
	other := &table{list: &list{modules: []module{{path: "m/b", version: "v2"}, l.modules[1]}, notes: l.notes}, rows: map[string]row{}, head: tab.head}
	if err := other.Load(lines); err != nil || len(other.rows) != 6 || other.rows["m/b"].pkg != "" || other.rows["m/a/x"].pkg == "" {
		t.Errorf("with another version of m/b: %v, %d rows; want the 6 of m/a", err, len(other.rows))
	}
	for _, line := range []string{"  same  .  1 2 3", "  same  .  1 x 3 4"} {
		if r, err := parseRow(line, "m v1"); err == nil {
			t.Errorf("parseRow(%q) = %+v; want an error", line, r)
		}
	}
}

// TestFolder: what a test has changed is undone.
func TestFolder(t *testing.T) {
	from := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(from, "sub"), 0o755), os.WriteFile(filepath.Join(from, "sub/file"), []byte("1"), 0o444)); err != nil {
		t.Fatal(err)
	}
	d := &folder{path: filepath.Join(t.TempDir(), "copy"), from: from}
	var err error
	if err := d.fill(); err != nil {
		t.Fatal(err)
	}
	if d.sum, err = d.state(); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(d.path, "go.sum") // it may change, and is not restored
	file := filepath.Join(d.path, "sub/file")
	for _, change := range []func() error{
		func() error { return os.WriteFile(file, []byte("22"), 0o644) },
		func() error { return os.Remove(file) },
		func() error { return os.WriteFile(filepath.Join(d.path, "sub/new"), nil, 0o644) },
		func() error { return os.Mkdir(filepath.Join(d.path, "new"), 0o755) },
	} {
		if err := errors.Join(change(), d.restore()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		entries, _ := filepath.Glob(filepath.Join(d.path, "*"))
		if string(text) != "1" || err != nil || !reflect.DeepEqual(entries, []string{filepath.Join(d.path, "sub")}) {
			t.Errorf("the file is %q, %v, the folder has %q; want both as they were", text, err, entries)
		}
	}
	if err := os.WriteFile(mark, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if d.sum, err = d.state(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(mark, []byte("xy"), 0o644), d.restore()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(mark); string(text) != "xy" {
		t.Errorf("go.sum is %q, %v; want it left alone", text, err)
	}
}

// TestNoNetwork: a module that cannot be had is an error.
func TestNoNetwork(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	s := settings{TestFlags: batch.TestFlags{Dir: t.TempDir()}}
	if pkgs, _, err := s.fetch(context.Background(), module{path: "example.org/m", version: "v1.0.0", patterns: []string{"./..."}}); err == nil {
		t.Errorf("fetch() = %+v; want an error", pkgs)
	}
}

func TestCommandLine(t *testing.T) {
	for _, tt := range []struct{ args, says, err string }{
		{"-h", "Modules runs the tests", "help requested"},
		{"-p 0", "", "must be more than 0"},
		{"-only (", "", "missing closing"},
		{"-resume", "", "-resume needs -o"},
		{"-list nosuch", "", "no such file"},
	} {
		var stdout bytes.Buffer
		err := command(context.Background(), strings.Fields(tt.args), &stdout, &stdout)
		if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(stdout.String(), tt.says) ||
			errors.Is(err, flag.ErrHelp) != (tt.args == "-h") {
			t.Errorf("modules %s: %v, %q; want %s, %q", tt.args, err, stdout.String(), tt.err, tt.says)
		}
	}
}
