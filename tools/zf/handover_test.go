package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
)

// TestHandOver: zf without the debugger's half is nothing of Delve's, and says with zf-debugger
// beside it what zf-debugger says alone.
func TestHandOver(t *testing.T) {
	deps, err := exec.Command("go", "list", "-tags=lean", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, heavy := range []string{"go-delve/delve", "cilium/ebpf", "google/pprof", "gozxing"} {
		if bytes.Contains(deps, []byte(heavy)) {
			t.Errorf("it has packages of %s", heavy)
		}
	}
	dir := t.TempDir()
	whole, lean := filepath.Join(dir, debuggerName), filepath.Join(dir, "zf")
	for _, args := range [][]string{{"-o", lean, "-tags=lean"}, {"-o", whole}} {
		if out, err := exec.Command("go", append(append([]string{"build"}, args...),
			".")...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	photo := filepath.Join(dir, "-photo")
	if err := os.WriteFile(photo, []byte("\x89PNG, but no more"), 0o666); err != nil {
		t.Fatal(err)
	}
	said := func(path string, args []string) string {
		cmd := exec.Command(path, args...)
		cmd.Stdin = strings.NewReader("a line\n")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out) + cmd.ProcessState.String()
	}
	cases := [][]string{{}, {"help"}, {"nonsense"}, {"help", "nonsense"}, {"help", "topics"},
		{"completion", "bash"}, {"completion", "fish"}, {"last", "-report", "-nonsense"},
		{"symbolize", "-map", os.DevNull, dir},
		{"symbolize", "-map", os.DevNull, "--", photo}, {"test", "-test.cpuprofile=/none/x", "none"}, {"symbolize", "-e", "none"},
		{"run", "-watch", "main.x", "none"}, {"run", "--core=/none/x", "none"},
		{"test", "-cpuprofile=/none/x", "none"}, {"print", "none.core"}}
	for _, name := range commandNames() {
		if name != "receive" { // which would be built first
			cases = append(cases, []string{name, "-h"}, []string{"help", name}, []string{name, "-nonsense"})
		}
	}
	for _, args := range cases {
		if got, want := said(lean, args), said(whole, args); got != want {
			t.Errorf("zf %s:\n%s\nzf-debugger:\n%s", strings.Join(args, " "), got, want)
		}
	}
	if got := said(lean, []string{answerWord}); !strings.Contains(got, "unknown command") {
		t.Errorf("%s: %s", answerWord, got)
	}
}

// TestQuestion: a trace comes to zf-debugger as it is.
func TestQuestion(t *testing.T) {
	var log []byte
	for _, name := range []string{"goroutine", "text", "nested", "repair"} {
		out, err := os.ReadFile("../format/trace/testdata/" + name + ".out")
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out) {
			if bytes.HasPrefix(line, []byte("zf1 ")) {
				log = append(log, line...)
			}
		}
	}
	var q, came deadQuestion
	f, err := trace.NewFilter(nil, trace.Options{OnTrace: func(tr *wire.Trace) { q.Traces = append(q.Traces, tr) }})
	if err != nil {
		t.Fatal(err)
	}
	f.Write(log)
	f.Close()
	b, err := json.Marshal(&q)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &came); err != nil || len(q.Traces) == 0 {
		t.Fatal(err, len(q.Traces))
	}
	for i := range q.Traces {
		if !reflect.DeepEqual(q.Traces[i], came.Traces[i]) {
			t.Errorf("sent %+v\ncame %+v", q.Traces[i], came.Traces[i])
		}
	}
}
