package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tracer"
)

// What gdb shows of a machine is tested end to end, in package qemu.

// TestGDB runs a program in gdb's place, which says what it is given.
func TestGDB(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b", strings.Repeat("long", 25))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	image := guest(t)
	fake := filepath.Join(dir, "fake gdb")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\nfor a; do echo \"<$a>\"; done\nexit $STATUS\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv(gdbVariable, fake)
	t.Setenv("TMPDIR", dir) // a path with a space, and too long for a socket's
	serial := filepath.Join(dir, "serial")

	t.Setenv("STATUS", "0")
	code, stdout, stderr := zf(nil, "gdb", "-serial", serial, "-gdb", "-ex", "-gdb", "info registers", image)
	if code != exitOK || !strings.Contains(stderr, "what the machine sends is in "+serial) {
		t.Errorf("zf gdb = %d, %q", code, stderr)
	}
	for _, want := range []string{"<target remote ", "<" + image + ">\n<-ex>\n<info registers>\n", "commands.py>"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("gdb is given %q; want %q in it", stdout, want)
		}
	}
	if _, err := os.Stat(serial); err != nil {
		t.Error(err)
	}

	t.Setenv("STATUS", "7")
	code, stdout, stderr = zf(nil, "gdb", "-core", serial, image)
	if code != exitTrace || !strings.Contains(stderr, "gdb: exit status 7") || strings.Contains(stdout, "target remote") ||
		!strings.Contains(stdout, "<"+image+">\n<"+serial+">\n") {
		t.Errorf("zf gdb -core = %d, %q, %q; want no machine, and gdb's error", code, stdout, stderr)
	}

	t.Setenv(gdbVariable, "/none")
	if code, _, stderr := zf(nil, "gdb", image); code != exitMachine || !strings.Contains(stderr, "$ZF_GDB is /none, which cannot be run") {
		t.Errorf("without that gdb: %d, %q", code, stderr)
	}
	t.Setenv(gdbVariable, "")
	t.Setenv("PATH", dir)
	if code, _, stderr := zf(nil, "gdb", image); code != exitMachine || stderr != "zf gdb: no gdb in PATH; install the package gdb\n" {
		t.Errorf("without gdb: %d, %q", code, stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "apt-get"), nil, 0o777); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := zf(nil, "gdb", image); code != exitMachine || !strings.HasSuffix(stderr, "apt-get install -y --no-install-recommends gdb\n") {
		t.Errorf("without gdb: %d, %q", code, stderr)
	}
}

func TestGDBUsage(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "want a main package or an image"},
		{[]string{"x.elf", "-ex"}, `unexpected "-ex" behind x.elf`},
		{[]string{"-nosuch"}, "`zf gdb -h` lists the flags"},
	} {
		if code, _, stderr := zf(nil, append([]string{"gdb"}, tt.args...)...); code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("zf gdb %q = %d, %q; want 2 with %q", tt.args, code, stderr, tt.want)
		}
	}
}

// TestGDBScript: the commands know the tracer's constants.
func TestGDBScript(t *testing.T) {
	s := gdbScript()
	for _, want := range []string{
		fmt.Sprintf("TRAP_MARK = %#x\n", uint64(tracer.TrapMark)), fmt.Sprintf("SIGNATURE = %#x\n", uint64(tracer.Signature)),
		fmt.Sprintf("VECTOR_CALL = %d\n", tracer.VectorCall), "zf-trace", "zf-stacks", "zf-goroutines",
	} {
		if !strings.Contains(s, want) {
			t.Errorf("the script lacks %q", want)
		}
	}
}
