// An outline is what the first process that has unfolded a file's compressed debug sections
// leaves when its answers are out, so that the next one, which may come long before the index is
// made, unfolds the pieces that it reads and no more. It lies beside the indexes until the index
// takes its place, and is of one file as an index is. In its order:
//
//	header   56 bytes: magic, which file it is of, length of the table, its checksum, and the
//	         header's own
//	table    numbers of 8 bytes: the sections with their points, the units, their addresses
//	windows  of the points, in their order
//
// Windows have no checksums: package elf compares what comes out with the point's.

package symbol

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/tools/dwarf"
	"github.com/zeroframe/zeroframe/tools/elf"
)

const (
	outlineSuffix = ".zfoutline"
	outlineMagic  = "zfoutl2\n"
	outlineHeader = 56
)

// outlineName returns the name of the outline beside the index called name.
func outlineName(name string) string { return strings.TrimSuffix(name, indexSuffix) + outlineSuffix }

// LeaveOutline writes the outline of the file's debug information into folder, if this process
// has unfolded it all, and makes room as BuildIndex does. Several processes may do this at once.
// Context: host.
func (f *File) LeaveOutline(folder string, limit int64) error {
	d := f.dwarfData()
	if d == nil {
		return nil
	}
	id, name, ok := f.indexID()
	o := d.Outline()
	if !ok || o == nil {
		return nil
	}
	name = outlineName(name)
	return inPlace(folder, name, limit, func(tmp *os.File) error {
		if _, err := tmp.Write(outlineHead(o, id)); err != nil {
			return err
		}
		for _, s := range o.Sections {
			for i := range s.Points {
				window, _ := s.Window(i)
				if _, err := tmp.Write(window); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// outlineHead returns the header and the table.
func outlineHead(o *dwarf.Outline, id [indexIDSize]byte) []byte {
	le := binary.LittleEndian
	b := append([]byte(outlineMagic), id[:]...)
	b = append(b, make([]byte, outlineHeader-len(b))...)
	put := func(numbers ...uint64) {
		for _, n := range numbers {
			b = le.AppendUint64(b, n)
		}
	}
	put(uint64(len(o.Sections)))
	for _, s := range o.Sections {
		put(uint64(s.Number), uint64(len(s.Points)))
		for _, p := range s.Points {
			put(p.In, p.Out, uint64(p.Sum))
		}
	}
	put(uint64(len(o.Units)))
	put(o.Units...)
	put(uint64(len(o.Ranges)))
	for _, r := range o.Ranges {
		put(r.Low, r.High, r.Base)
	}
	le.PutUint64(b[40:], uint64(len(b)-outlineHeader))
	le.PutUint32(b[48:], indexSum(b[outlineHeader:]))
	le.PutUint32(b[52:], indexSum(b[:52]))
	return b
}

// An openOutline is an outline file in use.
type openOutline struct {
	*dwarf.Outline
	file *os.File
}

// of returns the outline, nil if there is none.
func (x *openOutline) of() *dwarf.Outline {
	if x == nil {
		return nil
	}
	return x.Outline
}

func (x *openOutline) close() {
	if x != nil {
		x.file.Close()
	}
}

// readOutline opens the outline at path. It returns nil if there is none of that file.
func readOutline(path string, id [indexIDSize]byte) *openOutline {
	fd, size, err := elf.OpenRegular(path)
	if err != nil {
		return nil
	}
	x := &openOutline{file: fd}
	if x.Outline = decodeOutline(fd, uint64(size), id); x.Outline == nil {
		fd.Close()
		return nil
	}
	return x
}

func decodeOutline(fd *os.File, size uint64, id [indexIDSize]byte) *dwarf.Outline {
	le := binary.LittleEndian
	var h [outlineHeader]byte
	if n, _ := fd.ReadAt(h[:], 0); n < len(h) || string(h[:8]) != outlineMagic || [indexIDSize]byte(h[8:40]) != id || le.Uint32(h[52:]) != indexSum(h[:52]) {
		return nil
	}
	n := le.Uint64(h[40:])
	if n > size-outlineHeader {
		return nil
	}
	b := make([]byte, n)
	if m, _ := fd.ReadAt(b, outlineHeader); m < len(b) || indexSum(b) != le.Uint32(h[48:]) {
		return nil
	}
	bad := false
	get := func() uint64 {
		if len(b) < 8 {
			bad = true
			return 0
		}
		v := le.Uint64(b)
		b = b[8:]
		return v
	}
	// count reads how many entries follow, of so many numbers each.
	count := func(numbers int) int {
		v := get()
		if v > uint64(len(b)/8/numbers) {
			bad, v = true, 0
		}
		return int(v)
	}
	o, at := &dwarf.Outline{}, outlineHeader+n
	o.Sections = make([]dwarf.OutlineSection, count(2))
	for i := range o.Sections {
		s := &o.Sections[i]
		s.Number, s.Points = int(get()), make([]elf.Point, count(3))
		places := make([]uint64, len(s.Points))
		for i := range s.Points {
			s.Points[i] = elf.Point{In: get(), Out: get(), Sum: uint32(get())}
			places[i] = at
			at += s.Points[i].WindowSize()
		}
		s.Window = func(i int) ([]byte, error) {
			b := make([]byte, s.Points[i].WindowSize())
			_, err := fd.ReadAt(b, int64(places[i]))
			return b, err
		}
	}
	o.Units = make([]uint64, count(1))
	for i := range o.Units {
		o.Units[i] = get()
	}
	o.Ranges = make([]dwarf.OutlineRange, count(3))
	for i := range o.Ranges {
		o.Ranges[i] = dwarf.OutlineRange{Span: elf.Span{Low: get(), High: get()}, Base: get()}
	}
	if bad || len(b) > 0 || at != size {
		return nil
	}
	return o
}

// inPlace writes the file called name in folder, which is made if it is missing: another of that
// name stays until this one is whole. Then it makes room as limit says.
func inPlace(folder, name string, limit int64, write func(tmp *os.File) error) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(folder, name+".*"+tempSuffix)
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // after the renaming it is not there
	err = write(tmp)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(folder, name))
	}
	if err != nil {
		return err
	}
	return evictIndexes(folder, name, limit)
}
