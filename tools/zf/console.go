package main

// The terminal belongs to the guest while it runs: keys go to its serial port one
// by one and unechoed, but for two that are for us. A terminal that was changed is
// always given back as it was, which is why nothing here or above ends the process.

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
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
	if c.state, err = term.MakeRaw(c.fd); err != nil {
		return c, err
	}
	if err = newlines(c.fd); err != nil {
		c.restore()
	}
	return c, err
}

// newlines switches on again that a line feed returns to the first column, which
// is a matter of output, not of keys: it holds for all that writes to the terminal,
// such as a pager behind us in a pipe.
func newlines(fd int) error {
	t, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return err
	}
	t.Oflag |= unix.OPOST | unix.ONLCR
	return unix.IoctlSetTermios(fd, setTermios, t)
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

// isTerminal reports whether w is a terminal.
func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// wantColor reports whether colour is of use on w (https://no-color.org).
func wantColor(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
