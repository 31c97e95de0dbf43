package main

import (
	"bytes"
	"io"
)

// withoutReport leaves out the first line, if it is that of the kernel's boot report:
// with the option report=off there are no others.
type withoutReport struct {
	w    io.Writer
	line []byte // as far as it has come
	past bool
}

func (q *withoutReport) Write(p []byte) (int, error) {
	if q.past {
		return q.w.Write(p)
	}
	const report = "zeroframe "
	q.line = append(q.line, p...)
	begin := q.line[:min(len(q.line), len(report))]
	if !bytes.HasPrefix([]byte(report), begin) {
		q.past = true
		_, err := q.w.Write(q.line)
		return len(p), err
	}
	if i := bytes.IndexByte(q.line, '\n'); i >= 0 {
		q.past = true
		_, err := q.w.Write(q.line[i+1:])
		return len(p), err
	}
	return len(p), nil
}
