package qemu

import (
	"errors"
	"os"
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
