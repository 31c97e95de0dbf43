package qemu

// Fake QEMUs fail as real ones have been seen to fail; the real one runs the probe by TCG.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeQEMU writes a program that stands for QEMU, one without a sandbox. It counts its other starts
// in a file.
func fakeQEMU(t *testing.T, script string) (path string, starts func() int) {
	t.Helper()
	dir := t.TempDir()
	path, count := filepath.Join(dir, "qemu"), filepath.Join(dir, "count")
	writeProgram(t, path, "#!/bin/sh\ncase $* in *-sandbox*) exit 1 ;; esac\necho >>"+count+"\n"+script)
	return path, func() int {
		b, err := os.ReadFile(count)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return bytes.Count(b, []byte("\n"))
	}
}

// talks is the part of a fake that speaks QMP: the greeting, and an answer to each command;
// what is to happen at "cont" and what the state is then are arguments of the format.
const talks = `echo '{"QMP": {}}' >&4
while read -r line <&4; do
	case $line in
	*cont*) echo '{"return": {}}' >&4; %s ;;
	*query-status*) echo '{"return": {"status": "%s", "running": false}}' >&4 ;;
	*) echo '{"return": {}}' >&4 ;;
	esac
done
`

var fakes = []struct {
	name, script string
	want         string // in the error; "": it works
}{
	{"works", fmt.Sprintf(talks, "exit 65", "running"), ""},
	{"no module", "echo 'Could not access KVM kernel module: No such file or directory' >&2\n" +
		"echo 'qemu-system-x86_64: -accel kvm: failed to initialize kvm: No such file or directory' >&2; exit 1",
		"kvm: Could not access KVM kernel module: No such file or directory; qemu-system-x86_64: -accel kvm: failed to initialize kvm"},
	{"no rights", "echo 'Could not access KVM kernel module: Permission denied' >&2; exit 1", "Permission denied"},
	{"not built in", "echo 'qemu-system-x86_64: -accel kvm: invalid accelerator kvm' >&2; exit 1", "invalid accelerator kvm"},
	{"emulation failure", "echo 'KVM internal error. Suberror: 1' >&2; echo 'extra data[0]: 0x1' >&2\n" +
		"echo 'emulation failure' >&2; echo 'RAX=0 RBX=0' >&2\n" +
		fmt.Sprintf(talks, `echo '{"event": "STOP"}' >&4`, "internal-error"),
		"kvm: KVM internal error. Suberror: 1; emulation failure"},
	{"stopped without a word", fmt.Sprintf(talks, `echo '{"event": "STOP"}' >&4`, "internal-error"), "says no reason"},
	{"wrong status", fmt.Sprintf(talks, "exit 67", "running"), "ended with status 67"},
	{"triple fault", fmt.Sprintf(talks, `echo '{"event": "SHUTDOWN", "data": {"reason": "guest-reset"}}' >&4; exit 0`, "running"), "reset"},
	{"hangs", fmt.Sprintf(talks, ":", "running"), "hung"},
	{"hangs without a monitor", "exec tail -f /dev/null", "hung"},
	{"crashes", "kill -SEGV $$", "crashed"},
}

func TestProbeAccelFakes(t *testing.T) {
	t.Parallel()
	for _, tt := range fakes {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path, _ := fakeQEMU(t, tt.script)
			limit := time.Minute // a hang, for who works or says that he does not
			if tt.want == "hung" {
				limit = time.Second
			}
			err := probeAccel(t.Context(), path, "kvm", limit)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("probe = %v; want success", err)
			case tt.want != "" && (!errors.Is(err, ErrAccel) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("probe = %v; want %v with %q", err, ErrAccel, tt.want)
			case err != nil && (strings.Contains(err.Error(), "RAX") || strings.Contains(err.Error(), "\n")):
				t.Errorf("probe = %v; want one line without registers", err)
			}
		})
	}
}

// TestProbeAccelReal: TCG runs the probe, by its own words.
func TestProbeAccelReal(t *testing.T) {
	t.Parallel()
	program, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	if err := ProbeAccel(t.Context(), program, "tcg"); err != nil {
		t.Errorf("ProbeAccel(tcg) = %v; want success", err)
	}
	if err := ProbeAccel(t.Context(), program, "nosuch"); !errors.Is(err, ErrAccel) || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("ProbeAccel(nosuch) = %v; want %v", err, ErrAccel)
	}
}

// TestProbeKernel: the bytes are those of the assembly.
func TestProbeKernel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	object, image := filepath.Join(dir, "probe.o"), filepath.Join(dir, "probe")
	for _, args := range [][]string{
		{"as", "--64", "-o", object, "testdata/probe.asm"},
		{"objcopy", "-O", "binary", "-j", ".text", object, image},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
	}
	want, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}
	if got := probeKernel; got != fmt.Sprintf("%x", want) {
		t.Errorf("probeKernel is %s; want %x", got, want)
	}
}

func TestChooseAccel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	device := filepath.Join(dir, "kvm")
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a := accelerator{name: "kvm", device: device, memory: filepath.Join(dir, "cache", "accel.json"), limit: time.Minute,
		now: func() time.Time { return day }}
	good, goodStarts := fakeQEMU(t, fakes[0].script)
	bad, badStarts := fakeQEMU(t, fakes[1].script)
	choose := func(program string, again bool, want, why string, starts func() int, n int) {
		t.Helper()
		got, err := a.choose(t.Context(), program, again)
		if err != nil || got.Name != want || !strings.Contains(got.Why, why) || starts() != n {
			t.Errorf("choose = %+v, %v after %d starts; want %s, %q after %d", got, err, starts(), want, why, n)
		}
	}
	choose(good, false, "tcg", "there is no "+device, goodStarts, 0)
	if err := os.WriteFile(device, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	choose(good, false, "kvm", "it works, tried on 2026-03-01", goodStarts, 1)
	choose(good, false, "kvm", "it works", goodStarts, 1) // remembered
	choose(bad, false, "tcg", "No such file or directory", badStarts, 1)
	choose(bad, false, "tcg", "No such file or directory", badStarts, 1)
	choose(good, true, "kvm", "it works", goodStarts, 2) // asked to try again
	day = day.Add(8 * 24 * time.Hour)
	choose(bad, false, "tcg", "tried on 2026-03-09", badStarts, 2) // a failure is not for ever
	choose(good, false, "kvm", "tried on 2026-03-01", goodStarts, 2)

	// Another program by the same name is tried anew.
	writeProgram(t, bad, "#!/bin/sh\n"+fakes[0].script)
	choose(bad, false, "kvm", "it works", badStarts, 2)

	// A damaged memory is none; one that cannot be written does no harm.
	if err := os.WriteFile(a.memory, []byte("null"), 0o644); err != nil {
		t.Fatal(err)
	}
	choose(good, false, "kvm", "it works", goodStarts, 3)
	a.memory = filepath.Join(device, "accel.json")
	choose(good, false, "kvm", "it works", goodStarts, 4)
	a.memory = ""
	choose(good, false, "kvm", "it works", goodStarts, 5)
	a.device = filepath.Join(device, "x") // ENOTDIR
	choose(good, false, "tcg", "not a directory", goodStarts, 5)
	a.name = ""
	choose(good, false, "tcg", "no accelerator", goodStarts, 5)
}

// TestAccelGivesUp: a machine of a real program that the accelerator leaves paused ends, with
// the reason.
func TestAccelGivesUp(t *testing.T) {
	t.Parallel()
	path, _ := fakeQEMU(t, fakes[4].script)
	vm, err := Start(t.Context(), Config{Program: path, Kernel: path, Accel: "kvm"})
	if err == nil {
		_, err = vm.Wait()
	}
	if !errors.Is(err, ErrAccel) || !strings.Contains(err.Error(), "emulation failure") {
		t.Errorf("Wait = %v; want %v with QEMU's words", err, ErrAccel)
	}
}
