package gotest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCache(t *testing.T) {
	c := &Cache{filepath.Join(t.TempDir(), "new", "folder")}
	in, log := Inputs{}, []byte(logMagic)
	id, err := in.ID(log, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Get("k", in); ok {
		t.Error("an empty cache has a result")
	}
	if err := c.Put("k", log, id, Result{Output: []byte("PASS\n"), Profile: []byte("mode: set\n")}); err != nil {
		t.Fatal(err)
	}
	if r, ok := c.Get("k", in); !ok || string(r.Output) != "PASS\n" || string(r.Profile) != "mode: set\n" {
		t.Errorf("Get = %q, %q, %v", r.Output, r.Profile, ok)
	}
	// One that was cut is none, and one that is old goes with the next Put.
	if err := os.Truncate(filepath.Join(c.dir, resultName("k", id)), 20); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Get("k", in); ok {
		t.Error("a damaged result was taken")
	}
	old := time.Now().Add(-(CacheDays*24 + 1) * time.Hour)
	for _, name := range []string{"k", resultName("k", id)} {
		if err := os.Chtimes(filepath.Join(c.dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Put("l", log, id, Result{}); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(c.dir); len(entries) != 2 {
		t.Errorf("the folder has %v; want the two files of l", entries)
	}
}

func TestKey(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	a, b, ab := write("a", "a"), write("b", "b"), write("ab", "ab")
	seen := make(map[string]string)
	for _, tt := range []struct {
		name         string
		files, words []string
	}{
		{"a, b", []string{a, b}, nil},
		{"b, a", []string{b, a}, nil},
		{"ab", []string{ab}, nil},
		{"a", []string{a}, nil},
		{"a with x y", []string{a}, []string{"x", "y"}},
		{"a with xy", []string{a}, []string{"xy"}},
		{"a with y x", []string{a}, []string{"y", "x"}},
	} {
		key, err := Key(tt.files, tt.words)
		if err != nil {
			t.Fatal(err)
		}
		if other := seen[key]; other != "" {
			t.Errorf("%s and %s have one key", tt.name, other)
		}
		seen[key] = tt.name
		if again, _ := Key(tt.files, tt.words); again != key {
			t.Errorf("%s has two keys", tt.name)
		}
	}
	if _, err := Key([]string{filepath.Join(dir, "nosuch")}, nil); err == nil {
		t.Error("a file that is not there has a key")
	}
}
