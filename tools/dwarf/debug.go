// The debug sections of a file, shared by all who read them.

package dwarf

import (
	"sync"
	"sync/atomic"

	"github.com/zeroframe/zeroframe/tools/elf"
)

// Data is the debug sections, and which unit has which addresses. It is
// shared by those who read; what has been read belongs to each reader.
type Data struct {
	File                               *elf.File
	info, abbrev, line, str, lineStr   *elf.Contents
	ranges, rnglists, addr, strOffsets *elf.Contents
	aranges                            *elf.Contents
	total                              int // bytes of all the sections
	byOutline                          bool

	basesOnce sync.Once
	unitBases []uint64 // of every unit's header, rising

	mu    sync.Mutex
	index unitIndex
	main  *Reader // of single look-ups

	dwoMu sync.Mutex
	dwos  map[string]*Data // by path; nil for a file of no use

	dwpOnce sync.Once
	dwp     *Data // of the .dwp file
	dwpFile *elf.File
	parts   map[uint64]dwoPart // of a .dwp file: where each unit is

	supOnce       sync.Once
	supplementary *Data
	supFile       *elf.File
	lost          atomic.Pointer[string] // what Lost says
}

// allUnits returns the offsets of all units' headers.
func (d *Data) allUnits() []uint64 {
	d.basesOnce.Do(func() {
		// Where units are longer than pages it takes less time to read their headers
		// alone.
		const header, page = 12, 4 << 10
		buf := make([]byte, 4*page)
		c, first := elf.Cursor{Big: d.File.Big()}, uint64(0) // what was read, and from where
		n := uint64(header)
		for at := uint64(0); at < d.info.Size; {
			if at+header > first+uint64(len(c.B)) {
				c.B, first = d.info.Bytes(&buf, at, n), at
			}
			c.At, c.Bad = int(at-first), false
			length, head := c.Uint(4), uint64(4)
			if length == 0xffffffff {
				length, head = c.Uint(8), 12
			}
			if c.Bad || length > d.info.Size-at-head {
				return
			}
			d.unitBases = append(d.unitBases, at)
			at += head + length
			if n = header; length < page {
				n = 4 * page
			}
		}
	})
	return d.unitBases
}

// InParts reports whether some of the debug information was found in files that an
// index is not tied to (indexbuild.go).
func (d *Data) InParts() bool {
	d.dwoMu.Lock()
	defer d.dwoMu.Unlock()
	return d.dwos != nil || d.dwpFile != nil
}

// Size returns the length of all debug sections in bytes, infoSize that of .debug_info.
func (d *Data) Size() int        { return d.total }
func (d *Data) InfoSize() uint64 { return d.info.Size }

// WholeInfo reports whether .debug_info had to be unfolded or relocated as a whole.
func (d *Data) WholeInfo() bool { return d.info.InMemory() }
