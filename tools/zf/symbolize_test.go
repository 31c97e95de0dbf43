package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// ownTrace returns the path of the test's own ELF file and a trace of it, which
// is in this function, with no done line.
func ownTrace(t *testing.T) (elf, trace string) {
	t.Helper()
	elf, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sym, err := symbol.Open(elf)
	if err != nil {
		t.Fatalf("the test's own file: %v; want ELF, as on Linux", err)
	}
	defer sym.Close()
	build := sym.BuildID()
	if build == "" {
		build = "-"
	}
	pc := reflect.ValueOf(ownTrace).Pointer()
	return elf, fmt.Sprintf("zf1 begin 1 panic early thread=0 build=%s\nzf1 reason test\nzf1 #0 pc %#x sp 0x0 fp 0x0 boot\n", build, pc)
}

func TestSymbolize(t *testing.T) {
	elf, log := ownTrace(t)
	pc := reflect.ValueOf(ownTrace).Pointer()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	logFile := file("log", "hello\n"+log)
	moved := fmt.Sprintf("pc=%#x\nKernel Offset: 0x7000000 from 0x0\n", pc+0x7000000)
	movedFile := file("moved", moved)
	other := strings.Replace(log, "build=", "build=00", 1)
	tests := []struct {
		name      string
		args      []string
		in        string
		code      int
		out, fail string // what stdout and stderr must contain
	}{
		{"stdin", []string{"-e", elf}, log, exitOK, "main.ownTrace+0x0\n        symbolize_test.go:", ""},
		{"dash", []string{"-e", elf, "-"}, "text without newline", exitOK, "text without newline", "zf symbolize: no trace found; the lines of one begin with zf1"},
		{"file", []string{"-e", elf, logFile}, "", exitOK, "hello\nzf1 begin", ""},
		{"file first", []string{logFile, "-e", elf}, "", exitOK, "main.ownTrace", ""},
		{"json", []string{"-e", elf, "-json", logFile}, "", exitOK, `"function":"github.com`, ""},
		{"format k", []string{"-e", elf, "-format=k", logFile}, "", exitOK,
			"panic: test\nChildRBP         RetAddr          Call Site\n0000000000000000 ---------------- main.ownTrace+0x0\n", ""},
		{"format text", []string{"-e", elf, "-format=text", logFile}, "", exitOK, "hello\nzf1 begin", ""},
		{"format unknown", []string{"-e", elf, "-format=kv", logFile}, "", exitUsage, "", "-format is text, k, json or markdown"},
		{"two formats", []string{"-e", elf, "-format=k", "-json", logFile}, "", exitUsage, "", "two things"},
		{"other traces", []string{"-e", elf}, fmt.Sprintf("pc=%#x\n", pc), exitOK, "\n    main.ownTrace+0x0 symbolize_test.go:", ""},
		{"other traces, moved", []string{"-e", elf, "-bias", "0x5000"}, fmt.Sprintf("pc=%#x\n", pc+0x5000), exitOK, "\n    main.ownTrace+0x0 symbolize_test.go:", ""},
		{"bias of a pair", []string{"-e", elf, "-bias", fmt.Sprintf("github.com/zeroframe/zeroframe/tools/zf.ownTrace=%#x", pc+0x7000)},
			fmt.Sprintf("pc=%#x\n", pc+0x7000), exitOK, "\n    main.ownTrace+0x0 symbolize_test.go:", ""},
		{"offset ahead", []string{"-e", elf, movedFile}, "", exitOK, fmt.Sprintf("pc=%#x\n    main.ownTrace+0x0 symbolize_test.go:", pc+0x7000000), ""},
		{"offset behind", []string{"-e", elf}, moved, exitOK, fmt.Sprintf("from 0x0\n    %016x:\n    main.ownTrace+0x0 symbolize_test.go:", pc+0x7000000), ""},
		{"no bias", []string{"-e", elf, "-bias", "nosuch=1"}, "", exitUsage, "", "no function"},
		{"guess", []string{"-e", elf, "-guess"}, fmt.Sprintf("at %#x?\n", pc), exitOK, "main.ownTrace+0x0 symbolize_test.go:", ""},
		{"guess in JSON", []string{"-e", elf, "-guess", "-json"}, fmt.Sprintf("at %#x?\n", pc), exitOK,
			`{"version":1,"kind":"address","reason":"",`, ""},
		{"no guess", []string{"-e", elf}, fmt.Sprintf("at %#x?\n", pc), exitOK, "?\n", "no trace found"},
		{"color", []string{"-e", elf, "-color", "always"}, log, exitOK, "\x1b[1m", ""},
		{"mismatch", []string{"-e", elf}, other, exitUsage, "zf1 #0", "not resolved"},
		{"another program", []string{"-e", elf}, "CPU: 0 PID: 1 Comm: init Not tainted 6.1.0 #1\nRIP: 0010:do_it+0x1/0x20\n", exitUsage, "do_it+0x1/0x20\n",
			"zf: there is a Linux trace of 1 frame, but the ELF file does not hold its names: not resolved; give vmlinux of release 6.1.0\n"},
		{"another program too", []string{"-e", elf}, log + "RIP: 0010:do_it+0x1/0x20\n", exitOK, "ownTrace", "give vmlinux\n"},
		{"force", []string{"-e", elf, "-force"}, other, exitOK, "main.ownTrace", ""},
		{"no ELF", nil, log, exitUsage, "", "-e ELF is missing"},
		{"missing ELF", []string{"-e", dir + "/none"}, log, exitUsage, "", "zf build"},
		{"not an ELF", []string{"-e", logFile}, log, exitUsage, "", "not an ELF file"},
		{"missing ELF file", []string{"-e", elf, "-e", dir + "/none"}, "lkdtm+0x1/0x2 [lkdtm]\n", exitUsage, "", "zf symbolize: stat " + dir + "/none: no such file or directory; give the image that `zf build -o FILE` wrote\n"},
		{"missing log", []string{"-e", elf, dir + "/none"}, "", exitUsage, "", "no such file"},
		{"folder", []string{"-e", elf, dir}, "", exitUsage, "", "is a folder"},
		{"two inputs", []string{"-e", elf, "a", "b"}, "", exitUsage, "", "one input"},
		{"bad color", []string{"-e", elf, "-color", "red"}, "", exitUsage, "", "auto, always or never"},
		{"bad baud", []string{"-e", elf, "-baud", "0", "x"}, "", exitUsage, "", "no speed"},
		{"follow stdin", []string{"-e", elf, "-follow"}, "", exitUsage, "", "needs the name"},
		{"no device", []string{"-e", elf, os.DevNull}, "", exitOK, "", "no trace found"},
		{"bad flag", []string{"-e", elf, "-nosuch"}, "", exitUsage, "", "-nosuch; `zf symbolize -h` lists the flags\n"},
		{"bad value", []string{"-baud", "x"}, "", exitUsage, "", "; `zf symbolize -h` lists the flags\n"},
		{"sanitize", []string{"-e", elf, "-color", "always"}, "\x07\n" + log, exitOK, "\\x07\nzf1", ""},
		{"begin missing", []string{"-e", elf}, "zf1 #0 pc 0x1 sp 0x0 fp 0x0 boot\n", exitOK, "boot\n", "carries no build ID"},
		{"help", []string{"-h"}, "", exitOK, "zf symbolize -e hello.elf -follow", ""},
		{"help of flags", []string{"-h"}, "", exitOK, "-baud RATE", ""},
	}
	for _, tt := range tests {
		var out, errs bytes.Buffer
		code := zfTo("symbolize", tt.args, strings.NewReader(tt.in), &out, &errs)
		got := strings.ReplaceAll(out.String(), "github.com/zeroframe/zeroframe/tools/zf.", "main.")
		if code != tt.code || !strings.Contains(errs.String(), tt.fail) || tt.fail == "" && errs.Len() > 0 {
			t.Errorf("%s: status %d, %q; want %d, %q", tt.name, code, errs.String(), tt.code, tt.fail)
		}
		if tt.code == exitUsage && tt.name != "mismatch" && strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%s: %q; want one line", tt.name, errs.String())
		}
		for l := range strings.Lines(out.String()) {
			if strings.HasPrefix(tt.name, "help") && len(l) > 81 {
				t.Errorf("%s: a line of %d columns: %s", tt.name, len(l)-1, l)
			}
		}
		if tt.name == "json" {
			var v map[string]any
			if err := json.Unmarshal(out.Bytes(), &v); err != nil || v["reason"] != "test" {
				t.Errorf("%s: %s: %v", tt.name, out.String(), err)
			}
			continue
		}
		if !strings.Contains(got, tt.out) {
			t.Errorf("%s: output = %q; want %q in it", tt.name, got, tt.out)
		}
	}
}

// TestSymbolizeInterrupt: an interrupt ends the following of a log, and what
// was held back comes out.
func TestSymbolizeInterrupt(t *testing.T) {
	elf, log := ownTrace(t)
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(log+"zf1 #1 ra"), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var errs bytes.Buffer
	out := whenSaid{text: "ownTrace+0x0", do: cancel}
	if code := dispatchIn(ctx, append([]string{"symbolize"}, []string{"-e", elf, "-f", path}...), nil, &out, &errs); code != exitOK {
		t.Errorf("status %d, %s; want %d", code, errs.String(), exitOK)
	}
	if got := out.String(); !strings.Contains(got, "zf1 #1 ra\nzf: trace 1 was cut") {
		t.Errorf("output = %q; want the rest of the line, and that the trace was cut", got)
	}
}

// whenSaid does something when a text has been written to it.
type whenSaid struct {
	bytes.Buffer
	text string
	do   func()
}

func (w *whenSaid) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.text) {
		w.do()
	}
	return n, err
}
