package memory

// The page tables of a processor in 64-bit mode: four levels, pages of 4 KiB, 2 MiB and 1 GiB
// (SDM Vol. 3A, 4.5). The walker trusts nothing in them: an entry that leads out of the RAM is
// as good as none, and tables that lead back to themselves end it with an error.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Space is an address space: virtual addresses, by the tables whose root is at Root.
type Space struct {
	Memory Physical
	Root   uint64 // CR3
}

// Run is memory without a gap, by virtual and by physical addresses.
type Run struct {
	Virtual, Physical, Size uint64
	Write, Execute          bool
}

// Errors of a Space.
var (
	// ErrUnmapped is returned for an address that no entry maps.
	ErrUnmapped = errors.New("the page tables do not map it")
	// ErrTables is returned by Walk for tables that cannot be.
	ErrTables = errors.New("the page tables are damaged")
)

// The bits of an entry.
const (
	entryPresent  = 1 << 0
	entryWrite    = 1 << 1
	entryUncached = 1 << 4
	entryLarge    = 1 << 7
	entryNoExec   = 1 << 63
	entryAddress  = (1<<52 - 1) &^ (PageSize - 1)

	levels     = 4
	levelBits  = 9
	pageBits   = 12
	perTable   = 1 << levelBits
	mostLevels = 2 // a large page is of one of the two levels above the last
)

// sizeOf is what an entry of a level spans, 0 being that of pages of 4 KiB.
func sizeOf(level int) uint64 { return 1 << (pageBits + levelBits*level) }

// canonical extends the uppermost bit of the 48 that the tables translate.
func canonical(addr uint64) uint64 { return uint64(int64(addr<<16) >> 16) }

// target is the physical address that a last entry of a level maps.
func target(entry uint64, level int) uint64 { return entry & entryAddress &^ (sizeOf(level) - 1) }

// last reports whether an entry of a level maps memory, and not a table.
func last(entry uint64, level int) bool {
	return level == 0 || entry&entryLarge != 0 && level <= mostLevels
}

// Translate returns the physical address, and how many bytes from it on are of the same page.
// Errors are ErrUnmapped and those of the memory.
func (s *Space) Translate(virtual uint64) (physical, left uint64, err error) {
	if canonical(virtual) != virtual {
		return 0, 0, ErrUnmapped
	}
	table := s.Root & entryAddress
	var b [8]byte
	for level := levels - 1; ; level-- {
		i := virtual >> (pageBits + levelBits*level) % perTable
		if err := s.Memory.ReadPhysical(b[:], table+i*8); err != nil {
			return 0, 0, fmt.Errorf("page table at %#x: %w", table, err)
		}
		e := binary.LittleEndian.Uint64(b[:])
		switch {
		case e&entryPresent == 0:
			return 0, 0, ErrUnmapped
		case last(e, level):
			in := virtual % sizeOf(level)
			return target(e, level) + in, sizeOf(level) - in, nil
		}
		table = e & entryAddress
	}
}

// Read fills p from a virtual address. Errors name the first address that cannot be read.
func (s *Space) Read(p []byte, virtual uint64) error {
	_, err := s.ReadAt(p, int64(virtual))
	return err
}

// ReadAt is Read as an [io.ReaderAt] has it: the upper half's addresses are negative.
func (s *Space) ReadAt(p []byte, virtual int64) (n int, err error) {
	for n < len(p) {
		at := uint64(virtual) + uint64(n)
		physical, left, err := s.Translate(at)
		if err == nil {
			part := p[n:min(len(p), n+int(min(left, uint64(len(p)))))]
			err = s.Memory.ReadPhysical(part, physical)
			if err == nil {
				n += len(part)
				continue
			}
		}
		return n, fmt.Errorf("memory at %#x: %w", at, err)
	}
	return n, nil
}

var _ io.ReaderAt = (*Space)(nil)

// Walk calls f with all RAM that is mapped, in the order of virtual addresses as numbers without a
// sign, in runs as long as they can be. What is mapped and no RAM, such as devices, is left out.
// Errors are ErrTables, or of the root, and the first of f.
func (s *Space) Walk(f func(Run) error) error {
	w := walk{Space: s, blocks: s.Memory.Blocks(), f: f}
	for _, b := range w.blocks {
		w.tables += b.Size / PageSize
	}
	w.tables += w.tables/4 + levels // some are used twice in a sound machine
	if err := s.Memory.ReadPhysical(w.page[levels-1][:], s.Root&entryAddress); err != nil {
		return fmt.Errorf("page table at %#x: %w", s.Root&entryAddress, err)
	}
	if err := w.table(levels-1, 0, true, true); err != nil {
		return err
	}
	return w.flush()
}

// walk is one under way.
type walk struct {
	*Space
	blocks []Block
	f      func(Run) error
	page   [levels][PageSize]byte
	tables uint64 // that may still be gone through
	run    Run    // that may go on
}

// table goes through the table of a level that is in w.page, of virtual addresses from base on.
func (w *walk) table(level int, base uint64, write, execute bool) error {
	if w.tables == 0 {
		return fmt.Errorf("%w: there are more tables than the RAM has room for", ErrTables)
	}
	w.tables--
	for i := range uint64(perTable) {
		e := binary.LittleEndian.Uint64(w.page[level][i*8:])
		if e&entryPresent == 0 {
			continue
		}
		at := base + i*sizeOf(level)
		if level == levels-1 {
			at = canonical(at)
		}
		write, execute := write && e&entryWrite != 0, execute && e&entryNoExec == 0
		if last(e, level) {
			if e&entryUncached == 0 {
				if err := w.mapped(Run{at, target(e, level), sizeOf(level), write, execute}); err != nil {
					return err
				}
			}
			continue
		}
		if w.Memory.ReadPhysical(w.page[level-1][:], e&entryAddress) != nil {
			continue
		}
		if err := w.table(level-1, at, write, execute); err != nil {
			return err
		}
	}
	return nil
}

// mapped adds what a page maps, as far as it is RAM.
func (w *walk) mapped(r Run) error {
	for _, b := range w.blocks {
		lo, hi := max(b.Start, r.Physical), min(b.End(), r.Physical+r.Size)
		if lo >= hi {
			continue
		}
		part := Run{r.Virtual + (lo - r.Physical), lo, hi - lo, r.Write, r.Execute}
		if l := &w.run; l.Size > 0 && l.Virtual+l.Size == part.Virtual &&
			l.Physical+l.Size == part.Physical &&
			l.Write == part.Write && l.Execute == part.Execute && lo != b.Start {
			l.Size += part.Size
			continue
		}
		if err := w.flush(); err != nil {
			return err
		}
		w.run = part
	}
	return nil
}

func (w *walk) flush() error {
	if w.run.Size == 0 {
		return nil
	}
	r := w.run
	w.run = Run{}
	return w.f(r)
}
