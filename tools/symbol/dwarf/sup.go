// What several debug files have in common dwz moves into one more, which they name
// (.gnu_debugaltlink, or .debug_sup in DWARF 5) and refer to with forms of its own.
//
// Sources: DWARF 5, section 7.3.6; dwz(1).

package dwarf

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// supplement returns a reader of the supplementary file, or nil.
func (r *Reader) supplement() *Reader {
	if r.sup == nil {
		d := r.supData()
		if d == nil {
			return nil
		}
		r.sup = d.NewReader()
	}
	r.sup.Allow()
	return r.sup
}

func (d *Data) supData() *Data {
	d.supOnce.Do(func() {
		f := FindSupplement(d.File)
		s := &Data{File: f}
		why := "is not there"
		if f != nil {
			err := s.find(f)
			if err == nil {
				d.supplementary, d.supFile = s, f
				return
			}
			f.Close()
			why = "is damaged (" + err.Error() + ")"
		}
		if name, id := supplementName(d.File); name != "" && len(id) >= 2 {
			lost := fmt.Sprintf(
				"names are missing that dwz has moved to %s (build ID %x), which %s: it helps to have it at %s",
				name, id, why, strings.Join(supplementPaths(d.File, name, id), " or "))
			d.lost.Store(&lost)
		}
	})
	return d.supplementary
}

// Lost returns what answers so far lack since it is in another file that is not read, and what
// helps; or "".
func (d *Data) Lost() string {
	if s := d.lost.Load(); s != nil {
		return *s
	}
	return ""
}

// Close closes what was opened for the sections.
func (d *Data) Close() {
	if d == nil {
		return
	}
	d.supOnce.Do(func() {}) // it is not looked for any more
	if d.supFile != nil {
		d.supFile.Close()
	}
}

// FindSupplement opens the supplementary file that the file names.
func FindSupplement(f *elf.File) *elf.File {
	if !f.OnDisk() {
		return nil // not a file on this machine
	}
	name, id := supplementName(f)
	if name == "" || len(id) < 2 {
		return nil
	}
	hexID := hex.EncodeToString(id)
	paths := supplementPaths(f, name, id)
	for i := 0; i <= len(paths); i++ {
		path := ""
		switch {
		case i < len(paths):
			path = paths[i]
		case f.Elsewhere != nil:
			path = f.Elsewhere(hexID)
		}
		if path == "" {
			continue
		}
		c, err := elf.Open(path)
		if err != nil {
			continue
		}
		_, own := supplementName(c)
		if (c.BuildID() == hexID || bytes.Equal(own, id)) && c.Class == f.Class && c.Big() == f.Big() {
			return c
		}
		c.Close()
	}
	return nil
}

// supplementPaths returns where the supplementary file may be.
func supplementPaths(f *elf.File, name string, id []byte) (paths []string) {
	if filepath.IsAbs(name) {
		paths = append(paths, name)
	} else if real, err := filepath.EvalSymlinks(f.Name()); err == nil {
		paths = append(paths, filepath.Join(filepath.Dir(real), name))
	}
	hexID := hex.EncodeToString(id)
	return append(paths, filepath.Join(f.DebugFolder(), ".build-id", hexID[:2], hexID[2:]+".debug"))
}

// supplementName returns the name and the ID of the supplementary file. Of such a
// file itself the name is "".
func supplementName(f *elf.File) (name string, id []byte) {
	if s := f.FirstSection(".gnu_debugaltlink"); s != nil {
		if b, err := f.Data(s); err == nil {
			if n := bytes.IndexByte(b, 0); n > 0 {
				return string(b[:n]), b[n+1:]
			}
		}
	}
	if s := f.FirstSection(".debug_sup"); s != nil {
		if b, err := f.Data(s); err == nil {
			c := elf.Cursor{B: b, Big: f.Big()}
			c.Uint(2) // version
			c.Uint(1) // whether this is the supplementary file
			name := elf.CString(b, uint64(c.At))
			c.SkipString()
			if id := c.Take(c.ULEB()); id != nil {
				return string(name), id
			}
		}
	}
	return "", nil
}
