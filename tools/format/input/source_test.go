package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// open opens a source and returns what it brings: text, "|" for each cut, and "."
// at the end, or the error. What the user is told has a line each.
func open(t *testing.T, name string, opt Options) (got, said *await.Log, stop context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	got, said = new(await.Log), new(await.Log)
	opt.Note = func(s string) { fmt.Fprintln(said, s) }
	r, err := Open(ctx, name, opt)
	if err != nil {
		t.Fatalf("Open(%s) = %v", name, err)
	}
	t.Cleanup(func() { r.Close() })
	done := make(chan bool)
	go func() {
		defer close(done)
		buf := make([]byte, 100)
		for {
			n, err := r.Read(buf)
			got.Write(buf[:n])
			switch {
			case errors.Is(err, ErrCut):
				io.WriteString(got, "|")
			case err == io.EOF:
				io.WriteString(got, ".")
			case err != nil:
				io.WriteString(got, " "+err.Error())
			}
			if err != nil && !errors.Is(err, ErrCut) {
				return
			}
		}
	}()
	return got, said, func() {
		t.Helper()
		cancel()
		select {
		case <-done:
		case <-time.After(await.Patience):
			t.Error("an interrupt does not end the wait")
		}
	}
}

// until waits for what is wanted, and nothing else.
func until(t *testing.T, got *await.Log, want string) {
	t.Helper()
	got.Until(t, func(s string) bool { return s == want }, "%q", want)
}

// socketPath returns a path for a socket. It is not that of the folder, which may be too
// long for one.
func socketPath(t *testing.T) string {
	t.Helper()
	t.Chdir(t.TempDir())
	return "s"
}

// serve sends each text over a connection of its own. When the last one ends nobody
// listens any more: who came again would be taken in, and hear nothing.
func serve(t *testing.T, ln net.Listener, texts ...string) {
	go func() {
		for i, s := range texts {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			if i == len(texts)-1 {
				ln.Close()
			}
			io.WriteString(conn, s)
			conn.Close()
		}
	}()
}

func listenOn(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

func TestSockets(t *testing.T) {
	path := socketPath(t)
	ln := listenOn(t, "unix", path)
	serve(t, ln, "one", "two", "three")
	got, _, _ := open(t, "unix:"+path, Options{})
	until(t, got, "one.")
	got, _, _ = open(t, path, Options{}) // the path alone
	until(t, got, "two.")
	got, _, _ = open(t, path, Options{Reconnect: Never})
	until(t, got, "three.")

	tcp := listenOn(t, "tcp", "127.0.0.1:0")
	serve(t, tcp, "text", "\xff\xfb\x03\xff\xfd\x00te\xff\xff\xff\xfa\x18\x01\xff\xf0xt\r\x00\n")
	got, _, _ = open(t, "tcp:"+tcp.Addr().String(), Options{})
	until(t, got, "text.")
	got, _, _ = open(t, "tcp:"+tcp.Addr().String(), Options{})
	until(t, got, "te\xffxt\r\n.")
}

// TestSocketAgain: with Always a socket that ends is connected to again, however
// late it is there again, and an interrupt ends the wait at once.
func TestSocketAgain(t *testing.T) {
	path := socketPath(t)
	got, said, stop := open(t, "unix:"+path, Options{Reconnect: Always})
	said.For(t, "is not there yet: waiting for it")
	ln := listenOn(t, "unix", path)
	serve(t, ln, "one")
	until(t, got, "one|")
	said.For(t, "is gone: waiting for it")
	ln = listenOn(t, "unix", path)
	serve(t, ln, "two", "", "", "three")
	until(t, got, "one|two|||three|")
	start := time.Now()
	stop()
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("the interrupt took %v", d)
	}
	until(t, got, "one|two|||three|.")
	for _, want := range []string{"is not there yet: waiting for it", "is gone: waiting for it", "is there"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("notes = %q; want %q", said, want)
		}
	}
	// Connections that bring nothing are no news.
	if n := strings.Count(said.String(), "is gone"); n > 3 {
		t.Errorf("it is gone %d times; want a note for each time that it has brought something", n)
	}
}

func TestListen(t *testing.T) {
	dial := func(network, addr, text string) {
		t.Helper()
		conn, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, text)
		conn.Close()
	}
	path := socketPath(t)
	// What a dead process has left is no obstacle.
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	old.Close()
	got, said, _ := open(t, "unix-listen:"+path, Options{})
	until(t, said, "waiting for a connection to "+path+"\n")
	dial("unix", path, "one")
	until(t, got, "one.")
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}

	got, said, stop := open(t, "tcp-listen:127.0.0.1:0", Options{Reconnect: Always})
	said.For(t, "\n")
	addr := strings.TrimSpace(strings.TrimPrefix(said.String(), "waiting for a connection to "))
	dial("tcp", addr, "one")
	until(t, got, "one|")
	dial("tcp", addr, "\xff\xfb\x01two")
	until(t, got, "one|two|")
	stop()
	until(t, got, "one|two|.")
}

// TestUnborn: what is not there yet may be a log that then grows.
func TestUnborn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	got, said, _ := open(t, path, Options{Reconnect: Always})
	said.For(t, "not there yet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString("one ")
	until(t, got, "one ")
	f.WriteString("two")
	until(t, got, "one two")
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	if err := os.WriteFile(log, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	ln := listenOn(t, "unix", "busy")
	defer ln.Close()
	for _, c := range []struct {
		name string
		opt  Options
		want string
	}{
		{dir, Options{}, "is a folder"},
		{dir + "/none", Options{}, "no such file"},
		{log, Options{Reconnect: Always}, "cannot be opened again"},
		{"-", Options{Reconnect: Always}, "cannot be opened again"},
		{"tcp:nowhere", Options{}, "give tcp:HOST:PORT"},
		{"tcp:127.0.0.1:1", Options{}, "-reconnect waits"},
		{"unix:none", Options{}, "unix-listen: lets"},
		{"unix:" + dir + "/s,server=on", Options{}, "give unix:" + dir + "/s"},
		{"tcp-listen:nowhere", Options{}, "give tcp-listen:[HOST]:PORT"},
		{"unix-listen:busy", Options{}, "in use"},
	} {
		r, err := Open(context.Background(), c.name, c.opt)
		if err == nil {
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open(%s) = %v; want %q", c.name, err, c.want)
		}
	}
	got, _, _ := open(t, "-", Options{Stdin: strings.NewReader("input")})
	until(t, got, "input.")
	got, _, _ = open(t, log, Options{})
	until(t, got, "text.")
	got, _, _ = open(t, os.DevNull, Options{}) // a device, and no serial line
	until(t, got, ".")
}

// TestFollow: a log that is cut short is another machine's from then on.
func TestOpenFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("a long beginning")
	got, _, _ := open(t, path, Options{Follow: true})
	until(t, got, "a long beginning")
	write("again")
	until(t, got, "a long beginning|again")
}
