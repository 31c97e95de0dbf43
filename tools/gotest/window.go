package gotest

// What zf test -fuzz and a machine have in common is RAM: two windows (kernel/window.go), files
// for the test binary there, ranges of the machine's RAM here. One is the memory that a fuzzing
// coordinator shares with its worker, the other has the coordinator's calls and the answers, as
// kernel/observe/fuzzworker describes.

import (
	"context"
	le "encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// fuzzHeader and fuzzRoom are the parts of a coordinator's memory: numbers, of which the
	// second is the length of the value behind them, and the value (internal/fuzz/mem.go).
	fuzzHeader = 40
	fuzzRoom   = 100 << 20

	// callRoom is the room for a call, and for an answer.
	callRoom = 8 << 20

	page = 4096
)

// poll is how often it is looked whether a machine has answered.
const poll = 200 * time.Microsecond

// RAM is the memory of a machine, by its addresses, or of a coordinator.
type RAM interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// Windows are the windows of a machine.
type Windows struct {
	RAM  RAM
	Base int64 // address of the first, at the beginning of a page
	call uint64
}

// calls is the address of the second window, behind the first.
func (w *Windows) calls() int64 {
	return w.Base + (fuzzHeader+fuzzRoom+page-1)/page*page
}

// End returns the address behind the windows.
func (w *Windows) End() int64 { return w.calls() + page + 2*callRoom }

// Options returns the words for the kernel's command line.
func (w *Windows) Options() []string {
	return []string{
		fmt.Sprintf("window=%d,%d,/dev/fuzz-memory", w.Base, fuzzHeader+fuzzRoom),
		fmt.Sprintf("window=%d,%d,/dev/fuzz-calls", w.calls(), w.End()-w.calls()),
	}
}

// Call has the machine answer a call of the coordinator that has this memory. It returns
// ctx's error if that comes first; then, too, the memory is what the machine has made of it.
func (w *Windows) Call(ctx context.Context, memory RAM, call []byte) (answer []byte, err error) {
	if len(call) > callRoom {
		return nil, fmt.Errorf("a call of the fuzzing engine has %d bytes; %d are possible", len(call), callRoom)
	}
	if err := copyValue(io.NewOffsetWriter(w.RAM, w.Base), memory); err != nil {
		return nil, err
	}
	w.call++
	words := w.calls()
	if _, err := w.RAM.WriteAt(call, words+page); err != nil {
		return nil, err
	}
	if err := errors.Join(w.set(1, uint64(len(call))), w.set(0, w.call)); err != nil {
		return nil, err
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for n := uint64(0); n != w.call && err == nil; {
		select {
		case <-tick.C:
			n, err = w.get(2)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if cerr := copyValue(memory, io.NewSectionReader(w.RAM, w.Base, fuzzHeader+fuzzRoom)); cerr != nil || err != nil {
		return nil, errors.Join(err, cerr)
	}
	length, err := w.get(3)
	if err != nil || length > callRoom {
		return nil, fmt.Errorf("an answer of %d bytes: %v", length, err)
	}
	answer = make([]byte, length)
	_, err = w.RAM.ReadAt(answer, words+page+callRoom)
	return answer, err
}

// set and get write and read a word of the window for calls.
func (w *Windows) set(word int, v uint64) error {
	_, err := w.RAM.WriteAt(le.LittleEndian.AppendUint64(nil, v), w.calls()+int64(word)*8)
	return err
}

func (w *Windows) get(word int) (uint64, error) {
	var b [8]byte
	_, err := w.RAM.ReadAt(b[:], w.calls()+int64(word)*8)
	return le.LittleEndian.Uint64(b[:]), err
}

// copyValue copies a coordinator's memory, as far as its value reaches.
func copyValue(to io.WriterAt, from io.ReaderAt) error {
	header := make([]byte, fuzzHeader)
	if _, err := from.ReadAt(header, 0); err != nil {
		return err
	}
	n := le.LittleEndian.Uint64(header[8:])
	if n > fuzzRoom {
		return fmt.Errorf("the fuzzing engine's memory has a value of %d bytes", n)
	}
	value := make([]byte, n)
	if _, err := from.ReadAt(value, fuzzHeader); err != nil {
		return err
	}
	if _, err := to.WriteAt(value, fuzzHeader); err != nil {
		return err
	}
	_, err := to.WriteAt(header, 0)
	return err
}
