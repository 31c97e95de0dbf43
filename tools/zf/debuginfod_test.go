package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
)

// A fileServer is a debuginfod server that keeps what it was asked.
type fileServer struct {
	url   string
	files map[string]string // by path of the address: the file
	mu    sync.Mutex
	asked []string
}

func (s *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path)
	s.mu.Unlock()
	if file := s.files[r.URL.Path]; file != "" {
		http.ServeFile(w, r, file)
		return
	}
	http.NotFound(w, r)
}

// requests returns what was asked since the last time.
func (s *fileServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.asked
	s.asked = nil
	return all
}

// debugServer starts a server, which the environment names, with a cache of its own.
func debugServer(t *testing.T, files map[string]string) *fileServer {
	s := &fileServer{files: files}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.url = h.URL
	t.Setenv(buildid.URLsEnv, s.url)
	t.Setenv(buildid.CacheEnv, t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return s
}

// run runs a program that must succeed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// splitSample returns a sample as it was linked, the same stripped, its debug information alone,
// and the build ID.
func splitSample(t *testing.T, flags ...string) (whole, stripped, debug, id string) {
	whole = buildSample(t, append([]string{"-g", "-Wl,--build-id"}, flags...)...)
	dir := t.TempDir()
	stripped, debug = filepath.Join(dir, "prog"), filepath.Join(dir, "prog.dbg")
	run(t, "objcopy", "--only-keep-debug", whole, debug)
	run(t, "strip", "-o", stripped, whole)
	f, err := symbol.Open(stripped)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if id = f.BuildID(); id == "" {
		t.Fatal("no build ID")
	}
	return whole, stripped, debug, id
}

// TestAddrDebuginfod: the debug information of a stripped file comes from a server, by one
// request of exactly that form, and from the cache of all clients then.
func TestAddrDebuginfod(t *testing.T) {
	whole, stripped, debug, id := splitSample(t)
	request := "/buildid/" + id + "/debuginfo"
	server := debugServer(t, map[string]string{request: debug})
	addrs := textAddresses(t, whole)
	ask := func(elf string, more ...string) string {
		t.Helper()
		args := append(append([]string{"addr", "-afi", "-e", elf}, more...), addrs...)
		code, stdout, stderr := zf(nil, args...)
		if code != exitOK || stderr != "" {
			t.Fatalf("zf addr = %d, %s", code, stderr)
		}
		return stdout
	}
	want := ask(whole)
	if got := server.requests(); len(got) > 0 {
		t.Errorf("a file with debug information: requests %q", got)
	}
	if code, _, stderr := zf(nil, "addr", "-debuginfod=off", "-e", stripped, "401020"); code != exitUsage || !strings.Contains(stderr, "no symbols") || len(server.requests()) > 0 {
		t.Errorf("-debuginfod=off: %d, %q, or there were requests", code, stderr)
	}
	for round, requests := range [][]string{{request}, nil} {
		if got := ask(stripped); got != want {
			t.Errorf("round %d: %.300s\nwant %.300s", round, got, want)
		}
		if got := server.requests(); !slices.Equal(got, requests) {
			t.Errorf("round %d: requests %q; want %q", round, got, requests)
		}
	}
	// Another client has it without a request, too, and has kept it for us.
	eu := func() {
		t.Helper()
		if got := run(t, "eu-addr2line", "-f", "-e", stripped, "0x401020"); !strings.Contains(got, "csample.c:") {
			t.Errorf("eu-addr2line: %q (the tests need elfutils)", got)
		}
	}
	eu()
	if got := server.requests(); len(got) > 0 {
		t.Errorf("eu-addr2line asked again: %q", got)
	}
	t.Setenv(buildid.CacheEnv, t.TempDir())
	eu()
	if got := server.requests(); !slices.Contains(got, request) {
		t.Errorf("eu-addr2line with an empty cache: requests %q", got)
	}
	if got := ask(stripped); got != want || len(server.requests()) > 0 {
		t.Errorf("what eu-addr2line has kept is not used: %.300s", got)
	}
}

// What a server does wrong is said, and the answers are those of the file alone.
func TestAddrDebuginfodErrors(t *testing.T) {
	whole, stripped, _, id := splitSample(t)
	server := debugServer(t, map[string]string{"/buildid/" + id + "/debuginfo": "/bin/sh"})
	named := filepath.Join(t.TempDir(), "named") // with its symbols, and without debug information
	run(t, "strip", "-g", "-o", named, whole)
	_, want, _ := zf(nil, "addr", "-f", "-debuginfod=off", "-e", named, "401020")
	if !strings.HasSuffix(want, ":?\n") || strings.HasPrefix(want, "??") {
		t.Errorf("by the symbol table alone: %q", want)
	}
	code, stdout, stderr := zf(nil, "addr", "-f", "-e", named, "401020")
	if code != exitOK || stdout != want || !strings.Contains(stderr, "another build") || !strings.Contains(stderr, server.url) {
		t.Errorf("another file: %d, %q, %q; want %q", code, stdout, stderr, want)
	}
	if code, stdout, stderr := zf(nil, "addr", "-f", "-e", stripped, "401020"); code != exitUsage || stdout != "" || !strings.Contains(stderr, "another build") {
		t.Errorf("another file, and nothing else: %d, %q, %q", code, stdout, stderr)
	}
	server.files = nil
	if code, stdout, stderr := zf(nil, "addr", "-f", "-e", named, "401020"); code != exitOK || stdout != want || stderr != "" {
		t.Errorf("nothing there: %d, %q, %q", code, stdout, stderr)
	}
	if got := server.requests(); len(got) != 3 {
		t.Errorf("requests %q; want 3", got)
	}
	if _, _, _ = zf(nil, "addr", "-f", "-e", stripped, "401020"); len(server.requests()) > 0 {
		t.Error("it was asked for again, within ten minutes")
	}
	t.Setenv(buildid.URLsEnv, "gopher://x")
	for _, args := range [][]string{{"addr", "-e", stripped, "401020"}, {"symbolize", "-e", stripped}} {
		if code, _, stderr := zf(strings.NewReader(""), args...); code != exitUsage || !strings.Contains(stderr, "gopher://x") || !strings.Contains(stderr, "-debuginfod=off") {
			t.Errorf("zf %q: %d, %q", args, code, stderr)
		}
		args = append(args[:1:1], append([]string{"-debuginfod=on"}, args[1:]...)...)
		if code, _, stderr := zf(strings.NewReader(""), args...); code != exitUsage || !strings.Contains(stderr, "auto or off") {
			t.Errorf("zf %q: %d, %q", args, code, stderr)
		}
	}
}

// TestSymbolizeDebuginfod: an image that nobody has given comes from a server by its build ID, as
// does the debug information of one that was given.
func TestSymbolizeDebuginfod(t *testing.T) {
	elf, trace := ownTrace(t)
	f, err := symbol.Open(elf)
	if err != nil {
		t.Fatal(err)
	}
	id := f.BuildID()
	f.Close()
	server := debugServer(t, map[string]string{"/buildid/" + id + "/executable": elf})
	code, stdout, stderr := zf(strings.NewReader(trace), "symbolize")
	if code != exitOK || !strings.Contains(stdout, "zf.ownTrace") {
		t.Errorf("without -e: %d, %q, %q", code, stdout, stderr)
	}
	if got, want := server.requests(), []string{"/buildid/" + id + "/debuginfo", "/buildid/" + id + "/executable"}; !slices.Equal(got, want) {
		t.Errorf("requests %q; want %q", got, want)
	}
	if code, _, stderr := zf(strings.NewReader(trace), "symbolize", "-debuginfod=off"); code != exitUsage || !strings.Contains(stderr, "-e ELF is missing") {
		t.Errorf("-debuginfod=off: %d, %q", code, stderr)
	}
	_, stripped, debug, id := splitSample(t)
	server.files = map[string]string{"/buildid/" + id + "/debuginfo": debug}
	code, stdout, stderr = zf(strings.NewReader("pc=0x401020\n"), "symbolize", "-e", stripped)
	if code != exitOK || !strings.Contains(stdout, "csample.c:") {
		t.Errorf("a stripped file: %d, %q, %q", code, stdout, stderr)
	}
	server.requests()
	code, _, stderr = zf(strings.NewReader(strings.Replace(trace, "build=", "build=00", 1)), "symbolize", "-e", stripped)
	if code != exitUsage {
		t.Errorf("a build that is nowhere: %d, %q", code, stderr)
	}
}

func TestDownloadProgress(t *testing.T) {
	var out bytes.Buffer
	p := &progressLine{w: &out}
	const url = "http://localhost/buildid/0011/debuginfo"
	p.showDownload(url, 1e6, 20e6)
	if want := "downloading 1.0 MB of 20.0 MB: " + url; out.String() != want {
		t.Errorf("%q; want %q", &out, want)
	}
	out.Reset()
	p.showDownload(url, 2e6, 20e6) // too soon
	p.showDownload(url, 20e6, 20e6)
	p.showDownload(url, 20e6, 20e6) // the next file comes at once
	if out.String() != wipeLine {
		t.Errorf("at the end %q; want the line to be wiped out", &out)
	}
}
