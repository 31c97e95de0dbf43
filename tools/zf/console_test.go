package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// TestConsolePipe: DLE is doubled, DLE EOT is the end, once, however it is read.
func TestConsolePipe(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		in   io.Reader
		pipe bool
		want string
		err  error
	}{
		{nil, true, "\x10\x04", nil},
		{nil, false, "", nil},
		{strings.NewReader(""), true, "\x10\x04", nil},
		{strings.NewReader("a\x10\x04\x03\n"), true, "a\x10\x10\x04\x03\n\x10\x04", nil},
		{strings.NewReader("a\x10\x04"), false, "a\x10\x04", nil},
		{strings.NewReader(strings.Repeat("\x10", 5000)), true, strings.Repeat("\x10", 10000) + "\x10\x04", nil},
		{iotest.OneByteReader(strings.NewReader("ab")), true, "ab\x10\x04", nil},
		{iotest.DataErrReader(strings.NewReader("ab")), true, "ab\x10\x04", nil},
		{iotest.ErrReader(broken), true, "\x10\x04", broken},
	} {
		c, err := openConsole(tt.in, tt.pipe)
		if err != nil {
			t.Fatal(err)
		}
		c.start(nil)
		c.listens()
		c.listens()
		got, err := io.ReadAll(iotest.OneByteReader(c))
		if string(got) != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("console of %v, pipe %v: %q, %v; want %q, %v", tt.in, tt.pipe, got, err, tt.want, tt.err)
		}
	}
}

// TestConsoleWaits: nothing is sent before the guest has sent something.
func TestConsoleWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := openConsole(strings.NewReader("x"), false)
		if err != nil {
			t.Fatal(err)
		}
		c.start(nil)
		read := make(chan string)
		go func() {
			b, _ := io.ReadAll(c)
			read <- string(b)
		}()
		w := noticing{new(bytes.Buffer), c.listens}
		w.Write(nil)
		synctest.Wait()
		select {
		case s := <-read:
			t.Fatalf("read %q before the guest sent anything", s)
		default:
		}
		w.Write([]byte("boot\n"))
		if s := <-read; s != "x" {
			t.Errorf("read %q; want x", s)
		}
	})
}

// TestKeys: ^\ is for us, and so is a ^C within a second of another.
func TestKeys(t *testing.T) {
	interrupts, nmis := 0, 0
	c := &console{interrupt: func() { interrupts++ }, nmi: func() { nmis++ }}
	start := time.Now()
	for i, tt := range []struct {
		at         time.Duration
		keys, want string
		interrupts int
		nmis       int
	}{
		{0, "ab\x03c", "ab\x03c", 0, 0},
		{1500 * time.Millisecond, "\x03", "\x03", 0, 0},
		{1600 * time.Millisecond, "\x1cx\x1c", "x", 0, 2},
		{2400 * time.Millisecond, "y\x03z", "yz", 1, 2},
		{9 * time.Second, "\x03\x03", "\x03", 2, 2},
	} {
		p := []byte(tt.keys)
		got := string(p[:c.keys(p, start.Add(tt.at))])
		if got != tt.want || interrupts != tt.interrupts || nmis != tt.nmis {
			t.Errorf("step %d: keys(%q) = %q, %d interrupts, %d NMIs; want %q, %d, %d", i, tt.keys, got, interrupts, nmis, tt.want, tt.interrupts, tt.nmis)
		}
	}
}

func TestLastOption(t *testing.T) {
	for _, tt := range []struct {
		line, want string
		ok         bool
	}{
		{"", "", false},
		{"tty=raw", "raw", true},
		{"a=b tty=raw  tty=pipe c", "pipe", true},
		{`x="tty=raw y" tty="p q"`, "p q", true},
		{`x="a tty=raw"`, "", false},
		{"xtty=raw tty", "", false},
		{"a -- tty=raw", "", false},
		{`env.X="a \" tty=raw" tty=pipe`, "pipe", true},
		{`env.X="a \\" tty=raw`, "raw", true},
	} {
		if got, ok := lastOption(tt.line, "tty"); got != tt.want || ok != tt.ok {
			t.Errorf("lastOption(%q, tty) = %q, %v; want %q, %v", tt.line, got, ok, tt.want, tt.ok)
		}
	}
	for value, want := range map[string]string{"seq": "k=seq", "a b": `k="a b"`, `a"b`: ""} {
		if got := kernelOption("k", value); got != want {
			t.Errorf("kernelOption(%q) = %q; want %q", value, got, want)
		}
	}
}
