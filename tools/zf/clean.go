package main

// `zf clean`: what zf keeps between its runs can be had again, so it may go at any time.

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zeroframe/zeroframe/tools/doctor"
)

const cleanText = `Clean says what zf keeps between its runs in the user's cache folder: indexes of
ELF files, what debuginfod servers have sent, commands that zf has built,
results of tests, and which accelerator works. With -cache it removes all that.
What the go command has built is its own: see go help clean.`

// runClean runs `zf clean`.
func runClean(c *call) error {
	var remove bool
	if err := c.parse([]option{{&remove, "cache", "remove what zf keeps"}}); err != nil {
		return err
	}
	if c.NArg() > 0 {
		return fmt.Errorf("unexpected %q; it takes no arguments", c.Arg(0))
	}
	dir, err := doctor.CacheFolder()
	if err != nil {
		return fmt.Errorf("%w; set HOME or XDG_CACHE_HOME", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	word := "keeps"
	if remove {
		word = "removed"
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		n := sizeBelow(path)
		if remove {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("%w; look at the rights to %s", err, dir)
			}
		}
		fmt.Fprintf(c.stdout, "%s %9s  %s\n", word, size(n), path)
	}
	if len(entries) == 0 {
		fmt.Fprintf(c.stdout, "nothing is kept in %s\n", dir)
	}
	return nil
}

// sizeBelow returns the bytes of the files at or below a path.
func sizeBelow(path string) (sum int64) {
	filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil // what is not there has no size
	})
	return sum
}
