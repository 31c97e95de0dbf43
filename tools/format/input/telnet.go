package input

// Telnet, as much of it as a reader needs: its commands are taken out of the text,
// and none is answered, for which nobody waits. A stream that begins with an option
// (IAC and WILL, WONT, DO or DONT) is telnet's; a serial port's text never begins
// so. Source: RFC 854.

import "io"

const (
	iac  = 0xff // the next byte is a command
	se   = 0xf0 // the end of a subnegotiation
	sb   = 0xfa // its start
	will = 0xfb // from here on one byte follows: the option
)

type telnetMode uint8

const (
	telnetMaybe telnetMode = iota // nothing has come yet
	telnetFirst                   // the first byte was IAC
	telnetOff
	telnetOn
)

// telnet takes the commands out of what it reads.
type telnet struct {
	in    io.ReadCloser
	mode  telnetMode
	state byte // the byte of a command that was before: iac, will; 0: none
	inSub bool // in a subnegotiation
	cr    bool // the byte before was a carriage return
	buf   [4 << 10]byte
	rest  []byte // of buf: text that was not asked for yet
}

func (t *telnet) Close() error { return t.in.Close() }

// Read reads text.
func (t *telnet) Read(p []byte) (int, error) {
	for len(t.rest) == 0 {
		// The IAC that the first byte was may turn out to be text: room for it.
		n, err := t.in.Read(t.buf[1:])
		t.rest = t.buf[:t.strip(t.buf[:], t.buf[1:1+n])]
		if err != nil && len(t.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// strip moves the text in b to the start of p, which begins a byte before it.
func (t *telnet) strip(p, b []byte) (n int) {
	for _, c := range b {
		switch t.mode {
		case telnetMaybe:
			if c == iac {
				t.mode = telnetFirst
				continue
			}
			t.mode = telnetOff
		case telnetFirst:
			if c >= will && c != iac {
				t.mode, t.state = telnetOn, iac
				break
			}
			t.mode = telnetOff
			p[n] = iac
			n++
		}
		if t.mode == telnetOff || t.text(c) {
			p[n] = c
			n++
		}
	}
	return n
}

// text reports whether a byte is text.
func (t *telnet) text(c byte) bool {
	switch t.state {
	case iac:
		t.state = 0
		switch {
		case c == iac:
			return !t.inSub
		case c == sb:
			t.inSub = true
		case c == se:
			t.inSub = false
		case c >= will:
			t.state = will
		}
		return false
	case will:
		t.state = 0
		return false
	}
	cr := t.cr
	t.cr = c == '\r' && !t.inSub
	switch {
	case c == iac:
		t.state = iac
		return false
	case t.inSub:
		return false
	}
	return c != 0 || !cr // a carriage return alone is sent with a NUL
}
