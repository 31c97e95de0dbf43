package buildid

import (
	"bytes"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCacheLimit: of what was downloaded, that which was used least recently gives way.
func TestCacheLimit(t *testing.T) {
	path, id := self(t)
	elf, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := hex.DecodeString(id)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, 3)
	files := make(map[string][]byte)
	for i := range ids {
		mine := bytes.Clone(raw)
		mine[0], mine[1] = byte(i), 0xcc
		ids[i] = hex.EncodeToString(mine)
		files[ids[i]] = bytes.ReplaceAll(elf, raw, mine)
	}
	served := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := files[strings.Split(r.URL.Path, "/")[2]]; f != nil {
			served++
			w.Write(f)
		}
	}))
	defer server.Close()
	s := &Server{URLs: []string{server.URL}, Dir: t.TempDir(), MaxKept: int64(len(elf))*2 + 1}
	open := func(i, downloads int) {
		t.Helper()
		file, err := s.Open(t.Context(), ids[i])
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		if served != downloads {
			t.Errorf("build %d: %d downloads by now; want %d", i, served, downloads)
		}
	}
	age := func(path string, by time.Duration) {
		t.Helper()
		then := time.Now().Add(-by)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	open(0, 1)
	open(1, 2)
	age(s.path(ids[0]), 2*time.Hour)
	age(s.path(ids[1]), time.Hour)
	open(0, 2) // so it is build 1 that was not used for the longest time
	broken, current := filepath.Join(s.Dir, ".download-1"), filepath.Join(s.Dir, ".download-2")
	for _, name := range []string{broken, current} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	age(broken, 2*stale)
	open(2, 3)
	open(0, 3)
	open(2, 3)
	for name, want := range map[string]bool{s.path(ids[0]): true, s.path(ids[1]): false, s.path(ids[2]): true, broken: false, current: true} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: %v; want it there: %v", name, err, want)
		}
	}
	open(1, 4)
	s.MaxKept = 1 // the latest one stays all the same
	s.limit(s.path(ids[1]))
	open(1, 4)
	open(0, 5)
}
