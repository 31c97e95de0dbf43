// What several debug files have in common dwz moves into one more, which they name
// (.gnu_debugaltlink, or .debug_sup in DWARF 5) and refer to with forms of its own.
//
// Sources: DWARF 5, section 7.3.6; dwz(1).

package dwarf

import (
	"bytes"
	"encoding/hex"
	"path/filepath"

	"github.com/zeroframe/zeroframe/tools/elf"
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
		if f == nil {
			return
		}
		s := &Data{File: f}
		if s.find(f, "") != nil {
			f.Close()
			return
		}
		d.supplementary, d.supFile = s, f
	})
	return d.supplementary
}

// DebugDir is where systems keep debug files. Tests have a system of their own.
var DebugDir = "/usr/lib/debug"

// FindSupplement opens the supplementary file that the file names.
func FindSupplement(f *elf.File) *elf.File {
	if !f.OnDisk() {
		return nil // not a file on this machine
	}
	name, id := supplementName(f)
	if name == "" || len(id) < 2 {
		return nil
	}
	path := name
	if !filepath.IsAbs(name) {
		real, err := filepath.EvalSymlinks(f.Name())
		if err != nil {
			return nil
		}
		path = filepath.Join(filepath.Dir(real), name)
	}
	hexID := hex.EncodeToString(id)
	for _, path := range []string{path, filepath.Join(DebugDir, ".build-id", hexID[:2], hexID[2:]+".debug")} {
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
