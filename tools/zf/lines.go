package main

// Addresses may come one by one, from a script that waits for each answer, or a
// hundred thousand at once. What has arrived is answered together; what comes fast
// is waited for a little, what comes slowly never.

import (
	"bytes"
	"io"
	"time"
)

const (
	lineChunk   = 64 << 10
	manyBytes   = 4 << 10              // a reader of single answers does not send so much
	gatherBytes = 4 << 20              // enough to answer together
	gatherWait  = 3 * time.Millisecond // for more, where much has come
	longestLine = 4 << 10              // of a longer one the beginning counts
)

// A lineReader gives the lines of a reader in batches. At first it reads when it is
// asked for lines, which is the fastest for one who sends the next address after the
// answer to the last; from when much has come at once on, it reads ahead.
type lineReader struct {
	r      io.Reader
	done   <-chan struct{} // closed when no more lines are wanted
	buf    []byte
	chunks chan lineInput // what is read ahead, or nil
	rest   []byte         // a line that has not ended
	err    error
}

type lineInput struct {
	b   []byte
	err error
}

// readLines returns a reader of r, to be used until it ends or done is closed.
func readLines(r io.Reader, done <-chan struct{}) *lineReader {
	return &lineReader{r: r, done: done, buf: make([]byte, lineChunk)}
}

// readAhead reads until there is no more.
func (l *lineReader) readAhead() {
	for {
		n, err := l.r.Read(l.buf)
		select {
		case l.chunks <- lineInput{bytes.Clone(l.buf[:n]), err}:
		case <-l.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// next returns lines, without their ends, as soon as there is one. After the last
// it returns io.EOF or another error, maybe with lines.
func (l *lineReader) next() (lines []string, err error) {
	for len(lines) == 0 && l.err == nil {
		got := l.gather()
		for {
			i := bytes.IndexByte(got, '\n')
			if i < 0 {
				break
			}
			lines = append(lines, l.line(got[:i]))
			got = got[i+1:]
		}
		l.rest = append(l.rest, got[:min(len(got), longestLine)]...)
		l.rest = l.rest[:min(len(l.rest), longestLine)]
	}
	if l.err != nil && len(l.rest) > 0 {
		lines = append(lines, l.line(nil))
	}
	return lines, l.err
}

// line returns the line that end is the end of.
func (l *lineReader) line(end []byte) string {
	l.rest = append(l.rest, end[:min(len(end), longestLine)]...)
	s := string(bytes.TrimSuffix(l.rest, []byte("\r")))
	l.rest = l.rest[:0]
	return s
}

// gather returns what has come.
func (l *lineReader) gather() []byte {
	var got []byte
	if l.chunks == nil {
		n, err := l.r.Read(l.buf)
		got, l.err = l.buf[:n], err
		if n < manyBytes || err != nil {
			return got
		}
		got = bytes.Clone(got)
		l.chunks = make(chan lineInput, 8)
		go l.readAhead()
	} else {
		first := <-l.chunks
		got, l.err = first.b, first.err
	}
	var late <-chan time.Time
	for l.err == nil && len(got) < gatherBytes {
		if len(got) < manyBytes {
			select {
			case more := <-l.chunks:
				got, l.err = append(got, more.b...), more.err
			default:
				return got
			}
			continue
		}
		if late == nil {
			timer := time.NewTimer(gatherWait)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case more := <-l.chunks:
			got, l.err = append(got, more.b...), more.err
			late = nil
		case <-late:
			return got
		}
	}
	return got
}
