//go:build unix

package symbol

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOpenPipe: what is no regular file is refused at once, as an ELF file and as an
// index.
func TestOpenPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	within(t, func() {
		if f, err := Open(pipe); !errors.Is(err, ErrNotELF) || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("Open = %v, %v", f, err)
		}
	})
	f := openTest(t, buildC(t, "-g"))
	_, name, ok := f.indexID()
	if !ok {
		t.Fatal("no index is possible")
	}
	if err := os.Rename(pipe, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	within(t, func() {
		if f.UseIndex(dir) {
			t.Error("a pipe is taken for an index")
		}
	})
}

// within fails if do does not return.
func within(t *testing.T, do func()) {
	t.Helper()
	done := make(chan bool)
	go func() { do(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits for somebody who writes into the pipe")
	}
}
