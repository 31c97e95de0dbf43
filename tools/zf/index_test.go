package main

import (
	"encoding/hex"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/await"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// asCommand is set in the environment of a test binary that is to be zf.
const asCommand = "ZF_TEST_AS_COMMAND"

// indexFiles returns the indexes in a cache folder.
func indexFiles(t *testing.T, cache string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cache, "zeroframe", "index", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestIndexFlag: the answers are the same with an index and without, for addr and
// symbolize, and an index is made if that is asked for.
func TestIndexFlag(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	elf := buildSample(t, "-g")
	addrs := strings.Join(textAddresses(t, elf), "\n")
	log := "rip: 0x401010\nrip: 0x401020\n"
	for _, tt := range []struct {
		args []string
		in   string
	}{
		{[]string{"addr", "-afi", "-e", elf}, addrs},
		{[]string{"symbolize", "-e", elf}, log},
	} {
		var want string
		for i, flag := range []string{"-index=off", "-index=auto", "-index=build", "-index=auto"} {
			before := len(indexFiles(t, cache))
			code, stdout, stderr := zf(strings.NewReader(tt.in), append([]string{tt.args[0], flag}, tt.args[1:]...)...)
			if code != exitOK {
				t.Fatalf("zf %s %s = %d, %s", tt.args[0], flag, code, stderr)
			}
			if i == 0 {
				want = stdout
			}
			if stdout != want || !strings.Contains(want, "csample.c") {
				t.Errorf("zf %s %s: %s; want %s", tt.args[0], flag, stdout, want)
			}
			if got := len(indexFiles(t, cache)); flag == "-index=build" && got != 1 || flag != "-index=build" && got != before {
				t.Errorf("zf %s %s: %d indexes; there were %d", tt.args[0], flag, got, before)
			}
		}
		for _, f := range indexFiles(t, cache) {
			os.Remove(f)
		}
		if code, _, stderr := zf(nil, append([]string{tt.args[0], "-index=maybe"}, tt.args[1:]...)...); code != exitUsage || !strings.Contains(stderr, `auto, build or off, not "maybe"`) {
			t.Errorf("zf %s -index=maybe = %d, %s", tt.args[0], code, stderr)
		}
	}
}

// TestIndexCommand: zf index makes an index, once, and says what there is.
func TestIndexCommand(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	elf, goELF := buildSample(t, "-g"), guest(t)
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitOK, ": 0 indexes"},
		{[]string{elf}, exitOK, filepath.Join(cache, "zeroframe", "index")},
		{[]string{elf}, exitOK, "has its index already"},
		{[]string{"-rebuild", elf}, exitOK, ".zfindex: "},
		{[]string{goELF}, exitOK, "no index needed: Go's pc table is one"},
		{nil, exitOK, ": 1 indexes, "},
		{[]string{"/nosuch", elf}, exitUsage, "has its index already"},
		{[]string{"main.go"}, exitUsage, ""},
	} {
		if code, stdout, stderr := zf(nil, append([]string{"index"}, tt.args...)...); code != tt.code || !strings.Contains(stdout, tt.want) || (stderr == "") != (code == exitOK) {
			t.Errorf("zf index %q = %d, %q, %q; want %d, %q", tt.args, code, stdout, stderr, tt.code, tt.want)
		}
	}
}

// TestIndexLater: an index that is damaged is replaced in the background, after the
// answers.
func TestIndexLater(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv(asCommand, "1")
	isCommand = true
	defer func() { isCommand = false }()
	elf := buildSample(t, "-g")
	if code, _, stderr := zf(nil, "index", elf); code != exitOK {
		t.Fatal(stderr)
	}
	index := indexFiles(t, cache)[0]
	good, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(index, good[:len(good)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := zf(nil, "addr", "-f", "-e", elf, "401010"); code != exitOK || !strings.Contains(stdout, "csample.c") {
		t.Fatalf("zf addr = %d, %s, %s", code, stdout, stderr)
	}
	await.Poll(t, "the damaged index is replaced", func() bool {
		b, err := os.ReadFile(index)
		return err == nil && string(b) == string(good) && len(indexFiles(t, cache)) == 1
	})
}

// TestIndexSecondRun: a run that comes before the index is made is served by what the first one
// has left; the index takes its place.
func TestIndexSecondRun(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	// A unit of 9 MB that says nothing: its debug information takes long to unfold.
	noise := make([]byte, 9<<19)
	rand.New(rand.NewSource(1)).Read(noise)
	pad := filepath.Join(dir, "pad.s")
	text := ".section .debug_info, \"\"\n.long end - begin\nbegin: .short 5\n.byte 1, 8\n.long 0\n.byte 0\n.ascii \"" + hex.EncodeToString(noise) + "\"\nend:\n"
	if err := os.WriteFile(pad, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	elf := buildSample(t, "-g", "-gz=zlib", pad)
	run := func() string {
		t.Helper()
		code, stdout, stderr := zf(nil, "addr", "-afi", "-e", elf, "401010", "401020")
		if code != exitOK || !strings.Contains(stdout, "csample.c") {
			t.Fatalf("zf addr = %d, %s, %s", code, stdout, stderr)
		}
		return stdout
	}
	want := run()
	left := indexFiles(t, cache)
	if len(left) != 1 || !strings.HasSuffix(left[0], ".zfoutline") {
		t.Fatalf("the first run leaves %q; want an outline", left)
	}
	f, err := symbol.Open(elf)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.UseIndex(filepath.Dir(left[0]))
	if f.CanResolve() != nil || !f.HasOutline() {
		t.Error("the outline is not used")
	}
	if got := run(); got != want {
		t.Errorf("the second run: %s; want %s", got, want)
	}
	if code, _, stderr := zf(nil, "index", elf); code != exitOK {
		t.Fatal(stderr)
	}
	if files := indexFiles(t, cache); len(files) != 1 || !strings.HasSuffix(files[0], ".zfindex") {
		t.Errorf("%q; want the index alone", files)
	}
	if got := run(); got != want {
		t.Errorf("with the index: %s; want %s", got, want)
	}
}
