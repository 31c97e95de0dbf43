// An index is a file beside the ELF file's answers: it has them all, ready made
// (indexformat.go), so that the next process finds one with a few short reads,
// whatever the ELF file's debug information costs to read. Indexes lie together in a
// folder of the user's, named by what they are of, and those not used for the
// longest time are removed when the folder grows beyond a limit.
//
// An index is of one file alone: its build ID, its length, all its section headers,
// and those of its separate debug file. A file without a build ID counts as the same
// as long as its path and the time of its last change are the same.
//
// Go programs have no index: their pc table is one (gotable.go).

package symbol

import (
	"crypto/sha256"
	stdelf "debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/dwarf"
	"github.com/zeroframe/zeroframe/tools/elf"
)

// ErrNoIndexNeeded is wrapped by the error of [File.BuildIndex] for a file that an
// index would not make faster: one with Go's pc table, and one that has neither
// DWARF nor symbols.
var ErrNoIndexNeeded = errors.New("no index needed")

// DefaultIndexLimit is how many bytes the indexes in a folder may take together.
const DefaultIndexLimit = 4 << 30

const indexSuffix = ".zfindex"

// IndexFolder returns the folder for indexes in the user's cache folder. It need not
// exist. Context: host.
func IndexFolder() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for indexes: %w", err)
	}
	return filepath.Join(dir, "zeroframe", "index"), nil
}

// UseIndex makes look-ups use the index that folder has of this file, or else its
// outline. It reports whether there is an index. It is to be called before the first
// look-up. Should the index turn out to be damaged later, look-ups go on without it.
// Context: host.
func (f *File) UseIndex(folder string) bool {
	id, name, ok := f.indexID()
	if !ok {
		return false
	}
	if f.useIndex(folder, name, id) {
		return true
	}
	if info := f.debugFile(); info != nil && info.outline == nil {
		info.outline = readOutline(filepath.Join(folder, outlineName(name)), id)
	}
	return false
}

func (f *File) useIndex(folder, name string, id [indexIDSize]byte) bool {
	path := filepath.Join(folder, name)
	fd, size, err := elf.OpenRegular(path)
	if err != nil {
		return false
	}
	var x *index
	st, err := fd.Stat()
	if err == nil {
		x, err = readIndex(fd, uint64(size), id)
	}
	if x == nil || err != nil {
		f.badIndex = true
		fd.Close()
		return false
	}
	// The time of the last change is that of the last use, to the hour.
	if now := time.Now(); now.Sub(st.ModTime()) > time.Hour {
		os.Chtimes(path, now, now) // if it cannot be, it is merely removed too early
	}
	x.closer = fd
	f.index = x
	return true
}

// HasIndex reports whether look-ups use an index, and it has not turned out to be
// damaged. Context: host.
func (f *File) HasIndex() bool { return f.index != nil && !f.index.damaged.Load() }

// HasOutline reports whether the debug information is read by the outline that an earlier process
// has left. Context: host.
func (f *File) HasOutline() bool { d := f.dwarfData(); return d != nil && d.ByOutline() }

// BuildIndex writes the index of this file into folder, in the place of one that is
// there, and removes those that were not used for the longest time while all
// together take more than limit bytes. It returns the index's path. A folder that is
// missing is made. Several processes may do this at once. progress, if it is not
// nil, is told how much of the work is done. Look-ups of this File do not use the
// index before UseIndex. Context: host.
func (f *File) BuildIndex(folder string, limit int64, progress func(done, total int)) (path string, err error) {
	if f.goTable() != nil {
		return "", fmt.Errorf("%s: %w: Go's pc table is one", f.Name(), ErrNoIndexNeeded)
	}
	id, name, ok := f.indexID()
	if !ok {
		return "", fmt.Errorf("%s: no index without a build ID for what is no file on this machine", f.Name())
	}
	err = inPlace(folder, name, limit, func(tmp *os.File) error {
		if f.dwarfData() == nil && len(f.symbols().funcs) == 0 {
			return fmt.Errorf("%w: it has no symbols", ErrNoIndexNeeded)
		}
		if err := f.buildIndex(tmp, id, progress, nil); err != nil {
			return err
		}
		return f.Incomplete() // who asks without an index is told
	})
	if err != nil {
		return "", fmt.Errorf("index of %s: %w", f.Name(), err)
	}
	os.Remove(filepath.Join(folder, outlineName(name))) // nobody needs it any more
	return filepath.Join(folder, name), nil
}

// WantsIndex reports whether an index would have saved much of what this File's
// look-ups have cost: sections to be unfolded, or relocated, before anything of them
// can be read, or very many units of DWARF. One that is damaged is wanted anew in any
// case. Context: host.
func (f *File) WantsIndex() bool {
	const (
		muchFolded = 8 << 20  // bytes: a tenth of a second
		muchDWARF  = 64 << 20 // bytes of debug information that
		manyAsked  = 500      // so many addresses were looked up in
	)
	switch {
	case f.badIndex || f.index != nil && f.index.damaged.Load():
		return true
	case f.index != nil || f.asked.Load() == 0:
		return false
	}
	d := f.dwarfData()
	switch {
	case d == nil || d.InParts() || f.goTable() != nil:
		return false
	case d.ByOutline():
		return true
	case d.WholeInfo():
		return d.Size() >= muchFolded
	}
	return d.InfoSize() >= muchDWARF && f.asked.Load() >= manyAsked
}

// IndexUnderway reports whether another process seems to be writing this file's index
// into folder. Context: host.
func (f *File) IndexUnderway(folder string) bool {
	_, name, _ := f.indexID()
	tmp, _ := filepath.Glob(filepath.Join(folder, name+".*"+tempSuffix))
	for _, path := range tmp {
		if st, err := os.Stat(path); err == nil && time.Since(st.ModTime()) < time.Minute {
			return true
		}
	}
	return false
}

// tempSuffix is of an index that is being written.
const tempSuffix = ".tmp"

// indexID returns what an index has to be of, to be this file's, and the name that
// it has in its folder.
func (f *File) indexID() (id [indexIDSize]byte, name string, ok bool) {
	if f.FirstSection(".gopclntab", ".data.rel.ro.gopclntab") != nil {
		return id, "", false
	}
	buildID := f.BuildID()
	b := fmt.Appendf(nil, "%d\n%s\n", indexVersion, buildID)
	if buildID == "" {
		if !f.OnDisk() {
			return id, "", false
		}
		st, err := os.Stat(f.Name())
		if err != nil {
			return id, "", false
		}
		path, err := filepath.Abs(f.Name())
		if err != nil {
			return id, "", false
		}
		b = fmt.Appendf(b, "%s\n%d\n", path, st.ModTime().UnixNano())
	}
	b = appendHeaders(f.File, b)
	info := f // the file with the debug information
	if f.FirstSection(".debug_info", ".zdebug_info") == nil || !f.HasSection(stdelf.SHT_SYMTAB) {
		if c := f.companion(); c != nil {
			info = c
			b = appendHeaders(c.File, append(b, c.BuildID()+"\n"...))
		}
	}
	if s := dwarf.FindSupplement(info.File); s != nil {
		b = appendHeaders(s, append(b, s.BuildID()+"\n"...))
		s.Close()
	}
	id = sha256.Sum256(b)
	// The build ID is there for people.
	return id, strings.TrimPrefix(buildID[:min(len(buildID), 40)]+"-", "-") + hex.EncodeToString(id[:8]) + indexSuffix, true
}

// appendHeaders appends what the file's headers say.
func appendHeaders(f *elf.File, b []byte) []byte {
	le := binary.LittleEndian
	for _, n := range []uint64{f.Size, uint64(f.Class), uint64(f.Type), uint64(f.Machine), uint64(len(f.Sections))} {
		b = le.AppendUint64(b, n)
	}
	for i := range f.Sections {
		s := &f.Sections[i]
		b = append(append(b, s.Name...), 0)
		for _, n := range []uint64{uint64(s.Type), uint64(s.Flags), s.Addr, s.Off, s.Len, uint64(s.Link), uint64(s.Info), s.Align} {
			b = le.AppendUint64(b, n)
		}
	}
	for i := range f.Segments {
		s := &f.Segments[i]
		for _, n := range []uint64{uint64(s.Type), uint64(s.Flags), s.Off, s.Addr, s.FileSize, s.MemSize} {
			b = le.AppendUint64(b, n)
		}
	}
	return b
}

// evictIndexes removes the indexes not used for the longest time, but for the one
// called keep, until those left take no more than limit bytes; and what writers have
// left behind that came to a sudden end.
func evictIndexes(folder, keep string, limit int64) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var indexes []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // removed meanwhile
		}
		switch {
		case strings.HasSuffix(e.Name(), tempSuffix) && time.Since(info.ModTime()) > time.Hour:
			os.Remove(filepath.Join(folder, e.Name()))
		case strings.HasSuffix(e.Name(), indexSuffix), strings.HasSuffix(e.Name(), outlineSuffix):
			total += info.Size()
			if e.Name() != keep {
				indexes = append(indexes, info)
			}
		}
	}
	slices.SortFunc(indexes, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range indexes {
		if total <= limit {
			break
		}
		if err := os.Remove(filepath.Join(folder, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= info.Size()
	}
	return nil
}
