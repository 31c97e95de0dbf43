package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// TestSymbolizeDevice reads from a pseudo-terminal, which is a serial line
// without the wire.
func TestSymbolizeDevice(t *testing.T) {
	elf, log := ownTrace(t)
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("no pseudo-terminals: %v", err)
	}
	defer ptmx.Close()
	fd := int(ptmx.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatalf("no pseudo-terminals: %v", err)
	}
	var out, errs bytes.Buffer
	// Our end must not close before the other has read: it would lose the rest.
	shown := make(chan bool)
	var once sync.Once
	w := writerFunc(func(p []byte) (int, error) {
		n, err := out.Write(p)
		if strings.Contains(out.String(), "symbolize_test.go:") {
			once.Do(func() { close(shown) })
		}
		return n, err
	})
	ended := make(chan int)
	go func() {
		ended <- zfTo("symbolize", []string{"-e", elf, "-baud", "9600", fmt.Sprintf("/dev/pts/%d", n)}, nil, w, &errs)
	}()
	// What is sent before the line is raw would be translated.
	await.Poll(t, "the line is raw", func() bool {
		set, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		return err == nil && set.Iflag&unix.ICRNL == 0 && set.Lflag&unix.ICANON == 0
	})
	fmt.Fprint(ptmx, strings.ReplaceAll(log, "\n", "\r\n"))
	<-shown
	ptmx.Close()
	if code := <-ended; code != exitOK {
		t.Errorf("status %d, %s; want %d", code, errs.String(), exitOK)
	}
	if got := out.String(); !strings.Contains(got, "ownTrace+0x0\r\n") {
		t.Errorf("output = %q; want the trace, resolved, with its line endings", got)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
