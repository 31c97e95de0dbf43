// With -gsplit-dwarf a compiler leaves in the program what a linker has to fill in:
// of each unit a skeleton, with its addresses and its lines. The entries are in a
// file of the unit's own (.dwo), or in one file for all (.dwp). Both are tied to the
// skeletons by a number, without which nothing in them counts.
//
// Sources: DWARF 5, sections 3.1.2, 3.1.3 and 7.3.5; for what came before it
// https://gcc.gnu.org/wiki/DebugFission and DebugFissionDWP.

package dwarf

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

const (
	maxDwoSize = 256 << 20 // bytes of a .dwo file, which is kept in memory
	maxDwos    = 64        // files that are kept
)

// A dwoPart is where the contributions of one unit begin in the sections of a file.
type dwoPart struct{ info, abbrev, strOffsets, rngLists uint64 }

// loadSplit reads the functions of a unit that is a skeleton. It reports false if
// it is none, or if its other part is not to be found.
func (r *Reader) loadSplit(l *Loaded) bool {
	if l.u.dwoName.kind == valueNone || l.u.dwoID == 0 {
		return false
	}
	try := func(d *Data, part dwoPart) bool {
		sr := r.splits[d]
		if sr == nil {
			if len(r.splits) >= maxDwos {
				clear(r.splits)
				clear(r.loaded)
				r.cached, r.treeOf = 0, nil
			}
			if r.splits == nil {
				r.splits = make(map[*Data]*Reader)
			}
			sr = d.NewReader()
			r.splits[d] = sr
		}
		sr.Allow()
		u := sr.splitUnit(part, l.u)
		if u == nil {
			return false
		}
		l.split, l.splitReader = &Loaded{u: u}, sr
		sr.LoadFuncs(l.split, false)
		return true
	}
	if d := r.packed(); d != nil {
		if part, ok := d.parts[l.u.dwoID]; ok && try(d, part) {
			return true
		}
	}
	for _, path := range r.dwoPaths(l.u) {
		if d := r.dwo(path); d != nil && try(d, dwoPart{}) {
			return true
		}
	}
	return false
}

// splitUnit returns the unit that the skeleton stands for, if it is at part.
func (r *Reader) splitUnit(part dwoPart, skeleton *unit) *unit {
	u := r.unit(part.info)
	if u == nil {
		return nil
	}
	if !u.rooted {
		u.abbrevOff += part.abbrev
		if _, ok := r.root(u); !ok {
			r.units[part.info] = nil
			return nil
		}
		u.strOffsetsBase += part.strOffsets
		u.rngListBase += part.rngLists
		u.addrBase, u.low, u.listBase = skeleton.addrBase, skeleton.low, skeleton.rangesBase
	}
	if u.dwoID != skeleton.dwoID {
		return nil
	}
	return u
}

// dwoPaths returns where the unit's .dwo file may be: where the compiler put it, or
// beside the program.
func (r *Reader) dwoPaths(u *unit) []string {
	name := r.string(u, &r.infoPages, u.dwoName)
	if name == "" || !r.File.OnDisk() {
		return nil
	}
	dir := filepath.Dir(r.File.Name())
	paths := []string{name, filepath.Join(dir, filepath.Base(name))}
	if !filepath.IsAbs(name) {
		paths[0] = filepath.Join(r.string(u, &r.infoPages, u.compDir), name)
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// dwo returns the sections of the .dwo file at path, or nil.
func (d *Data) dwo(path string) *Data {
	d.dwoMu.Lock()
	defer d.dwoMu.Unlock()
	s, ok := d.dwos[path]
	if !ok {
		if d.dwos == nil || len(d.dwos) >= maxDwos {
			d.dwos = make(map[string]*Data)
		}
		if f := readDwo(path); f != nil {
			s = d.splitData(f)
		}
		d.dwos[path] = s
	}
	return s
}

// readDwo reads a .dwo file into memory: there may be more of them than files that a
// process may have open.
func readDwo(path string) *elf.File {
	// a file of /proc has 0, and may wait
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || st.Size() == 0 ||
		st.Size() > maxDwoSize {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	f, err := elf.NewFile(bytes.NewReader(b), int64(len(b)), path)
	if err != nil {
		return nil
	}
	return f
}

// splitData returns the sections of a .dwo or .dwp file, together with the program's
// that they refer to; nil if it is of no use.
func (d *Data) splitData(f *elf.File) *Data {
	s := &Data{File: d.File, zero: d.zero}
	if f.Machine != d.File.Machine || f.Class != d.File.Class || f.Big() != d.File.Big() ||
		f.FirstSection(".debug_info.dwo") == nil || s.find(f, ".dwo") != nil {
		return nil
	}
	s.addr, s.line, s.lineStr, s.ranges = d.addr, d.line, d.lineStr, d.ranges
	return s
}

// packed returns the sections of the program's .dwp file, or nil.
func (d *Data) packed() *Data {
	d.dwpOnce.Do(func() {
		if !d.File.OnDisk() {
			return
		}
		f, err := elf.Open(d.File.Name() + ".dwp")
		if err != nil {
			return
		}
		if d.dwp = d.splitData(f); d.dwp != nil {
			d.dwp.parts, err = readUnitIndex(f)
		}
		if d.dwp == nil || err != nil {
			d.dwp = nil
			f.Close()
			return
		}
		d.dwpFile = f
	})
	return d.dwp
}

// Close closes what was opened for the sections.
func (d *Data) Close() {
	if d == nil {
		return
	}
	d.dwpOnce.Do(func() {}) // it is not looked for any more
	d.supOnce.Do(func() {})
	for _, f := range []*elf.File{d.dwpFile, d.supFile} {
		if f != nil {
			f.Close()
		}
	}
}

// readUnitIndex reads .debug_cu_index: which unit is where.
func readUnitIndex(f *elf.File) (map[uint64]dwoPart, error) {
	s := f.FirstSection(".debug_cu_index")
	if s == nil {
		return nil, nil
	}
	b, err := f.Data(s)
	if err != nil {
		return nil, err
	}
	c := elf.Cursor{B: b, Big: f.Big()}
	// The version took four bytes before DWARF 5, which made it two and two of nothing.
	version := c.Uint(4)
	if version != 2 {
		if version = version & 0xffff; f.Big() {
			version = uint64(f.Order.Uint16(b))
		}
	}
	columns, units, slots := c.Uint(4), c.Uint(4), c.Uint(4)
	size := uint64(len(b))
	if c.Bad || version != 2 && version != 5 || columns > 16 || slots > size/12 || units > size ||
		16+12*slots+4*columns*(1+2*units) > size {
		return nil, nil
	}
	names := elf.Cursor{B: b, At: int(16 + 12*slots), Big: c.Big}
	kinds := make([]uint64, columns)
	for i := range kinds {
		kinds[i] = names.Uint(4)
	}
	offsets := uint64(names.At)
	parts := make(map[uint64]dwoPart)
	for i := range slots {
		ids, rows := elf.Cursor{B: b, At: int(16 + 8*i), Big: c.Big},
			elf.Cursor{B: b, At: int(16 + 8*slots + 4*i), Big: c.Big}
		id, row := ids.Uint(8), rows.Uint(4)
		if row == 0 || row > units {
			continue
		}
		at := elf.Cursor{B: b, At: int(offsets + 4*columns*(row-1)), Big: c.Big}
		var p dwoPart
		for _, kind := range kinds {
			off := at.Uint(4)
			switch {
			case kind == 1:
				p.info = off
			case kind == 3:
				p.abbrev = off
			case kind == 6:
				p.strOffsets = off
			case kind == 8 && version == 5: // before, that was something else
				p.rngLists = off
			}
		}
		parts[id] = p
	}
	return parts, nil
}
