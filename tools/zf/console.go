package main

// The guest's input. A terminal belongs to the guest while it runs: keys go to its
// serial port one by one and unechoed, and it is the kernel's line discipline that
// echoes, edits lines and makes signals of them; two keys are for us as well. A
// terminal that was changed is always given back as it was, which is why nothing
// here or above ends the process.
//
// What is no terminal is sent as it is, but a serial line has no end of file: with
// the kernel's option tty=pipe, DLE EOT is one, and DLE DLE a DLE.
//
// Nothing is sent before the guest has: its kernel resets the UART when it starts,
// and what the UART had received by then would be lost.

import (
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

const (
	keyInterrupt = 0x03 // ^C
	keyQuit      = 0x1c // ^\

	// again is how soon after a ^C another one ends the machine.
	again = time.Second

	dle = 0x10 // data link escape
	eot = 0x04 // end of transmission
)

// console reads what is for a guest. It is an io.Reader that waits until listens has
// been called.
type console struct {
	in        io.Reader
	fd        int         // of the terminal, if it was changed
	state     *term.State // nil if it was not
	pipe      bool        // send it as tty=pipe wants it
	interrupt func()
	nmi       func()
	last      time.Time     // of the last ^C
	pressed   atomic.Bool   // there was one
	ready     chan struct{} // closed when the guest listens
	once      sync.Once

	typed keyBuffer // of a terminal
	rest  []byte    // escaped, not yet read
	err   error     // what comes behind rest
}

// openConsole changes the terminal, if stdin is one. With pipe, stdin is sent as
// tty=pipe wants it if it is none.
func openConsole(stdin io.Reader, pipe bool) (*console, error) {
	c := &console{in: stdin, ready: make(chan struct{})}
	c.typed.more.L = &c.typed.mu
	if c.in == nil {
		c.in = strings.NewReader("")
	}
	if !isTerminal(stdin) {
		c.pipe = pipe
		return c, nil
	}
	c.fd = int(stdin.(*os.File).Fd())
	var err error
	if c.state, err = term.MakeRaw(c.fd); err != nil {
		return c, err
	}
	if err = newlines(c.fd); err != nil {
		c.restore()
	}
	return c, err
}

// restore gives the terminal back.
func (c *console) restore() {
	if c.state != nil {
		term.Restore(c.fd, c.state)
	}
}

// start obeys the keys that are for us from now on; nmi is called for each ^\.
func (c *console) start(nmi func()) {
	c.nmi = nmi
	if c.state != nil {
		go c.readKeys()
	}
}

// listens says that the guest has sent something. It may be called many times.
func (c *console) listens() { c.once.Do(func() { close(c.ready) }) }

// Read reads what is for the guest.
func (c *console) Read(p []byte) (int, error) {
	<-c.ready
	switch {
	case c.state != nil:
		return c.typed.Read(p)
	case c.pipe:
		return c.readPipe(p)
	}
	return c.in.Read(p)
}

// readKeys reads the terminal to its end, whether the guest takes its input or not:
// the keys that are for us are wanted most when it does not.
func (c *console) readKeys() {
	buf := make([]byte, 256)
	for {
		n, err := c.in.Read(buf)
		c.typed.add(buf[:c.keys(buf[:n], time.Now())], err)
		if err != nil {
			return
		}
	}
}

// keys takes out of p, read at that time, the keys that are for us and obeys them.
// It returns how many bytes are left. A ^C is the program's, but if it does not help,
// the next one is ours.
func (c *console) keys(p []byte, now time.Time) int {
	n := 0
	for _, b := range p {
		switch b {
		case keyInterrupt:
			if !c.last.IsZero() && now.Sub(c.last) <= again {
				c.interrupt()
				continue
			}
			c.last = now
			c.pressed.Store(true)
		case keyQuit:
			c.nmi()
			continue
		}
		p[n] = b
		n++
	}
	return n
}

// readPipe reads what is no terminal, escaped.
func (c *console) readPipe(p []byte) (int, error) {
	for len(c.rest) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		buf := make([]byte, 4096)
		n, err := c.in.Read(buf)
		for _, b := range buf[:n] {
			if b == dle {
				c.rest = append(c.rest, dle)
			}
			c.rest = append(c.rest, b)
		}
		if err != nil {
			// An input that cannot be read further has ended for the guest, too.
			c.rest = append(c.rest, dle, eot)
			c.err = err
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// keyBuffer holds what was typed until it is read.
type keyBuffer struct {
	mu   sync.Mutex
	more sync.Cond
	keys []byte
	err  error // what comes behind them
}

func (b *keyBuffer) add(keys []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keys = append(b.keys, keys...)
	b.err = err
	b.more.Broadcast()
}

// Read waits until there is something to read.
func (b *keyBuffer) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.keys) == 0 && b.err == nil {
		b.more.Wait()
	}
	if len(b.keys) == 0 {
		return 0, b.err
	}
	n := copy(p, b.keys)
	b.keys = b.keys[n:]
	return n, nil
}

// noticing is a writer of the guest's output that tells when there is some.
type noticing struct {
	io.Writer
	notice func()
}

func (n noticing) Write(p []byte) (int, error) {
	if len(p) > 0 {
		n.notice()
	}
	return n.Writer.Write(p)
}

// columnsOf returns what returns how many columns a terminal has, 0 if that is not known.
func columnsOf(w any) func() int {
	return func() int {
		if file, ok := w.(*os.File); ok {
			if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
				return columns
			}
		}
		return 0
	}
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
