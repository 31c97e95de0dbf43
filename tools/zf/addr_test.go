package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// buildSample builds the C sample of package symbol.
func buildSample(t *testing.T, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "c.elf")
	src := filepath.Join("..", "symbol", "testdata", "csample.c")
	args := append([]string{"-O2", "-nostdlib", "-static", "-ffreestanding", "-o", out, src}, flags...)
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s(the tests need gcc and binutils)", err, msg)
	}
	return out
}

// textAddresses returns the address of each instruction of a function, and some
// others.
func textAddresses(t *testing.T, elf string) []string {
	t.Helper()
	nm, err := exec.Command("nm", "-S", elf).Output()
	if err != nil {
		t.Fatalf("nm: %v (the tests need gcc and binutils)", err)
	}
	inFunction := map[uint64]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([0-9a-f]+) ([0-9a-f]+) [tT]`).FindAllStringSubmatch(string(nm), -1) {
		start, _ := strconv.ParseUint(m[1], 16, 64)
		size, _ := strconv.ParseUint(m[2], 16, 64)
		for pc := start; pc < start+size; pc++ {
			inFunction[pc] = true
		}
	}
	out, err := exec.Command("objdump", "-d", elf).Output()
	if err != nil {
		t.Fatalf("objdump: %v (the tests need gcc and binutils)", err)
	}
	addrs := []string{"0", "0x10", "0xffffffffffffffff", "100000000000000000000"}
	for _, m := range regexp.MustCompile(`(?m)^ *([0-9a-f]+):\t`).FindAllStringSubmatch(string(out), -1) {
		if pc, _ := strconv.ParseUint(m[1], 16, 64); inFunction[pc] {
			addrs = append(addrs, m[1])
		}
	}
	return addrs
}

// TestAddrEqualsAddr2line holds `zf addr` against addr2line line by line, but for
// the suffix of a function's cold part, which addr2line leaves out.
func TestAddrEqualsAddr2line(t *testing.T) {
	compared, lines := 0, 0
	for _, flags := range [][]string{{"-gdwarf-5"}, {"-gdwarf-4"}, {"-gdwarf-3"}, {"-gdwarf-2"}, {"-g", "-gz"}, {"-g", "-O0"}, {"-g0"}} {
		elf := buildSample(t, flags...)
		addrs := textAddresses(t, elf)
		for _, opts := range [][]string{
			{"-afi"}, {"-afip"}, {"-fis"}, {"-ap"}, {}, {"-f", "-p"},
			{"--addresses", "--functions", "--inlines", "--basenames", "--pretty-print", "--demangle"},
		} {
			args := append(append([]string{"-e", elf}, opts...), addrs...)
			want, err := exec.Command("addr2line", args...).Output()
			if err != nil {
				t.Fatalf("addr2line: %v (the tests need gcc and binutils)", err)
			}
			var got, msg bytes.Buffer
			if code := zfTo("addr", args, strings.NewReader(""), &got, &msg); code != exitOK {
				t.Fatalf("zf addr %v = %d\n%s", opts, code, &msg)
			}
			whole := strings.NewReplacer("_start.cold", "_start")
			w, g := strings.Split(whole.Replace(string(want)), "\n"), strings.Split(whole.Replace(got.String()), "\n")
			bad := 0
			for i := range max(len(w), len(g)) {
				if i >= len(w) || i >= len(g) {
					t.Errorf("%v %v: %d lines; want %d", flags, opts, len(g), len(w))
					break
				}
				if w[i] != g[i] {
					if bad++; bad <= 5 {
						t.Errorf("%v %v: line %d = %q; want %q", flags, opts, i+1, g[i], w[i])
					}
				}
			}
			compared += len(addrs)
			lines += len(w)
		}
	}
	t.Logf("%d addresses, %d lines compared", compared, lines)
	if compared < 1000 {
		t.Error("too few addresses")
	}
}

// TestAddrStdin: each line is answered before the next is read.
func TestAddrStdin(t *testing.T) {
	elf := buildSample(t, "-g")
	in, toAddr := io.Pipe()
	fromAddr, out := io.Pipe()
	var msg bytes.Buffer
	done := make(chan int)
	go func() {
		code := zfTo("addr", []string{"-apfe", elf}, in, out, &msg)
		out.Close()
		done <- code
	}()
	answers := bufio.NewScanner(fromAddr)
	for _, tt := range []struct{ line, want string }{
		{"10\n", "0x0000000000000010: ?? ??:0"},
		{"  0x20 and more\r\n", "0x0000000000000020: ?? ??:0"},
		{"no address\n", "0x0000000000000000: ?? ??:0"},
		{"\n", "0x0000000000000000: ?? ??:0"},
		{strings.Repeat("1", 70000) + "\n", "0xffffffffffffffff: ?? ??:0"},
	} {
		if _, err := io.WriteString(toAddr, tt.line); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() || answers.Text() != tt.want {
			t.Errorf("answer to %.20q = %q; want %q", tt.line, answers.Text(), tt.want)
		}
	}
	io.WriteString(toAddr, "30") // without a newline at the end
	toAddr.Close()
	if !answers.Scan() || answers.Text() != "0x0000000000000030: ?? ??:0" {
		t.Errorf("answer to the last line = %q", answers.Text())
	}
	if code := <-done; code != exitOK {
		t.Errorf("runAddr = %d", code)
	}
	if !strings.Contains(msg.String(), `"no address" is not a hexadecimal address`) {
		t.Errorf("stderr = %q; want a word about the line that is no address", &msg)
	}
}

func TestAddrErrors(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	elf, stripped := buildSample(t, "-g"), buildSample(t, "-s")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-e", filepath.Join(dir, "none"), "0"}, "no such file or directory; -e names"},
		{[]string{"-e", script, "0"}, "not an ELF file (a script); -e names"},
		{[]string{"-e", dir, "0"}, "not an ELF file (not a regular file)"},
		{[]string{"-e", stripped, "0"}, "no symbols"},
		{[]string{"-e", elf, "10", "main"}, `"main" is not a hexadecimal address`},
		{[]string{"-e", elf, "0x10z"}, `"0x10z" is not a hexadecimal address`},
		{[]string{"-e", elf, ""}, `"" is not a hexadecimal address`},
		{[]string{"-aze", elf}, "unknown flag -z; `zf addr -h`"},
		{[]string{"--zip"}, "unknown flag --zip"},
		{[]string{"--=x"}, "unknown flag --"},
		{[]string{"-a", "-e"}, "flag -e needs an argument"},
		{[]string{"--exe"}, "flag --exe needs an argument"},
		{[]string{"--functions=yes"}, "flag --functions: it takes no argument"},
		{[]string{"-e", elf, "-j", ".nowhere", "0"}, "has no section .nowhere"},
	} {
		var out, msg bytes.Buffer
		code := zfTo("addr", tt.args, strings.NewReader(""), &out, &msg)
		if code != exitUsage || out.Len() != 0 || !strings.HasPrefix(msg.String(), "zf addr: ") || !strings.Contains(msg.String(), tt.want) {
			t.Errorf("zf addr %q = %d, stdout %q, stderr %q; want %d and %q", tt.args, code, &out, &msg, exitUsage, tt.want)
		}
	}
	for _, arg := range []string{"-h", "--help", "-H", "--he"} {
		var out, msg bytes.Buffer
		if code := zfTo("addr", []string{arg}, strings.NewReader(""), &out, &msg); code != exitOK || !strings.Contains(out.String(), "Example:") {
			t.Errorf("zf addr %s = %d, stdout %q", arg, code, &out)
		}
	}
}

func TestAddrVersion(t *testing.T) {
	for _, arg := range []string{"-v", "-V", "--version", "--ver"} {
		var out, msg bytes.Buffer
		if code := zfTo("addr", []string{arg}, strings.NewReader(""), &out, &msg); code != exitOK || !strings.HasPrefix(out.String(), "zf addr (Zeroframe) ") || msg.Len() != 0 {
			t.Errorf("zf addr %s = %d, stdout %q, stderr %q; want %d and the version", arg, code, &out, &msg, exitOK)
		}
	}
}

// TestAddrFull: answers that could not be written are an error, wherever the
// addresses come from.
func TestAddrFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	elf := buildSample(t, "-g")
	for _, tt := range []struct {
		args  []string
		stdin string
	}{
		{[]string{"-e", elf, "10"}, ""},
		{append([]string{"-e", elf}, strings.Fields(strings.Repeat("10 ", 5000))...), ""},
		{[]string{"-e", elf}, "10\n"},
		{[]string{"-h"}, ""},
		{[]string{"-v"}, ""},
	} {
		var msg bytes.Buffer
		code := zfTo("addr", tt.args, strings.NewReader(tt.stdin), full, &msg)
		if code != exitUsage || !strings.Contains(msg.String(), "no space left on device") {
			t.Errorf("zf addr %.60q > /dev/full = %d, stderr %q; want %d and the cause", tt.args, code, &msg, exitUsage)
		}
	}
}

// TestAddrObject: an object file is resolved as the linked one is, and its sections
// do not get in each other's way.
func TestAddrObject(t *testing.T) {
	object, linked := buildSample(t, "-g", "-c"), buildSample(t, "-g")
	answers := func(elf, section string, size int) string {
		args := []string{"-fie", elf, "-j", section}
		for off := range size {
			args = append(args, strconv.FormatInt(int64(off), 16))
		}
		var out, msg bytes.Buffer
		if code := zfTo("addr", args, strings.NewReader(""), &out, &msg); code != exitOK || msg.Len() > 0 {
			t.Fatalf("zf addr %v = %d, stderr %q", args[:4], code, &msg)
		}
		return out.String()
	}
	for _, tt := range []struct {
		section string
		size    int
		want    string
	}{
		{".text", 32, "either\n"}, {".text.unlikely", 16, ""}, {".text.startup", 4, ""},
	} {
		sym, err := symbol.Open(object)
		if err != nil {
			t.Fatal(err)
		}
		start, ok := sym.SectionStart(tt.section)
		sym.Close()
		if !ok {
			continue // another gcc
		}
		got := answers(object, tt.section, tt.size)
		if !strings.Contains(got, tt.want) || !strings.Contains(got, "csample.c:") || strings.Contains(got, "csample.c:?") {
			t.Errorf("%s at %#x of an object file: %s; want %s with lines", tt.section, start, got, tt.want)
		}
	}
	// The linker puts the cold parts first, with nothing between.
	if got, want := answers(object, ".text.unlikely", 8), answers(linked, ".text", 8); got != want {
		t.Errorf(".text.unlikely of the object file:\n%s\nand of the linked one:\n%s", got, want)
	}
}

// TestAddrFullNames holds the name of the function at each symbol of a Go program
// against nm.
func TestAddrFullNames(t *testing.T) {
	elf := filepath.Join(t.TempDir(), "go.elf")
	cmd := exec.Command("go", "build", "-o", elf, ".")
	cmd.Dir = filepath.Join("..", "symbol", "testdata", "gosample")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=amd64", "GOOS=linux")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, msg)
	}
	nm, err := exec.Command("nm", elf).Output()
	if err != nil {
		t.Fatalf("nm: %v (the tests need gcc and binutils)", err)
	}
	args, want := []string{"-fie", elf}, map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^([0-9a-f]+) [tT] (.*\[.*)$`).FindAllStringSubmatch(string(nm), -1) {
		args = append(args, m[1])
		want[m[1]] = strings.TrimSuffix(m[2], ".abi0")
	}
	if len(want) < 20 {
		t.Fatalf("%d generic functions; want more", len(want))
	}
	for _, addr := range args[2:] {
		var out, msg bytes.Buffer
		if code := zfTo("addr", []string{"-fie", elf, addr}, strings.NewReader(""), &out, &msg); code != exitOK {
			t.Fatalf("zf addr -fie %s = %d\n%s", addr, code, &msg)
		}
		lines := strings.Split(out.String(), "\n")
		if got := lines[len(lines)-3]; got != want[addr] { // the last function is the physical one
			t.Errorf("zf addr -fi %s = %s; want %s", addr, got, want[addr])
		}
	}
}

func TestAddrArgs(t *testing.T) {
	for _, tt := range []struct {
		args  string
		opt   addrOptions
		addrs string
	}{
		{"", addrOptions{exe: "a.out"}, ""},
		{"-afip 1", addrOptions{exe: "a.out", addresses: true, functions: true, inlines: true, pretty: true}, "1"},
		{"-index off -f 1", addrOptions{exe: "a.out", index: "off", functions: true}, "1"},
		{"1 -ex 2 -s", addrOptions{exe: "x", basenames: true}, "1 2"},
		{"-se x 1", addrOptions{exe: "x", basenames: true}, "1"},
		{"--exe=x -C -- -1", addrOptions{exe: "x", demangle: true}, "-1"},
		{"--exe x --demangle=gnu-v3 1", addrOptions{exe: "x", demangle: true}, "1"},
		{"--inl --pretty --sect .text -b elf64-x86-64 -rR", addrOptions{exe: "a.out", inlines: true, pretty: true, section: ".text"}, ""},
	} {
		opt, addrs, err := addrOptions{exe: defaultExe}.parse(strings.Fields(tt.args))
		opt.view = nil
		if err != nil || opt != tt.opt || strings.Join(addrs, " ") != tt.addrs {
			t.Errorf("parseAddrArgs(%s) = %+v, %q, %v; want %+v, %q", tt.args, opt, addrs, err, tt.opt, tt.addrs)
		}
	}
}

func TestAddrDemangle(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"_ZN2ns1D5twiceEv", "ns::D::twice()"},
		{"_ZN3std2io5stdio5print17h0123456789abcdefE", "std::io::stdio::print"},
		{"_RNvC4core3foo", "core::foo"},
		{"main.f", "main.f"},
		{"main", "main"},
	} {
		opt := addrOptions{demangle: true}
		if got := opt.nameOf(&lookup.Call{Function: tt.name}, nil); got != tt.want {
			t.Errorf("-C of %s = %q; want %q", tt.name, got, tt.want)
		}
	}
}

// TestAddrVariable: an address of data has the variable's name and the offset in it, where a
// function's would stand.
func TestAddrVariable(t *testing.T) {
	elf := buildSample(t, "-g", filepath.Join("..", "symbol", "testdata", "variables.c"), "-Wl,-z,muldefs", "-Wl,-e,0")
	f, err := symbol.Open(elf)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	start, _, ok := f.Symbol("record")
	if !ok {
		t.Fatal("no symbol record")
	}
	for _, tt := range []struct {
		flags string
		off   uint64
		want  string
	}{{"-f", 0, "record+0x0\n??:0\n"}, {"-f", 5, "record+0x5\n??:0\n"}, {"-fp", 5, "record+0x5 at ??:0\n"}, {"-fi", 5, "record+0x5\n??:0\n"}, {"-s", 5, "??:0\n"}} {
		var out, msg bytes.Buffer
		code := zfTo("addr", []string{tt.flags, "-e", elf, strconv.FormatUint(start+tt.off, 16)}, nil, &out, &msg)
		if code != exitOK || out.String() != tt.want {
			t.Errorf("%s record+%#x: %d, %q, %s; want %q", tt.flags, tt.off, code, out.String(), &msg, tt.want)
		}
	}
}
