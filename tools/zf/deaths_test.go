package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDeaths: the log of a death is kept from the first trace on, the latest is found, and the oldest
// go.
func TestDeaths(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	if code, _, stderr := zf(nil, "last"); code != exitUsage || !strings.Contains(stderr, "there is no death in ~/zeroframe/deaths; ") {
		t.Errorf("zf last without a death = %d, %q", code, stderr)
	}
	image := filepath.Join(cache, "image")
	if err := os.WriteFile(image, []byte("ELF"), 0o666); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(cache, "zeroframe", "deaths")
	for i := range mostDeaths + 3 {
		l := &deathLog{name: "prog", elf: image}
		fmt.Fprintf(l, "before %d\n", i)
		if files, _ := os.ReadDir(folder); i == 0 && len(files) > 0 {
			t.Errorf("there is a file of a machine that has not died: %v", files)
		}
		l.keep()
		l.keep()
		fmt.Fprintf(l, "after %d\n", i)
		if where := l.where(); !strings.HasPrefix(where, "the whole trace: ~/zeroframe/deaths/") {
			t.Errorf("where() = %q", where)
		}
		l.close()
		at := time.Unix(int64(1e9+i), 0) // as if a second had passed
		if err := os.Chtimes(l.path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	logs := deathsIn(folder)
	if len(logs) != mostDeaths {
		t.Errorf("%d logs are kept, want %d", len(logs), mostDeaths)
	}
	if code, stdout, stderr := zf(nil, "last"); code != 0 || stdout != fmt.Sprintf("before %d\nafter %[1]d\n", mostDeaths+2) {
		t.Errorf("zf last = %d, %q, %q", code, stdout, stderr)
	}
	if text, err := os.ReadFile(filepath.Join(folder, latestELF)); string(text) != "ELF" {
		t.Errorf("the image is %q, %v", text, err)
	}
	gone := &deathLog{name: "prog", elf: image + ".gone"}
	gone.keep()
	gone.close()
	if _, err := os.Stat(filepath.Join(folder, latestELF)); err == nil {
		t.Error("the image of another death is kept beside one whose image is gone")
	}
}

// TestDeathsLost: what is not kept, or not whole, is said.
func TestDeathsLost(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(cache, "file"))
	if err := os.WriteFile(filepath.Join(cache, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	none := &deathLog{name: "prog"}
	none.keep()
	if where := none.where(); !strings.HasPrefix(where, "the whole trace is not kept: ") || none.kept() {
		t.Errorf("without a folder: %q", where)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cut := &deathLog{name: "prog", file: full, path: "/tmp/x.txt"}
	cut.Write([]byte("text"))
	if where := cut.where(); !strings.HasPrefix(where, "the trace, not whole (") {
		t.Errorf("on a full disk: %q", where)
	}
	long := &deathLog{size: mostLog, file: full, path: "/tmp/x.txt"}
	long.Write([]byte("text"))
	if where := long.where(); where != "the trace, not whole (it is cut after 256 MiB): /tmp/x.txt" {
		t.Errorf("a log that is too long: %q", where)
	}
	held := &deathLog{}
	for range 4 {
		held.Write(make([]byte, mostHeld/2+1))
	}
	if n := len(held.held); n > mostHeld {
		t.Errorf("%d bytes are held; want %d at most", n, mostHeld)
	}
}

// TestRunLog: -log has all that the machine says, with -v and without.
func TestRunLog(t *testing.T) {
	dir := t.TempDir()
	for _, flags := range [][]string{{"run"}, {"run", "-v"}} {
		file := filepath.Join(dir, "log")
		code, _, stderr := zf(strings.NewReader("e"), append(flags, "-timeout", "10m", "-log", file, guest(t))...)
		if b, err := os.ReadFile(file); code != 0 || string(b) != "M\n" || err != nil {
			t.Errorf("zf %q -log = %d, %q, %v, %q", flags, code, b, err, stderr)
		}
		code, _, stderr = zf(strings.NewReader("e"), append(flags, "-timeout", "10m", "-log", "/dev/full", guest(t))...)
		if code != exitUsage || !strings.Contains(stderr, "-log: text is missing from /dev/full: ") {
			t.Errorf("zf %q -log /dev/full = %d, %q", flags, code, stderr)
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"-log " + guest(t), "would overwrite"},
		{"-log x -json x", "-log x is written by another flag, too"},
		{"-log " + dir, "is a folder; name a file"},
	} {
		if code, _, stderr := zf(nil, append(append([]string{"run"}, strings.Fields(tt.args)...), guest(t))...); code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("zf run %s = %d, %q; want %q", tt.args, code, stderr, tt.want)
		}
	}
	if code, _, stderr := zf(nil, "last", "-o", "x"); code != exitUsage || !strings.Contains(stderr, "-e and -o are for -report") {
		t.Errorf("zf last -o x = %d, %q", code, stderr)
	}
}

// TestMore: the advice names a size that is more than what was in use.
func TestMore(t *testing.T) {
	for reason, want := range map[string]int{
		"out of memory: all 59672 KiB are in use, at an access to 0x3de4c7ac0000":   128,
		"out of memory: all 131072 KiB are in use, at an access to 0x1":             512,
		"fatal error: runtime: out of memory: cannot allocate 1099511627776-byte b": 0,
	} {
		if got := more(reason); got != want {
			t.Errorf("more(%q) = %d, want %d", reason, got, want)
		}
	}
}
