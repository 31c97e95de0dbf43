package doctor

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
)

func TestReport(t *testing.T) {
	t.Parallel()
	finding := func(f Finding) func(context.Context) Finding {
		return func(context.Context) Finding { return f }
	}
	for _, tt := range []struct {
		check Check
		line  string
		works bool
	}{
		{Check{"a", true, finding(Found("1.%d", 2))}, "ok    a           1.2\n", true},
		{Check{"b", false, finding(Missing("get it"))}, "none  b           get it\n", true},
		{Check{"c", true, finding(Missing("get it"))}, "BAD   c           get it\n", false},
		{Check{"d", false, finding(Wrong("it fails"))}, "BAD   d           it fails\n", true},
		{Check{"e", true, finding(Wrong("it fails"))}, "BAD   e           it fails\n", false},
	} {
		var out bytes.Buffer
		other := Check{"x", true, finding(Found("y"))}
		if works := Report(t.Context(), []Check{tt.check, other}, &out); works != tt.works || out.String() != tt.line+"ok    x           y\n" {
			t.Errorf("%s: %v, %q; want %v, %q", tt.check.Name, works, out.String(), tt.works, tt.line)
		}
	}
}

// TestSerial: a device that may not be opened is named with what to do. A link to nowhere
// stands for one, since root may open everything.
func TestSerial(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		serialNames[runtime.GOOS] = serialNames["linux"]
	}
	for _, tt := range []struct {
		open, closed string
		state        State
		says         string
	}{
		{"", "", Absent, "plug in an adapter"},
		{"ttyUSB0 ttyACM1", "", OK, "ttyUSB0, "},
		{"ttyS0", "", OK, "ttyS0"},
		{"ttyUSB0", "ttyUSB1", Broken, "sudo usermod -aG dialout $USER"},
		{"ttyUSB0", "ttyS0", OK, "ttyUSB0"},
		{"", "ttyS0", Absent, "ttyS0, if a machine is on it: sudo usermod"},
	} {
		dev := t.TempDir()
		for _, name := range strings.Fields(tt.open) {
			if err := os.WriteFile(filepath.Join(dev, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range strings.Fields(tt.closed) {
			if err := os.Symlink("/no/such/device", filepath.Join(dev, name)); err != nil {
				t.Fatal(err)
			}
		}
		if f := Serial(dev)(t.Context()); f.State != tt.state || !strings.Contains(f.Text, tt.says) {
			t.Errorf("open %s, closed %s: %+v; want %v with %q", tt.open, tt.closed, f, tt.state, tt.says)
		}
	}
}

func TestDebuginfod(t *testing.T) {
	status := http.StatusNotFound
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/buildid/000") {
			t.Errorf("asked for %s", r.URL)
		}
		w.WriteHeader(status)
	}))
	gone := httptest.NewServer(nil)
	gone.Close()
	check := func(urls string, state State, says string) {
		t.Helper()
		t.Setenv(buildid.URLsEnv, urls)
		if f := Debuginfod(t.Context()); f.State != state || !strings.Contains(f.Text, says) {
			t.Errorf("%s=%s: %+v; want %v with %q", buildid.URLsEnv, urls, f, state, says)
		}
	}
	check("", Absent, "names no server")
	check(server.URL, OK, server.URL+" answers")
	check(gone.URL, Broken, "refused")
	check(gone.URL+" "+server.URL, OK, server.URL+" answers")
	check("ftp://x", Broken, "no http, https or file address")
	status = http.StatusBadGateway
	check(server.URL, Broken, "502 Bad Gateway; look at the network")
	server.Close()
}

func TestFolders(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	if f := Cache(t.Context()); f.State != OK || !strings.HasPrefix(f.Text, "0 KiB in ") {
		t.Errorf("an empty cache: %+v", f)
	}
	dir, err := CacheFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "index"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "index", "x"), make([]byte, 3<<19), 0o644); err != nil {
		t.Fatal(err)
	}
	if f := Cache(t.Context()); f.State != OK || !strings.HasPrefix(f.Text, "1.5 MiB in "+dir) {
		t.Errorf("a cache of 1.5 MiB: %+v", f)
	}
	if f := Temporary(t.Context()); f.State != OK {
		t.Errorf("a temporary folder: %+v", f)
	}
	t.Setenv("TMPDIR", filepath.Join(cache, "none"))
	if f := Temporary(t.Context()); f.State != Broken || !strings.Contains(f.Text, "set TMPDIR") {
		t.Errorf("no temporary folder: %+v", f)
	}
}
