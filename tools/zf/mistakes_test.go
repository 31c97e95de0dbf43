package main

// What a newcomer does wrong, and what he is told: the cause, and the next step. Each row is a
// command line as he types it.

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/zeroframe/zeroframe/qemu"
)

// workplace makes the folder in which the mistakes are made.
func workplace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	mod := "module example.com/hello\n\ngo 1.26\n"
	hello := "package main\n\nfunc main() {}\n"
	image, err := os.ReadFile(guest(t))
	if err != nil {
		t.Fatal(err)
	}
	arm := bytes.Clone(image)
	arm[18] = 0xb7 // e_machine: EM_AARCH64
	elf, log := ownTrace(t)
	for name, text := range map[string]string{
		"mod/go.mod": mod, "mod/hello/main.go": hello, "mod/other/main.go": hello,
		"mod/lib/lib.go": "package lib\n", "mod/empty/README": "nothing", "mod/notes.txt": "notes\n",
		"mod/cgo/main.go":  "package main\n\nimport \"C\"\n\nfunc main() {}\n",
		"mod/typo/main.go": "pakage main\n",
		"vendored/go.mod":  mod + "\nrequire example.com/x v1.0.0\n", "vendored/main.go": hello,
		"vendored/vendor/modules.txt": "",
		"alone/main.go":               hello,
		"mod/guest.elf":               string(image), "mod/arm.elf": string(arm), "mod/empty.elf": "", "mod/a.core": "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x04\x00", "mod/text.elf": strings.Repeat("text\n", 100),
		"mod/cut.elf": string(image[:200]), "mod/folder.elf/x": "",
		"mod/trace.log": log, "mod/other.log": strings.Replace(log, "build=", "build=00", 1), "mod/plain.log": "all is well\n",
		"mod/noise.log":   "\x8e\xfe\x00\x1c\xe0\x00\xff\x80\x01\x02\x81\x9c\xe1\x8f\x00\x00\xf8abc\xfe\x7f\xff",
		"tools/not-qemu":  "#!/bin/sh\n",
		"tools/qemu-text": "no program",
		"oldgo/go":        "#!/bin/sh\necho 'flag provided but not defined: -changed' >&2\nexit 2\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elf, filepath.Join(dir, "mod", "program")); err != nil {
		t.Fatal(err)
	}
	stripped := filepath.Join(dir, "mod", "stripped.elf")
	if out, err := exec.Command("strip", "-o", stripped, guest(t)).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v\n%s", err, out)
	}
	return dir
}

func TestMistakes(t *testing.T) {
	dir := workplace(t)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	port := fmt.Sprint(busy.Addr().(*net.TCPAddr).Port)
	mistakes := []struct {
		name, folder, env, line string
		code                    int
		cause, step             string
	}{
		{"misspelt command", "mod", "", "rnu ./hello", exitUsage, `unknown command "rnu"`, "did you mean run?"},
		{"misspelt command, help", "mod", "", "help symbolise", exitUsage, `"symbolise"`, "did you mean symbolize?"},
		{"unknown command", "mod", "", "deploy", exitUsage, `unknown command "deploy"`, "`zf -h` lists them"},
		{"misspelt flag", "mod", "", "run -tiemout 3s ./hello", exitUsage, "not defined: -tiemout", "did you mean -timeout?"},
		{"misspelt flag of symbolize", "mod", "", "symbolize -badu 9600 x", exitUsage, "not defined: -badu", "did you mean -baud?"},
		{"unknown flag", "mod", "", "run -optimize ./hello", exitUsage, "not defined: -optimize;", "`zf run -h` lists the flags"},
		{"flag behind", "mod", "", "run guest.elf -m 64", exitUsage, `unexpected "-m" behind guest.elf`, "flags go before it"},
		{"arguments without --", "mod", "", "run guest.elf x", exitUsage, `unexpected "x"`, "the program's arguments behind --"},
		{"nothing to run", "mod", "", "run", exitUsage, "want a main package or an image", "`zf help run` says more"},
		{"no unit", "mod", "", "run -timeout 3 ./hello", exitUsage, `invalid value "3"`, "want a duration such as 3s"},
		{"wrong size", "mod", "", "run -m 64x ./hello", exitUsage, `invalid value "64x"`, "such as 128, 128M or 1G"},
		{"no main package", "mod", "", "run ./lib", exitUsage, "./lib is package lib", "name a folder with a package main"},
		{"two packages", "mod", "", "build ./...", exitUsage, "cannot load package|matches", "name "},
		{"no such package", "mod", "", "run ./nosuch", exitUsage, "package not found: ./nosuch", "mod/nosuch"},
		{"no module", "alone", "", "run .", exitUsage, "no go.mod in this folder or above", "go mod init"},
		{"folder without ./", "mod", "", "run hello", exitUsage, "package hello is not in std", "the folder is ./hello"},
		{"empty folder", "mod", "", "run ./empty", exitUsage, "no Go files in", "name a folder with a package main"},
		{"no Go", "mod", "", "run ./typo", exitUsage, "expected 'package', found pakage", "cannot load package ./typo"},
		{"image that is not there", "mod", "", "run nosuch.elf", exitUsage, "there is no file nosuch.elf", "make it with `zf build -o nosuch.elf PKG`"},
		{"image that is not there, gdb", "mod", "", "gdb nosuch.elf", exitUsage, "there is no file nosuch.elf", "make it with `zf build"},
		{"text", "mod", "", "run notes.txt", exitUsage, "notes.txt: not an amd64 ELF64 file", "boot a package, or what `zf build` wrote"},
		{"text as an image", "mod", "", "run text.elf", exitUsage, "text.elf: not an amd64 ELF64 file", "boot a package, or what `zf build` wrote"},
		{"empty image", "mod", "", "run empty.elf", exitUsage, "0 bytes are too few", "boot a package, or what `zf build` wrote"},
		{"half an image", "mod", "", "run cut.elf", exitUsage, "cut.elf: ", "boot a package, or what `zf build` wrote"},
		{"image of another CPU", "mod", "", "run arm.elf", exitUsage, "its machine is EM_AARCH64", "boot a package, or what `zf build` wrote"},
		{"ordinary program", "mod", "", "run program", exitUsage, "a program for an operating system", "boot its package"},
		{"stripped image", "mod", "", "run stripped.elf", exitUsage, "strip has been at it", "boot it as `zf build` wrote it"},
		{"folder for an image", "mod", "", "run folder.elf", exitUsage, "package not found: folder.elf", "the folder is ./folder.elf"},
		{"cgo", "mod", "", "run ./cgo", exitUsage, "example.com/hello/cgo uses it (main.go)", "remove the import"},
		{"cgo in the environment", "mod", "CGO_ENABLED=1", "run ./hello", exitUsage, "CGO_ENABLED=1 is set", "unset it"},
		{"GOOS", "mod", "GOOS=darwin", "run ./hello", exitUsage, "GOOS=darwin is set", "unset GOOS"},
		{"GOARCH", "mod", "GOARCH=arm64", "run ./hello", exitUsage, "GOARCH=arm64 is set", "unset GOARCH"},
		{"vendor", "vendored", "GOFLAGS=-mod=vendor", "run .", exitUsage, "inconsistent vendoring", "go mod vendor"},
		{"build mode", "mod", "GOFLAGS=-buildmode=pie", "run ./hello", exitUsage, "-buildmode=pie", "leave it out (also of GOFLAGS)"},
		{"no go command", "mod", "PATH=/nosuch", "run ./hello", exitUsage, "go command not found", "install Go 1.26 or newer from https://go.dev/dl"},
		{"old Go", "mod", "PATH=" + dir + "/oldgo", "run ./hello", exitUsage, "Go is older than go1.23", "install that from https://go.dev/dl"},
		{"no QEMU", "mod", "PATH=/nosuch", "run guest.elf", exitMachine, "no qemu-system-x86_64 in PATH|install qemu-system-x86_64 and put it into PATH", "install"},
		{"QEMU that is no program", "mod", qemu.Variable + "=" + dir + "/tools/qemu-text", "run guest.elf", exitMachine, "which cannot be run", "correct it or unset it"},
		{"not a QEMU", "mod", qemu.Variable + "=" + dir + "/tools/not-qemu", "run guest.elf", exitMachine, "exited early", "zf doctor tries it"},
		{"no such machine", "mod", "", "run -machine arduino guest.elf", exitMachine, "this QEMU has no such machine", "q35, pc and microvm"},
		{"no such CPU", "mod", "", "run -cpu pentium9 guest.elf", exitMachine, "this QEMU has no CPU model pentium9", "-cpu help` lists them"},
		{"no such option", "mod", "", "run -qemu -nosuch guest.elf", exitMachine, "QEMU has no option -nosuch", "behind each -qemu"},
		{"half an option", "mod", "", "run -qemu -drive guest.elf", exitMachine, "taken zf's own for its value", "another -qemu"},
		{"no disk", "mod", "", "run -qemu -drive -qemu file=no.img,format=raw guest.elf", exitMachine, "there is no disk image no.img", "qemu-img create no.img"},
		{"no such device", "mod", "", "run -qemu -device -qemu floppy9 guest.elf", exitMachine, "this QEMU has no device floppy9", "-device help` lists them"},
		{"too much memory", "mod", "", "run -m 900000G guest.elf", exitMachine, "this host has not the memory", "less by -m"},
		{"no firmware", "mod", "", "run -qemu -bios -qemu no.bin guest.elf", exitMachine, "does not find its firmware no.bin", "install QEMU again"},
		{"no port", "mod", "", "run -net virtio,hostfwd=tcp::99999-:80 guest.elf", exitMachine, "tcp::99999-:80 forwards no port", "such a rule is"},
		{"too many CPUs", "mod", "", "run -qemu -smp -qemu 9999 guest.elf", exitMachine, "CPUs at most, and not 9999", "by -smp"},
		{"no such card", "mod", "", "run -net ne2000 guest.elf", exitUsage, `no network card is called "ne2000"`, "there are virtio,"},
		{"no address for a port", "mod", "", "run -p a:b:80:80 guest.elf", exitUsage, "no address of the host", "want ADDRESS:HOST:PORT"},
		{"no such option of a network", "mod", "", "run -net virtio,foo=bar guest.elf", exitMachine, "QEMU's user network has no option foo", "lists those of -netdev user"},
		{"port in use", "mod", "", "run -net virtio,hostfwd=tcp:127.0.0.1:" + port + "-:80 guest.elf", exitMachine, "the port of tcp:127.0.0.1:", "another program has that port"},
		{"gdb's port in use", "mod", "", "run -qemu -gdb -qemu tcp:127.0.0.1:" + port + " guest.elf", exitMachine, "an address that QEMU was given is not free", "another program has that port"},
		{"too little RAM", "mod", "", "run -m 1 guest.elf", exitUsage, "too small RAM size", "give it -m "},
		{"missing file", "mod", "", "run -files nosuch guest.elf", exitUsage, "-files: stat nosuch: no such file", "look at the name"},
		{"folder as an archive", "mod", "", "run -initrd empty guest.elf", exitUsage, "-initrd: empty is a folder", "-files takes folders"},
		{"UEFI without an ISO image", "mod", "", "run -uefi guest.elf", exitUsage, "-uefi boots ISO images", "make one with zf iso"},
		{"folder for a profile", "mod", "", "run -cpuprofile nosuch/x guest.elf", exitUsage, "there is no folder nosuch", "make it first"},
		{"folder for an image", "mod", "", "build -o nosuch/x.elf ./hello", exitUsage, "there is no folder nosuch", "make it first"},
		{"folder for a map", "mod", "", "map -e program -o nosuch/x", exitUsage, "there is no folder nosuch", "make it first"},
		{"image over source", "mod", "", "build -o go.mod ./hello", exitUsage, "go.mod already exists", "is not an object file"},
		{"no room", "mod", "", "map -e program -o /dev/full", exitUsage, "no space left on device", "make room there"},
		{"no image for a log", "mod", "", "symbolize trace.log", exitUsage, "-e ELF is missing", "name the image that was running"},
		{"no log", "mod", "", "symbolize -e program nosuch.log", exitUsage, "no such file", "look at the name"},
		{"folder as a log", "mod", "", "symbolize -e program lib", exitUsage, "lib is a folder", "give a log, a serial device or a socket"},
		{"image as a log", "mod", "", "symbolize -e guest.elf guest.elf", exitUsage, "guest.elf is an ELF file", "give a log, a serial device or a socket"},
		{"core as a log", "mod", "", "symbolize -e guest.elf a.core", exitUsage, "a.core is a core", "give a log, a serial device or a socket"},
		{"no core", "mod", "", "heap nosuch.core", exitUsage, "nosuch.core: no such file", "look at the name"},
		{"no core for gdb", "mod", "", "gdb nosuch.core", exitUsage, "nosuch.core: no such file", "look at the name"},
		{"log as a core", "mod", "", "waits trace.log", exitUsage, "trace.log: no ELF core file", "zf run -core FILE makes one"},
		{"image of another build", "mod", "", "symbolize -e program other.log", exitUsage, "but the ELF file is build", "give the ELF file that was running"},
		{"no ELF file", "mod", "", "symbolize -e nosuch.elf trace.log", exitUsage, "no such file", "give the image that `zf build -o FILE` wrote"},
		{"log without a trace", "mod", "", "symbolize -e program plain.log", exitOK, "no trace found", "`zf help symbolize`"},
		{"wrong baud rate", "mod", "", "symbolize -e program noise.log", exitOK, "most of what came is no text", "-baud is 115200"},
		{"no address", "mod", "", "addr -e program main.nosuch", exitUsage, `"main.nosuch" is not a hexadecimal address`, "want one such as"},
		{"core of no trace", "mod", "", "core -e program plain.log", exitUsage, "no trace in plain.log", "zf symbolize shows"},
		{"no profile", "mod", "", "profile go.mod", exitUsage, "go.mod is no profile", "needs -e ELF"},
		{"tests of a file", "mod", "", "test main_test.go", exitUsage, "main_test.go is a file", "name a package"},
		{"core to standard output", "mod", "", "replay -core - x.zfr", exitUsage, "-core and -image want a file", "a debugger reads it"},
		{"image to standard output", "mod", "", "replay -image - x.zfr", exitUsage, "-core and -image want a file", "a debugger reads it"},
		{"goroutine that is none", "mod", "", "why -waits -goroutine 0 x.zfr", exitUsage, "-goroutine: want a number from 1 on", "-waits without it lists"},
		{"variable without a name", "mod", "", "why -var= x.zfr", exitUsage, "-var: want the name of a package's variable", "such as main.table"},
		{"wrong word behind a folder", "mod", "", "run -mount lib:/out:xx guest.elf", exitUsage, `":xx" means nothing there`, "want :ro, :private or :rw"},
		{"folder for a core", "mod", "", "run -core nosuch/x guest.elf", exitUsage, "there is no folder nosuch", "make it first"},
		{"folder as a core", "mod", "", "run -core . guest.elf", exitUsage, ". is a folder", "name a file"},
		{"file as a folder", "mod", "", "run -records go.mod guest.elf", exitUsage, "go.mod", "not a directory"},
		{"folder for counts", "mod", "", "run -probe main.main -probe-json nosuch/x guest.elf", exitUsage, "there is no folder nosuch", "make it first"},
		{"folder for a test's files", "mod", "", "test -outputdir nosuch ./hello", exitUsage, "-outputdir: there is no folder ", "make it first"},
		{"file for records", "mod", "", "test -records guest.elf/x ./hello", exitUsage, "not a directory", "a part of that path is no folder"},
		{"folder for a page", "mod", "", "report -o nosuch/x.html x.zfr", exitUsage, "there is no folder nosuch", "make it first"},
		{"page over a folder", "mod", "", "report -o lib x.zfr", exitUsage, "-o lib is a folder", "name a file"},
		{"no folder for temporary files", "mod", "TMPDIR=" + dir + "/nosuch", "iso guest.elf", exitUsage, "nosuch: no such file", "set TMPDIR"},
		{"quote that is not closed", "mod", "", "run -append env.X=\"a guest.elf", exitUsage, "a double quote is not closed", `env.NAME="a b"`},
		{"no gdb", "mod", "PATH=/nosuch", "gdb guest.elf", exitMachine, "no gdb in PATH", "install the package gdb"},
	}
	for _, tt := range mistakes {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(filepath.Join(dir, tt.folder))
			if key, value, ok := strings.Cut(tt.env, "="); ok {
				t.Setenv(key, value)
			}
			code, _, stderr := zf(strings.NewReader("p"), strings.Fields(tt.line)...)
			cause := false
			for c := range strings.SplitSeq(tt.cause, "|") {
				cause = cause || strings.Contains(stderr, c)
			}
			if code != tt.code || !cause || !strings.Contains(stderr, tt.step) {
				t.Errorf("zf %s = %d, %s; want %d with the cause %q and the step %q", tt.line, code, stderr, tt.code, tt.cause, tt.step)
			}
			if strings.Contains(stderr, "goroutine ") || !strings.HasSuffix(stderr, "\n") {
				t.Errorf("zf %s says %q", tt.line, stderr)
			}
		})
	}
	if len(mistakes) < 50 {
		t.Errorf("%d mistakes", len(mistakes))
	}
}

// TestMistypedOption: an option that is nearly one of the kernel's is noted, one of the
// program's is not.
func TestMistypedOption(t *testing.T) {
	for line, want := range map[string]string{
		"pannic=reset":              "no option pannic (did you mean panic?)",
		"tyt=raw":                   "no option tyt (did you mean tty?)",
		"panic=reset tty.colunms=8": "no option tty.colunms (did you mean tty.columns?)",
		"panic=reset env.TZ=UTC":    "",
		"stack.limit.boot=1":        "",
		"monitor":                   "option monitor wants a value",
		"panic":                     "option panic wants a value",
		"env.TZ=UTC TRACE=1 quiet":  "no option TRACE; `env.TRACE=` sets that variable\nquiet means nothing",
		"my.option=1":               "",
		`"env.A=b c"`:               `a quote stands behind the =, as in env.NAME="a b"`,
		`env.A="b c"`:               "",
		"DEBUG=1":                   "no option DEBUG; `env.DEBUG=` sets that variable",
		"GODEBUG=gctrace=1":         "no option GODEBUG; `env.GODEBUG=` sets that variable",
		"DEBUG":                     "DEBUG means nothing to the kernel",
		"-- DEBUG=1":                "",
		"-- tyt=raw":                "",
	} {
		if got := strings.Join(unknownOptions(line), "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("unknownOptions(%q) = %q; want %q", line, got, want)
		}
	}
	if _, _, stderr := zf(strings.NewReader("p"), "run", "-append", "pannic=reset", guest(t)); !strings.Contains(stderr, "zf run: note: the kernel has no option pannic (did you mean panic?); `zf help kernel` lists them\n") {
		t.Errorf("zf run says %q; want a note", stderr)
	}
}

// TestDeviceWithoutRights: a serial device that may not be opened names the group. Root gives
// up the right to open all.
func TestDeviceWithoutRights(t *testing.T) {
	master, device, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer device.Close()
	if err := os.Chmod(device.Name(), 0); err != nil {
		t.Fatal(err)
	}
	elf, _ := ownTrace(t)
	args := []string{elf, "symbolize", "-e", elf, device.Name()}
	if os.Geteuid() == 0 {
		args = append([]string{"setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitUsage || !strings.Contains(string(out), "ermission denied; your user may have to be in the group ") {
		t.Errorf("zf symbolize = %v, %s; want 2 and the group", err, out)
	}
}
