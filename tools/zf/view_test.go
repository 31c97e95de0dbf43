package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/source"
)

// TestView: the forms, the source and the links of zf symbolize.
func TestView(t *testing.T) {
	elf, log := ownTrace(t)
	collected := ""
	for i, line := range strings.SplitAfter(strings.TrimSuffix(log, "\n"), "\n") {
		collected += fmt.Sprintf("Nov 21 17:55:%02d board kernel: %s", i, line)
	}
	collected += "\n"
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	moved := t.TempDir()
	source, err := os.ReadFile("symbolize_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(moved, "symbolize_test.go"), bytes.Replace(source, []byte("func ownTrace("), []byte("func MOVED("), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	link := "\x1b]8;;file://"
	tests := []struct {
		name      string
		args      []string
		links     string // of the environment
		in        string
		code      int
		out, fail string
	}{
		{"context", []string{"-context", "1"}, "", log, exitOK, " | // is in this function, with no done line.\n        > ", ""},
		{"context of the function", []string{"-context=0"}, "", log, exitOK, "symbolize_test.go:", ""},
		{"source", []string{"-context", "1", "-source", here + "=" + moved}, "", log, exitOK, "func MOVED(", ""},
		{"context wrong", []string{"-context", "x"}, "", log, exitUsage, "", "-context: a number of lines from 0 to 100"},
		{"context too large", []string{"-context", "101"}, "", log, exitUsage, "", "from 0 to 100"},
		{"source wrong", []string{"-source", "x"}, "", log, exitUsage, "", "OLD=NEW"},
		{"links always", []string{"-links=always"}, "", log, exitOK, link, ""},
		{"links of a template", []string{"-links=always"}, "x-editor:{path}#{line}", log, exitOK, "\x1b]8;;x-editor:/", ""},
		{"links wrong", []string{"-links=sometimes"}, "", log, exitUsage, "", "-links is auto, always, never or a template"},
		{"links wrong in the environment", nil, "http://", log, exitUsage, "", "$ZF_LINKS is auto"},
		{"markdown", []string{"-format=markdown"}, "", log, exitOK, "### panic: `test`\n\ncontext `early`", ""},
		{"markdown with source", []string{"-format=markdown", "-context=1"}, "", log, exitOK, "```text\n", ""},
		{"a collector's prefix", []string{"-json"}, "", collected, exitOK, `"kind":"panic","reason":"test"`, ""},
		{"markdown and json", []string{"-format=markdown", "-json"}, "", log, exitUsage, "", "two things"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(linksVariable, tt.links)
			var out, errs bytes.Buffer
			code := dispatchIn(context.Background(), append([]string{"symbolize"}, append([]string{"-e", elf}, tt.args...)...), strings.NewReader(tt.in), &out, &errs)
			if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.fail) {
				t.Errorf("status %d, output %q, errors %q; want %d, %q, %q", code, out.String(), errs.String(), tt.code, tt.out, tt.fail)
			}
			if !strings.HasPrefix(tt.name, "links") && strings.Contains(out.String(), "\x1b") {
				t.Errorf("an escape sequence where none was asked for: %q", out.String())
			}
		})
	}
}

// TestLinksTemplate: what flag and environment say together.
func TestLinksTemplate(t *testing.T) {
	const editor = "vscode://file{path}:{line}"
	for _, tt := range []struct {
		flag, env string
		terminal  bool
		want      string
	}{
		{"", "", true, source.FileLinks},
		{"", "", false, ""},
		{"never", "", true, ""},
		{"always", "", false, source.FileLinks},
		{editor, "", true, editor},
		{editor, "", false, ""},
		{"", editor, true, editor},
		{"", editor, false, ""},
		{"always", editor, false, editor},
		{"never", editor, true, ""},
		{"auto", "always", false, ""},
		{"", "never", true, ""},
		{"x:{path}", editor, true, "x:{path}"},
	} {
		t.Setenv(linksVariable, tt.env)
		v := viewFlags{links: tt.flag}
		if err := v.prepare(tt.terminal); v.template != tt.want || err != nil {
			t.Errorf("-links=%q, $ZF_LINKS=%q, terminal %v: %q, %v; want %q", tt.flag, tt.env, tt.terminal, v.template, err, tt.want)
		}
	}
}
