package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/await"
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
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer from.Close()
	log := new(await.Log)
	go io.Copy(log, from)
	done := make(chan int, 1)
	go func() {
		done <- dispatch([]string{"receive", "-listen", "127.0.0.1:0"}, nil, out, out)
	}()
	said := func(pattern string) []string {
		re := regexp.MustCompile(pattern)
		return re.FindStringSubmatch(log.Until(t, re.MatchString, "%s", pattern))
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
