package buildid

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// self returns the test's own program, which has a build ID as every Go program.
func self(t testing.TB) (path, id string) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if id = file.BuildID(); id == "" {
		t.Fatal("the test's program has no build ID")
	}
	return path, id
}

func copyTo(t testing.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

//go:noinline
func pcOfTest() uintptr {
	pc, _, _, _ := runtime.Caller(0)
	return pc
}

const other = "00112233445566778899aabbccddeeff00112233"

func TestGivenFile(t *testing.T) {
	path, id := self(t)
	f := NewFinder()
	if err := f.Add(path); err != nil {
		t.Fatal(err)
	}
	file, err := f.Find(t.Context(), id)
	if err != nil || file.BuildID() != id {
		t.Fatal(file, err)
	}
	if again, known := f.Ready(id); !known || again != file {
		t.Error("what was given is not ready")
	}
	if _, err := f.Find(t.Context(), other); !errors.Is(err, ErrNotFound) {
		t.Errorf("another build: %v", err)
	}
	if file, known := f.Ready(other); !known || file != nil {
		t.Error("that there is none is not remembered")
	}
	if err := f.Add(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was added")
	}
}

func TestFolder(t *testing.T) {
	path, id := self(t)
	for _, layout := range []string{".build-id/%s/%s.debug", ".build-id/%s/%s", "%s/%s.debug"} {
		dir := t.TempDir()
		copyTo(t, path, filepath.Join(dir, fmt.Sprintf(layout, id[:2], id[2:])))
		copyTo(t, path, filepath.Join(dir, fmt.Sprintf(layout, other[:2], other[2:]))) // a lie
		f := NewFinder()
		if err := f.Add(dir); err != nil {
			t.Fatal(err)
		}
		if file, err := f.Find(t.Context(), id); err != nil || file.BuildID() != id {
			t.Errorf("%s: %v", layout, err)
		}
		if file, err := f.Find(t.Context(), other); file != nil || err == nil || !strings.Contains(err.Error(), "another build") {
			t.Errorf("%s: a file of another build: %v, %v", layout, file, err)
		}
	}
}

func TestNoBuildID(t *testing.T) {
	f := NewFinder()
	f.Server = &Server{URLs: []string{"http://127.0.0.1:1"}, Dir: t.TempDir()}
	for _, id := range []string{"", "a", "../../etc/passwd", "zz", "ABCD", strings.Repeat("a", 66), "ab/cd", "abc"} {
		if _, err := f.Find(t.Context(), id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// startServer starts elfutils' own server over a folder, and returns its address.
func startServer(t *testing.T, dir string) string {
	t.Helper()
	port := 0
	for range 20 {
		l, err := net.Listen("tcp", ":0")
		if err != nil {
			t.Fatal(err)
		}
		port = l.Addr().(*net.TCPAddr).Port
		l.Close()
		cmd := exec.Command("debuginfod", "-d", ":memory:", "-p", fmt.Sprint(port), "-t", "1", "-F", dir)
		cmd.Env = append(os.Environ(), URLsEnv+"=", "HOME="+t.TempDir())
		if err := cmd.Start(); err != nil {
			t.Fatalf("%v; tools/setup.sh test installs debuginfod", err)
		}
		ended := make(chan struct{})
		go func() {
			cmd.Wait()
			close(ended)
		}()
		address := fmt.Sprintf("http://127.0.0.1:%d", port)
		if up(address, ended) {
			t.Cleanup(func() {
				cmd.Process.Kill()
				<-ended
			})
			return address
		}
		cmd.Process.Kill()
		<-ended // somebody took the port
	}
	t.Fatal("debuginfod does not start")
	return ""
}

// up waits until a server answers or its process has ended.
func up(address string, ended <-chan struct{}) bool {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if resp, err := http.Get(address + "/metrics"); err == nil {
			resp.Body.Close()
			return resp.StatusCode == http.StatusOK
		}
		select {
		case <-ended:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return false
}

func TestDebuginfod(t *testing.T) {
	path, id := self(t)
	dir := t.TempDir()
	copyTo(t, path, filepath.Join(dir, "kernel.elf"))
	address := startServer(t, dir)
	cache := t.TempDir()
	var said []string
	newFinder := func(urls ...string) *Finder {
		f := NewFinder()
		f.Server = &Server{URLs: urls, Dir: cache, Log: func(s string) { said = append(said, s) }}
		return f
	}
	// The first server is down; the second one scans its folder still, maybe.
	var file *symbol.File
	await.Poll(t, "debuginfod has the file", func() bool {
		file, _ = newFinder("http://127.0.0.1:1", address).Find(t.Context(), id)
		return file != nil
	})
	if calls := file.Lookup(uint64(pcOfTest()), true); len(calls) == 0 || !strings.Contains(calls[len(calls)-1].Function, "pcOfTest") {
		t.Errorf("what came does not resolve: %v", calls)
	}
	if len(said) != 1 || !strings.Contains(said[0], address) {
		t.Errorf("downloads: %q, want one", said)
	}
	// It is kept: no server is needed any more.
	if again, err := newFinder("http://127.0.0.1:1").Find(t.Context(), id); err != nil || again.BuildID() != id {
		t.Errorf("from the cache: %v", err)
	}
	if len(said) != 1 {
		t.Errorf("it was downloaded again: %q", said)
	}
	// Damaged meanwhile, it is got anew.
	kept := filepath.Join(cache, id[:2], id[2:]+".debug")
	if err := os.WriteFile(kept, []byte("\x7fELF"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := newFinder(address).Find(t.Context(), id); err != nil || again.BuildID() != id || len(said) != 2 {
		t.Errorf("a damaged file in the cache: %v, downloads %q", err, said)
	}
	if _, err := newFinder(address).Find(t.Context(), other); !errors.Is(err, ErrNotFound) {
		t.Errorf("a build that no server has: %v", err)
	}
}

// noLeftovers checks that a folder has no file.
func noLeftovers(t *testing.T, dir string) {
	t.Helper()
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("%s is left over", path)
		}
		return nil
	})
}

// Servers that lie, break off, send without end, or never say anything.
func TestHostileServers(t *testing.T) {
	path, _ := self(t)
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	hang := make(chan struct{})
	defer close(hang)
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"another build": {func(w http.ResponseWriter, r *http.Request) { w.Write(image) }, "another build"},
		"no ELF file":   {func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("<html>")) }, "sent"},
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
		"hangs":  {func(w http.ResponseWriter, r *http.Request) { <-hang }, "cancel"},
		"broken": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }, "500"},
	} {
		s := httptest.NewServer(c.serve)
		dir := t.TempDir()
		f := NewFinder()
		f.Server = &Server{URLs: []string{s.URL}, Dir: dir, MaxSize: 64 << 20}
		if name == "hangs" {
			f.Server.Timeout = 300 * time.Millisecond
		}
		file, err := f.Find(t.Context(), other)
		if file != nil || err == nil || errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want an error with %q", name, file, err, c.want)
		}
		noLeftovers(t, dir)
		go s.Close() // the one that hangs does so until the end
	}
}

// Many that want the same file wait for one download.
func TestOneDownload(t *testing.T) {
	path, id := self(t)
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int32
	const n = 20
	var all sync.WaitGroup // of those who ask
	all.Add(n)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		all.Wait()
		w.Write(image)
	}))
	defer s.Close()
	f := NewFinder()
	f.Server = &Server{URLs: []string{s.URL}, Dir: t.TempDir()}
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			all.Done()
			if file, err := f.Find(t.Context(), id); err != nil || file.BuildID() != id {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// One that has lost its patience spoils it for nobody.
func TestImpatience(t *testing.T) {
	path, id := self(t)
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var slow atomic.Bool
	slow.Store(true)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slow.Load() {
			<-r.Context().Done()
			return
		}
		w.Write(image)
	}))
	defer s.Close()
	f := NewFinder()
	f.Server = &Server{URLs: []string{s.URL}, Dir: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := f.Find(ctx, id); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a deadline: %v", err)
	}
	slow.Store(false)
	if _, err := f.Find(t.Context(), id); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A flood of made-up builds takes no memory without bound.
func TestManyBuilds(t *testing.T) {
	f := NewFinder()
	for i := range 3 * maxKnown {
		f.Find(t.Context(), fmt.Sprintf("%040x", i))
	}
	if n := len(f.known); n > maxKnown {
		t.Errorf("%d builds are remembered, want at most %d", n, maxKnown)
	}
}

func TestFromEnvironment(t *testing.T) {
	t.Setenv(URLsEnv, "")
	if s, err := FromEnvironment(); s != nil || err != nil {
		t.Errorf("without the variable: %v, %v", s, err)
	}
	t.Setenv(URLsEnv, "https://a.example/ http://b.example:8002")
	t.Setenv(MaxSizeEnv, "1000")
	t.Setenv(TimeoutEnv, "7")
	t.Setenv("XDG_CACHE_HOME", "/nowhere")
	s, err := FromEnvironment()
	if err != nil || len(s.URLs) != 2 || s.MaxSize != 1000 || s.Timeout != 7*time.Second || s.Dir != "/nowhere/zeroframe/debuginfod" {
		t.Errorf("%+v, %v", s, err)
	}
	t.Setenv(URLsEnv, "ftp://a")
	if _, err := FromEnvironment(); err == nil {
		t.Error("ftp is taken")
	}
}
