package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// crashLab builds the crash lab, once.
func crashLab(t *testing.T) string {
	t.Helper()
	file := filepath.Join(guestDir, "lab.elf")
	if _, err := os.Stat(file); err == nil {
		return file
	}
	if code, _, stderr := zf(nil, "build", "-o", file, "../../kernel/crashlab"); code != 0 {
		t.Fatal(stderr)
	}
	return file
}

// TestISO: an ISO image boots by BIOS and by UEFI, with the kernel's own symbols.
func TestISO(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.iso")
	code, _, stderr := zf(nil, "iso", "-o", file, "-append", "crash=early.nil-write", crashLab(t), "--", "a b")
	if code != 0 || !strings.Contains(stderr, "for BIOS and UEFI, build ID ") {
		t.Fatalf("zf iso = %d, %q", code, stderr)
	}
	for _, args := range [][]string{{"run", file}, {"run", "-uefi", file}} {
		code, stdout, stderr := zf(strings.NewReader(""), append([]string{args[0], "-timeout", "10m"}, args[1:]...)...)
		if code != exitTrace || !strings.Contains(stderr, "zf run: in main.nilWriteC at ") || !strings.Contains(stdout, "loader  GRUB ") ||
			strings.Contains(stderr, "second serial port") {
			t.Errorf("zf %q = %d, %q, %q", args, code, stderr, stdout)
		}
	}
}

func TestISOUsage(t *testing.T) {
	elf := guest(t)
	dir := t.TempDir()
	t.Chdir(dir)
	for name, data := range map[string]string{"x.iso": "no ISO image", "notes": "no image"} {
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"iso"}, "zf iso: want a main package or an image"},
		{[]string{"iso", elf, "arg"}, "zf iso: unexpected \"arg\" behind"},
		{[]string{"iso", "notes"}, "boot a package, or what `zf build` wrote"},
		{[]string{"iso", "-o", elf, elf}, "would overwrite the image"},
		{[]string{"iso", "-o", "notes", elf}, "notes is there already and is no ISO image"},
		{[]string{"iso", "-o", ".", elf}, ". is a folder"},
		{[]string{"iso", "-o", "/dev/null", elf}, "/dev/null is no file; write the image to a file"},
		{[]string{"iso", "-o", "no/such/x.iso", elf}, "no/such/x.iso: there is no folder no/such; make it first"},
		{[]string{"iso", "-append", "a\nb", elf}, "GRUB takes no control character"},
		{[]string{"iso", "-files", "nosuch", elf}, "nosuch"},
		{[]string{"run", "x.iso"}, "x.iso: not an ISO image made by zf iso"},
		{[]string{"run", "nosuch.iso"}, "nosuch.iso: no such file"},
		{[]string{"run", "-append", "a=b", "x.iso"}, "x.iso has its own command line"},
		{[]string{"run", "-files", dir, "x.iso"}, "x.iso has its own command line"},
		{[]string{"run", "x.iso", "--", "a"}, "x.iso has its own command line"},
		{[]string{"run", "-uefi", elf}, "-uefi boots ISO images; make one with zf iso"},
		{[]string{"run", "-reboots", "-1", elf}, "-reboots -1 is negative"},
	} {
		code, _, stderr := zf(nil, tt.args...)
		if code != exitUsage || !strings.Contains(stderr, tt.says) {
			t.Errorf("zf %q = %d, %q; want %d with %q", tt.args, code, stderr, exitUsage, tt.says)
		}
	}
	if left, _ := filepath.Glob("*"); len(left) != 2 {
		t.Errorf("there is left %q; want the two files", left)
	}
}

// TestReboots: with -reboots the status is that of the boot that comes last.
func TestReboots(t *testing.T) {
	for _, tt := range []struct {
		reboots, then string
		want          int
		says, hears   string // standard error, standard output
	}{
		{"0", "none", exitTrace, "the machine reset after the trace", "nil pointer"},
		{"1", "none", exitOK, "booting", "zf1 previous 1\r\n"},
		{"1", "early.div0", exitTrace, "zf run: runtime error: integer divide by zero", "zf1 previous 1\r\n"},
		{"2", "early.div0", exitTrace, "zf run: in main.divideC", "zf1 previous 2\r\n"},
	} {
		code, stdout, stderr := zf(strings.NewReader(""), "run", "-v", "-timeout", "10m", "-reboots", tt.reboots,
			"-append", "crash=early.nil-write panic=reset crash.then="+tt.then, crashLab(t))
		if code != tt.want || !strings.Contains(stderr, tt.says) || !strings.Contains(strings.ReplaceAll(stdout, "\r\n", "\n"), strings.ReplaceAll(tt.hears, "\r\n", "\n")) {
			t.Errorf("-reboots %s, then %s: %d, %q; want %d with %q, and on the serial port %q: %q",
				tt.reboots, tt.then, code, stderr, tt.want, tt.says, tt.hears, stdout)
		}
	}
}

// TestAnotherBuildDied: what another build has left in RAM is told, and the status is that of
// the program. (The RAM is a file, which outlives the machine.)
func TestAnotherBuildDied(t *testing.T) {
	dir := t.TempDir()
	ram, other := filepath.Join(dir, "ram"), filepath.Join(dir, "main.go")
	if err := os.WriteFile(other, []byte("package main\n\nfunc main() { println(\"alive\") }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(elf, options string) (code int, stdout, stderr string) {
		return zf(strings.NewReader(""), "run", "-v", "-timeout", "10m", "-append", options,
			"-qemu", "-object", "-qemu", "memory-backend-file,id=ram0,size=128M,share=on,mem-path="+ram,
			"-qemu", "-machine", "-qemu", "memory-backend=ram0", elf)
	}
	if code, _, stderr := run(crashLab(t), "crash=early.nil-write"); code != exitTrace {
		t.Fatalf("the death: %d, %q", code, stderr)
	}
	code, stdout, stderr := run(other, "")
	if code != exitOK || !strings.Contains(stdout, "previous boot died: nil pointer dereference") || !strings.Contains(stderr, "but the ELF file is build") {
		t.Errorf("the boot after it: %d, %q, %q; want %d, and both builds named", code, stdout, stderr, exitOK)
	}
}
