package buildid

// debuginfod: files by build ID over HTTP (elfutils' debuginfod(8) is one server, most
// distributions run another). A file is downloaded once. It is written under another
// name, opened, compared with the build ID, and only then given its place, so that
// neither a cut download nor a wrong file is ever found there.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

const (
	// URLsEnv lists the servers, parted by blanks, as for every debuginfod client.
	URLsEnv = "DEBUGINFOD_URLS"
	// maxSizeEnv and timeoutEnv are the limits of every debuginfod client: bytes, and
	// seconds in which nothing comes.
	maxSizeEnv = "DEBUGINFOD_MAXSIZE"
	timeoutEnv = "DEBUGINFOD_TIMEOUT"

	// DefaultMaxSize is the largest file in bytes: a distribution's kernel is near one
	// gigabyte.
	DefaultMaxSize = 4 << 30
	// DefaultTimeout is how long nothing has to come.
	DefaultTimeout = 90 * time.Second

	userAgent = "zf (https://github.com/zeroframe/zeroframe)"
)

// Server is a list of debuginfod servers with a folder for what came from them.
type Server struct {
	// URLs are the servers, in the order in which they are asked.
	URLs []string
	// Dir keeps the files, in the layout xx/yyyy.debug.
	Dir string
	// MaxSize and Timeout are as the defaults say; 0 stands for them.
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
	urls := strings.Fields(os.Getenv(URLsEnv))
	if len(urls) == 0 {
		return nil, nil
	}
	for _, s := range urls {
		if u, err := url.Parse(s); err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("%s: %q is no http or https address", URLsEnv, s)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("a folder for what debuginfod sends: %w", err)
	}
	s := &Server{URLs: urls, Dir: filepath.Join(cache, "zeroframe", "debuginfod")}
	if n, err := strconv.ParseInt(os.Getenv(maxSizeEnv), 10, 64); err == nil && n > 0 {
		s.MaxSize = n
	}
	if n, err := strconv.Atoi(os.Getenv(timeoutEnv)); err == nil && n > 0 {
		s.Timeout = time.Duration(n) * time.Second
	}
	return s, nil
}

// Open opens the file of a build ID, and downloads it if it is not kept. The error is
// ErrNotFound when every server says that it has none.
func (s *Server) Open(ctx context.Context, id string) (*symbol.File, error) {
	if !Valid(id) {
		return nil, ErrNotFound
	}
	if file, err := openIn(s.Dir, id); file != nil {
		s.used(s.path(id))
		return file, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		// What is kept has been damaged since.
		os.Remove(s.path(id))
	}
	var wrong error
	for _, base := range s.URLs {
		// A stripped program resolves nothing, and debug information of a Go program
		// is found as both.
		for _, kind := range []string{"debuginfo", "executable"} {
			err := s.download(ctx, base, id, kind)
			if err == nil {
				return open(s.path(id), id)
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if !errors.Is(err, ErrNotFound) {
				wrong = err
			}
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	return nil, ErrNotFound
}

func (s *Server) path(id string) string { return filepath.Join(s.Dir, id[:2], id[2:]+keptSuffix) }

// download gets a file and puts it into its place.
func (s *Server) download(ctx context.Context, base, id, kind string) (err error) {
	limit, patience := s.MaxSize, s.Timeout
	if limit <= 0 {
		limit = DefaultMaxSize
	}
	if patience <= 0 {
		patience = DefaultTimeout
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(patience, cancel)
	defer quiet.Stop()

	from := strings.TrimRight(base, "/") + "/buildid/" + id + "/" + kind
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", userAgent)
	client := s.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("debuginfod: %w", err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return ErrNotFound
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("debuginfod: %s: %s", from, resp.Status)
	case resp.ContentLength > limit:
		return fmt.Errorf("debuginfod: %s has %d bytes, more than the limit of %d (%s)", from, resp.ContentLength, limit, maxSizeEnv)
	}
	if s.Log != nil {
		s.Log("downloading " + from)
	}
	to := s.path(id)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(to), downloading+"*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // which is gone if all went well
	n, err := io.Copy(tmp, &watched{r: io.LimitReader(resp.Body, limit+1), timer: quiet, patience: patience})
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	switch {
	case err != nil:
		return fmt.Errorf("debuginfod: %s: %w", from, err)
	case n > limit:
		return fmt.Errorf("debuginfod: %s has more than the limit of %d bytes (%s)", from, limit, maxSizeEnv)
	case resp.ContentLength >= 0 && n != resp.ContentLength:
		return fmt.Errorf("debuginfod: %s: %d of %d bytes came", from, n, resp.ContentLength)
	}
	file, err := open(tmp.Name(), id)
	if err != nil {
		return fmt.Errorf("debuginfod: what %s sent: %w", from, err)
	}
	file.Close()
	if err := os.Rename(tmp.Name(), to); err != nil {
		return err
	}
	s.limit(to)
	return nil
}

// watched is a reader that winds up a timer whenever something comes.
type watched struct {
	r        io.Reader
	timer    *time.Timer
	patience time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.timer.Reset(w.patience)
	}
	return n, err
}
