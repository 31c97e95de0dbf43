package main

// The terminal belongs to the guest while it runs: keys go to its serial port one
// by one and unechoed, but for two that are for us. A terminal that was changed is
// always given back as it was, which is why nothing here or above ends the process.

import (
	"bytes"
	"io"
	"os"

	"golang.org/x/term"
)

const (
	keyInterrupt = 0x03 // ^C
	keyQuit      = 0x1c // ^\
)

// console reads keys for a guest. It is an io.Reader that waits until start has
// been called, so that no key is lost to a machine that is not there yet.
type console struct {
	in        io.Reader
	fd        int         // of the terminal, if it was changed
	state     *term.State // nil if it was not
	interrupt func()
	nmi       func()
	ready     chan struct{}
}

// openConsole changes the terminal, if stdin is one.
func openConsole(stdin io.Reader) (*console, error) {
	c := &console{in: stdin, ready: make(chan struct{})}
	file, ok := stdin.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return c, nil
	}
	c.fd = int(file.Fd())
	var err error
	c.state, err = term.MakeRaw(c.fd)
	return c, err
}

// restore gives the terminal back.
func (c *console) restore() {
	if c.state != nil {
		term.Restore(c.fd, c.state)
	}
}

// start lets keys pass; nmi is called for each ^\.
func (c *console) start(nmi func()) {
	c.nmi = nmi
	close(c.ready)
}

// Read reads what is for the guest.
func (c *console) Read(p []byte) (int, error) {
	<-c.ready
	if c.in == nil {
		return 0, io.EOF
	}
	for {
		n, err := c.in.Read(p)
		if c.state == nil {
			return n, err
		}
		if n = c.keys(p[:n]); n > 0 || err != nil {
			return n, err
		}
	}
}

// keys takes out of p the keys that are for us and obeys them. It returns how many
// bytes are left.
func (c *console) keys(p []byte) int {
	n := 0
	for _, b := range p {
		switch b {
		case keyInterrupt:
			c.interrupt()
		case keyQuit:
			c.nmi()
		default:
			p[n] = b
			n++
		}
	}
	return n
}

// output returns a writer to w for as long as the terminal is raw: there a line
// feed does not return to the first column.
func (c *console) output(w io.Writer) io.Writer {
	if c.state == nil || !isTerminal(w) {
		return w
	}
	return &rawWriter{w: w}
}

// rawWriter puts a carriage return before each line feed that has none.
type rawWriter struct {
	w    io.Writer
	last byte
}

func (r *rawWriter) Write(p []byte) (int, error) {
	var out bytes.Buffer
	for _, b := range p {
		if b == '\n' && r.last != '\r' {
			out.WriteByte('\r')
		}
		out.WriteByte(b)
		r.last = b
	}
	if _, err := r.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// isTerminal reports whether w is a terminal.
func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// wantColor reports whether colour is of use on w (https://no-color.org).
func wantColor(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
