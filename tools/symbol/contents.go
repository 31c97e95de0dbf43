// The bytes behind the headers: of a section, unfolded if it is compressed, of an
// address, of the file. All of it goes through read, which knows the file's
// length; only unfolding can give more than the file has, and not much more.

package symbol

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
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

// extent checks that the section lies in the file.
func (f *File) extent(s *section) (off uint64, err error) {
	if s.typ == elf.SHT_NOBITS {
		return 0, fmt.Errorf("section %s has no contents in the file", s.name)
	}
	if s.off > f.size || s.len > f.size-s.off {
		return 0, fmt.Errorf("section %s: %d bytes at offset %#x lie outside the file of %d bytes: cut short or damaged", s.name, s.len, s.off, f.size)
	}
	return s.off, nil
}

// folded reports whether the section is compressed.
func (f *File) folded(s *section) bool {
	return s.flags&elf.SHF_COMPRESSED != 0 || strings.HasPrefix(s.name, ".zdebug")
}

// data returns the contents of a section, uncompressed.
func (f *File) data(s *section) ([]byte, error) {
	if _, err := f.extent(s); err != nil {
		return nil, err
	}
	b, err := f.read(s.off, s.len)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.name, err)
	}
	if !f.folded(s) {
		return b, nil
	}
	// Chdr: type, (in 64-bit files 4 bytes of nothing,) size, alignment. Before
	// it was thought of: "ZLIB" and the size, big-endian.
	var size uint64
	hdr, kind := 12, elf.COMPRESS_ZLIB
	if s.flags&elf.SHF_COMPRESSED != 0 && f.class == elf.ELFCLASS64 {
		hdr = 24
	}
	if len(b) < hdr {
		return nil, fmt.Errorf("section %s: cut compression header", s.name)
	}
	switch {
	case s.flags&elf.SHF_COMPRESSED == 0:
		if string(b[:4]) != "ZLIB" {
			return b, nil // not compressed after all
		}
		size = binary.BigEndian.Uint64(b[4:])
	case f.class == elf.ELFCLASS64:
		kind, size = elf.CompressionType(f.order.Uint32(b)), f.order.Uint64(b[8:])
	default:
		kind, size = elf.CompressionType(f.order.Uint32(b)), uint64(f.order.Uint32(b[4:]))
	}
	// Debug information shrinks to a third or a tenth. What claims to be hundreds
	// of times longer than it looks is not debug information.
	if size > 128*s.len+1<<16 {
		return nil, fmt.Errorf("section %s: %d bytes cannot be compressed to %d", s.name, size, s.len)
	}
	var z io.Reader
	switch kind {
	case elf.COMPRESS_ZLIB:
		z, err = zlib.NewReader(bytes.NewReader(b[hdr:]))
	case elf.COMPRESS_ZSTD:
		var d *zstd.Decoder
		d, err = zstd.NewReader(bytes.NewReader(b[hdr:]), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(max(zstd.MinWindowSize, min(size*2, 128<<20))))
		if err == nil {
			defer d.Close()
			z = d
		}
	default:
		return nil, fmt.Errorf("section %s: compressed as %v, which is not supported", s.name, kind)
	}
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.name, err)
	}
	// What is unfolded grows with what is really there, whatever size says.
	out := bytes.NewBuffer(make([]byte, 0, min(size+bytes.MinRead, 8*s.len+1<<12)))
	if _, err := out.ReadFrom(io.LimitReader(z, int64(size))); err != nil {
		return nil, fmt.Errorf("section %s: %w", s.name, err)
	}
	return out.Bytes(), nil
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
