// What several debug files have in common dwz moves into one more, which they name
// (.gnu_debugaltlink, or .debug_sup in DWARF 5) and refer to with forms of its own.
//
// Sources: DWARF 5, section 7.3.6; dwz(1).

package symbol

import (
	"bytes"
	"encoding/hex"
	"path/filepath"
)

// supplement returns a reader of the supplementary file, or nil.
func (r *dwarfReader) supplement() *dwarfReader {
	if r.sup == nil {
		d := r.supData()
		if d == nil {
			return nil
		}
		r.sup = d.newReader()
	}
	r.sup.allow()
	return r.sup
}

func (d *dwarfData) supData() *dwarfData {
	d.supOnce.Do(func() {
		f := d.file.findSupplement()
		if f == nil {
			return
		}
		s := &dwarfData{file: f}
		if f.debugSections(s, "") != nil {
			f.Close()
			return
		}
		d.supplementary, d.supFile = s, f
	})
	return d.supplementary
}

// findSupplement opens the supplementary file that the file names.
func (f *File) findSupplement() *File {
	if f.closer == nil {
		return nil // not a file on this machine
	}
	name, id := f.supplementName()
	if name == "" || len(id) < 2 {
		return nil
	}
	path := name
	if !filepath.IsAbs(name) {
		real, err := filepath.EvalSymlinks(f.name)
		if err != nil {
			return nil
		}
		path = filepath.Join(filepath.Dir(real), name)
	}
	hexID := hex.EncodeToString(id)
	for _, path := range []string{path, filepath.Join(debugDir, ".build-id", hexID[:2], hexID[2:]+".debug")} {
		c, err := Open(path)
		if err != nil {
			continue
		}
		_, own := c.supplementName()
		if (c.BuildID() == hexID || bytes.Equal(own, id)) && c.class == f.class && c.bigEndian == f.bigEndian {
			return c
		}
		c.Close()
	}
	return nil
}

// supplementName returns the name and the ID of the supplementary file. Of such a
// file itself the name is "".
func (f *File) supplementName() (name string, id []byte) {
	if s := f.section(".gnu_debugaltlink"); s != nil {
		if b, err := f.data(s); err == nil {
			if n := bytes.IndexByte(b, 0); n > 0 {
				return string(b[:n]), b[n+1:]
			}
		}
	}
	if s := f.section(".debug_sup"); s != nil {
		if b, err := f.data(s); err == nil {
			c := cursor{b: b, big: f.big()}
			c.uint(2) // version
			c.uint(1) // whether this is the supplementary file
			name := cstring(b, uint64(c.at))
			c.skipString()
			if id := c.take(c.uleb()); id != nil {
				return string(name), id
			}
		}
	}
	return "", nil
}
