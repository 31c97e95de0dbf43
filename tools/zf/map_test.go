package main

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runs runs a command and returns what it prints; its status must be code.
func runs(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := dispatch(args, strings.NewReader(""), &out, &errs); got != code {
		t.Fatalf("zf %q = %d; want %d\n%s", args, got, code, &errs)
	}
	return out.String(), errs.String()
}

// TestMapCommand writes a map of a C program and holds what zf addr says with it
// against what it says with the ELF file.
func TestMapCommand(t *testing.T) {
	path := buildSample(t, "-g0")
	file := filepath.Join(t.TempDir(), "a.map")
	text, _ := runs(t, exitOK, "map", "-e", path)
	nm, err := exec.Command("nm", "-n", "-S", path).Output()
	if err != nil {
		t.Fatalf("nm: %v (the tests need gcc and binutils)", err)
	}
	if sortLines(text) != sortLines(string(nm)) {
		t.Errorf("zf map:\n%s; want what nm -n -S prints:\n%s", text, nm)
	}
	out, msg := runs(t, exitOK, "map", "-e", path, "-o", file)
	if b, err := os.ReadFile(file); err != nil || string(b) != text || out != "" || !strings.Contains(msg, "wrote "+file) {
		t.Errorf("zf map -o: %v, %q, %q", err, out, msg)
	}
	if again, _ := runs(t, exitOK, "map", "-map", file); again != text {
		t.Errorf("the map of the map:\n%s; want\n%s", again, text)
	}
	addrs := textAddresses(t, path)
	for _, opts := range [][]string{{"-af"}, {"-fp"}, {"-afipsC"}} {
		want, _ := runs(t, exitOK, append(append([]string{"addr", "-e", path}, opts...), addrs...)...)
		got, _ := runs(t, exitOK, append(append([]string{"addr", "-map", file}, opts...), addrs...)...)
		// The symbol table names the source file too.
		want = strings.ReplaceAll(want, "csample.c:?", "??:?")
		if got != want {
			t.Errorf("zf addr -map %v:\n%.2000s; want\n%.2000s", opts, got, want)
		}
	}
	if got, _ := runs(t, exitOK, "addr", "-map="+file, "-base=0x10000000", "-f", fmt.Sprintf("%#x", 0x10000000+start(t, path))); !strings.HasPrefix(got, "_start\n") {
		t.Errorf("zf addr -map -base: %q", got)
	}
}

func sortLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines { // of a few lines
		for j := range lines[:i] {
			if lines[i] < lines[j] {
				lines[i], lines[j] = lines[j], lines[i]
			}
		}
	}
	return strings.Join(lines, "\n")
}

func start(t *testing.T, path string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.Entry
}

// TestAddrLogical: addresses as segment and offset, on the command line and in lines.
func TestAddrLogical(t *testing.T) {
	file := filepath.Join(t.TempDir(), "borland.map")
	text := "  Address         Publics by Value\n\n 0001:000005FC      StackDumper::StackDumper()\n 0001:00000639      StackDumper::~StackDumper()\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	const want = "StackDumper::~StackDumper()\n??:?\n"
	for _, addr := range []string{"0001:0000063a", "1:63A", "0x40163a"} {
		if got, _ := runs(t, exitOK, "addr", "-f", "-map", file, "-base", "0x400000", addr); got != want {
			t.Errorf("zf addr %s = %q; want %q", addr, got, want)
		}
		var out, msg bytes.Buffer
		if code := zfTo("addr", []string{"-f", "-map", file, "-base", "400000"}, strings.NewReader(addr+"\n"), &out, &msg); code != exitOK || out.String() != want {
			t.Errorf("zf addr < %s = %d, %q, %q; want %q", addr, code, &out, &msg, want)
		}
	}
	// Without -base the linker's default is taken, and that is said.
	for _, args := range [][]string{{"addr", "-f", "-map", file, "1:63a"}, {"addr", "-f", "-map", file, "0x40163a"}} {
		if got, msg := runs(t, exitOK, args...); got != want || !strings.Contains(msg, "cannot be told from the map, as it has no table of segments: 0x400000 is taken") {
			t.Errorf("zf %q = %q, and says %q; want %q", args, got, msg, want)
		}
	}
	for _, addr := range []string{"0002:00000000", "1:", ":1", "1:2:3"} {
		if _, msg := runs(t, exitUsage, "addr", "-map", file, "-base", "0x400000", addr); !strings.Contains(msg, "is not a hexadecimal address") {
			t.Errorf("zf addr %s: %q", addr, msg)
		}
	}
}

// TestMapErrors: one line each, with the cause and what to do.
func TestMapErrors(t *testing.T) {
	dir := t.TempDir()
	bad, borland := filepath.Join(dir, "bad"), filepath.Join(dir, "borland")
	object := buildSample(t, "-c")
	for name, text := range map[string]string{bad: "hello\n", borland: " 0001:00000000      f\n"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"map", "want -e ELF or -map FILE; `zf map -h`"},
		{"map -e a -map b", "want -e ELF or -map FILE; `zf map -h`"},
		{"map -e a b", "\"b\": want flags only"},
		{"map -e " + bad, "not an ELF file"},
		{"map -e " + object, "an object file, which has no addresses"},
		{"map -map " + bad, bad + ":1: not a map file of a known format: \"hello\""},
		{"map -map " + dir + "/none", "no such file"},
		{"map -map " + borland + " -base x", "-base \"x\" is not a hexadecimal address"},
		{"map -map " + borland + " -base 0 -o " + dir, "is a directory"},
		{"addr -map " + bad + " 0", bad + ":1: not a map file"},
		{"addr -map " + object + " 0", "an ELF file, which belongs after -e"},
		{"addr -map " + bad + " -e x 0", "-e and -map: give one of them"},
		{"addr -base 0 0", "-base is for -map"},
		{"addr -map", "flag -map needs an argument"},
		{"addr -map " + borland + " -base 0 -j .text 0", "has no section .text, as far as it says"},
		{"symbolize -map " + bad + " -e x", "-e and -map: give one of them"},
		{"symbolize -map " + bad, bad + ":1: not a map file"},
		{"symbolize -e x -base 0", "-base is for -map"},
	} {
		out, msg := runs(t, exitUsage, strings.Fields(tt.args)...)
		if out != "" || strings.Count(msg, "\n") != 1 || !strings.Contains(msg, tt.want) {
			t.Errorf("zf %s: %q, %q; want %q", tt.args, out, msg, tt.want)
		}
	}
	for _, args := range [][]string{{"map", "-h"}, {"help", "map"}, {"addr", "-h"}} {
		out, _ := runs(t, exitOK, args...)
		for l := range strings.Lines(out) {
			if l = strings.ReplaceAll(strings.TrimRight(l, "\n"), "    \t", "        "); len(l) > 80 {
				t.Errorf("zf %v: a line of %d columns: %s", args, len(l), l)
			}
		}
		if !strings.Contains(out, "-base") {
			t.Errorf("zf %v does not name -base", args)
		}
	}
}

// TestSymbolizeMap resolves a trace with a map: functions, no lines, and one note that
// the build is not checked, whatever the number of traces.
func TestSymbolizeMap(t *testing.T) {
	elf, trace := ownTrace(t)
	file := filepath.Join(t.TempDir(), "own.map")
	runs(t, exitOK, "map", "-e", elf, "-o", file)
	second := strings.Replace(strings.Replace(trace, "build=", "build=00", 1), "begin 1", "begin 2", 1)
	for _, args := range [][]string{{"-map", file}, {"-map", file, "-format=json"}, {"-map", file, "-format=k"}} {
		var out, msg bytes.Buffer
		if code := dispatchIn(context.Background(), append([]string{"symbolize"}, args...), strings.NewReader(trace+second), &out, &msg); code != exitOK {
			t.Errorf("%v: status %d\n%s", args, code, &msg)
		}
		if n := strings.Count(out.String(), "zf.ownTrace"); n != 2 || strings.Contains(out.String(), ".go:") {
			t.Errorf("%v: %d frames resolved; want 2 and no lines:\n%s", args, n, &out)
		}
		if strings.Count(msg.String(), "\n") != 1 || !strings.Contains(msg.String(), "which has no build ID") {
			t.Errorf("%v: stderr %q; want one note", args, &msg)
		}
	}
}
