package input

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// Pauses between attempts to open what is gone: short at first, since a board's
// first words count, and never long.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// patience is how long the same error, other than that nothing is there, lasts
// before it is reported: a device that is plugged in gets its rights late.
const patience = 2 * time.Second

// steady is how long a connection lasts, or else brings something, to count as one:
// the next is tried soon again.
const steady = time.Second

// A notice is what the user has been told last.
type notice uint8

const (
	nothing notice = iota
	isGone
	isThere
)

// A reader reads one connection after the other.
type reader struct {
	ctx   context.Context
	name  string
	kind  kind
	note  func(string)
	again bool // an end is a pause

	mu     sync.Mutex
	in     io.ReadCloser // nil: it is to be opened
	closed bool

	lost   error // why there is no connection; nil: there was none yet
	pause  time.Duration
	since  time.Time // of the connection
	saying notice    // what the user knows
}

// Read waits for the source where it is not there.
func (r *reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	in := r.in
	r.mu.Unlock()
	if in == nil {
		var err error
		if in, err = r.wait(); err != nil {
			return 0, err
		}
	}
	n, err := in.Read(p)
	if n > 0 {
		r.pause, r.saying = 0, nothing
		return n, nil // an error comes again
	}
	switch err {
	case nil:
		err = io.EOF
	case ErrCut: // a file that was cut short is still there
		return 0, err
	}
	if _, single := in.(once); r.ctx.Err() != nil || single || !r.again {
		return 0, r.ended(err)
	}
	if time.Since(r.since) > steady {
		r.pause, r.saying = 0, nothing
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, io.EOF
	}
	in.Close()
	r.in, r.lost = nil, err
	return 0, ErrCut
}

// ended returns the error for an end that is one.
func (r *reader) ended(err error) error {
	if r.ctx.Err() != nil || r.kind.device && gone(err) {
		return io.EOF
	}
	return err
}

// wait opens the source, as often as it takes.
func (r *reader) wait() (io.ReadCloser, error) {
	if r.lost == nil && r.kind.what != "" {
		r.note("waiting for " + r.kind.what)
	} else if r.lost != nil && r.saying == nothing {
		r.saying = isGone
		r.note(r.gone())
	}
	var odd time.Time // when the error began that is worth a word
	var said string
	for {
		if r.lost != nil && !r.sleep() {
			return nil, io.EOF
		}
		in, err := r.kind.open(r.ctx)
		switch {
		case err == nil:
			return r.opened(in)
		case r.ctx.Err() != nil:
			return nil, io.EOF
		case !r.again:
			return nil, err
		}
		r.lost = err
		switch {
		case absent(err) || err.Error() == said:
			odd = time.Time{}
		case odd.IsZero():
			odd = time.Now()
		case time.Since(odd) >= patience:
			said = err.Error()
			r.note(said)
		}
	}
}

// gone says that the source is gone.
func (r *reader) gone() string {
	text := r.name + " is gone"
	switch {
	case r.kind.what != "":
		text += ": waiting for " + r.kind.what
	case errors.Is(r.lost, io.EOF) || gone(r.lost):
		text += ": waiting for it"
	case absent(r.lost):
		text = r.name + " is not there yet: waiting for it"
	default:
		text += " (" + r.lost.Error() + "): waiting for it"
	}
	return text + "; an interrupt (^C) ends that"
}

// opened takes a connection.
func (r *reader) opened(in io.ReadCloser) (io.ReadCloser, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		in.Close()
		return nil, io.EOF
	}
	r.in, r.since = in, time.Now()
	if r.saying == isGone {
		r.saying = isThere
		r.note(r.name + " is there")
	}
	if !r.again && r.kind.done != nil {
		r.kind.done() // nobody else is expected
	}
	return in, nil
}

// sleep pauses before the next attempt, each time longer until something is read.
func (r *reader) sleep() bool {
	r.pause = min(max(2*r.pause, firstPause), lastPause)
	select {
	case <-r.ctx.Done():
		return false
	case <-time.After(r.pause):
		return true
	}
}

// Close closes what is open. A Read that waits for the source needs the end of the
// context too.
func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.kind.done != nil {
		r.kind.done()
	}
	if r.in == nil {
		return nil
	}
	return r.in.Close()
}
