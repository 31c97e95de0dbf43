// The debug sections of a file, shared by all who read them.

package dwarf

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// Data is the debug sections, and which unit has which addresses. It is
// shared by those who read; what has been read belongs to each reader.
type Data struct {
	File                               *elf.File
	info, abbrev, line, str, lineStr   *elf.Contents
	ranges, rnglists, addr, strOffsets *elf.Contents
	aranges                            *elf.Contents
	total                              int // bytes of all the sections

	basesOnce sync.Once
	unitBases []uint64 // of every unit's header, rising

	zero *zeroText // nil in most images

	mu    sync.Mutex
	index unitIndex
	main  *Reader // of single look-ups

	keptMu    sync.Mutex
	kept      map[uint64]*Loaded // between batches, by the offset of the unit's header
	keptItems int

	supOnce       sync.Once
	supplementary *Data
	supFile       *elf.File
	lost          atomic.Pointer[string] // what Lost says
}

// allUnits returns the offsets of all units' headers.
func (d *Data) allUnits() []uint64 { return d.allUnitsWith(nil) }

// No compiler writes manyUnits of leastUnit bytes on average, with their headers.
const (
	manyUnits = 1 << 16
	leastUnit = 32
)

// allUnitsWith is allUnits that may begin at several places at once: at those of told, which rise
// and are said to be of headers.
func (d *Data) allUnitsWith(told []uint64) []uint64 {
	d.basesOnce.Do(func() {
		defer func() {
			if n := uint64(len(d.unitBases)); n > manyUnits && d.info.Size < n*leastUnit {
				d.unitBases = nil // made to keep its reader busy
			}
		}()
		// manyTold is where it takes less time than to start another. What is not in the page cache
		// comes the faster the more is asked for at once, however few processors there are.
		const manyTold, most = 256, 32
		n := min(most, len(told)/manyTold)
		if n < 2 {
			d.unitBases, _ = d.unitsFrom(0, d.info.Size)
			return
		}
		starts := []uint64{0}
		for i := 1; i < n; i++ {
			starts = append(starts, told[i*len(told)/n])
		}
		starts = append(starts, d.info.Size)
		parts, met := make([][]uint64, n), make([]bool, n)
		var wait sync.WaitGroup
		for i := range n {
			wait.Go(func() { parts[i], met[i] = d.unitsFrom(starts[i], starts[i+1]) })
		}
		wait.Wait()
		if slices.Contains(met[:n-1], false) { // of the last one there is no more to be had
			d.unitBases, _ = d.unitsFrom(0, d.info.Size)
			return
		}
		d.unitBases = slices.Concat(parts...)
	})
	return d.unitBases
}

// unitsFrom returns the offsets of the headers from a header on up to end. It reports whether a
// unit ends just there.
func (d *Data) unitsFrom(at, end uint64) (bases []uint64, met bool) {
	// Where units are longer than pages it takes less time to read their headers
	// alone.
	const header, page = 12, 4 << 10
	buf := make([]byte, 4*page)
	c, first := elf.Cursor{Big: d.File.Big()}, uint64(0) // what was read, and from where
	n := uint64(header)
	for at < end {
		if at+header > first+uint64(len(c.B)) {
			c.B, first = d.info.Bytes(&buf, at, n), at
		}
		c.At, c.Bad = int(at-first), false
		length, _ := c.Length()
		head := first + uint64(c.At)
		if c.Bad || length > d.info.Size-head {
			return bases, false
		}
		bases = append(bases, at)
		at = head + length
		if n = header; length < page {
			n = 4 * page
		}
	}
	return bases, at == end
}

// Prepare finds out which unit has which addresses, unless that is known. It is for who has
// something else to do meanwhile. Host.
func (d *Data) Prepare() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readRanges()
}
