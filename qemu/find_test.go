package qemu

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "my-qemu")
	if err := os.WriteFile(mine, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(Variable, mine)
	if got, err := Find(); got != mine || err != nil {
		t.Errorf("Find() with %s=%s = %s, %v", Variable, mine, got, err)
	}
	t.Setenv(Variable, mine+"x")
	var missing *NotFoundError
	if _, err := Find(); !errors.As(err, &missing) || !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "$ZF_QEMU is "+mine+"x") {
		t.Errorf("Find() with a wrong %s = %v; want it named", Variable, err)
	}
	t.Setenv(Variable, "")
	t.Setenv("PATH", dir)
	if _, err := Find(); !errors.As(err, &missing) || missing.Install != "" || !strings.Contains(err.Error(), Program) {
		t.Errorf("Find() without QEMU = %v; want %v", err, ErrNotFound)
	}
	if _, err := Start(t.Context(), Config{Kernel: mine}); !errors.Is(err, ErrNotFound) {
		t.Errorf("Start without QEMU = %v; want %v", err, ErrNotFound)
	}
}

func TestInstallCommand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		manager string
		root    bool
		want    string
	}{
		{"apt-get", true, "apt-get install -y --no-install-recommends qemu-system-x86"},
		{"apt-get", false, "sudo apt-get install -y --no-install-recommends qemu-system-x86"},
		{"dnf", true, "dnf install -y qemu-system-x86-core"},
		{"pacman", false, "sudo pacman -S --needed --noconfirm qemu-system-x86"},
		{"zypper", true, "zypper --non-interactive install qemu-x86"},
		{"apk", true, "apk add qemu-system-x86_64"},
		{"brew", false, "brew install qemu"},
		{"", true, ""},
	} {
		look := func(name string) (string, error) {
			if name == tt.manager {
				return "/bin/" + name, nil
			}
			return "", exec.ErrNotFound
		}
		if got := installCommand(look, tt.root); got != tt.want {
			t.Errorf("installCommand(%s, root %v) = %q; want %q", tt.manager, tt.root, got, tt.want)
		}
	}
}

// TestDecode goes through all statuses: what is a success and what is not.
func TestDecode(t *testing.T) {
	t.Parallel()
	for status := -1; status < 256; status++ {
		r := Result{Status: status}
		err := r.decode()
		want := Failed
		switch {
		case status == 65, status >= 129 && status%2 == 1:
			want = Exited
		case status == 67:
			want = Traced
		}
		if r.Outcome != want || (err == nil) != (want != Failed) {
			t.Errorf("decode(status %d) = %v, %v; want %v", status, r.Outcome, err, want)
		}
	}
	for _, tt := range []struct {
		reason string
		want   error
	}{
		{"guest-reset", ErrReset},
		{"guest-shutdown", ErrPowerOff},
		{"host-signal", ErrKilled},
		{"guest-panic", ErrQEMU},
		{"", ErrQEMU},
	} {
		r := Result{Reason: tt.reason}
		if err := r.decode(); !errors.Is(err, tt.want) {
			t.Errorf("decode(reason %q) = %v; want %v", tt.reason, err, tt.want)
		}
	}
	for _, tt := range []struct {
		signal syscall.Signal
		want   error
		says   string
	}{
		{syscall.SIGKILL, ErrKilled, "by the system for want of memory"},
		{syscall.SIGHUP, ErrKilled, "hangup"},
		{syscall.SIGSEGV, ErrQEMU, "it crashed: segmentation fault; its words"},
		{syscall.SIGABRT, ErrQEMU, "it crashed: aborted; its words"},
	} {
		r := Result{Status: -1, Signal: tt.signal, Stderr: "its words\n"}
		if err := r.decode(); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("decode(signal %v) = %v; want %v with %q", tt.signal, err, tt.want, tt.says)
		}
	}
}

// TestSetupScript: the script that installs QEMU and the error that says how to
// agree on the packages and on the order of the managers.
func TestSetupScript(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../tools/setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	script := string(b)
	var order []string
	for _, i := range installers {
		order = append(order, i.manager)
		words := strings.Fields(i.command)
		if want := i.manager + ":qemu) echo " + words[len(words)-1] + " ;;"; !strings.Contains(script, want) {
			t.Errorf("tools/setup.sh has no line %q", want)
		}
		if want := strings.Join(words[:len(words)-1], " ") + " $*"; !strings.Contains(script, want) {
			t.Errorf("tools/setup.sh has no command %q", want)
		}
	}
	if want := "for m in " + strings.Join(order, " ") + ";"; !strings.Contains(script, want) {
		t.Errorf("tools/setup.sh has no %q", want)
	}
}
