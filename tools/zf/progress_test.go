package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/zeroframe/zeroframe/tools/machine/image"
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
