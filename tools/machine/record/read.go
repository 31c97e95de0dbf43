package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A Recording is one that has been read.
type Recording struct {
	Meta
	Base   Base   // where it begins
	End    *End   // nil: how the machine has ended is not in the file
	Serial []byte // what it has said
	// Broken says why the file is not read to its end, wrapping ErrDamaged or ErrCut; nil: it is
	// whole.
	Broken error
	// Strange says what Meta has in the file that this zf does not know: `unknown field "X"`; "" is
	// nothing.
	Strange string

	dir   string
	files []string
}

// Ended reports whether the recording has the machine's end, by whatever has ended it.
func (r *Recording) Ended() bool { return r.Broken == nil && r.End != nil && r.End.Status >= 0 }

// logName is where Open puts QEMU's log, in its folder: as it came, see [Log.File].
const logName = "log"

// Open reads a recording and puts its files into folder dir. One that is cut or damaged is read up
// to there, as Broken says, if that is behind the machine's start; it is an error otherwise. Errors
// wrap [ErrNone], [ErrDamaged] or [ErrCut], or are the system's.
func Open(path, dir string) (*Recording, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := &Recording{dir: dir, Base: start()}
	if err := r.read(bufio.NewReaderSize(file, 1<<20)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// decoder is for all recordings: it may be used from any goroutine.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(mostBlock), zstd.WithDecoderConcurrency(2))
})

func (r *Recording) read(in *bufio.Reader) error {
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(in, start); err != nil || string(start) != magic {
		return fmt.Errorf("%w: it does not begin as one of zf run -record does", ErrNone)
	}
	dec, err := decoder()
	if err != nil {
		return err
	}
	out := make(map[string]*os.File)
	defer func() {
		for _, f := range out {
			f.Close()
		}
	}()
	to := func(name string) (*os.File, error) {
		if out[name] == nil {
			f, err := os.Create(filepath.Join(r.dir, name))
			if err != nil {
				return nil, err
			}
			out[name] = f
		}
		return out[name], nil
	}
	if _, err := to(logName); err != nil {
		return err
	}
	running, place, unpacked := false, int64(len(magic)), int64(0)
	for first := true; ; first = false {
		kind, contents, size, err := block(in, dec)
		switch {
		case errors.Is(err, io.EOF) && !running:
			return fmt.Errorf("%w before the machine started", ErrCut)
		case errors.Is(err, io.EOF):
			if r.End == nil {
				r.Broken = fmt.Errorf("%w: whoever made it was killed", ErrCut)
			}
			return nil
		case err != nil:
			err = fmt.Errorf("%w at byte %d", err, place)
			if !running {
				return fmt.Errorf("%w, before the machine started", err)
			}
			r.Broken = err
			return nil
		}
		place += size
		if unpacked += int64(len(contents)); unpacked > unpackLeast+mostRatio*place {
			return fmt.Errorf(
				"%w: %d bytes of it unpack to %d, more than those of zf run -record do; have it recorded again",
				ErrDamaged, place, unpacked)
		}
		wrong := first != (kind == blockMeta) || r.End != nil ||
			running == slices.Contains([]byte{blockMeta, blockFile, blockBase, blockGo}, kind)
		switch {
		case wrong:
			err = fmt.Errorf("%w: a block of kind %q is where none belongs", ErrDamaged, kind)
		case kind == blockMeta:
			if err = decode(contents, &r.Meta); err == nil {
				strict := json.NewDecoder(bytes.NewReader(contents))
				strict.DisallowUnknownFields()
				if serr := strict.Decode(new(Meta)); serr != nil {
					r.Strange = strings.TrimPrefix(serr.Error(), "json: ")
				}
			}
		case kind == blockFile:
			err = r.file(contents, to)
		case kind == blockBase:
			if err = decode(contents, &r.Base); err == nil {
				err = r.Base.check()
			}
		case kind == blockGo:
			if (r.Base.Log > logHeader) != slices.Contains(r.files, Snapshot) {
				err = fmt.Errorf(
					"%w: it has a machine's state without saying where that is, or says so without one",
					ErrDamaged)
			} else if running = slices.Contains(r.files, Image) || slices.Contains(r.files, Disc); !running {
				err = fmt.Errorf("%w: there is no image in it", ErrDamaged)
			}
		case kind == blockLog:
			_, err = out[logName].Write(contents)
		case kind == blockSerial:
			r.Serial = append(r.Serial, contents...)
		case kind == blockEnd:
			r.End = new(End)
			err = decode(contents, r.End)
		default:
			err = fmt.Errorf("%w: a block has the unknown kind %q", ErrDamaged, kind)
		}
		if err != nil {
			return err
		}
	}
}

// decode reads a block that is JSON.
func decode(contents []byte, v any) error {
	if err := json.Unmarshal(contents, v); err != nil {
		return fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	return nil
}

// file takes a piece of a file.
func (r *Recording) file(contents []byte, to func(string) (*os.File, error)) error {
	name, data, ok := bytes.Cut(contents, []byte{0})
	if !ok || !slices.Contains([]string{Image, Initrd, Disc, Snapshot}, string(name)) {
		return fmt.Errorf("%w: a file in it is called %q", ErrDamaged, name)
	}
	f, err := to(string(name))
	if err != nil {
		return err
	}
	if !slices.Contains(r.files, string(name)) {
		r.files = append(r.files, string(name))
	}
	_, err = f.Write(data)
	return err
}

// Whole reports whether the recording begins where the machine has started.
func (r *Recording) Whole() bool { return r.Path(Snapshot) == "" }

// Path returns the path of a file of the recording, "" if it has none of that name.
func (r *Recording) Path(name string) string {
	if !slices.Contains(r.files, name) {
		return ""
	}
	return filepath.Join(r.dir, name)
}

// block reads a block; size is what it takes in the file. The error is io.EOF only where a block
// could begin.
func block(in *bufio.Reader,
	dec *zstd.Decoder) (kind byte, contents []byte, size int64, err error) {
	h := make([]byte, headSize)
	if n, err := io.ReadFull(in, h); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return 0, nil, 0, io.EOF
		}
		return 0, nil, 0, cut(err)
	}
	length := binary.LittleEndian.Uint32(h[1:])
	if length > mostBlock {
		return 0, nil, 0, ErrDamaged
	}
	packed := make([]byte, length)
	if _, err := io.ReadFull(in, packed); err != nil {
		return 0, nil, 0, cut(err)
	}
	if checksum(h, packed) != binary.LittleEndian.Uint32(h[5:]) {
		return 0, nil, 0, ErrDamaged
	}
	if contents, err = dec.DecodeAll(packed, nil); err != nil {
		return 0, nil, 0, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	return h[0], contents, headSize + int64(length), nil
}

// cut is the error for a file that has ended, or cannot be read.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrCut
	}
	return err
}
