package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Reconnect says what happens when a source ends.
type Reconnect int

const (
	// Devices: a serial device that vanishes is waited for. All else ends, and so
	// does a device directly in /dev/pts: its number may be another's next.
	Devices Reconnect = iota
	// Never: each end is the end.
	Never
	// Always: whatever can be opened again is, and what is not there yet is waited
	// for at the start.
	Always
)

// DefaultBaud is the speed at which the kernel sends (arch/pc/uart.go), in bits a second.
const DefaultBaud = 115200

// Options say how a source is opened.
type Options struct {
	// Baud is the speed of a serial device in bits a second: [DefaultBaud] is the kernel's.
	Baud int
	// Reconnect says what is opened again.
	Reconnect Reconnect
	// Follow waits at the end of a file for more.
	Follow bool
	// Stdin is what "-" reads. A device that it is already is not set up.
	Stdin io.Reader
	// Note takes messages for the user, without a newline; nil: none.
	Note func(string)
}

// ErrNotAgain is wrapped by the error of Open for what cannot be opened again
// although Always was asked for.
var ErrNotAgain = errors.New("cannot be opened again: leave -reconnect out")

// A kind is how a source is opened.
type kind struct {
	open func(ctx context.Context) (io.ReadCloser, error)
	// lazy: opening waits for somebody, so it is left to the first Read.
	lazy bool
	// once: the end is the end.
	once bool
	// device: it is waited for without being asked.
	device bool
	// what is waited for, in words.
	what string
	// done frees what open needs; nil: nothing.
	done func()
}

// Open opens the source called name: "-", tcp:HOST:PORT, telnet:HOST:PORT,
// unix:PATH, tcp-listen:[HOST]:PORT, unix-listen:PATH, or the path of a file, a
// pipe, a serial device or a unix socket. ctx ends each wait for a source that is
// not there, and a Read then returns io.EOF; a Read of one that is there is ended
// by Close. Context: host.
func Open(ctx context.Context, name string, opt Options) (io.ReadCloser, error) {
	if opt.Note == nil {
		opt.Note = func(string) {}
	}
	if name == "-" {
		if opt.Reconnect == Always {
			return nil, fmt.Errorf("standard input %w", ErrNotAgain)
		}
		return io.NopCloser(opt.Stdin), nil
	}
	k, err := choose(name, &opt)
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, name: name, kind: k, note: opt.Note}
	r.again = !k.once && (opt.Reconnect == Always || opt.Reconnect == Devices && k.device)
	switch {
	case opt.Reconnect == Always && k.once:
		err = fmt.Errorf("%s %w", name, ErrNotAgain)
	case !k.lazy:
		if r.in, err = k.open(ctx); err != nil && opt.Reconnect == Always && ctx.Err() == nil {
			r.lost, err = err, nil
		}
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// choose finds out what a name means.
func choose(name string, opt *Options) (kind, error) {
	scheme, rest, _ := strings.Cut(name, ":")
	switch scheme {
	case "tcp", "telnet":
		if _, _, err := net.SplitHostPort(rest); err != nil {
			return kind{}, fmt.Errorf("%s: %w; give %s:HOST:PORT", name, err, scheme)
		}
		return kind{open: dialer("tcp", rest, name, scheme == "telnet")}, nil
	case "unix":
		return kind{open: dialer("unix", rest, name, false)}, nil
	case "tcp-listen":
		if _, _, err := net.SplitHostPort(rest); err != nil {
			return kind{}, fmt.Errorf("%s: %w; give tcp-listen:[HOST]:PORT", name, err)
		}
		return listen("tcp", rest)
	case "unix-listen":
		return listen("unix", rest)
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && opt.Reconnect == Always:
		return unborn(name, opt), nil
	case err != nil:
		return kind{}, err
	}
	return found(name, info, opt)
}

// found returns the kind of what is at a path.
func found(path string, info fs.FileInfo, opt *Options) (kind, error) {
	mode := info.Mode()
	switch {
	case mode.IsDir():
		return kind{}, fmt.Errorf("%s is a folder; give a log, a serial device or a socket", path)
	case mode&os.ModeSocket != 0:
		return kind{open: dialer("unix", path, path, false)}, nil
	case mode&os.ModeNamedPipe != 0:
		// It opens when a writer does.
		return kind{open: opener(path), lazy: true}, nil
	case mode&os.ModeCharDevice != 0 && !same(info, opt.Stdin):
		return device(path, opt), nil
	}
	if what := noLog(path); mode.IsRegular() && what != "" {
		return kind{}, fmt.Errorf("%s is %s; give a log, a serial device or a socket", path, what)
	}
	if opt.Follow {
		return kind{open: follower(path)}, nil
	}
	return kind{open: opener(path), once: true}, nil
}

// noLog says what a file is that nobody means as a log; "" if it may be one.
func noLog(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	var head [18]byte
	_, err = io.ReadFull(file, head[:])
	switch {
	case err != nil || string(head[:4]) != "\x7fELF":
		return ""
	case head[16] == 4 || head[17] == 4: // ET_CORE, in either byte order
		return "a core"
	}
	return "an ELF file"
}

// unborn is a path where nothing is yet: what comes decides.
func unborn(path string, opt *Options) kind {
	return kind{device: true, open: func(ctx context.Context) (io.ReadCloser, error) {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		k, err := found(path, info, opt)
		if err != nil {
			return nil, err
		}
		if k.once { // a log that somebody has begun: it is not read twice
			return follower(path)(ctx)
		}
		return k.open(ctx)
	}}
}

// opener opens a file, which for a pipe waits.
func opener(path string) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) {
		type result struct {
			f   *os.File
			err error
		}
		opened := make(chan result)
		go func() {
			f, err := os.Open(path)
			select {
			case opened <- result{f, err}:
			case <-ctx.Done():
				if err == nil {
					f.Close()
				}
			}
		}()
		select {
		case r := <-opened:
			if r.err != nil {
				return nil, r.err
			}
			return r.f, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func follower(path string) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) {
		f, err := Follow(path)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
}

// same reports whether the file is the one that r reads: /dev/stdin is a device,
// but our own terminal's settings are not ours to change.
func same(info fs.FileInfo, r io.Reader) bool {
	file, ok := r.(*os.File)
	if !ok {
		return false
	}
	own, err := file.Stat()
	return err == nil && os.SameFile(own, info)
}

// pseudo reports whether a path is a pseudo-terminal's own, whose number the next
// terminal of anybody may get. A link to one is somebody's promise.
func pseudo(path string) bool {
	abs, err := filepath.Abs(path)
	return err == nil && filepath.Dir(abs) == "/dev/pts"
}
