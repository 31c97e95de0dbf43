package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu"
)

// TestAccelFlags: which accelerator QEMU is given, by a program in its place that writes its
// arguments down.
func TestAccelFlags(t *testing.T) {
	elf := guest(t)
	dir := t.TempDir()
	fake, args := filepath.Join(dir, "qemu"), filepath.Join(dir, "args")
	script := "#!/bin/sh\necho \"$*\" >" + args + "\necho '{\"QMP\": {}}' >&4\n" +
		"while read -r line <&4; do echo '{\"return\": {}}' >&4; case $line in *cont*) exit 65 ;; esac; done\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(qemu.Variable, fake)
	t.Setenv("XDG_CACHE_HOME", dir)
	for _, tt := range []struct {
		env, flags string
		code       int
		want       string // in QEMU's arguments
		says       string // on standard error
	}{
		{"tcg", "-v", exitOK, "-accel tcg ", "booting guest.elf on q35, 128 MiB\n"},
		{"tcg", "-v", exitOK, "-accel tcg ", "zf run: accelerator tcg: as $ZF_ACCEL has it\n"},
		{"tcg", "-v -accel kvm", exitOK, "-accel kvm ", "zf run: accelerator kvm: as -accel has it\n"},
		{"tcg", "-v -accel hvf", exitOK, "-accel hvf ", "booting guest.elf on q35, 128 MiB, hvf\n"},
		{"kvm", "-icount -v", exitOK, "-accel tcg ", "accelerator tcg: since it alone counts instructions for -icount\n"},
		{"kvm", "-icount -accel auto", exitOK, "-icount shift=0", ""},
		{"", "-v", exitOK, "-accel ", "zf run: accelerator "},
		{"", "-v -accel auto", exitOK, "-accel ", "zf run: accelerator "},
		{"", "-icount -accel kvm", exitUsage, "", "-icount counts instructions, which only tcg does; leave out -accel kvm\n"},
		{"", "-accel xen", exitUsage, "", "want one of auto, tcg, kvm, hvf, whpx"},
		{"xen", "", exitMachine, "", "$ZF_ACCEL is xen; it must be one of auto, "},
	} {
		os.Remove(args)
		t.Setenv(qemu.AccelVariable, tt.env)
		code, _, stderr := zf(nil, append(append([]string{"run"}, strings.Fields(tt.flags)...), elf)...)
		got, _ := os.ReadFile(args)
		if code != tt.code || !strings.Contains(string(got), tt.want) || tt.want == "" && got != nil || !strings.Contains(stderr, tt.says) {
			t.Errorf("%s=%s zf run %s = %d, QEMU %q, %q; want %d, %q, %q", qemu.AccelVariable, tt.env, tt.flags, code, got, stderr, tt.code, tt.want, tt.says)
		}
	}
}

// TestAccelGDB: zf gdb takes tcg unless it is told otherwise.
func TestAccelGDB(t *testing.T) {
	elf := guest(t)
	dir := t.TempDir()
	args := filepath.Join(dir, "args")
	for name, script := range map[string]string{
		"gdb":  "exit 0\n",
		"qemu": "echo \"$*\" >" + args + "\necho '{\"QMP\": {}}' >&4\nwhile read -r line <&4; do echo '{\"return\": {}}' >&4; done\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(qemu.Variable, filepath.Join(dir, "qemu"))
	t.Setenv(gdbVariable, filepath.Join(dir, "gdb"))
	t.Setenv(qemu.AccelVariable, "kvm")
	for flags, want := range map[string]string{"": "-accel tcg ", "-accel kvm": "-accel kvm ", "-icount": "-icount shift=0"} {
		line := append(append([]string{"gdb", "-serial", filepath.Join(dir, "serial")}, strings.Fields(flags)...), elf)
		code, _, stderr := zf(nil, line...)
		if got, _ := os.ReadFile(args); code != exitOK || !strings.Contains(string(got), want) {
			t.Errorf("zf gdb %s = %d, %s, QEMU %q; want %q", flags, code, stderr, got, want)
		}
	}
	for flags, want := range map[string]string{"-icount -accel kvm": "leave out -accel kvm", "-listen 1234": "want one such as 127.0.0.1:1234"} {
		if code, _, stderr := zf(nil, append(append([]string{"gdb"}, strings.Fields(flags)...), elf)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("zf gdb %s = %d, %s; want 2 and %q", flags, code, stderr, want)
		}
	}
}

// TestAccelGaveUp: an accelerator that runs the probe and not the kernel is named, and not
// taken again.
func TestAccelGaveUp(t *testing.T) {
	elf := guest(t)
	m := machine{streams: streams{who: "zf run"}, accel: "kvm"}
	dir := t.TempDir()
	fake := filepath.Join(dir, "qemu")
	script := "#!/bin/sh\necho emulation failure >&2\necho '{\"QMP\": {}}' >&4\nwhile read -r line <&4; do case $line in\n" +
		"*query-status*) echo '{\"return\": {\"status\": \"internal-error\"}}' >&4 ;;\n" +
		"*cont*) echo '{\"return\": {}}' >&4; echo '{\"event\": \"STOP\"}' >&4 ;;\n*) echo '{\"return\": {}}' >&4 ;; esac; done\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(qemu.Variable, fake)
	t.Setenv("XDG_CACHE_HOME", dir)
	want := "zf run: the accelerator does not work: kvm: emulation failure; -accel tcg does\n    without it\n"
	if code, _, stderr := zf(nil, "run", "-q", "-accel", "kvm", elf); code != exitMachine || !strings.HasSuffix(stderr, want) {
		t.Errorf("zf run = %d, %q; want 3 and %q", code, stderr, want)
	}
	m.accel, m.qemu.Accel, m.qemu.Program = "auto", "kvm", fake
	if err := m.accelFailed(qemu.ErrAccel); !strings.Contains(err.Error(), "run it again") {
		t.Errorf("accelFailed of a chosen one = %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "zeroframe", "accel.json")); err != nil || !strings.Contains(string(text), `"Works": false`) {
		t.Errorf("what is remembered: %s, %v; want the failure", text, err)
	}
}
