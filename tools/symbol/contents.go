// The bytes behind the headers: of a section, unfolded if it is compressed, of an
// address, of the file. All of it goes through read, which knows the file's
// length; only unfolding can give more than the file has, and not much more.

package symbol

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"fmt"
	"io"
)

// read returns n bytes of the file from off. The file has them all or it fails.
func (f *File) read(off, n uint64) ([]byte, error) {
	if off > f.size || n > f.size-off {
		return nil, fmt.Errorf("%d bytes at offset %#x lie outside the file of %d bytes: cut short or damaged", n, off, f.size)
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

// readAddr returns n bytes as they lie in memory at addr when the file is loaded.
func (f *File) readAddr(addr, n uint64) ([]byte, bool) {
	for i := range f.segments {
		s := &f.segments[i]
		if s.typ == elf.PT_LOAD && addr >= s.addr && addr-s.addr <= s.filesz && n <= s.filesz-(addr-s.addr) {
			b, err := f.read(s.off+(addr-s.addr), n)
			return b, err == nil
		}
	}
	return nil, false
}

// section returns the first section of one of these names, or nil.
func (f *File) section(names ...string) *section {
	for i := range f.sections {
		for _, name := range names {
			if f.sections[i].name == name {
				return &f.sections[i]
			}
		}
	}
	return nil
}

// data returns the contents of a section, uncompressed.
func (f *File) data(s *section) ([]byte, error) {
	if s.typ == elf.SHT_NOBITS {
		return nil, fmt.Errorf("section %s has no contents in the file", s.name)
	}
	b, err := f.read(s.off, s.len)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.name, err)
	}
	if s.flags&elf.SHF_COMPRESSED == 0 {
		return b, nil
	}
	// Chdr: type, (in 64-bit files 4 bytes of nothing,) size, alignment.
	var size uint64
	hdr := 12
	if f.class == elf.ELFCLASS64 {
		hdr = 24
	}
	if len(b) < hdr {
		return nil, fmt.Errorf("section %s: cut compression header", s.name)
	}
	if f.class == elf.ELFCLASS64 {
		size = f.order.Uint64(b[8:])
	} else {
		size = uint64(f.order.Uint32(b[4:]))
	}
	if c := elf.CompressionType(f.order.Uint32(b)); c != elf.COMPRESS_ZLIB {
		return nil, fmt.Errorf("section %s: compressed as %v, which is not supported", s.name, c)
	}
	// Debug information shrinks to a third or a tenth. What claims to be hundreds
	// of times longer than it looks is not debug information.
	if size > 128*s.len+1<<16 {
		return nil, fmt.Errorf("section %s: %d bytes cannot be compressed to %d", s.name, size, s.len)
	}
	z, err := zlib.NewReader(bytes.NewReader(b[hdr:]))
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.name, err)
	}
	out, err := io.ReadAll(io.LimitReader(z, int64(size)))
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.name, err)
	}
	return out, nil
}

// cstring returns the bytes from off to the next NUL, or nil if off or the NUL
// is outside b.
func cstring(b []byte, off uint64) []byte {
	if off >= uint64(len(b)) {
		return nil
	}
	b = b[off:]
	if n := bytes.IndexByte(b, 0); n >= 0 {
		return b[:n]
	}
	return nil
}
