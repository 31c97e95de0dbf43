//go:build unix

package input

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/zeroframe/zeroframe/qemu/await"
)

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// plug makes a pseudo-terminal, which is a serial device without the wire, appear
// under a name, as udev's links do. Its near end is to be closed to unplug it.
func plug(t *testing.T, link string) *os.File {
	t.Helper()
	near, far, err := pty.Open()
	if err != nil {
		t.Fatalf("no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { near.Close() })
	// What is sent before the line is raw would be translated and echoed.
	if _, err := term.MakeRaw(int(far.Fd())); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(far.Name(), link); err != nil {
		t.Fatal(err)
	}
	// Without a far end that is open the near one fails until a reader has it.
	t.Cleanup(func() { far.Close() })
	return near
}

// TestDevice: a device that vanishes is waited for and opened again; text of before
// and after is all there.
func TestDevice(t *testing.T) {
	link := filepath.Join(t.TempDir(), "ttyUSB0")
	board := plug(t, link)
	got, said, stop := open(t, link, Options{Baud: 115200})
	board.WriteString("one\n")
	until(t, got, "one\n")
	for i, text := range []string{"two\n", "three\n"} {
		before := got.String()
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
		board.Close()
		until(t, got, before+"|")
		if i == 0 { // it is looked for when there is no board yet
			said.For(t, link+" is gone: waiting for it")
		}
		board = plug(t, link)
		board.WriteString(text)
		until(t, got, before+"|"+text)
	}
	stop2 := time.Now()
	board.Close()
	until(t, got, "one\n|two\n|three\n|")
	stop()
	if d := time.Since(stop2); d > 20*time.Second {
		t.Errorf("the interrupt took %v", d)
	}
	want := []string{link + " is gone: waiting for it; an interrupt (^C) ends that", link + " is there"}
	if s := said.String(); s != strings.Join(append(append(want, want...), want[0]), "\n")+"\n" {
		t.Errorf("notes = %q; want %q for each time", s, want)
	}
}

// TestDeviceNever: without reconnecting the end of a device is the end, and so it is
// for a terminal's own name, which is nobody's promise.
func TestDeviceNever(t *testing.T) {
	link := filepath.Join(t.TempDir(), "ttyUSB0")
	board := plug(t, link)
	got, said, _ := open(t, link, Options{Baud: 9600, Reconnect: Never})
	board.WriteString("one\n")
	until(t, got, "one\n")
	board.Close()
	until(t, got, "one\n.")

	link += "1"
	board = plug(t, link)
	own, err := os.Readlink(link)
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ = open(t, own, Options{Baud: 9600})
	board.WriteString("one\n")
	until(t, got, "one\n")
	board.Close()
	until(t, got, "one\n.")
	if said.String() != "" {
		t.Errorf("notes = %q; want none", said)
	}
}

// TestDeviceQuiet: while a device is away there is no busy loop. In one, no time passes in
// the bubble.
func TestDeviceQuiet(t *testing.T) {
	link := filepath.Join(t.TempDir(), "ttyUSB0")
	synctest.Test(t, func(t *testing.T) {
		got, _, stop := open(t, link, Options{Baud: 9600, Reconnect: Always})
		var before, after syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &before)
		time.Sleep(time.Hour)
		syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		used := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
		if used > 10*time.Second {
			t.Errorf("an hour of waiting took %v of the CPU", used)
		}
		stop()
		until(t, got, ".")
	})
}

// TestPipe: a named pipe is opened when somebody writes, which need not be soon.
func TestPipe(t *testing.T) {
	path := fifo(t)
	got, _, _ := open(t, path, Options{})
	var late *os.File
	await.Poll(t, "the pipe has a reader, who waits", func() bool {
		var err error
		late, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	late.WriteString("one")
	late.Close()
	until(t, got, "one.")
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(s), 0); err != nil {
			t.Fatal(err)
		}
	}
	path = fifo(t) // the reader of the other is still there
	got, _, stop := open(t, path, Options{Reconnect: Always})
	write("one")
	until(t, got, "one|")
	write("two")
	until(t, got, "one|two|")
	stop()
}
