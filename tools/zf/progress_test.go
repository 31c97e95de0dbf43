package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/zeroframe/zeroframe/tools/image"
)

// TestBuildProgress: on a terminal a slow build says how far it is, in one line that other
// output wipes out; elsewhere it says nothing.
func TestBuildProgress(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	var out buffer
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(&out, master)
	}()
	o := image.BuildOptions{Package: "./hello", Stderr: terminal}
	end := showProgress(&o, terminal)
	if o.Keep == "" || o.Progress == nil {
		t.Fatalf("on a terminal: %+v", o)
	}
	out.until(t, "building ./hello") // by the time alone
	o.Progress(image.Progress{Kernel: true, Done: 41, Of: 120})
	out.until(t, "\r\x1b[Kbuilding the runtime for the kernel: 41 of 120 packages")
	io.WriteString(o.Stderr, "note: x\n")
	out.until(t, "packages\r\x1b[Knote: x\r\n")
	o.Progress(image.Progress{Done: 120, Of: 120})
	out.until(t, "building ./hello: 120 of 120 packages")
	end()
	o.Progress(image.Progress{Done: 120, Of: 120})
	terminal.Close()
	<-copied
	if got := out.String(); !strings.HasSuffix(got, "packages\r\x1b[K") {
		t.Errorf("the end is %q; want the line wiped out", got)
	}

	quick := image.BuildOptions{Package: "."}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	showProgress(&quick, file)()
	if quick.Progress != nil {
		t.Error("a file is shown how far a build is")
	}
}

// TestTestProgress: on a terminal zf test says what it builds and tests, in one line that what
// is printed wipes out; elsewhere it says nothing.
func TestTestProgress(t *testing.T) {
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	var out buffer
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(&out, master)
	}()
	s := streams{stdout: terminal, stderr: terminal}
	p := showTests(3, &s)
	a, b := p.begin("m/a"), p.begin("m/b")
	out.until(t, "0 of 3 tested; building m/a; building m/b")
	var o image.BuildOptions
	a.follow(&o)
	o.Progress(image.Progress{Kernel: true, Done: 41, Of: 120})
	out.until(t, "\r\x1b[K0 of 3 tested; building (41 of 120 packages) the runtime for the kernel; ")
	o.Progress(image.Progress{Done: 119, Of: 120})
	out.until(t, "; building (119 of 120 packages) m/a; ")
	io.WriteString(s.stderr, "note: x\n")
	out.until(t, "\r\x1b[Knote: x\r\n")
	b.end()
	a.boots()
	out.until(t, "x\r\n1 of 3 tested; testing (")
	io.WriteString(s.stdout, "no end of line")
	p.show()
	p.end()
	terminal.Close()
	<-copied
	if got := out.String(); !strings.HasSuffix(got, "\r\x1b[Kno end of line") {
		t.Errorf("the end is %q; want the line wiped out, and none behind the beginning of another", got)
	}

	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s = streams{stdout: file, stderr: file}
	p = showTests(1, &s)
	o = image.BuildOptions{}
	c := p.begin("m")
	c.follow(&o)
	c.boots()
	c.end()
	p.end()
	if p != nil || s.stdout != io.Writer(file) || s.stderr != io.Writer(file) || o.Progress != nil {
		t.Error("a file is shown how far tests are")
	}
}
