package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// enough is the free space, in bytes, with which a cold build has room to spare.
const enough = 512 << 20

// Temporary checks the folder for temporary files: images are built and packed there.
func Temporary(context.Context) Finding {
	dir := os.TempDir()
	file, err := os.CreateTemp(dir, "zf-doctor-")
	if err != nil {
		return Wrong("no temporary file can be made: %v; set TMPDIR to a folder that can be written to",
			err)
	}
	file.Close()
	os.Remove(file.Name())
	if free, err := freeSpace(dir); err == nil && free < enough {
		return Wrong("%s free in %s; make room, or set TMPDIR to another folder", size(free), dir)
	}
	return Found("%s", dir)
}

// CacheFolder returns the folder of what zf keeps between its runs. Context: host.
func CacheFolder() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for a cache: %w", err)
	}
	return filepath.Join(dir, "zeroframe"), nil
}

// Cache says how much zf keeps between its runs, and whether there is room.
func Cache(context.Context) Finding {
	dir, err := CacheFolder()
	if err != nil {
		return Missing("%v; set HOME or XDG_CACHE_HOME", err)
	}
	var sum uint64
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				sum += uint64(info.Size())
			}
		}
		return nil // what is not there has no size
	})
	there := dir
	for there != filepath.Dir(there) {
		if _, err := os.Stat(there); err == nil {
			break
		}
		there = filepath.Dir(there)
	}
	free, err := freeSpace(there)
	switch {
	case err != nil:
		return Found("%s in %s", size(sum), dir)
	case free < enough:
		return Wrong("%s in %s, and %s free there; make room: rm -r %[2]s, go clean -cache", size(sum),
			dir, size(free))
	}
	return Found("%s in %s, %s free", size(sum), dir, size(free))
}

// size formats a number of bytes for people.
func size(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", (n+1<<10-1)>>10)
}
