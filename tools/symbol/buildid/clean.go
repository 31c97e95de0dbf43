package buildid

// All clients of a cache clean it: the one that comes first when a day has passed removes what
// nobody has used for a week. Both times are in files of the folder, which the user may change.

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	intervalFile = "cache_clean_interval_s"
	unusedFile   = "max_unused_age_s"

	defaultInterval = 24 * time.Hour
	defaultUnused   = 7 * 24 * time.Hour
)

// clean removes what has not been used for long, if it is time. What cannot be removed stays.
func (c *Client) clean() {
	stamp := filepath.Join(c.Dir, intervalFile)
	now := time.Now()
	info, err := os.Stat(stamp)
	if err != nil { // a new cache
		os.WriteFile(stamp, []byte(strconv.Itoa(int(defaultInterval/time.Second))), 0o600)
		return
	}
	if now.Sub(info.ModTime()) < c.seconds(intervalFile, defaultInterval) {
		return
	}
	os.Chtimes(stamp, now, now) // before the work, so that nobody else begins it
	oldest := now.Add(-c.seconds(unusedFile, defaultUnused))
	builds, _ := os.ReadDir(c.Dir)
	for _, b := range builds {
		if !b.IsDir() || !Valid(b.Name()) {
			continue // not of the cache
		}
		dir := filepath.Join(c.Dir, b.Name())
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			if info, err := f.Info(); err == nil && info.Mode().IsRegular() && ours(f.Name()) &&
				usedAt(info).Before(oldest) {
				os.Remove(filepath.Join(dir, f.Name()))
			}
		}
		os.Remove(dir) // if it is empty
	}
}

// ours reports whether a client makes files of this name in a build's folder.
func ours(name string) bool {
	for _, kind := range []string{DebugInfo, Executable, "source", "section"} {
		if strings.HasPrefix(name, kind) {
			return true
		}
	}
	return false
}

// usedAt returns when a file was used.
func usedAt(info fs.FileInfo) time.Time {
	if t, ok := accessTime(info); ok && t.After(info.ModTime()) {
		return t
	}
	return info.ModTime()
}
