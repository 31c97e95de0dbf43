package gotest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// actions are the events of a stream, each in a word or three.
func actions(t *testing.T, stream []byte) (list []string) {
	t.Helper()
	for line := range bytes.Lines(stream) {
		var ev event
		if err := json.Unmarshal(line, &ev); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if ev.Action == "output" || ev.Action == "build-output" {
			continue
		}
		list = append(list, strings.Join(strings.Fields(ev.Action+" "+ev.Package+" "+ev.ImportPath+" "+ev.Test+" "+ev.FailedBuild), " "))
	}
	return list
}

func TestEvents(t *testing.T) {
	for _, tt := range []struct {
		output      string
		passed      bool
		failedBuild string
		want        string
	}{
		{"\x16=== RUN   TestA\n\x16--- PASS: TestA (0.50s)\n\x16PASS\nok  \tp\t0.6s\n", true, "", "start p, run p TestA, pass p TestA, pass p"},
		{"\x16=== RUN   TestA\n\x16--- FAIL: TestA (0.50s)\nFAIL\n\x16FAIL\tp\t0.6s\n", false, "", "start p, run p TestA, fail p TestA, fail p"},
		{"?   \tp\t[no test files]\n", true, "", "start p, skip p"},
		// All tests pass, and the machine fails.
		{"\x16=== RUN   TestA\n\x16--- PASS: TestA (0.50s)\n\x16PASS\n\x16FAIL\tp\t0.6s\n", false, "", "start p, run p TestA, pass p TestA, fail p"},
		// Neither PASS nor FAIL is said.
		{"hello\nok  \tp\t0.6s\n", true, "", "start p, pass p"},
		{"hello", false, "", "start p, fail p"},
		{"FAIL\tp [build failed]\n", false, "p [p.test]", "start p, fail p p [p.test]"},
	} {
		var out bytes.Buffer
		e, err := NewEvents(t.Context(), "p", &out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Write([]byte(tt.output)); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(tt.passed, tt.failedBuild); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(actions(t, out.Bytes()), ", "); got != tt.want {
			t.Errorf("of %q come the events %s; want %s", tt.output, got, tt.want)
		}
	}
}

func TestBuild(t *testing.T) {
	var out bytes.Buffer
	b := Build{W: &out}
	const stream = `{"ImportPath":"q","Action":"build-output","Output":"# q\n"}` + "\n" + `{"ImportPath":"q","Action":"build-fail"}` + "\n"
	for _, c := range []byte(stream) {
		if _, err := b.Write([]byte{c}); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != stream || b.Failed != "q" {
		t.Errorf("passed on are %q, failed is %q", out.String(), b.Failed)
	}
	out.Reset()
	b = Build{W: &out}
	if err := b.Fail("p", "no go files\nin p"); err != nil {
		t.Fatal(err)
	}
	want := `{"ImportPath":"p","Action":"build-output","Output":"# p\n"}
{"ImportPath":"p","Action":"build-output","Output":"no go files\n"}
{"ImportPath":"p","Action":"build-output","Output":"in p\n"}
{"ImportPath":"p","Action":"build-fail"}
`
	if out.String() != want || b.Failed != "p" {
		t.Errorf("Fail writes\n%s\nwant\n%s", out.String(), want)
	}
}
