package main

// A machine is a PATH of fake tools. The doctor has to tell what they lack, and its verdict
// has to be the one of zf run.

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/machine/host"
)

// healthy are the tools of a machine on which all is well.
var healthy = map[string]string{
	"go": "exec GO \"$@\"",
	"qemu-system-x86_64": `case $1 in --version) echo "QEMU emulator version 9.1.2 (Debian 1:9.1.2)"; exit ;; esac
echo '{"QMP": {}}' >&4
while read -r line <&4; do
	echo '{"return": {}}' >&4
	case $line in *cont*) exit 65 ;; esac
done`,
	"gdb":     `case $* in *python*) echo 42 ;; *) echo "GNU gdb (Debian 13.1-3) 13.1" ;; esac`,
	"dlv":     `printf 'Delve Debugger\nVersion: 1.27.2\n'`,
	"apt-get": "exit 1",
}

func TestDoctor(t *testing.T) {
	realGo, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change map[string]string // tools, "" removes one
		env    string
		code   int
		line   string // of the report
	}{
		{"healthy", nil, "", exitOK, "\nok    qemu        9.1.2, "},
		{"accelerator", nil, "", exitOK, "\nok    accelerator tcg"},
		{"gdb", nil, "", exitOK, "\nok    gdb         13.1, "},
		{"dlv", nil, "", exitOK, "\nok    dlv         1.27.2, "},
		{"no grub", nil, "", exitOK, "\nnone  grub        for zf iso: missing: grub-mkrescue; xorriso; mformat; APT grub-common xorriso mtools\n"},
		{"no gdb", map[string]string{"gdb": ""}, "", exitOK, "\nnone  gdb         for zf gdb: no gdb in PATH; APT gdb\n"},
		{"gdb without Python", map[string]string{"gdb": "echo GNU gdb 9.2"}, "", exitOK, "\nBAD   gdb         9.2, "},
		{"no dlv", map[string]string{"dlv": ""}, "", exitOK, "install it with: go install github.com/go-delve/delve/cmd/dlv@latest\n"},
		{"broken dlv", map[string]string{"dlv": "exit 1"}, "", exitOK, "\nBAD   dlv         "},
		{"no go", map[string]string{"go": ""}, "", exitMachine, "BAD   go          go command not found: install Go 1.26 or newer from https://go.dev/dl"},
		{"old go", map[string]string{"go": `case $* in *GOVERSION) echo go1.22.1 ;; *) echo {} ;; esac`}, "", exitMachine,
			"BAD   go          old toolchain: Go is go1.22.1, and the kernel needs go1.26 or newer; install that from https://go.dev/dl"},
		{"another system", nil, "GOOS=darwin", exitMachine, "BAD   go          wrong target: GOOS=darwin is set"},
		{"no kernel", nil, "ZEROFRAME=/nosuch", exitMachine, "\nBAD   kernel      no kernel to add: ZEROFRAME=/nosuch is not the folder"},
		{"no QEMU", map[string]string{"qemu-system-x86_64": ""}, "", exitMachine, "\nBAD   qemu        QEMU not found: no qemu-system-x86_64 in PATH; APT qemu-system-x86\n"},
		{"wrong QEMU", nil, "ZF_QEMU=/nosuch", exitMachine, "\nBAD   qemu        QEMU not found: $ZF_QEMU is /nosuch"},
		{"no version", map[string]string{"qemu-system-x86_64": "exit 1"}, "", exitMachine, "\nBAD   qemu        "},
		{"no firmware of QEMU's", map[string]string{"qemu-system-x86_64": `case $1 in --version) echo 9.1.2; exit ;; esac
echo "qemu: could not load PC BIOS 'bios-256k.bin'" >&2; exit 1`}, "", exitMachine,
			"\nBAD   accelerator the accelerator does not work: tcg: qemu: could not load PC BIOS 'bios-256k.bin'; install QEMU again"},
		{"no temporary folder", nil, "TMPDIR=/nosuch", exitMachine, "\nBAD   temporary   "},
		{"no server", nil, "DEBUGINFOD_URLS=http://127.0.0.1:1/", exitOK, "\nBAD   debuginfod  "},
		{"no UEFI", nil, "ZF_UEFI=/nosuch", exitOK, "\nnone  firmware    for zf run -uefi: UEFI firmware not found: $ZF_UEFI"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, script := range healthy {
				if changed, ok := tt.change[name]; ok {
					script = changed
				}
				if script == "" {
					continue
				}
				script = "#!/bin/sh\n" + strings.ReplaceAll(script, "GO ", realGo+" ") + "\n"
				if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(t.TempDir()) // no module
			t.Setenv("GOCACHE", goCache(t, realGo))
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			t.Setenv("DEBUGINFOD_URLS", "")
			t.Setenv("PATH", dir)
			if key, value, ok := strings.Cut(tt.env, "="); ok {
				t.Setenv(key, value)
			}
			code, stdout, stderr := zf(nil, "doctor")
			apt, _, _ := strings.Cut(host.InstallHint("", "gdb"), " gdb")
			want := strings.ReplaceAll(tt.line, "APT", apt)
			end := map[int]string{exitOK: "\nzf run works here\n", exitMachine: "\nzf run does not work here: see BAD\n"}[tt.code]
			if code != tt.code || stderr != "" || !strings.Contains(stdout, want) || !strings.HasSuffix(stdout, end) {
				t.Errorf("zf doctor = %d, %q,\n%s; want %d with %q", code, stderr, stdout, tt.code, want)
			}
			if n := strings.Count(stdout, "\n"); n != len(doctorChecks(false))+1 {
				t.Errorf("%d lines; want one a check and the verdict:\n%s", n, stdout)
			}
		})
	}
	if code, _, stderr := zf(nil, "doctor", "x"); code != exitUsage || !strings.Contains(stderr, "no arguments") {
		t.Errorf("zf doctor x = %d, %q", code, stderr)
	}
}

// TestDoctorAdvice: on a machine that has only Go and a package manager the doctor says what to
// type, and when that has been typed, that zf run works: with a real QEMU.
func TestDoctorAdvice(t *testing.T) {
	realGo, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	realQEMU, err := qemu.Find()
	if err != nil {
		t.Fatal(err)
	}
	dir, store := t.TempDir(), t.TempDir()
	for path, script := range map[string]string{
		filepath.Join(dir, "go"):    "exec " + realGo + ` "$@"`,
		filepath.Join(dir, "sudo"):  `exec "$@"`,
		filepath.Join(store, "gdb"): healthy["gdb"],
		filepath.Join(dir, "apt-get"): `for package; do case $package in
qemu-system-x86) /bin/ln -s ` + realQEMU + " " + dir + `/qemu-system-x86_64 ;;
gdb) /bin/ln -s ` + store + `/gdb ` + dir + `/gdb ;;
install | -*) ;;
*) exit 1 ;;
esac; done`,
	} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(t.TempDir()) // no module
	t.Setenv("GOCACHE", goCache(t, realGo))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("DEBUGINFOD_URLS", "")
	t.Setenv("ZF_QEMU", "")
	t.Setenv("PATH", dir)
	code, before, _ := zf(nil, "doctor")
	if code != exitMachine || !strings.HasSuffix(before, "\nzf run does not work here: see BAD\n") {
		t.Fatalf("on the bare machine zf doctor = %d\n%s", code, before)
	}
	for _, name := range []string{"qemu", "gdb"} {
		advice := regexp.MustCompile(`(?m)^\w+ +` + name + ` .*[:;] (?:install it with: )?(.*apt-get .*)$`).FindStringSubmatch(before)
		if advice == nil {
			t.Fatalf("no command for %s in\n%s", name, before)
		}
		if out, err := exec.Command("/bin/sh", "-c", advice[1]).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", advice[1], err, out)
		}
	}
	code, after, _ := zf(nil, "doctor")
	if code != exitOK || !strings.HasSuffix(after, "\nzf run works here\n") || !strings.Contains(after, "\nok    accelerator ") || !strings.Contains(after, "\nok    gdb ") {
		t.Errorf("when its advice has been followed zf doctor = %d\n%s", code, after)
	}
}

// goCache returns the build cache, which is below the home folder that a test changes.
func goCache(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.Command(program, "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
