package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tracer"
)

// ownScreen returns the path of the test's own ELF file and what a screen would show of a
// death in ownTrace.
func ownScreen(t *testing.T) (elf string, lines []string) {
	t.Helper()
	elf, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sym, err := symbol.Open(elf)
	if err != nil {
		t.Fatal(err)
	}
	defer sym.Close()
	text, ok := sym.TextStart()
	if !ok {
		t.Fatal("the test's ELF file does not say where its text begins")
	}
	build, err := hex.DecodeString(sym.BuildID())
	if err != nil {
		t.Fatal(err)
	}
	w := tracer.Typed{TextLo: uintptr(text), TextHi: uintptr(text) + 64<<20}
	take := func() {
		for i := range w.Lines() {
			lines = append(lines, string(w.Line(i)))
		}
	}
	w.Begin(tracer.KindFault, tracer.ContextEarly, build)
	take()
	for _, f := range []any{ownScreen, ownTrace} {
		w.Frame(&tracer.Frame{Kind: tracer.PC, Addr: reflect.ValueOf(f).Pointer()})
		take()
	}
	w.Stop(tracer.EndZero, 0)
	take()
	return elf, lines
}

func TestSymbolizeTyped(t *testing.T) {
	elf, lines := ownScreen(t)
	file := filepath.Join(t.TempDir(), "photo.txt")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	builds := t.TempDir()
	sym, err := symbol.Open(elf)
	if err != nil {
		t.Fatal(err)
	}
	defer sym.Close()
	byID := filepath.Join(builds, ".build-id", sym.BuildID()[:2])
	if err := os.MkdirAll(byID, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elf, filepath.Join(byID, sym.BuildID()[2:]+".debug")); err != nil {
		t.Fatal(err)
	}
	bad := strings.Replace(strings.Join(lines, "\n"), lines[1], lines[1]+"0", 1)
	for _, tt := range []struct {
		name      string
		args      []string
		in        string
		code      int
		out, fail string
	}{
		{"stdin", []string{"-typed", "-e", elf}, strings.ToLower(strings.Join(lines, "\n")), exitOK, "zf.ownScreen+0x0\n        typed_test.go:", ""},
		{"file", []string{"-typed", "-e", elf, file}, "", exitOK, "zf.ownTrace+0x0\n        symbolize_test.go:", ""},
		{"folder", []string{"-typed", "-e", builds, file}, "", exitOK, "zf.ownTrace+0x0\n        symbolize_test.go:", ""},
		{"empty folder", []string{"-typed", "-e", t.TempDir(), file}, "", exitUsage, "", "is in none of the folders given"},
		{"json", []string{"-typed", "-json", "-e", elf, file}, "", exitOK, `"complete":true`, ""},
		{"wrong", []string{"-typed", "-e", elf}, bad, exitUsage, "zf.ownTrace+0x0", "line 01 is wrong (line 2 of the input)"},
		{"missing", []string{"-typed", "-e", elf}, lines[0] + "\n" + lines[2], exitOK, "zf.ownTrace+0x0", "missing: 01, the end"},
		{"other build", []string{"-typed", "-e", elf}, "00 0 3 1234 5678 " + check(0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8) + "\n" + lines[1], exitUsage, "", "the trace comes from build 12345678..., but the ELF file is build "},
		{"nothing", []string{"-typed", "-e", elf}, "", exitOK, "", "no trace found"},
		{"map", []string{"-typed", "-map", "x.map"}, "", exitUsage, "", "-typed needs the ELF file"},
	} {
		var out, fail bytes.Buffer
		code := symbolize(context.Background(), append(tt.args, "-index=off"), strings.NewReader(tt.in), &out, &fail)
		if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(fail.String(), tt.fail) || tt.fail == "" && fail.Len() > 0 {
			t.Errorf("%s: status %d; want %d\nstdout:\n%s\nwant %q in it\nstderr:\n%s\nwant %q in it", tt.name, code, tt.code, out.String(), tt.out, fail.String(), tt.fail)
		}
	}
}

// check returns the check of a line's digits.
func check(digits ...byte) string {
	a, b := tracer.TypedCheck(digits)
	return string([]byte{tracer.TypedDigits[a], tracer.TypedDigits[b]})
}
