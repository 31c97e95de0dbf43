package record

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/zeroframe/zeroframe/tools/format/whole"
)

// A Writer makes a recording. Its methods may be called from any goroutine.
type Writer struct {
	mu     sync.Mutex
	file   *os.File
	path   string
	enc    *zstd.Encoder
	common int64 // length of what each recording of this machine begins with
	err    error // the first one
	log    stream
	serial stream
	timer  *time.Timer // writes out what is gathered
}

// A stream is gathered, and written as blocks of a kind.
type stream struct {
	w    *Writer
	kind byte
	buf  []byte
	size int64 // of all
}

const (
	// gather is how long what comes may stay in memory: a process that is killed loses it.
	gather = 100 * time.Millisecond
	// full is how many bytes are written at once.
	full = 256 << 10
)

// encoder is for all recordings: it is large, and may be used from any goroutine.
var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true))
})

// Create begins a recording with the contents of files, by the names that they have in it. The
// error names path. Up to the machine's start it is beside path; from then on it is a stream, of
// which each part can be replayed.
func Create(path string, meta Meta, files map[string]string) (*Writer, error) {
	enc, err := encoder()
	if err != nil {
		return nil, err
	}
	var w *Writer
	if err := whole.File(path, 0o666, func(file *os.File) error {
		w = newWriter(file, enc)
		return w.start(meta, files)
	}); err != nil {
		return nil, err
	}
	w.path = path
	if w.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return nil, err
	}
	return w, nil
}

// start writes what is there before the machine starts.
func (w *Writer) start(meta Meta, files map[string]string) error {
	if _, err := io.WriteString(w.file, magic); err != nil {
		return err
	}
	w.json(blockMeta, meta)
	for _, name := range []string{Image, Initrd, Disc} {
		if files[name] != "" {
			if err := w.add(name, files[name]); err != nil {
				return err
			}
		}
	}
	if w.err == nil {
		w.common, w.err = w.file.Seek(0, io.SeekCurrent)
	}
	w.block(blockGo, nil)
	return w.err
}

func newWriter(file *os.File, enc *zstd.Encoder) *Writer {
	w := &Writer{file: file, path: file.Name(), enc: enc}
	w.log, w.serial = stream{w: w, kind: blockLog}, stream{w: w, kind: blockSerial}
	return w
}

// from begins another recording of the same machine, with its state from the file at snapshot.
// begin follows.
func (w *Writer) from(path, snapshot string) (next *Writer, err error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	next = newWriter(file, w.enc)
	next.common = w.common
	in, err := os.Open(w.path)
	if err == nil {
		_, err = io.CopyN(file, in, w.common)
		in.Close()
	}
	if err == nil {
		err = next.add(Snapshot, snapshot)
	}
	if err == nil {
		err = next.err
	}
	if err != nil {
		file.Close()
		os.Remove(path)
		return nil, err
	}
	return next, nil
}

// begin says where the recording begins.
func (w *Writer) begin(b Base) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.json(blockBase, b)
	w.block(blockGo, nil)
}

// rename gives the recording another name.
func (w *Writer) rename(path string) error {
	err := os.Rename(w.path, path)
	if err == nil {
		w.path = path
	}
	return err
}

// add adds a file.
func (w *Writer) add(name, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	buf := append([]byte(name), 0)
	head := len(buf)
	buf = append(buf, make([]byte, piece)...)
	for {
		n, err := io.ReadFull(in, buf[head:])
		if n > 0 {
			w.block(blockFile, buf[:head+n])
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// json writes a block with a value.
func (w *Writer) json(kind byte, v any) {
	b, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.block(kind, b)
}

// block writes a block. Called with the lock held, or before there are others.
func (w *Writer) block(kind byte, contents []byte) {
	if w.err != nil {
		return
	}
	packed := w.enc.EncodeAll(contents, nil)
	if _, err := w.file.Write(append(head(kind, packed), packed...)); err != nil {
		w.err = fmt.Errorf("the recording: %w", err)
	}
}

// Log returns what takes QEMU's log.
func (w *Writer) Log() io.Writer { return &w.log }

// Serial returns what takes what the serial port sends.
func (w *Writer) Serial() io.Writer { return &w.serial }

func (s *stream) Write(p []byte) (int, error) {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	s.buf = append(s.buf, p...)
	s.size += int64(len(p))
	switch {
	case len(s.buf) >= full:
		s.flush()
	case w.timer == nil:
		w.timer = time.AfterFunc(gather, w.flush)
	}
	return len(p), w.err
}

// flush writes out a stream. Called with the lock held.
func (s *stream) flush() {
	if len(s.buf) > 0 {
		s.w.block(s.kind, s.buf)
		s.buf = s.buf[:0]
	}
}

func (w *Writer) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = nil
	w.log.flush()
	w.serial.flush()
}

// Close ends the recording; how says how the machine has ended. nil: nobody knows.
func (w *Writer) Close(how *End) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log.flush()
	w.serial.flush()
	if how != nil {
		end := *how
		end.Serial, end.Log = w.serial.size, w.log.size
		w.json(blockEnd, end)
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.err = cmp.Or(w.err, w.file.Close())
	return w.err
}
