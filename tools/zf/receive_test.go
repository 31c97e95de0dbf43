package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReceive runs the receiver as zf starts it: built, if need be, and with its streams,
// signals and status handed on.
func TestReceive(t *testing.T) {
	gocache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(gocache)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var stdout, stderr bytes.Buffer
	if code := dispatch([]string{"receive", "-nonsense"}, nil, &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "-nonsense") {
		t.Fatalf("-nonsense: status %d, %q", code, stderr.String())
	}
	if !strings.Contains(stderr.String(), "building zf-receive, once") {
		t.Errorf("the first time: %q", stderr.String())
	}
	stderr.Reset()
	if code := dispatch([]string{"receive", "-h"}, nil, &stdout, &stderr); code != 0 || !strings.HasPrefix(stdout.String(), "Usage: zf receive") || stderr.Len() > 0 {
		t.Errorf("-h: status %d\n%s%s", code, stdout.String(), stderr.String())
	}

	// An interrupt of zf alone, as a supervisor sends it, ends the receiver in good order.
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	done := make(chan int, 1)
	go func() {
		done <- dispatch([]string{"receive", "-listen", "127.0.0.1:0", "-store", filepath.Join(t.TempDir(), "s.db")}, nil, out, out)
	}()
	said := func(pattern string) []string {
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			b, err := os.ReadFile(out.Name())
			if err != nil {
				t.Fatal(err)
			}
			if m := regexp.MustCompile(pattern).FindStringSubmatch(string(b)); m != nil {
				return m
			}
		}
		b, _ := os.ReadFile(out.Name())
		t.Fatalf("no %s in:\n%s", pattern, b)
		return nil
	}
	conn, err := net.Dial("udp", said(`listening on (\S+)`)[1])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("hello from a machine\n")); err != nil {
		t.Fatal(err)
	}
	said(`127\.0\.0\.1:\d+: hello from a machine`)
	syscall.Kill(os.Getpid(), syscall.SIGINT)
	if code := <-done; code != exitOK {
		t.Errorf("after an interrupt: status %d", code)
	}
	said(`1 machine, 1 datagram, 1 line, 0 traces`)
}
