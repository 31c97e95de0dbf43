package main

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// stamped puts before each line how long after the start of zf it has begun, in seconds.
type stamped struct {
	to     io.Writer
	began  time.Time
	middle bool // of a line
}

func (s *stamped) Write(p []byte) (int, error) {
	var out []byte
	for line := range bytes.Lines(p) {
		if !s.middle {
			out = fmt.Appendf(out, "[%9.3f] ", time.Since(s.began).Seconds())
		}
		out = append(out, line...)
		s.middle = line[len(line)-1] != '\n'
	}
	_, err := s.to.Write(out)
	return len(p), err
}

// stamps returns a writer that stamps lines, with -timestamps, or to itself.
func (m *machine) stamps(to io.Writer) io.Writer {
	if !m.timestamps {
		return to
	}
	return &stamped{to: to, began: m.began}
}
