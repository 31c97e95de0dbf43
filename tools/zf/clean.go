package main

// `zf clean`: what zf keeps between its runs can be had again, so it may go at any time.

import (
	"fmt"
	"io"
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
func runClean(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	set := newFlags("clean", "[-cache]", cleanText, stderr)
	remove := set.Bool("cache", false, "remove what zf keeps")
	if code, ok := parse(set, args); !ok {
		return code
	}
	fail := failing("zf clean", stderr)
	if set.NArg() > 0 {
		return fail("unexpected %q; it takes no arguments", set.Arg(0))
	}
	dir, err := doctor.CacheFolder()
	if err != nil {
		return fail("%v; set HOME or XDG_CACHE_HOME", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return fail("%v", err)
	}
	word := "keeps"
	if *remove {
		word = "removed"
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		n := sizeBelow(path)
		if *remove {
			if err := os.RemoveAll(path); err != nil {
				return fail("%v; look at the rights to %s", err, dir)
			}
		}
		fmt.Fprintf(stdout, "%s %9s  %s\n", word, size(n), path)
	}
	if len(entries) == 0 {
		fmt.Fprintf(stdout, "nothing is kept in %s\n", dir)
	}
	return exitOK
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
