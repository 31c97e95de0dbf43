package main

// On a terminal the guest's kernel ends lines with CR LF, and so does ours, or, if our
// output is a file, nobody should. So what a program writes is turned back into what it
// has written.

import "io"

// lineEnds takes out the carriage return that the guest's terminal has put before each
// line feed.
type lineEnds struct {
	w    io.Writer
	held bool // a carriage return that may be one
}

// Write implements io.Writer.
func (l *lineEnds) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p)+1)
	for _, b := range p {
		if l.held && b != '\n' {
			out = append(out, '\r')
		}
		if l.held = b == '\r'; !l.held {
			out = append(out, b)
		}
	}
	if _, err := l.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush writes what is held, at the end.
func (l *lineEnds) flush() error {
	if !l.held {
		return nil
	}
	l.held = false
	_, err := l.w.Write([]byte{'\r'})
	return err
}
