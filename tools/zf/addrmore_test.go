package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// TestAddrInputs: names, sections and lines stand for the same addresses as their numbers.
func TestAddrInputs(t *testing.T) {
	elf := buildSample(t, "-g")
	f, err := symbol.Open(elf)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	start := f.Named("_start")
	text, ok := f.SectionStart(".text")
	if len(start) != 1 || !ok {
		t.Fatal("no _start, or no .text")
	}
	ask := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := zf(nil, append([]string{"addr", "-afie", elf}, args...)...)
		if code != exitOK || stderr != "" {
			t.Fatalf("zf addr %q = %d, %s", args, code, stderr)
		}
		return stdout
	}
	hex := func(n uint64) string { return fmt.Sprintf("%#x", n) }
	for _, tt := range []struct {
		input string
		addr  uint64
	}{
		{"_start", start[0].Start}, {"_start+0x4", start[0].Start + 4}, {"_start+4", start[0].Start + 4}, {"(.text)+0x10", text + 0x10}, {"(.text)0x10", text + 0x10},
	} {
		if got, want := ask(tt.input), ask(hex(tt.addr)); got != want {
			t.Errorf("%s: %s; want %s", tt.input, got, want)
		}
		code, got, stderr := zf(strings.NewReader(tt.input+"\n"), "addr", "-afie", elf)
		if want := ask(hex(tt.addr)); code != exitOK || got != want || stderr != "" {
			t.Errorf("%s on standard input: %s, %s; want %s", tt.input, got, stderr, want)
		}
	}
	// What begins like a number and is a name is no number.
	for _, line := range []string{"add_nothing", "beef+0x2", "zed", "fa.c:3"} {
		code, got, stderr := zf(strings.NewReader(line+"\n"), "addr", "-afie", elf)
		if want := "0x0000000000000000\n??\n??:0\n"; code != exitOK || got != want || stderr == "" {
			t.Errorf("%s on standard input: %q, %q; want %q and an error", line, got, stderr, want)
		}
	}
	// Each place of a line is one at which the line begins.
	addr := start[0].Start
	line := f.Lookup(addr, false)[0].Line
	got := ask(fmt.Sprintf("csample.c:%d", line))
	if !strings.Contains(got, fmt.Sprintf("0x%016x\n", addr)) {
		t.Errorf("csample.c:%d: %s; want %#x in it", line, got, addr)
	}
	for _, file := range []string{"sample.c", "x/csample.c"} {
		if code, _, stderr := zf(nil, "addr", "-e", elf, fmt.Sprintf("%s:%d", file, line)); code != exitUsage || !strings.Contains(stderr, "no code of a file "+file) {
			t.Errorf("%s: %d, %s", file, code, stderr)
		}
	}
	if code, _, stderr := zf(nil, "addr", "-e", elf, "csample.c:1"); code != exitUsage || !strings.Contains(stderr, "the next line with code is ") {
		t.Errorf("a line without code: %d, %s", code, stderr)
	}
	if code, _, stderr := zf(nil, "addr", "-e", elf, "csample.c:99999"); code != exitUsage || !strings.Contains(stderr, "the last line with code is ") {
		t.Errorf("a line behind the end: %d, %s", code, stderr)
	}
	if got, want := ask("--adjust-vma=0x1000000", hex(addr+0x1000000)), ask(hex(addr)); strings.SplitN(got, "\n", 2)[1] != strings.SplitN(want, "\n", 2)[1] || !strings.HasPrefix(got, fmt.Sprintf("0x%016x\n", addr+0x1000000)) {
		t.Errorf("--adjust-vma: %s; want %s moved", got, want)
	}
}

// TestAddrPlaces: what Places says of every line with code is what look-ups say of the addresses.
func TestAddrPlaces(t *testing.T) {
	for _, flags := range [][]string{{"-g"}, {"-gdwarf-3"}} {
		f, err := symbol.Open(buildSample(t, flags...))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := map[int]bool{}
		for _, s := range f.TextSpans() {
			for addr := s.Low; addr < s.High; addr++ {
				if frames := f.Lookup(addr, false); len(frames) > 0 {
					lines[frames[0].Line] = true
				}
			}
		}
		n := 0
		for line := range lines {
			if line == 0 {
				continue
			}
			found, _, _ := f.Places("csample.c", line)
			if len(found) == 0 {
				t.Errorf("%v: line %d has code, and no place", flags, line)
			}
			for _, addr := range found {
				n++
				if frames := f.Lookup(addr, false); len(frames) == 0 || frames[0].Line != line {
					t.Errorf("%v: %#x is %+v; want line %d", flags, addr, frames, line)
				}
			}
		}
		if n < 20 {
			t.Errorf("%v: %d places", flags, n)
		}
	}
}

// TestAddrStyles: the styles of LLVM say what the GNU one does.
func TestAddrStyles(t *testing.T) {
	elf := buildSample(t, "-g")
	addrs := textAddresses(t, elf)[4:24]
	run := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := zf(nil, append(append([]string{"addr", "-fie", elf}, args...), addrs...)...)
		if code != exitOK || stderr != "" {
			t.Fatalf("zf addr %q = %d, %s", args, code, stderr)
		}
		return stdout
	}
	var list []struct {
		Address string
		Symbol  []struct {
			FunctionName, FileName string
			Line, Column           int
		}
	}
	if err := json.Unmarshal([]byte(run("--output-style=json")), &list); err != nil || len(list) != len(addrs) {
		t.Fatalf("%d answers, %v", len(list), err)
	}
	var gnu, llvm strings.Builder
	columns := 0
	for _, a := range list {
		for _, s := range a.Symbol {
			fmt.Fprintf(&gnu, "%s\n%s:%d\n", s.FunctionName, s.FileName, s.Line)
			fmt.Fprintf(&llvm, "%s\n%s:%d:%d\n", s.FunctionName, s.FileName, s.Line, s.Column)
			if s.Column > 0 {
				columns++
			}
		}
		llvm.WriteByte('\n')
	}
	if got := run("--output-style=GNU"); stripDiscriminators(got) != gnu.String() {
		t.Errorf("GNU: %s\nwant %s", got, &gnu)
	}
	if got := run("--output-style=LLVM"); got != llvm.String() {
		t.Errorf("LLVM: %s\nwant %s", got, &llvm)
	}
	if columns < len(addrs)/2 {
		t.Errorf("%d columns of %d addresses", columns, len(addrs))
	}
	if got := run("-Sx", "-s"); !strings.Contains(got, "+0x") || !strings.Contains(got, " (.text)\n") {
		t.Errorf("-Sx: %s", got)
	}
	for args, want := range map[string]string{
		"--output-style=XML": "GNU, LLVM or JSON", "--adjust-vma=x": "wants a number", "-pid 1": "/proc/PID/maps", "-k": "vmlinux",
		"--dwp=x": "-gsplit-dwarf", "--filter-markup": "zf symbolize", "-F": "eu-addr2line -F", "-M x": "/proc/PID/maps",
	} {
		if code, _, stderr := zf(nil, append([]string{"addr"}, strings.Fields(args)...)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d, %q; want %q", args, code, stderr, want)
		}
	}
}

func stripDiscriminators(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if i := strings.Index(line, " (discriminator"); i >= 0 {
			line = line[:i] + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// The samples of package unpack: a package with a stripped program and its debug information.
const (
	packagedID   = "4ee727a6c21bc9535aad3ded182ca5371c87ce8e"
	packagedAddr = "0x40010c"
)

// TestAddrContainers: -e names a package or a folder.
func TestAddrContainers(t *testing.T) {
	for _, name := range []string{"sample.deb", "sample.rpm"} {
		path := filepath.Join("..", "symbol", "elf", "testdata", name)
		code, stdout, stderr := zf(nil, "addr", "-f", "-e", path, "--build-id", packagedID, packagedAddr)
		if code != exitOK || stdout != "add\n/src/a.c:2\n" || stderr != "" {
			t.Errorf("%s: %d, %q, %q", name, code, stdout, stderr)
		}
		code, _, stderr = zf(nil, "addr", "-f", "-e", path, packagedAddr)
		if code != exitUsage || !strings.Contains(stderr, "2 ELF files (lib/modules/6.1/kernel/mod.ko.xz, usr/bin/prog)") {
			t.Errorf("%s without a build ID: %d, %q", name, code, stderr)
		}
		if code, _, stderr := zf(nil, "addr", "-e", path, "--build-id=00112233", packagedAddr); code != exitUsage || !strings.Contains(stderr, "has it not") {
			t.Errorf("%s, another build: %d, %q", name, code, stderr)
		}
		code, stdout, stderr = zf(strings.NewReader("{{{module:0:prog:elf:"+packagedID+"}}}\n{{{mmap:0x7f0000000000:0x1000:load:0:rx:0x400000}}}\n{{{pc:0x7f000000010c}}}\n"), "symbolize", "-e", path)
		if code != exitOK || !strings.Contains(stdout, "a.c:2") {
			t.Errorf("zf symbolize -e %s: %d, %q, %q", name, code, stdout, stderr)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "zf-package-*")); len(left) > 0 {
		t.Errorf("%q is left over", left)
	}
	// A folder with one program, as it was linked.
	elf := buildSample(t, "-g")
	_, want, _ := zf(nil, "addr", "-fi", "-e", elf, "401020")
	if code, got, stderr := zf(nil, "addr", "-fi", "-e", filepath.Dir(elf), "401020"); code != exitOK || got != want {
		t.Errorf("a folder: %d, %q, %q; want %q", code, got, stderr, want)
	}
}

const liveSource = `
#include <stdio.h>
__attribute__((noinline)) int asked(int n) { return n + 1; }
int main(void) { printf("%p\n", (void *)asked); fflush(stdout); return asked(getchar()); }
`

// TestProcessAddress: an address of a running program, which lies elsewhere each time, by its maps.
func TestProcessAddress(t *testing.T) {
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "live.c"), filepath.Join(dir, "live")
	if err := os.WriteFile(src, []byte(liveSource), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "gcc", "-O1", "-g", "-pie", "-fPIE", "-Wl,--build-id", "-o", exe, src)
	cmd := exec.Command(exe)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr = strings.TrimSpace(addr)
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := zf(strings.NewReader(string(maps)+"pc="+addr+"\n"), "symbolize", "-e", exe)
	if code != exitOK || !strings.Contains(stdout, "asked+0x0") || !strings.Contains(stdout, "live.c:3") {
		t.Errorf("%d, %q, %q", code, stdout, stderr)
	}
}

// TestAddrNotELF: a file that is no ELF file, such as Breakpad's .sym, is refused, and a folder
// without the build is named.
func TestAddrNotELF(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "prog.sym")
	text := "MODULE Linux x86_64 03020100050407060809A0B0C0D0E0F00 prog\nFUNC 1000 20 0 work\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"addr", "-e", path, "0x1010"}, "-e names the ELF file to resolve with"},
		{[]string{"addr", "-e", path, "--build-id=aabbccddee", "0x1010"}, "-e names the ELF file to resolve with"},
		{[]string{"addr", "-e", root, "--build-id=aabbccddee", "0x1010"}, "has it not"},
		{[]string{"symbolize", "-e", path}, "ELF file"},
	} {
		code, _, stderr := zf(strings.NewReader(""), tt.args...)
		if code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("zf %q = %d, %q; want %q", tt.args, code, stderr, tt.want)
		}
	}
}
