package memory

// A copy of a machine's RAM in a file: each block behind the one before, pages of zeros left out,
// as holes. So memory of any size costs this process nothing, and the file no more than what is in
// it.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Store is a copy of RAM in a file. It is a [Physical].
type Store struct {
	file   *os.File
	blocks []Block
	at     []int64 // where each block lies in the file
	end    int64

	// Used is how many bytes of it are no holes.
	Used uint64
}

// mostRAM is the most that a machine can have: what physical addresses of 52 bits reach.
const mostRAM = 1 << 52

// NewStore makes an empty copy of the blocks in a file that is all zeros from start on, a multiple
// of PageSize.
func NewStore(file *os.File, start int64, blocks []Block) (*Store, error) {
	s := &Store{file: file, blocks: blocks, end: start}
	prev := uint64(0)
	for _, b := range blocks {
		if b.Start < prev || b.Size > mostRAM || b.Start > mostRAM || b.Size == 0 ||
			(b.Start|b.Size)%PageSize != 0 || uint64(s.end)+b.Size > 1<<62 {
			return nil, fmt.Errorf("RAM of %#x bytes at %#x cannot be", b.Size, b.Start)
		}
		prev = b.End()
		s.at = append(s.at, s.end)
		s.end += int64(b.Size)
	}
	if err := file.Truncate(s.end); err != nil {
		return nil, err
	}
	return s, nil
}

// Blocks implements [Physical].
func (s *Store) Blocks() []Block { return s.blocks }

// End is where the copy ends in the file.
func (s *Store) End() int64 { return s.end }

// Offset returns where a physical address lies in the file, and how many bytes from there on are of
// the same block.
func (s *Store) Offset(addr uint64) (at int64, left uint64, ok bool) {
	for i, b := range s.blocks {
		if addr >= b.Start && addr < b.End() {
			return s.at[i] + int64(addr-b.Start), b.End() - addr, true
		}
	}
	return 0, 0, false
}

// ReadPhysical implements [Physical].
func (s *Store) ReadPhysical(p []byte, addr uint64) error {
	at, left, ok := s.Offset(addr)
	if !ok || left < uint64(len(p)) {
		return ErrNotRAM
	}
	_, err := s.file.ReadAt(p, at)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

var zeros [PageSize]byte

// Put copies data to an address, but for pages of zeros.
func (s *Store) Put(addr uint64, data []byte) error {
	for len(data) > 0 {
		// A run of pages that are no zeros is written at once.
		zero := pageOf(addr, data)
		if bytes.Equal(data[:zero], zeros[:zero]) {
			addr, data = addr+uint64(zero), data[zero:]
			continue
		}
		n := zero
		for n < len(data) {
			next := min(PageSize, len(data)-n)
			if bytes.Equal(data[n:n+next], zeros[:next]) {
				break
			}
			n += next
		}
		at, left, ok := s.Offset(addr)
		if !ok || left < uint64(n) {
			return fmt.Errorf("memory at %#x: %w", addr, ErrNotRAM)
		}
		if _, err := s.file.WriteAt(data[:n], at); err != nil {
			return err
		}
		s.Used += uint64(n)
		addr, data = addr+uint64(n), data[n:]
	}
	return nil
}

// pageOf is how many bytes of data, which are at addr, are of its first page.
func pageOf(addr uint64, data []byte) int { return min(PageSize-int(addr%PageSize), len(data)) }

// Fill makes a Store of a machine's RAM. Progress, if it is not nil, is told how many of how many
// bytes are done.
func (s *Store) Fill(from Source, progress func(done, of uint64)) error {
	of := uint64(0)
	for _, b := range s.blocks {
		of += b.Size
	}
	done := uint64(0)
	return from.Copy(func(addr uint64, data []byte) error {
		if err := s.Put(addr, data); err != nil {
			return err
		}
		done += uint64(len(data))
		if progress != nil {
			progress(done, of)
		}
		return nil
	})
}

// ErrCut is returned for a dump, or a machine, that ended before its memory did.
var ErrCut = errors.New("it ends before the memory does")
