package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestIncomplete: where debug information that is asked for is damaged or not there, one
// warning names the file that would help, with every answer that needs it; and none does
// where nothing is missing.
func TestIncomplete(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", cmd, err, out)
		}
	}
	var source strings.Builder
	source.WriteString("volatile int sink;\n")
	for i := range 12 {
		fmt.Fprintf(&source, "struct s%d { int a; long b; struct s%[1]d *next; } v%[1]d;\nstatic inline int inlined%[1]d(int x) { sink = x + v%[1]d.a; return x * %d; }\n", i, i+3)
	}
	source.WriteString("int work(int n) {\n\tint s = 0;\n")
	for i := range 12 {
		fmt.Fprintf(&source, "\ts += inlined%d(n);\n", i)
	}
	source.WriteString("\treturn s;\n}\nvoid _start(void) { for (;;) work(sink); }\n")
	if err := os.WriteFile(filepath.Join(dir, "a.c"), []byte(source.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		run("gcc", "-g", "-O2", "-ffreestanding", "-nostdlib", "-static", "-Wl,--build-id", "-o", name, "a.c")
	}
	run("dwz", "--relative", "-m", "common.debug", "one", "two")
	run("gcc", "-g", "-O2", "-gz=zlib", "-ffreestanding", "-nostdlib", "-static", "-Wl,--build-id", "-o", "packed", "a.c")
	one, packed := filepath.Join(dir, "one"), filepath.Join(dir, "packed")
	// The compressed bytes of .debug_info are spoilt.
	f, err := elf.Open(packed)
	if err != nil {
		t.Fatal(err)
	}
	info := f.Section(".debug_info")
	f.Close()
	b, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[info.Offset+24:], "no zlib")
	if err := os.WriteFile(packed, b, 0o777); err != nil {
		t.Fatal(err)
	}
	check := func(what, file string, warning ...string) {
		t.Helper()
		sym, err := openSymbols(file)
		if err != nil {
			t.Fatal(err)
		}
		start, size, _ := sym.Symbol("work")
		at := start
		for at < start+size-1 && len(sym.Lookup(at, false)) < 2 { // the names of inlined calls are elsewhere
			at++
		}
		sym.Close()
		pc := strconv.FormatUint(at, 16)
		for range 2 { // what the first has said is no reason to be silent
			for name, command := range map[string]func(out, msg *bytes.Buffer) int{
				"zf addr": func(out, msg *bytes.Buffer) int {
					return zfTo("addr", []string{"-fi", "-e", file, pc, pc}, nil, out, msg)
				},
				"zf addr of one": func(out, msg *bytes.Buffer) int {
					return zfTo("addr", []string{"-fi", "-e", file, pc}, nil, out, msg)
				},
				"zf symbolize": func(out, msg *bytes.Buffer) int {
					return zfTo("symbolize", []string{"-e", file}, strings.NewReader("pc=0x"+pc+"\npc=0x"+pc+"\n"), out, msg)
				},
			} {
				var out, msg bytes.Buffer
				if code := command(&out, &msg); code != exitOK || !strings.Contains(out.String(), "work") {
					t.Errorf("%s, %s: %d, %s, %s", what, name, code, &out, &msg)
				}
				said := msg.String()
				if strings.Count(said, "\n") != min(len(warning), 1) {
					t.Errorf("%s, %s: said %q; want %d warning", what, name, said, min(len(warning), 1))
				}
				for _, w := range warning {
					if !strings.Contains(said, w) {
						t.Errorf("%s, %s: said %q; want %q in it", what, name, said, w)
					}
				}
			}
		}
	}
	check("whole", one)
	if err := os.Remove(filepath.Join(dir, "common.debug")); err != nil {
		t.Fatal(err)
	}
	check("no supplement", one, "note: "+one+": ", filepath.Join(dir, "common.debug"), "/.build-id/")
	check("damaged", packed, "note: "+packed+": ", "section .debug_info", "as it was built")
}
