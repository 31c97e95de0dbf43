package main

import (
	"bytes"
	"testing"
)

// TestLineEnds: what ONLCR has done is undone, and nothing else, however it is cut.
func TestLineEnds(t *testing.T) {
	for _, text := range []string{"", "a\nb\n", "\n\n", "50 %\r60 %\r\n", "\r", "a\r\n\r\r\n\rb", "no end"} {
		sent := bytes.ReplaceAll([]byte(text), []byte("\n"), []byte("\r\n"))
		for step := 1; step <= 3; step++ {
			var out bytes.Buffer
			l := &lineEnds{w: &out}
			for rest := sent; len(rest) > 0; {
				n := min(step, len(rest))
				if m, err := l.Write(rest[:n]); m != n || err != nil {
					t.Errorf("Write of %d bytes = %d, %v", n, m, err)
				}
				rest = rest[n:]
			}
			if err := l.flush(); err != nil || out.String() != text {
				t.Errorf("%q, %d bytes at a time, becomes %q, %v; want %q", sent, step, out.String(), err, text)
			}
		}
	}
	l := &lineEnds{w: &full{n: 1}}
	if _, err := l.Write([]byte("x\r")); err == nil {
		t.Error("Write to a full disk = nil; want an error")
	}
	if err := l.flush(); err == nil {
		t.Error("flush to a full disk = nil; want an error")
	}
}
