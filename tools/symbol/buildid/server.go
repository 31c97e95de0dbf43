package buildid

// debuginfod: files by build ID over HTTP, as a Client gets them. They are kept in a
// folder of our own and not in that of all clients: what serves machines without end has to
// bound it.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// DefaultServerSize is the largest file in bytes that a [Server] takes: a distribution's kernel is
// near one gigabyte.
const DefaultServerSize = 4 << 30

// Server is a list of debuginfod servers with a folder for what came from them.
type Server struct {
	// URLs are the servers. All are asked at once.
	URLs []string
	// Dir keeps the files, in the layout xx/yyyy.debug.
	Dir string
	// MaxSize is the largest file in bytes, Timeout how long nothing has to come; 0 stands for
	// DefaultServerSize and DefaultTimeout.
	MaxSize int64
	Timeout time.Duration
	// MaxKept bounds Dir in bytes: the files that were used least recently go. The
	// latest one stays, however large it is. 0 stands for DefaultMaxKept.
	MaxKept int64
	// Log says what is being downloaded; nil: nobody wants to know.
	Log func(string)
	// Client makes the requests; nil: http.DefaultClient.
	Client *http.Client
}

// FromEnvironment returns the servers that the environment names, with a folder in
// the user's cache, and nil if it names none.
func FromEnvironment() (*Server, error) {
	c, err := ClientFromEnvironment()
	if c == nil || err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("a folder for what debuginfod sends: %w", err)
	}
	s := &Server{URLs: c.URLs, Dir: filepath.Join(cache, "zeroframe", "debuginfod"),
		Timeout: c.Timeout}
	if c.MaxSize != DefaultMaxSize {
		s.MaxSize = c.MaxSize
	}
	return s, nil
}

// Open opens the file of a build ID, and downloads it if it is not kept. The error is
// ErrNotFound when every server says that it has none.
func (s *Server) Open(ctx context.Context, id string) (*symbol.File, error) {
	if !Valid(id) {
		return nil, ErrNotFound
	}
	kept := &Folder{Root: s.Dir}
	if file, err := kept.Layout(id); file != nil {
		s.used(s.path(id))
		return file, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		// What is kept has been damaged since.
		os.Remove(s.path(id))
	}
	// A stripped program resolves nothing, and debug information of a Go program is found as
	// both.
	var wrong error
	for _, kind := range []string{DebugInfo, Executable} {
		err := s.download(ctx, id, kind)
		if err == nil {
			var file *symbol.File
			if file, err = kept.openBuild(s.path(id), id); err == nil {
				return file, nil
			}
			os.Remove(s.path(id))
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !errors.Is(err, ErrNotFound) {
			wrong = err
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	return nil, ErrNotFound
}

func (s *Server) path(id string) string { return filepath.Join(s.Dir, id[:2], id[2:]+keptSuffix) }

// download gets a file and puts it into its place.
func (s *Server) download(ctx context.Context, id, kind string) error {
	limit, patience := s.MaxSize, s.Timeout
	if limit <= 0 {
		limit = DefaultServerSize
	}
	if patience <= 0 {
		patience = DefaultTimeout
	}
	c := Client{URLs: s.URLs, MaxSize: limit, Timeout: patience, HTTP: s.Client}
	if s.Log != nil {
		var first sync.Once
		c.Progress = func(url string, _, _ int64) { first.Do(func() { s.Log("downloading " + url) }) }
	}
	to := s.path(id)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	err := c.Fetch(ctx, id, kind, to, downloading+"*")
	switch {
	case errors.Is(err, ErrNoServer):
		return ErrNotFound
	case err != nil:
		return err
	}
	s.limit(to)
	return nil
}
