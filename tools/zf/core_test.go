package main

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What gdb makes of a core file is tested end to end, in package qemu.

func TestCore(t *testing.T) {
	image, log := ownTrace(t)
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// A trace that does not end the kernel is whole.
	nmi := strings.Replace(log, " panic ", " nmi ", 1) + "zf1 done 3 crc=0x0\n"
	other := file("other", strings.Replace(log, "build=", "build=00", 1))
	two := file("two", log+strings.Replace(log, "begin 1 panic", "begin 2 panic", 1))
	// A death with three CPUs, one of whose traces is cut; and another death behind it.
	cpu := func(seq string, n int, of string) string {
		return strings.Replace(strings.Replace(log, "begin 1 panic", "begin "+seq, 1), "thread=0", fmt.Sprintf("thread=0 cpu=%d%s", n, of), 1)
	}
	died := cpu("4 panic", 1, "") + cpu("5 trace", 0, " of=4") + "zf1 done 3 crc=0x0\n" + cpu("6 trace", 2, " of=4")
	cpus := file("cpus", died)
	before := file("before", "zf1 previous 1\n"+strings.ReplaceAll(cpu("4 panic", 1, "")+cpu("5 trace", 0, " of=4"), "zf1 begin 5", "zf1 previous 1\nzf1 begin 5"))
	out := filepath.Join(dir, "out.core")
	for _, tt := range []struct {
		name string
		args []string
		in   string
		code int
		says string
	}{
		{"file", []string{file("log", log)}, "", exitOK, "wrote " + out + ": 1 thread, 0 words of memory"},
		{"stdin", []string{"-"}, log, exitOK, "the trace is damaged: it was cut"},
		{"two", []string{two}, "", exitOK, "took trace 2, the last one that ended the kernel; -n N takes another of\n   1 panic"},
		{"first", []string{"-n", "1", two}, "", exitOK, "took trace 1; -n N"},
		{"flags behind", []string{two, "-n", "1"}, "", exitOK, "took trace 1; -n N"},
		{"third", []string{"-n", "3", two}, "", exitUsage, "-n 3: " + two + " has 2; they are\n   1 panic"},
		{"CPUs", []string{cpus}, "", exitOK, "took trace 1, the last one that ended the kernel; -n N takes another of\n   1 panic"},
		{"CPUs' threads", []string{cpus}, "", exitOK, ": 3 threads, 0 words of memory; look at it with: gdb " + image + " " + out + "\nzf core: CPU 1 is thread 1\nzf core: CPU 0 is thread 2\nzf core: CPU 2 is thread 3\n"},
		{"one CPU of them", []string{"-n", "2", cpus}, "", exitOK, ": 1 thread, "},
		{"another death behind", []string{file("more", died+log)}, "", exitOK, ": 1 thread, "},
		{"the boot before", []string{before}, "", exitOK, "zf core: CPU 1 is thread 1\nzf core: CPU 0 is thread 2\n"},
		{"damaged", []string{file("nmi", nmi)}, "", exitOK, "CRC"},
		{"mismatch", []string{other}, "", exitUsage, "not resolved"},
		{"force", []string{"-force", other}, "", exitOK, "1 thread"},
		{"no trace", []string{"-"}, "hello\n", exitUsage, "no trace in -"},
		{"no build", []string{"-"}, strings.SplitAfterN(log, "\n", 3)[2], exitUsage, "no build ID"},
		{"no log", nil, "", exitUsage, "want one log, have 0"},
		{"missing log", []string{dir + "/none"}, "", exitUsage, "no such file"},
		{"overwrites", []string{"-o", two, two}, "", exitUsage, "would overwrite"},
		{"no folder", []string{"-o", dir + "/none/x", two}, "", exitUsage, "there is no folder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			os.Remove(out)
			code, stdout, stderr := zf(strings.NewReader(tt.in), append([]string{"core", "-e", image, "-o", out}, tt.args...)...)
			if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.says) {
				t.Errorf("zf core %q = %d, %q, %q; want %d with %q", tt.args, code, stdout, stderr, tt.code, tt.says)
			}
			f, err := elf.Open(out)
			if (err == nil) != (code == exitOK) {
				t.Errorf("the core file: %v", err)
			}
			if err == nil {
				f.Close()
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("beside the cores there is %q", left)
	}
	if code, _, stderr := zf(nil, "core", two); code != exitUsage || !strings.Contains(stderr, "-e ELF is missing") {
		t.Errorf("without -e: %d, %q", code, stderr)
	}
}
