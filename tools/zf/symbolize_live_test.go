//go:build unix

package main

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// A live is a zf symbolize that runs.
type live struct {
	out, errs buffer
	interrupt context.CancelFunc
	status    chan int
}

func startLive(t *testing.T, stdin io.Reader, args ...string) *live {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &live{interrupt: cancel, status: make(chan int, 1)}
	go func() {
		l.status <- dispatchIn(ctx, append([]string{"symbolize"}, append([]string{"-index=off"}, args...)...), stdin, &l.out, &l.errs)
	}()
	t.Cleanup(cancel)
	return l
}

// end waits for the end.
func (l *live) end(t *testing.T, want int) {
	t.Helper()
	select {
	case code := <-l.status:
		if code != want {
			t.Errorf("status %d, %s; want %d", code, l.errs.String(), want)
		}
	case <-time.After(patience):
		t.Errorf("it does not end; output %q, %q", l.out.String(), l.errs.String())
	}
}

// TestLivePipe: a complete line is out at once, a part of one after 50 ms, whatever
// it looks like; what goes on afterwards is still resolved.
func TestLivePipe(t *testing.T) {
	elf, log := ownTrace(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	l := startLive(t, r, "-e", elf)
	for _, part := range []string{
		"complete\n", "login: ", "\nzf1", " is no trace\n", "zf1 begin ", "\n", "[    1.0] RIP: 0010:", "0x10", "\n",
		"goroutine 1 [runn", "ing]:\n", "main.main()\n", "\t/x.go:1 +0x1", "\n", "{{{bt:0:0x", "1}}}\n",
	} {
		w.WriteString(part)
		// Spaces at the end of what is held are seen as soon as the rest is.
		l.out.until(t, part)
	}
	for i := 0; i < len(log); i += 7 {
		w.WriteString(log[i:min(i+7, len(log))])
		if i == len(log)/2 {
			sent := log[:i+7]
			l.out.until(t, sent[strings.LastIndexByte(sent, '\n')+1:]) // a pause within a line shows it
		}
	}
	l.out.until(t, "symbolize_test.go:")
	w.Close()
	l.end(t, exitOK)
}

// slowFile makes a file that nobody can open before opens is called, as on a file server
// that does not answer: the test holds a lease on it (fcntl(2), F_SETLEASE).
func slowFile(t *testing.T, content string) (path string, opens func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "slow.elf")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	const setLease = 1024 // F_SETLEASE
	if _, _, e := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), setLease, syscall.F_WRLCK); e != 0 {
		t.Fatal("a lease: ", e)
	}
	opens = func() { f.Close() } // the lease ends, too
	t.Cleanup(opens)
	return path, opens
}

// TestLiveSlowImage: text flows while the ELF file is still being opened, and an
// error of that is reported when it comes, without waiting for the input's end.
func TestLiveSlowImage(t *testing.T) {
	elf, opens := slowFile(t, "it is no ELF file")
	r, w := io.Pipe()
	defer w.Close()
	l := startLive(t, r, "-e", elf)
	io.WriteString(w, "booting\n")
	l.out.until(t, "booting\n")
	io.WriteString(w, "prompt> ")
	l.out.until(t, "prompt> ")
	opens()
	l.end(t, exitUsage)
	if !strings.Contains(l.errs.String(), elf) || !strings.Contains(l.errs.String(), "not an ELF file") {
		t.Errorf("error = %q; want the file and the cause", l.errs.String())
	}

	// An interrupt does not wait for it.
	elf, _ = slowFile(t, "")
	_, log := ownTrace(t)
	r2, w2 := io.Pipe()
	defer w2.Close()
	l = startLive(t, r2, "-e", elf)
	go io.WriteString(w2, "booting\n"+log)
	l.out.until(t, "booting\n")
	l.interrupt()
	l.end(t, exitOK)
}

// TestLiveSocket: a TCP and a unix socket, whose ends are the end, or with -reconnect
// a pause that an interrupt ends.
func TestLiveSocket(t *testing.T) {
	elf, log := ownTrace(t)
	t.Chdir(t.TempDir())
	const path = "serial" // the whole one may be too long for a socket
	for _, c := range []struct{ network, addr, prefix string }{{"tcp", "127.0.0.1:0", "tcp:"}, {"unix", path, "unix:"}, {"unix", path, ""}} {
		ln, err := net.Listen(c.network, c.addr)
		if err != nil {
			t.Fatal(err)
		}
		serve := func(text string) {
			conn, err := ln.Accept()
			if err == nil {
				io.WriteString(conn, text)
				conn.Close()
			}
		}
		go serve("first\n" + log)
		l := startLive(t, nil, "-e", elf, c.prefix+ln.Addr().String())
		l.end(t, exitOK)
		l.out.until(t, "symbolize_test.go:")

		l = startLive(t, nil, "-e", elf, "-reconnect", c.prefix+ln.Addr().String())
		serve("first\n" + log) // without its end
		l.out.until(t, "zf: trace 1 was cut")
		l.errs.until(t, "is gone: waiting for it")
		serve("second\n" + log)
		l.errs.until(t, "is there")
		l.out.until(t, "second\nzf1 begin")
		l.interrupt()
		l.end(t, exitOK)
		if n := strings.Count(l.out.String(), "ownTrace+0x0"); n != 2 {
			t.Errorf("%d traces resolved; want 2: %s", n, l.out.String())
		}
		ln.Close()
	}
	l := startLive(t, nil, "-e", elf, "unix-listen:"+path)
	l.errs.until(t, "waiting for a connection to "+path)
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, log)
	conn.Close()
	l.end(t, exitOK)
	l.out.until(t, "symbolize_test.go:")
}

// TestLiveReplug: a serial device that vanishes in the middle of a trace and of a
// line is waited for; the trace is cut, and the next one is resolved.
func TestLiveReplug(t *testing.T) {
	elf, log := ownTrace(t)
	link := filepath.Join(t.TempDir(), "ttyUSB0")
	plug := func() *os.File {
		t.Helper()
		near, far, err := pty.Open()
		if err != nil {
			t.Fatalf("no pseudo-terminals: %v", err)
		}
		t.Cleanup(func() { near.Close(); far.Close() })
		if _, err := term.MakeRaw(int(far.Fd())); err != nil {
			t.Fatal(err)
		}
		os.Remove(link)
		if err := os.Symlink(far.Name(), link); err != nil {
			t.Fatal(err)
		}
		return near
	}
	board := plug()
	l := startLive(t, nil, "-e", elf, "-baud", "115200", link)
	board.WriteString("first\n" + log + "zf1 #1 ra 0x")
	l.out.until(t, "zf1 #1 ra 0x")
	os.Remove(link)
	board.Close()
	l.out.until(t, "zf1 #1 ra 0x\nzf: trace 1 was cut")
	l.errs.until(t, link+" is gone: waiting for it; an interrupt (^C) ends that")
	board = plug()
	board.WriteString("second\n" + log)
	l.out.until(t, "\nsecond\nzf1 begin 1")
	l.errs.until(t, link+" is there")
	l.interrupt()
	l.end(t, exitOK)
	if n := strings.Count(l.out.String(), "ownTrace+0x0"); n != 2 {
		t.Errorf("%d traces resolved; want 2: %s", n, l.out.String())
	}
}
