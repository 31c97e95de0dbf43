package buildid

// debuginfod's files by build ID, as elfutils' client gets them: the same environment variables,
// the same requests, and one cache folder with it, so that what gdb, perf or eu-addr2line has
// downloaded is there for zf, and the other way round.
//
// A file is downloaded under another name and compared with the build ID before it gets its place,
// so that neither a cut download nor a wrong file is ever found there.
//
// Sources: debuginfod(8), "WEBAPI"; debuginfod_find_debuginfo(3), "ENVIRONMENT VARIABLES" and
// "CACHE".

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// The environment variables of every debuginfod client.
const (
	// URLsEnv lists the servers, parted by blanks.
	URLsEnv = "DEBUGINFOD_URLS"
	// CacheEnv is the cache folder.
	CacheEnv = "DEBUGINFOD_CACHE_PATH"
	// TimeoutEnv is in how many seconds something has to come; 0: no limit.
	TimeoutEnv = "DEBUGINFOD_TIMEOUT"
	// MaxTimeEnv is how many seconds a download may take; 0: no limit.
	MaxTimeEnv = "DEBUGINFOD_MAXTIME"
	// MaxSizeEnv is how many bytes a file may have; 0: no limit.
	MaxSizeEnv = "DEBUGINFOD_MAXSIZE"
	// RetryEnv is how often a request that failed is repeated.
	RetryEnv = "DEBUGINFOD_RETRY_LIMIT"
)

// The defaults, which are elfutils', but for the size: that has no limit there.
const (
	DefaultTimeout = 90 * time.Second
	DefaultRetries = 2
	// DefaultMaxSize is near nothing that exists: a distribution's kernel has one gigabyte.
	DefaultMaxSize = 16 << 30
	// defaultMiss is how long a server's word that there is no such file counts.
	defaultMiss = 10 * time.Minute
)

// Kinds of files. A server has more, for which [Client.Get] is not made.
const (
	DebugInfo  = "debuginfo"
	Executable = "executable"
)

// ErrNoServer is returned when every server says that it has no such file. It is
// [fs.ErrNotExist], too.
var ErrNoServer = fmt.Errorf("no debuginfod server has it: %w", fs.ErrNotExist)

// A Client asks servers. Its methods may be called from several goroutines, and several
// processes may use one cache folder.
type Client struct {
	// URLs are the servers. All are asked at once, and the first that has the file sends it.
	URLs []string
	// Dir is the cache folder. It need not exist.
	Dir string
	// Timeout is how long nothing has to come, MaxTime how long a request may take, MaxSize
	// how many bytes a file may have; 0: no limit. Retries is how often a request that
	// failed is repeated.
	Timeout, MaxTime time.Duration
	MaxSize          int64
	Retries          int
	// Progress is told how much of a file has come, again and again, and at last with its
	// whole length; total is 0 if the server does not say it. nil: nobody wants to know.
	Progress func(url string, done, total int64)
	// HTTP makes the requests; nil: http.DefaultClient.
	HTTP *http.Client
}

// ClientFromEnvironment returns a client as the environment says, and nil if that names no server.
func ClientFromEnvironment() (*Client, error) {
	c := &Client{Timeout: DefaultTimeout, MaxSize: DefaultMaxSize, Retries: DefaultRetries}
	for s := range strings.FieldsSeq(os.Getenv(URLsEnv)) {
		if strings.HasPrefix(s, "ima:") {
			continue // how newer clients check signatures, which we do not
		}
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "file" {
			return nil, fmt.Errorf("%s: %q is no http, https or file address", URLsEnv, s)
		}
		c.URLs = append(c.URLs, s)
	}
	if len(c.URLs) == 0 {
		return nil, nil
	}
	number := func(name string, set func(n int64)) {
		if n, err := strconv.ParseInt(os.Getenv(name), 10, 64); err == nil && n >= 0 {
			set(n)
		}
	}
	seconds := func(to *time.Duration) func(int64) {
		return func(n int64) { *to = time.Duration(min(n, 1<<31)) * time.Second }
	}
	number(TimeoutEnv, seconds(&c.Timeout))
	number(MaxTimeEnv, seconds(&c.MaxTime))
	number(MaxSizeEnv, func(n int64) { c.MaxSize = n })
	number(RetryEnv, func(n int64) { c.Retries = int(min(n, 100)) })
	var err error
	c.Dir, err = CacheFolder()
	return c, err
}

// CacheFolder returns the folder that all clients of a user share.
func CacheFolder() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err == nil {
		// Where it was before there was a standard; who has it goes on using it.
		if old := filepath.Join(home, ".debuginfod_client_cache"); isDir(old) {
			return old, nil
		}
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "debuginfod_client"), nil
	}
	if err != nil {
		return "", fmt.Errorf("a folder for what debuginfod sends: %w; set $%s", err, CacheEnv)
	}
	return filepath.Join(home, ".cache", "debuginfod_client"), nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// DebugFile returns the path of the file with the debug information of a build, and downloads
// it if it is not in the cache. It makes a Client a store of package symbol.
func (c *Client) DebugFile(ctx context.Context, id string) (string, error) {
	return c.Get(ctx, id, DebugInfo)
}

// Get returns the path of a build's file in the cache, and downloads it if it is not there. The
// error is [ErrNoServer] if all servers say that they have none, which counts for some minutes.
// Of others, the first that went wrong is returned.
func (c *Client) Get(ctx context.Context, id, kind string) (string, error) {
	if !Valid(id) || kind != DebugInfo && kind != Executable {
		return "", ErrNoServer
	}
	path := filepath.Join(c.Dir, id, kind)
	switch info, err := os.Stat(path); {
	case err != nil:
	case info.Size() == 0: // so a client notes that there is none
		if time.Since(info.ModTime()) <= c.seconds("cache_miss_s", defaultMiss) {
			return "", ErrNoServer
		}
		os.Remove(path)
	case c.check(path, id) == nil:
		// It counts as used, also where the file system does not keep the time of it.
		os.Chtimes(path, time.Now(), info.ModTime())
		return path, nil
	default: // it has been damaged since
		os.Remove(path)
	}
	if len(c.URLs) == 0 {
		return "", ErrNoServer
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("debuginfod's cache: %w", err)
	}
	c.clean()
	var err error
	for try := 0; ; try++ {
		err = c.Fetch(ctx, id, kind, path, kind+".*")
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err == nil {
			return path, nil
		}
		var again *failure
		if !errors.As(err, &again) || again.final || try >= c.Retries {
			break
		}
	}
	if errors.Is(err, ErrNoServer) {
		if miss, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			miss.Close()
		}
	} else {
		os.Remove(filepath.Dir(path)) // if it is empty
	}
	return "", err
}

// check returns nil if a file is an ELF file of the build.
func (c *Client) check(path, id string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return compare(f, path, id)
}

// compare returns nil if the file at path is of the build.
func compare(f interface{ BuildID() string }, path, id string) error {
	have := f.BuildID()
	if have == id {
		return nil
	}
	return fmt.Errorf("%s is of another build: %s", path, cmp.Or(have, "no build ID"))
}

// seconds returns the number of seconds that a file in the cache folder sets, which all clients
// obey.
func (c *Client) seconds(name string, otherwise time.Duration) time.Duration {
	b, err := os.ReadFile(filepath.Join(c.Dir, name))
	if err != nil {
		return otherwise
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 32)
	if err != nil {
		return otherwise
	}
	return time.Duration(n) * time.Second
}
