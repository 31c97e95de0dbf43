package buildid

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// selfImage is the contents of self.
func selfImage(t testing.TB) (image []byte, id string) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if id = f.BuildID(); id == "" {
		t.Fatal("the test's program has no build ID")
	}
	if image, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return image, id
}

// A server keeps what it was asked, and has one build.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func serve(t testing.TB, image []byte, id string) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		if r.URL.Path != "/buildid/"+id+"/debuginfo" {
			http.NotFound(w, r)
			return
		}
		w.Write(image)
	}))
	t.Cleanup(s.Close)
	return s
}

// requests returns what was asked since the last time.
func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.asked
	s.asked = nil
	return all
}

// fromEnvironment makes a client of an environment with nothing else in it.
func fromEnvironment(t *testing.T, env map[string]string) *Client {
	t.Helper()
	for _, name := range []string{URLsEnv, CacheEnv, TimeoutEnv, MaxTimeEnv, MaxSizeEnv, RetryEnv, "XDG_CACHE_HOME"} {
		t.Setenv(name, env[name])
	}
	if env["HOME"] != "" {
		t.Setenv("HOME", env["HOME"])
	}
	c, err := ClientFromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRequest(t *testing.T) {
	image, id := selfImage(t)
	s := serve(t, image, id)
	dir := t.TempDir()
	c := fromEnvironment(t, map[string]string{URLsEnv: s.URL + "/", CacheEnv: dir})
	path, err := c.DebugFile(t.Context(), id)
	if want := filepath.Join(dir, id, "debuginfo"); err != nil || path != want {
		t.Fatalf("DebugFile = %q, %v; want %q", path, err, want)
	}
	if got, err := os.ReadFile(path); err != nil || !slices.Equal(got, image) {
		t.Errorf("the file is not what was sent (%v)", err)
	}
	if got, want := s.requests(), []string{"GET /buildid/" + id + "/debuginfo"}; !slices.Equal(got, want) {
		t.Errorf("requests: %q; want %q", got, want)
	}
	if _, err := c.DebugFile(t.Context(), id); err != nil || len(s.requests()) > 0 {
		t.Errorf("it was asked for again, or not found: %v", err)
	}
	// That there is none is remembered, too, until it is old.
	for range 2 {
		if _, err := c.DebugFile(t.Context(), other); !errors.Is(err, ErrNoServer) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("another build: %v", err)
		}
	}
	if got := s.requests(); len(got) != 1 || got[0] != "GET /buildid/"+other+"/debuginfo" {
		t.Errorf("requests for what is not there: %q; want one", got)
	}
	miss := filepath.Join(dir, other, "debuginfo")
	then := time.Now().Add(-11 * time.Minute)
	if err := os.Chtimes(miss, then, then); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DebugFile(t.Context(), other); !errors.Is(err, ErrNoServer) || len(s.requests()) != 1 {
		t.Errorf("after 11 minutes it was not asked for again: %v", err)
	}
	// What is damaged is got anew.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("\x7fELF"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DebugFile(t.Context(), id); err != nil || len(s.requests()) != 1 {
		t.Errorf("a damaged file in the cache: %v", err)
	}
	for _, id := range []string{"", "a", "../../etc/passwd", "ABCD", strings.Repeat("a", 66), "ab/cd"} {
		if _, err := c.DebugFile(t.Context(), id); !errors.Is(err, ErrNoServer) || len(s.requests()) > 0 {
			t.Errorf("%q: %v, or it was asked for", id, err)
		}
	}
}

// TestShared: elfutils' client finds what this one has kept, and the other way round, also
// that there is nothing.
func TestShared(t *testing.T) {
	image, id := selfImage(t)
	s := serve(t, image, id)
	find := func(dir, id string) (string, error) {
		cmd := exec.Command("debuginfod-find", "debuginfo", id)
		cmd.Env = append(os.Environ(), URLsEnv+"="+s.URL, CacheEnv+"="+dir)
		out, err := cmd.Output()
		if err != nil && errors.Is(err, exec.ErrNotFound) {
			t.Fatalf("%v; tools/setup.sh test installs debuginfod", err)
		}
		return strings.TrimSpace(string(out)), err
	}
	for name, first := range map[string]int{"zf first": 0, "elfutils first": 1} {
		dir := t.TempDir()
		c := fromEnvironment(t, map[string]string{URLsEnv: s.URL, CacheEnv: dir})
		get := func(id string) (string, error) { return c.DebugFile(t.Context(), id) }
		both := []func(id string) (string, error){get, func(id string) (string, error) { return find(dir, id) }}
		for round, who := range []int{first, 1 - first} {
			path, err := both[who](id)
			if want := filepath.Join(dir, id, "debuginfo"); err != nil || path != want {
				t.Errorf("%s, round %d: %q, %v; want %q", name, round, path, err, want)
			}
			if _, err := both[who](other); err == nil {
				t.Errorf("%s, round %d: a build that is not there", name, round)
			}
			if got := s.requests(); len(got) != 2*(1-round) {
				t.Errorf("%s, round %d: requests %q", name, round, got)
			}
		}
	}
}

// Several servers are asked at once, and one that does not answer holds nobody up.
func TestSeveral(t *testing.T) {
	image, id := selfImage(t)
	good := serve(t, image, id)
	hang := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	defer silent.Close()
	defer close(hang)
	none := serve(t, nil, other)
	var mu sync.Mutex
	var said []string
	c := &Client{URLs: []string{silent.URL, "http://127.0.0.1:1", none.URL, good.URL}, Dir: t.TempDir()}
	c.Progress = func(url string, done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if done == total {
			said = append(said, url)
		}
	}
	if _, err := c.DebugFile(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if len(said) == 0 || said[0] != good.URL+"/buildid/"+id+"/debuginfo" {
		t.Errorf("progress of %q", said)
	}
	left, err := filepath.Glob(filepath.Join(c.Dir, id, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("in the cache: %q", left)
	}
	// While one server is down, that others have nothing proves nothing.
	c.URLs = c.URLs[1:]
	if _, err := c.DebugFile(t.Context(), other[2:]+"44"); err == nil || errors.Is(err, ErrNoServer) {
		t.Errorf("with a server that is down: %v", err)
	}
	if n := len(none.requests()); n != 2 {
		t.Errorf("%d requests, and one more; want 2", n)
	}
	c.Retries = 2
	if _, err := c.DebugFile(t.Context(), other[2:]+"44"); err == nil || len(none.requests()) != 3 {
		t.Errorf("with two retries there were other than 3 requests: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.DebugFile(ctx, other[4:]); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}
}

// Servers that lie, break off, send without end, or never say anything.
func TestHostile(t *testing.T) {
	image, _ := selfImage(t)
	hang := make(chan struct{})
	wait := func(r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"another build": {func(w http.ResponseWriter, r *http.Request) { w.Write(image) }, "another build"},
		"no ELF file":   {func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("<html>")) }, "not an ELF file"},
		"broken off": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.Write(make([]byte, 10))
		}, "EOF"},
		"says it is huge": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "9000000000")
			w.WriteHeader(200)
		}, "limit"},
		"is huge": {func(w http.ResponseWriter, r *http.Request) {
			for range 1 << 12 {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, "limit"},
		"hangs": {func(w http.ResponseWriter, r *http.Request) { wait(r) }, TimeoutEnv},
		"drips": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				w.Write([]byte{0})
				w.(http.Flusher).Flush()
			}
		}, ""},
		"hangs in the middle": {func(w http.ResponseWriter, r *http.Request) {
			w.Write(image[:1000])
			w.(http.Flusher).Flush()
			wait(r)
		}, TimeoutEnv},
		"refuses": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) }, "403"},
		"broken":  {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }, "500"},
	} {
		s := httptest.NewServer(tt.serve)
		c := &Client{URLs: []string{s.URL}, Dir: t.TempDir(), MaxSize: 64 << 20}
		switch {
		case strings.HasPrefix(name, "hangs"):
			c.Timeout = 300 * time.Millisecond
		case name == "drips":
			c.MaxTime, tt.want = 300*time.Millisecond, MaxTimeEnv
		}
		path, err := c.DebugFile(t.Context(), other)
		if path != "" || err == nil || errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), s.URL+"/buildid/") {
			t.Errorf("%s: %v, %v; want an error with %q and the address", name, path, err, tt.want)
		}
		if left, _ := filepath.Glob(filepath.Join(c.Dir, "*", "*")); len(left) > 0 {
			t.Errorf("%s: %q is left over", name, left)
		}
		go s.Close()
	}
	close(hang)
}

func TestClientFromEnvironment(t *testing.T) {
	home := t.TempDir()
	if c := fromEnvironment(t, map[string]string{"HOME": home}); c != nil {
		t.Errorf("without servers: %+v", c)
	}
	c := fromEnvironment(t, map[string]string{
		"HOME": home, URLsEnv: "ima:enforcing https://a.example/ http://b.example:8002",
		TimeoutEnv: "7", MaxTimeEnv: "8", MaxSizeEnv: "9", RetryEnv: "3",
	})
	if len(c.URLs) != 2 || c.Timeout != 7*time.Second || c.MaxTime != 8*time.Second || c.MaxSize != 9 || c.Retries != 3 || c.Dir != filepath.Join(home, ".cache", "debuginfod_client") {
		t.Errorf("%+v", c)
	}
	env := map[string]string{"HOME": home, URLsEnv: "http://a", "XDG_CACHE_HOME": "/x"}
	if c := fromEnvironment(t, env); c.Dir != "/x/debuginfod_client" || c.Timeout != DefaultTimeout {
		t.Errorf("XDG_CACHE_HOME: %+v", c)
	}
	old := filepath.Join(home, ".debuginfod_client_cache")
	if err := os.Mkdir(old, 0o755); err != nil {
		t.Fatal(err)
	}
	if c := fromEnvironment(t, env); c.Dir != old {
		t.Errorf("the old folder: %+v", c)
	}
	env[CacheEnv] = "/c"
	if c := fromEnvironment(t, env); c.Dir != "/c" {
		t.Errorf("%s: %+v", CacheEnv, c)
	}
	t.Setenv(URLsEnv, "ftp://a")
	if _, err := ClientFromEnvironment(); err == nil || !strings.Contains(err.Error(), "ftp://a") {
		t.Errorf("ftp: %v", err)
	}
}

// A folder of files serves as a server does.
func TestFileURL(t *testing.T) {
	image, id := selfImage(t)
	root := t.TempDir()
	dir := filepath.Join(root, "buildid", id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "executable"), image, 0o644); err != nil {
		t.Fatal(err)
	}
	c := fromEnvironment(t, map[string]string{URLsEnv: "file://" + root, CacheEnv: t.TempDir()})
	if _, err := c.Get(t.Context(), id, Executable); err != nil {
		t.Error(err)
	}
	if _, err := c.Get(t.Context(), id, DebugInfo); !errors.Is(err, ErrNoServer) {
		t.Errorf("what is not there: %v", err)
	}
}

// TestClean: what was not used for long goes, once a day, by the times that the folder's files set.
func TestClean(t *testing.T) {
	c := &Client{Dir: t.TempDir()}
	put := func(name string, age time.Duration) string {
		path := filepath.Join(c.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("60"), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const day = 24 * time.Hour
	old, fresh, mine := put("aabb/debuginfo", 8*day), put("aabb/executable", 6*day), put("aabb/notes", 99*day)
	foreign, gone := put("photos/debuginfo", 99*day), put("ccdd/source#a.c", 8*day)
	there := func(want map[string]bool) {
		t.Helper()
		for path, want := range want {
			if _, err := os.Stat(path); (err == nil) != want {
				t.Errorf("%s: %v; want it there: %v", path, err, want)
			}
		}
	}
	c.clean() // a new cache: the day begins
	there(map[string]bool{old: true, gone: true, filepath.Join(c.Dir, intervalFile): true})
	put(intervalFile, time.Second)
	c.clean()
	there(map[string]bool{old: true})
	put(intervalFile, 2*time.Minute)
	c.clean()
	there(map[string]bool{old: false, gone: false, filepath.Dir(gone): false, fresh: true, mine: true, foreign: true})
	put(intervalFile, 2*time.Minute)
	put(unusedFile, 0)
	c.clean()
	there(map[string]bool{fresh: false, mine: true})
}

func ExampleClient_DebugFile() {
	c := &Client{URLs: []string{"file:///nowhere"}, Dir: filepath.Join(os.TempDir(), "no-cache")}
	defer os.RemoveAll(c.Dir)
	_, err := c.DebugFile(context.Background(), other)
	fmt.Println(err)
	// Output: no debuginfod server has it: file does not exist
}
