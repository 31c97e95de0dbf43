// The bytes behind the headers: of a section, unfolded if it is compressed, of an
// address, of the file. All of it goes through read, which knows the file's
// length; only unfolding can give more than the file has, and not much more.

package elf

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// ReadAt reads the file as io.ReaderAt does.
func (f *File) ReadAt(b []byte, off int64) (int, error) { return f.r.ReadAt(b, off) }

// Read returns n bytes of the file from off. The file has them all or it fails.
func (f *File) Read(off, n uint64) ([]byte, error) {
	if off > f.Size || n > f.Size-off {
		return nil, fmt.Errorf(
			"%d bytes at offset %#x lie outside the file of %d bytes: cut short or damaged", n, off, f.Size)
	}
	if err := f.notHollow(off, n); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if m, err := f.r.ReadAt(b, int64(off)); m < len(b) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return b, nil
}

// notHollow is NotHollow for any file but a core, whose holes are memory that was never used.
func (f *File) notHollow(off, n uint64) error {
	if f.Type == elf.ET_CORE && n < f.Size/2 {
		return nil
	}
	return NotHollow(f.r, int64(off), int64(n))
}

// BytesAt returns n bytes as they lie in memory at addr when the file is loaded.
// It reports false if the file does not have them all. Context: host.
func (f *File) BytesAt(addr, n uint64) ([]byte, bool) {
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Type == elf.PT_LOAD && addr >= s.Addr && addr-s.Addr <= s.FileSize &&
			n <= s.FileSize-(addr-s.Addr) {
			b, err := f.Read(s.Off+(addr-s.Addr), n)
			return b, err == nil
		}
	}
	return nil, false
}

// Writable reports whether the address is in a segment that is writable when the file is
// loaded. Context: host.
func (f *File) Writable(addr uint64) bool {
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Type == elf.PT_LOAD && addr-s.Addr < s.MemSize && s.Flags&elf.PF_W != 0 {
			return true
		}
	}
	return false
}

// FirstSection returns the first section of one of these names, or nil.
func (f *File) FirstSection(names ...string) *Section {
	for i := range f.Sections {
		if slices.Contains(names, f.Sections[i].Name) {
			return &f.Sections[i]
		}
	}
	return nil
}

// HasSection reports whether there is a section of the type.
func (f *File) HasSection(typ elf.SectionType) bool {
	for i := range f.Sections {
		if f.Sections[i].Type == typ {
			return true
		}
	}
	return false
}

// Extent checks that the section lies in the file.
func (f *File) Extent(s *Section) (off uint64, err error) {
	if s.Type == elf.SHT_NOBITS {
		return 0, fmt.Errorf("section %s has no contents in the file", s.Name)
	}
	if s.Off > f.Size || s.Len > f.Size-s.Off {
		return 0, fmt.Errorf(
			"section %s: %d bytes at offset %#x lie outside the file of %d bytes: cut short or damaged",
			s.Name, s.Len, s.Off, f.Size)
	}
	if err := f.notHollow(s.Off, s.Len); err != nil {
		return 0, fmt.Errorf("section %s: %w", s.Name, err)
	}
	return s.Off, nil
}

// Compressed reports whether the section is compressed.
func (f *File) Compressed(s *Section) bool {
	return s.Flags&elf.SHF_COMPRESSED != 0 || strings.HasPrefix(s.Name, ".zdebug")
}

// Data returns the contents of a section, uncompressed.
func (f *File) Data(s *Section) (b []byte, err error) {
	if _, err := f.Extent(s); err != nil {
		return nil, err
	}
	if f.Compressed(s) {
		b, err = f.unfold(s)
	} else {
		b, err = f.Read(s.Off, s.Len)
	}
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.Name, err)
	}
	return b, nil
}

// unfold returns the contents of a compressed section, which lies in the file.
func (f *File) unfold(s *Section) ([]byte, error) {
	// Chdr: type, (in 64-bit files 4 bytes of nothing,) size, alignment. Before
	// it was thought of: "ZLIB" and the size, big-endian.
	var size uint64
	hdr, kind := uint64(12), elf.COMPRESS_ZLIB
	if s.Flags&elf.SHF_COMPRESSED != 0 && f.Class == elf.ELFCLASS64 {
		hdr = 24
	}
	if s.Len < hdr {
		return nil, errors.New("cut compression header")
	}
	b, err := f.Read(s.Off, hdr)
	if err != nil {
		return nil, err
	}
	switch {
	case s.Flags&elf.SHF_COMPRESSED == 0:
		if string(b[:4]) != "ZLIB" {
			return f.Read(s.Off, s.Len) // not compressed after all
		}
		size = binary.BigEndian.Uint64(b[4:])
	case f.Class == elf.ELFCLASS64:
		kind, size = elf.CompressionType(f.Order.Uint32(b)), f.Order.Uint64(b[8:])
	default:
		kind, size = elf.CompressionType(f.Order.Uint32(b)), uint64(f.Order.Uint32(b[4:]))
	}
	// Debug information shrinks to a third or a tenth. What claims to be hundreds
	// of times longer than it looks is not debug information, nor is much that is tens of times
	// longer.
	if size > min(128*s.Len+1<<16, 16*s.Len+16<<20) {
		return nil, fmt.Errorf("%d bytes cannot be compressed to %d", size, s.Len)
	}
	var from io.Reader = bufio.NewReaderSize(io.NewSectionReader(f.r, int64(s.Off+hdr),
		int64(s.Len-hdr)), 64<<10)
	switch kind {
	case elf.COMPRESS_ZLIB:
		from, err = zlib.NewReader(from)
	case elf.COMPRESS_ZSTD:
		var z *zstd.Decoder
		z, err = zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(max(zstd.MinWindowSize, min(size*2, 128<<20))))
		if err == nil {
			defer z.Close()
		}
		from = z
	default:
		err = fmt.Errorf("compressed as %v, which is not supported", kind)
	}
	if err != nil {
		return nil, err
	}
	// The room grows with what is really there, whatever size says.
	out := bytes.NewBuffer(make([]byte, 0, min(size+bytes.MinRead, 8*s.Len+1<<12)))
	// The byte more, which nobody wants, is where the checksum is compared.
	_, err = out.ReadFrom(io.LimitReader(from, int64(size)+1))
	return out.Bytes()[:min(uint64(out.Len()), size)], err
}

// SectionBytes returns the address and the contents of the section called name,
// unfolded if it is compressed. It reports false if the file has no such section
// or it cannot be read. Context: host.
func (f *File) SectionBytes(name string) (addr uint64, b []byte, ok bool) {
	s := f.FirstSection(name)
	if s == nil {
		return 0, nil, false
	}
	b, err := f.Data(s)
	return s.Addr, b, err == nil
}

// CString returns the bytes from off to the next NUL, or nil if off or the NUL
// is outside b.
func CString(b []byte, off uint64) []byte {
	if off >= uint64(len(b)) {
		return nil
	}
	b = b[off:]
	if n := bytes.IndexByte(b, 0); n >= 0 {
		return b[:n]
	}
	return nil
}
