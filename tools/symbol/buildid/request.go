package buildid

import (
	"context"
	"errors"
	"fmt"
	"github.com/zeroframe/zeroframe/tools/format/whole"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const userAgent = "zf (https://github.com/zeroframe/zeroframe)"

// A failure is what went wrong with a request. It is final if it would do so again.
type failure struct {
	err   error
	final bool
}

func (f *failure) Error() string { return "debuginfod: " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// errStalled is of a server that says nothing for Client.Timeout.
var errStalled = errors.New("cancelled: nothing came")

// A claim is of the request whose file is taken.
type claim struct {
	sync.Mutex // held while it comes
	taken      bool
}

// Fetch asks all servers for a build's file, whatever is in the cache, and puts what comes first
// to path, whose folder must exist. While it comes it has a name by pattern (as os.CreateTemp's)
// in the same folder. The error is [ErrNoServer] if all servers say that they have none.
func (c *Client) Fetch(ctx context.Context, id, kind, path, pattern string) error {
	if !Valid(id) {
		return ErrNoServer
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.MaxTime > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, c.MaxTime,
			fmt.Errorf("it takes more than %v ($%s)", c.MaxTime, MaxTimeEnv))
		defer cancel()
	}
	var first claim
	results := make(chan error, len(c.URLs))
	for _, base := range c.URLs {
		go func() {
			results <- c.download(ctx, &first, base, id, kind, path, pattern)
		}()
	}
	var wrong error
	for range c.URLs {
		err := <-results
		if err == nil {
			return nil // the others are cancelled, and write nothing any more
		}
		if !errors.Is(err, ErrNoServer) && wrong == nil {
			wrong = err
		}
	}
	if wrong != nil {
		return wrong
	}
	return ErrNoServer
}

// download gets a file from one server. If it answers with one, and no other has before, the
// file goes into its place; while it comes the others wait, in case it breaks off.
func (c *Client) download(ctx context.Context, first *claim, base, id, kind, path,
	pattern string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := c.Timeout
	if patience <= 0 {
		patience = math.MaxInt64
	}
	quiet := time.AfterFunc(patience, func() {
		cancel(fmt.Errorf("%w within %v ($%s)", errStalled,
			patience, TimeoutEnv))
	})
	defer quiet.Stop()

	from := strings.TrimRight(base, "/") + "/buildid/" + id + "/" + kind
	wrong := func(final bool, format string, a ...any) error {
		err := fmt.Errorf("%s: "+format, append([]any{from}, a...)...)
		if cause := context.Cause(ctx); cause != nil && ctx.Err() != nil {
			err, final = fmt.Errorf("%s: %w", from, cause), true
		}
		return &failure{err, final}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return wrong(true, "%w", err)
	}
	req.Header.Set("User-Agent", userAgent)
	if c.MaxSize > 0 && c.MaxSize != DefaultMaxSize {
		req.Header.Set("X-DEBUGINFOD-MAXSIZE", strconv.FormatInt(c.MaxSize, 10))
	}
	resp, err := c.do(req)
	if err != nil {
		// The error of a client names the address itself.
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return wrong(false, "%w", err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return ErrNoServer
	case resp.StatusCode != http.StatusOK:
		return wrong(resp.StatusCode < 500, "%s", resp.Status)
	}
	limit := c.MaxSize
	if limit <= 0 {
		limit = math.MaxInt64 - 1
	}
	if resp.ContentLength > limit {
		return wrong(true, "%d bytes, more than the limit of %d ($%s)", resp.ContentLength,
			limit, MaxSizeEnv)
	}
	quiet.Stop() // it has answered; to wait for another one is not its fault
	first.Lock()
	defer first.Unlock()
	if first.taken || ctx.Err() != nil {
		return wrong(true, "another server has sent it")
	}
	quiet.Reset(patience)
	tmp, err := os.CreateTemp(filepath.Dir(path), pattern)
	if err != nil {
		return wrong(true, "%w", err)
	}
	whole.Doom(tmp.Name())
	defer os.Remove(tmp.Name()) // which is gone if all went well
	body := &watched{c: c, r: io.LimitReader(resp.Body, limit+1), timer: quiet, patience: patience,
		from: from, total: max(resp.ContentLength, 0)}
	n, err := io.Copy(tmp, body)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	switch {
	case err != nil:
		return wrong(false, "%w", err)
	case n > limit:
		return wrong(true, "more than the limit of %d bytes ($%s)", limit, MaxSizeEnv)
	case resp.ContentLength >= 0 && n != resp.ContentLength:
		return wrong(false, "%d of %d bytes came", n, resp.ContentLength)
	}
	if err := c.check(tmp.Name(), id); err != nil {
		return wrong(true, "what it sent: %w", err)
	}
	if c.Progress != nil {
		c.Progress(from, n, n)
	}
	os.Chmod(tmp.Name(), 0o400) // nobody is to write into what is known by its build ID
	if err := os.Rename(tmp.Name(), path); err != nil {
		return wrong(true, "%w", err)
	}
	first.taken = true
	return nil
}

// do makes a request, of a file: address too.
func (c *Client) do(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "file" {
		return http.NewFileTransport(http.Dir("/")).RoundTrip(req)
	}
	if c.HTTP != nil {
		return c.HTTP.Do(req)
	}
	return http.DefaultClient.Do(req)
}

// watched is a reader that winds up a timer whenever something comes, and says how much came.
type watched struct {
	c           *Client
	r           io.Reader
	timer       *time.Timer
	patience    time.Duration
	from        string
	done, total int64
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.timer.Reset(w.patience)
	}
	w.done += int64(n)
	if w.c.Progress != nil && err == nil {
		w.c.Progress(w.from, w.done, w.total)
	}
	return n, err
}
