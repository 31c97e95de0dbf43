package buildid

// What debuginfod has sent is kept, but not without end: when it is more than
// Server.MaxKept, the files that were used least recently go. When a file was used is
// its modification time, since many file systems do not keep the time of access.

import (
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

const (
	// DefaultMaxKept is how much is kept, in bytes: a few kernels with all that is said
	// about them, or some hundred Go programs.
	DefaultMaxKept = 8 << 30
	// stale is when a download that was never finished is one that was broken off.
	stale = 24 * time.Hour

	downloading = ".download-"
	keptSuffix  = ".debug"
)

// used notes that a kept file is used now.
func (s *Server) used(path string) {
	now := time.Now()
	os.Chtimes(path, now, now) // it is only to be kept longer
}

// keptFile is a file of Server.Dir.
type keptFile struct {
	path string
	info fs.FileInfo
}

// limit removes what is too much, but not the file at path. Who has one of them open goes
// on reading it.
func (s *Server) limit(path string) {
	most := s.MaxKept
	if most <= 0 {
		most = DefaultMaxKept
	}
	var files []keptFile
	var sum int64
	now := time.Now()
	filepath.WalkDir(s.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // gone, or none of ours
		}
		info, err := d.Info()
		switch {
		case err != nil:
		case strings.HasPrefix(d.Name(), downloading):
			if now.Sub(info.ModTime()) > stale {
				os.Remove(p)
			}
		case strings.HasSuffix(d.Name(), keptSuffix):
			sum += info.Size()
			if p != path {
				files = append(files, keptFile{p, info})
			}
		}
		return nil
	})
	sort.Slice(files,
		func(i, j int) bool { return files[i].info.ModTime().Before(files[j].info.ModTime()) })
	for _, f := range files {
		if sum <= most {
			return
		}
		if os.Remove(f.path) == nil {
			sum -= f.info.Size()
		}
	}
}
