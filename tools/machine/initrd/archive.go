package initrd

// An archive is a list of records in the order they are written, with one record a
// path: what is added later replaces what was there, as a copy into a folder would.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/u-root/u-root/pkg/cpio"
)

// ErrArchive is returned for an archive that cannot be read.
var ErrArchive = errors.New("not a cpio archive in the newc format")

// Archive collects files. The zero value is empty and ready for use. A regular
// file of the host is opened when it is added and again when it is written, not
// held in memory.
type Archive struct {
	records []cpio.Record
	index   map[string]int // path in the archive to the place in records
}

// Skip says of a file, by its path on the host, that it is left out, and of a folder,
// that it is added empty. It is not asked for the root of what is added.
type Skip func(path string, d fs.DirEntry) bool

// AddTree adds a file or folder of the host, with all that is in it, as guest, an
// absolute path in the guest; "/" puts what is in a folder into the root. Symbolic
// links are added as they are, but for host itself, which is followed. Sockets are
// left out, since nobody listens in the guest. A nil skip leaves out nothing else.
func (a *Archive) AddTree(host, guest string, skip Skip) error {
	fi, err := os.Stat(host)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return a.add(host, guest, fi)
	}
	root, err := filepath.EvalSymlinks(host)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		skipped := p != root && skip != nil && skip(p, d)
		if skipped && !d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err == nil {
			err = a.add(p, path.Join(guest, filepath.ToSlash(rel)), fi)
		}
		if err == nil && skipped {
			return filepath.SkipDir
		}
		return err
	})
}

// add adds one file of the host, without what is in it.
func (a *Archive) add(host, guest string, fi fs.FileInfo) error {
	info := cpio.Info{Mode: mode(fi.Mode()), MTime: unixTime(fi.ModTime())}
	switch fi.Mode().Type() {
	case fs.ModeDir:
		a.put(guest, cpio.Record{Info: info})
	case fs.ModeSymlink:
		target, err := os.Readlink(host)
		if err != nil {
			return err
		}
		a.put(guest, cpio.StaticRecord([]byte(target), info))
	case 0:
		// What cannot be read is better known now than in the middle of writing.
		file, err := os.Open(host)
		if err != nil {
			return err
		}
		file.Close()
		info.FileSize = uint64(fi.Size())
		if info.FileSize > 1<<32-1 {
			return fmt.Errorf("%s: %d bytes are more than a cpio archive can say (4 GiB)", host,
				info.FileSize)
		}
		a.put(guest, cpio.Record{Info: info, ReaderAt: &lazyFile{path: host}})
	case fs.ModeSocket:
	default:
		return fmt.Errorf("%s: a %v cannot be packed; leave it out", host, fi.Mode().Type())
	}
	return nil
}

// AddFile adds a regular file with the permissions and the contents given.
func (a *Archive) AddFile(guest string, perm fs.FileMode, data []byte) {
	a.put(guest, cpio.StaticRecord(data, cpio.Info{Mode: mode(perm & (fs.ModePerm | setBits))}))
}

// AddDir adds a folder, whose mode may have fs.ModeSticky and its like.
func (a *Archive) AddDir(guest string, perm fs.FileMode) {
	a.put(guest, cpio.Record{Info: cpio.Info{Mode: mode(perm&(fs.ModePerm|setBits) | fs.ModeDir)}})
}

// AddArchive adds all that is in a newc archive. r must stay open until the archive
// has been written. Errors wrap [ErrArchive].
func (a *Archive) AddArchive(r io.ReaderAt) error {
	rr := cpio.Newc.Reader(r)
	if e, ok := rr.(cpio.EOFReader); ok {
		// It takes the end of a file that was cut off for the end of the archive.
		rr = e.RecordReader
	}
	// Of hard links only one record, the last as GNU cpio writes them, has the
	// data; the others get it by their inode number.
	type inode struct{ ino, major, minor uint64 }
	links := make(map[inode][]string)
	for n := 0; ; n++ {
		rec, err := rr.ReadRecord()
		if err != nil {
			return fmt.Errorf("%w: record %d: %v", ErrArchive, n, err)
		}
		name := rec.Name
		if name == cpio.Trailer {
			return nil
		}
		a.put(name, rec)
		if rec.NLink < 2 || rec.Mode&cpio.S_IFMT != cpio.S_IFREG {
			continue
		}
		id := inode{rec.Ino, rec.Major, rec.Minor}
		links[id] = append(links[id], name)
		if rec.FileSize > 0 {
			for _, other := range links[id] {
				a.put(other, rec)
			}
		}
	}
}

// put puts a record at an absolute path of the guest, below folders that are made
// if they are not there.
func (a *Archive) put(guest string, rec cpio.Record) {
	name := clean(guest)
	if name == "." {
		// The root is there in any case; u-root's reader and Linux know it by
		// this name.
		if rec.Mode&cpio.S_IFMT != cpio.S_IFDIR {
			return
		}
	} else if dir := path.Dir(name); dir != "." && !a.Has(dir) {
		a.AddDir(dir, 0o755)
	}
	if a.index == nil {
		a.index = make(map[string]int)
	}
	i, ok := a.index[name]
	if !ok {
		i = len(a.records)
		a.records = append(a.records, cpio.Record{})
		a.index[name] = i
	}
	rec.Name = name
	rec.Ino, rec.UID, rec.GID, rec.NLink = uint64(i+1), 0, 0, 1
	rec.Dev, rec.Major, rec.Minor = 0, 0, 0
	if rec.Mode&cpio.S_IFMT == cpio.S_IFDIR {
		rec.NLink = 2
	}
	a.records[i] = rec
}

// Has reports whether something is at an absolute path of the guest.
func (a *Archive) Has(guest string) bool {
	_, ok := a.index[clean(guest)]
	return ok
}

// Write writes the archive, with its trailer.
func (a *Archive) Write(w io.Writer) error {
	rw := cpio.Newc.Writer(w)
	if err := cpio.WriteRecords(rw, a.records); err != nil {
		return err
	}
	return cpio.WriteTrailer(rw)
}

// WriteFile writes the archive into a file.
func (a *Archive) WriteFile(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return cmp.Or(a.Write(file), file.Close())
}

// clean turns an absolute path into the form that archives have: relative to the
// root, without ".." that leads above it.
func clean(guest string) string {
	if name := strings.TrimPrefix(path.Clean("/"+guest), "/"); name != "" {
		return name
	}
	return "."
}

const setBits = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// mode is a file mode in Unix's own bits.
func mode(m fs.FileMode) uint64 {
	u := uint64(m.Perm())
	switch m.Type() {
	case 0:
		u |= cpio.S_IFREG
	case fs.ModeDir:
		u |= cpio.S_IFDIR
	case fs.ModeSymlink:
		u |= cpio.S_IFLNK
	}
	if m&fs.ModeSetuid != 0 {
		u |= cpio.S_ISUID
	}
	if m&fs.ModeSetgid != 0 {
		u |= cpio.S_ISGID
	}
	if m&fs.ModeSticky != 0 {
		u |= cpio.S_ISVTX
	}
	return u
}

// unixTime is a time in seconds, as far as a record can hold it.
func unixTime(t time.Time) uint64 {
	return uint64(min(max(t.Unix(), 0), 1<<32-1))
}

// lazyFile is a file of the host that is open while it is read.
type lazyFile struct {
	path string
	file *os.File
}

// ReadAt implements io.ReaderAt.
func (l *lazyFile) ReadAt(p []byte, off int64) (n int, err error) {
	if l.file == nil {
		if l.file, err = os.Open(l.path); err != nil {
			return 0, err
		}
	}
	return l.file.ReadAt(p, off)
}

// Close closes the file until it is read again. The writer calls it.
func (l *lazyFile) Close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
