//go:build unix

package host

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
)

// TestRun: the end of the context ends all that the program has started, also what ignores an interrupt.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := Command(ctx, "/bin/sh", "-c", `(trap '' INT; echo up; exec sleep 100000) & wait`)
	cmd.Stdout = w
	ended := make(chan error)
	go func() { ended <- Run(ctx, cmd) }()
	up := make([]byte, 3)
	if _, err := io.ReadFull(r, up); err != nil || string(up) != "up\n" {
		t.Fatalf("it says %q, %v", up, err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("it has ended without an error")
	}
	w.Close()
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 { // it ends when nobody has the other end
		t.Errorf("it says %q, %v", rest, err)
	}
}

// TestCommand: a signal for our process group does not reach it.
func TestCommand(t *testing.T) {
	out, err := Command(context.Background(), "/bin/sh", "-c", `kill -0 -$$ && echo leads`).Output()
	if err != nil || strings.TrimSpace(string(out)) != "leads" {
		t.Errorf("%q, %v; want a process group of its own", out, err)
	}
}
