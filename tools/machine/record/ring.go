package record

// The last of a run: every so often the machine's state is taken, and a second recording begins
// there, beside the one that there is. When the next state is taken, the second takes the place of
// the first. So there is a whole recording under the file's name at any time, and it has from one
// to two intervals of the run, or all of a shorter one.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// A Ring makes a recording of the last of a run. Its methods may be called from any goroutine.
type Ring struct {
	every   time.Duration
	virtual bool
	path    string

	mu   sync.Mutex
	file *Writer // under the file's name
	next *Writer // what takes its place; nil: none
	// what begins at the state that was taken last, until the log has come to there; nil: none
	part *Writer
	base Base // of file
	then Base // of next
	at   Base // of part; At and Log are known

	log    *logReader
	unread []byte        // of the log: what it has not read
	over   bool          // it reads no more: the log has ended, or err
	held   bool          // it reads nothing as long as the state is being taken
	last   time.Duration // the machine's time when the latest recording began
	output int64         // bytes that were sent, by the log
	sent   int64         // bytes that have come
	kept   []byte        // the last of them, from before the state was taken
	err    error         // why no state is taken any more
}

// What stands behind the file's name in those of the others.
const (
	nextSuffix = ".next"
	partSuffix = ".part"
)

// NewRing begins a recording as [Create] does. It keeps the last of the run, of the machine's time
// from every to about twice as much.
func NewRing(path string, meta Meta, files map[string]string, every time.Duration) (*Ring, error) {
	w, err := Create(path, meta, files)
	if err != nil {
		return nil, err
	}
	b := start()
	return &Ring{every: every, virtual: meta.VirtualTime, path: path, file: w, base: b,
		log: newLogReader(nil, &b)}, nil
}

// Log returns what takes QEMU's log.
func (r *Ring) Log() io.Writer { return writer(r.writeLog) }

// Serial returns what takes what the serial port sends.
func (r *Ring) Serial() io.Writer { return writer(r.writeSerial) }

// writer makes a function an [io.Writer].
type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func (r *Ring) writeLog(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range []*Writer{r.file, r.next} {
		if w != nil {
			if n, err := w.Log().Write(p); err != nil {
				return n, err
			}
		}
	}
	if !r.over {
		r.unread = append(r.unread, p...)
	}
	if err := r.read(); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (r *Ring) writeSerial(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, err := r.file.Serial().Write(from(p, r.sent, r.base.Output)); err != nil {
		return n, err
	}
	if r.next != nil {
		if n, err := r.next.Serial().Write(from(p, r.sent, r.then.Output)); err != nil {
			return n, err
		}
	}
	if r.held || r.part != nil {
		r.kept = append(r.kept, p...)
	}
	r.sent += int64(len(p))
	return len(p), nil
}

// from returns what of p, which begins with byte at of the output, is byte n or comes after it.
func from(p []byte, at, n int64) []byte { return p[min(max(0, n-at), int64(len(p))):] }

// read reads the log as far as it has come, and has a recording begin at its part of it. Errors are
// those of files.
func (r *Ring) read() error {
	if r.held || r.over {
		return nil
	}
	in, start := bytes.NewReader(r.unread), r.log.offset
	r.log.in = in
	for {
		before := *r.log
		if r.part != nil && before.offset+logHeader >= r.at.Log {
			if err := r.begin(r.unread[before.offset-start:]); err != nil || r.over {
				return err
			}
		}
		e, err := r.log.next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			*r.log = before
			r.unread = append(r.unread[:0], r.unread[before.offset-start:]...)
			return nil
		case err != nil:
			r.fail(err)
			return nil
		}
		switch e.Kind {
		case KindOutput:
			r.output += int64(e.Bytes)
		case KindEnd: // what follows is the format's version
			r.over = true
			return nil
		}
	}
}

// fail gives up taking states.
func (r *Ring) fail(err error) {
	r.err, r.over, r.unread = err, true, nil
	r.drop()
}

// drop removes the recording that has not begun.
func (r *Ring) drop() {
	if r.part != nil {
		r.part.Close(nil)
		os.Remove(r.part.path)
	}
	r.part, r.kept = nil, nil
}

// begin has the recording begin whose state was taken, with the log from there on as far as it is
// known.
func (r *Ring) begin(log []byte) error {
	b, l, kept := r.at, r.log, r.sent-int64(len(r.kept))
	b.Output, b.Instructions, b.Slept, b.Asleep, b.Woken, b.Clock, b.Before = r.output, l.instructions,
		l.slept, l.asleep, l.woken, l.last, l.before
	if l.offset+logHeader != b.Log || b.Output < kept || b.check() != nil {
		r.fail(fmt.Errorf("%w: the machine's state, %+v, does not belong to byte %d", errLog,
			b, l.offset))
		return nil
	}
	w := r.part
	w.begin(b)
	if _, err := w.Log().Write(log); err != nil {
		return err
	}
	if _, err := w.Serial().Write(from(r.kept, kept, b.Output)); err != nil {
		return err
	}
	r.part, r.kept, r.last = nil, nil, r.now()
	if r.next != nil {
		if err := r.file.Close(nil); err != nil {
			return err
		}
		if err := r.next.rename(r.path); err != nil {
			return err
		}
		r.file, r.base = r.next, r.then
	}
	r.next, r.then = w, b
	return w.rename(r.path + nextSuffix)
}

// now is the machine's time, as far as the log has come; without one it goes by instructions.
func (r *Ring) now() time.Duration {
	if r.virtual {
		return time.Duration(r.log.instructions)
	}
	return r.log.now()
}

// Due reports whether it is time to take the machine's state.
func (r *Ring) Due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.over && !r.held && r.part == nil && r.now()-r.last >= r.every
}

// Take takes the machine's state. snapshot makes it, has its argument read it from a file, and
// returns where QEMU's log was then (an offset, with the header), and how many instructions had
// been run. If it fails, Take may be called again.
func (r *Ring) Take(snapshot func(take func(path string) error) (log int64, instructions uint64,
	err error)) error {
	r.mu.Lock()
	r.held, r.kept = true, nil
	file := r.file // which stays as long as it is held
	r.mu.Unlock()
	var part *Writer
	log, at, err := snapshot(func(path string) (err error) {
		part, err = file.from(r.path+partSuffix, path)
		return err
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held, r.part, r.at = false, part, Base{At: at, Log: log}
	if err != nil {
		r.drop()
	}
	return errors.Join(err, r.read())
}

// Has returns where the recording begins, and how much of the machine's time it has; without such a
// time that is one of its instructions.
func (r *Ring) Has() (from Base, last time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.virtual {
		return r.base, r.now() - time.Duration(r.base.At)
	}
	return r.base, r.now() - r.base.Time()
}

// Close ends the recording; how says how the machine has ended. nil: nobody knows. The error is the
// first one of all.
func (r *Ring) Close(how *End) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.drop()
	if r.next != nil {
		r.next.Close(nil)
		os.Remove(r.next.path)
		r.next = nil
	}
	if err := r.file.Close(how); err != nil {
		return err
	}
	return r.err
}
