// Distributions compress the modules of their kernels: NAME.ko.xz, NAME.ko.zst,
// NAME.ko.gz. Such a file is unpacked into memory when it is opened. How much that takes
// is bounded by the length of the file, whatever it says of itself.

package elf

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxPacked bounds a compressed file, and maxUnpacked what it unpacks to, in bytes.
	maxPacked   = 256 << 20
	maxUnpacked = 1 << 30
	// unpackRatio bounds how much smaller than its contents a compressed file can be,
	// but for the first unpackLeast bytes, at each place of it. ELF files get 10 times smaller,
	// at most; that of Linux begins with 2 MiB of zeros. A package has more kinds of files.
	unpackRatio  = 64
	unpackLeast  = 4 << 20
	packageLeast = 64 << 20
	// maxWindow bounds the window of a decompressor, in bytes: that of xz -9.
	maxWindow = 64 << 20
)

// packings are the kinds of compressed files, by how they begin.
var packings = []struct {
	name, magic string
	open        func(in byteReader, longest int64) (io.Reader, error)
}{
	{"xz", "\xfd7zXZ\x00", openXZ},
	{"zstd", "\x28\xb5\x2f\xfd", openZstd},
	{"gzip", "\x1f\x8b", func(in byteReader, _ int64) (io.Reader,
		error) {
		return gzip.NewReader(in)
	}},
}

// unpacked returns the contents of a compressed file of size bytes, and the name of its
// compression; "" if it is not compressed.
func unpacked(r io.ReaderAt, size int64) (b []byte, packing string, err error) {
	var magic [8]byte
	n, _ := r.ReadAt(magic[:], 0)
	for _, p := range packings {
		if !bytes.HasPrefix(magic[:n], []byte(p.magic)) {
			continue
		}
		if size > maxPacked {
			return nil, p.name,
				fmt.Errorf("of %d bytes; unpack it, since only such up to %d are unpacked in memory",
					size, maxPacked)
		}
		if err := NotHollow(r, 0, size); err != nil {
			return nil, p.name, err
		}
		limit := unpackLimit(size)
		in := NewCounter(bufio.NewReader(io.NewSectionReader(r, 0, size)))
		z, err := p.open(in, limit)
		if err != nil {
			return nil, p.name, err
		}
		if c, ok := z.(*zstd.Decoder); ok {
			defer c.Close()
		}
		bound := Bound{Least: unpackLeast, Ratio: unpackRatio, In: in.Count}
		out, err := io.ReadAll(io.LimitReader(bound.Reader(z), limit+1))
		if err == nil && int64(len(out)) > limit {
			err = fmt.Errorf("that unpacks to more than %d bytes, as no ELF file does", limit)
		}
		return out, p.name, err
	}
	return nil, "", nil
}

// Decompress returns the contents of what begins with the magic number of xz, zstd or gzip; of
// anything else in itself. It takes no more memory than the largest window that is allowed,
// however much comes, and fails when far more comes than packages have.
func Decompress(in *bufio.Reader) (io.Reader, error) {
	magic, _ := in.Peek(6)
	for _, p := range packings {
		if !bytes.HasPrefix(magic, []byte(p.magic)) {
			continue
		}
		from := NewCounter(in)
		r, err := p.open(from, 1<<62)
		if err != nil {
			return nil, fmt.Errorf("compressed by %s: %w", p.name, err)
		}
		return PackageBound(from).Reader(r), nil
	}
	return in, nil
}

// PackageBound returns the bound for what a package that is read through in unpacks to.
func PackageBound(in *Counter) *Bound {
	return &Bound{Least: packageLeast, Ratio: unpackRatio, In: in.Count}
}

// NewPacked reads the headers of an ELF file that is compressed in b, as Open does.
func NewPacked(b []byte, name string) (*File, error) {
	out, packing, err := unpacked(bytes.NewReader(b), int64(len(b)))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: compressed by %s: %w", name, packing, err)
	case packing == "":
		out = b
	}
	return NewFile(bytes.NewReader(out), int64(len(out)), name)
}

// unpackLimit returns how much a compressed file of size bytes may unpack to, in bytes.
func unpackLimit(size int64) int64 { return min(maxUnpacked, unpackLeast+unpackRatio*size) }

func openZstd(r byteReader, _ int64) (io.Reader, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
}
