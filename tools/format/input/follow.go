package input

// Following a log: a file that something else writes is read to its end, and
// the end is not the end. The file is polled, since no notification works on
// each file system and a poll ten times a second costs nothing. A log that is
// cut short, as by a machine that is started again, is read from its start again;
// one that is replaced under its name is read to its end before the new one.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// PollInterval is how often a Follower looks for more.
const PollInterval = 100 * time.Millisecond

// Follower is an io.ReadCloser over a growing file.
type Follower struct {
	path string
	stop chan struct{}
	once sync.Once

	mu       sync.Mutex
	f        *os.File
	offset   int64
	replaced bool // the path names another file now
}

// Follow opens the file at path, which is read from its start. The file must
// exist. Host.
func Follow(path string) (*Follower, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &Follower{path: path, stop: make(chan struct{}), f: f}, nil
}

// ErrCut is returned by a Read, once, when what follows does not continue what was
// before: it is the start of a line, perhaps of another machine. The next Read waits
// until there is more. A filter of traces is told by its Cut.
var ErrCut = errors.New("the stream was cut")

// Read waits until there is more. It returns io.EOF only after Close, and ErrCut
// when the file has been cut short.
func (w *Follower) Read(p []byte) (int, error) {
	for {
		n, err := w.next(p)
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		select {
		case <-w.stop:
			return 0, io.EOF
		case <-time.After(PollInterval):
		}
	}
}

// next reads what there is, without waiting.
func (w *Follower) next(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.stop:
		return 0, io.EOF
	default:
	}
	n, err := w.f.Read(p)
	w.offset += int64(n)
	if n > 0 || err != nil && err != io.EOF {
		return n, err
	}
	return 0, w.turn()
}

// turn looks, at the end of the file, whether to go on elsewhere.
func (w *Follower) turn() error {
	now, err := w.f.Stat()
	if err != nil {
		return err
	}
	if now.Mode().IsRegular() && now.Size() < w.offset {
		if w.offset, err = w.f.Seek(0, io.SeekStart); err == nil {
			err = ErrCut
		}
		return err
	}
	if w.replaced {
		f, err := os.Open(w.path)
		if err != nil {
			return ignoreMissing(err)
		}
		w.f.Close()
		w.f, w.offset, w.replaced = f, 0, false
		return nil
	}
	named, err := os.Stat(w.path)
	if err != nil {
		return ignoreMissing(err)
	}
	// The writer may still have the old file open: it is read once more, after
	// a pause, before the new one.
	w.replaced = !os.SameFile(now, named)
	return nil
}

// ignoreMissing takes a file that is not there for one that is about to be.
func ignoreMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	if pe, ok := err.(*fs.PathError); ok {
		return fmt.Errorf("following %s: %w", pe.Path, pe.Err)
	}
	return err
}

// Close ends a Read that waits. It may be called from another goroutine.
func (w *Follower) Close() error {
	w.once.Do(func() { close(w.stop) })
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.f.Close()
}
