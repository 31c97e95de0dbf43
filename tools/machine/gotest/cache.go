package gotest

// Results of packages whose tests have passed are kept: a machine that is given the same
// bytes, the image, the files and the command line, would do the same again as long as it reads
// the same of the host. So under the key of a machine is the log of what its test has read
// (inputs.go), and under the key and what that is now the result.

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/whole"
)

// CacheDays is for how many days a result is kept.
const CacheDays = 5

// A Cache is a folder of results.
type Cache struct{ dir string }

// OpenCache returns the user's. The folder need not be there yet.
func OpenCache() (*Cache, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no place for results: %w", err)
	}
	return &Cache{filepath.Join(dir, "zeroframe", "test")}, nil
}

// A Result is what a package's tests have printed, and their coverage profile.
type Result struct {
	Output, Profile []byte
}

// Key returns the name of the result of a machine that gets these files and words.
func Key(files, words []string) (string, error) {
	h := sha256.New()
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return "", err
		}
		file, err := os.Open(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "file %d\n", info.Size())
		_, err = io.Copy(h, file)
		file.Close()
		if err != nil {
			return "", err
		}
	}
	for _, w := range words {
		fmt.Fprintf(h, "word %d\n%s", len(w), w)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// Get returns the result of a machine that is kept, if the test would read the same now. One that
// cannot be read is none.
func (c *Cache) Get(key string, in Inputs) (r Result, ok bool) {
	var log []byte
	if c.read(key, &log) != nil {
		return Result{}, false
	}
	id, err := in.ID(log, time.Time{})
	if err != nil || c.read(resultName(key, id), &r) != nil {
		return Result{}, false
	}
	return r, true
}

// Put keeps the result of a machine, with the log of its test and the files' [Inputs.ID], and
// removes those that are older than [CacheDays].
func (c *Cache) Put(key string, log []byte, id string, r Result) error {
	if err := os.MkdirAll(c.dir, 0o777); err != nil {
		return err
	}
	c.trim(time.Now())
	return errors.Join(c.write(resultName(key, id), r), c.write(key, log))
}

// resultName is where a result lies.
func resultName(key, id string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(key+id))) }

// read reads what write has written.
func (c *Cache) read(name string, to any) error {
	file, err := os.Open(filepath.Join(c.dir, name))
	if err != nil {
		return err
	}
	defer file.Close()
	return json.NewDecoder(file).Decode(to)
}

func (c *Cache) write(name string, v any) error {
	// Another zf may write the same: the rename makes it whole or not at all.
	return whole.File(filepath.Join(c.dir, name), 0o600, func(file *os.File) error {
		return json.NewEncoder(file).Encode(v)
	})
}

// trim removes what is too old.
func (c *Cache) trim(now time.Time) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && now.Sub(info.ModTime()) > CacheDays*24*time.Hour {
			os.Remove(filepath.Join(c.dir, e.Name()))
		}
	}
}
