// Distributions compress the modules of their kernels: NAME.ko.xz, NAME.ko.zst,
// NAME.ko.gz. Such a file is unpacked into memory when it is opened. How much that takes
// is bounded by the length of the file, whatever it says of itself.

package symbol

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

const (
	// maxPacked bounds a compressed file, and maxUnpacked what it unpacks to, in bytes.
	maxPacked   = 256 << 20
	maxUnpacked = 1 << 30
	// unpackRatio bounds how much smaller than its contents a compressed file can be,
	// but for the first unpackLeast bytes. ELF files get 10 times smaller, at most.
	unpackRatio = 200
	unpackLeast = 1 << 20
	// maxWindow bounds the window of a decompressor, in bytes: that of xz -9.
	maxWindow = 64 << 20
)

// packings are the kinds of compressed files, by how they begin.
var packings = []struct {
	name, magic string
	open        func([]byte) (io.Reader, error)
}{
	{"xz", "\xfd7zXZ\x00", openXZ},
	{"zstd", "\x28\xb5\x2f\xfd", openZstd},
	{"gzip", "\x1f\x8b", func(b []byte) (io.Reader, error) { return gzip.NewReader(bytes.NewReader(b)) }},
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
			return nil, p.name, fmt.Errorf("of %d bytes; unpack it, since only such up to %d are unpacked in memory", size, maxPacked)
		}
		in := make([]byte, size)
		if _, err := r.ReadAt(in, 0); err != nil && err != io.EOF {
			return nil, p.name, err
		}
		z, err := p.open(in)
		if err != nil {
			return nil, p.name, err
		}
		if c, ok := z.(*zstd.Decoder); ok {
			defer c.Close()
		}
		limit := min(maxUnpacked, unpackLeast+unpackRatio*size)
		out, err := io.ReadAll(io.LimitReader(z, limit+1))
		if err == nil && int64(len(out)) > limit {
			err = fmt.Errorf("that unpacks to more than %d bytes, as no ELF file does", limit)
		}
		return out, p.name, err
	}
	return nil, "", nil
}

func openZstd(b []byte) (io.Reader, error) {
	return zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
}

func openXZ(b []byte) (io.Reader, error) {
	if err := checkXZ(b); err != nil {
		return nil, err
	}
	return xz.ReaderConfig{DictCap: 1 << 16, SingleStream: true}.NewReader(bytes.NewReader(b))
}

// errXZ is the cause where an xz file is not what it should be.
var errXZ = errors.New("damaged, or cut short")

// checkXZ finds the blocks of an xz file, by the index at its end, and returns an error
// if one of them wants more memory than maxWindow, which the decompressor would take.
// Source: The .xz File Format, version 1.2.1, sections 2.1.2, 3.1 and 4.
func checkXZ(b []byte) error {
	const header, footer = 12, 12
	if len(b) < header+footer || len(b)%4 != 0 || string(b[len(b)-2:]) != "YZ" {
		return errXZ
	}
	indexSize := (uint64(binary.LittleEndian.Uint32(b[len(b)-8:])) + 1) * 4
	if indexSize > uint64(len(b)-header-footer) {
		return errXZ
	}
	end := uint64(len(b)-footer) - indexSize // of the blocks
	index := b[end:]
	index = index[1:]
	next := func() uint64 {
		v, n := binary.Uvarint(index)
		if n <= 0 {
			index = nil
			return 0
		}
		index = index[n:]
		return v
	}
	at := uint64(header)
	for range min(next(), indexSize) {
		unpadded := next()
		next() // its size when unpacked
		if unpadded < 4 || at >= end || unpadded > end-at {
			return errXZ
		}
		window, err := xzWindow(b[at:end])
		if err != nil {
			return err
		}
		if window > maxWindow {
			return fmt.Errorf("it wants a window of %d MiB, and %d are allowed", window>>20, maxWindow>>20)
		}
		at += (unpadded + 3) &^ 3
	}
	if at != end {
		return errXZ
	}
	return nil
}

// xzWindow returns the size of the window that the block that begins with b wants, in
// bytes.
func xzWindow(b []byte) (uint64, error) {
	size := (int(b[0]) + 1) * 4
	if b[0] == 0 || size > len(b) {
		return 0, errXZ
	}
	flags, rest := b[1], b[2:size]
	for _, sizes := range [...]byte{0x40, 0x80} { // compressed, and uncompressed
		if flags&sizes != 0 {
			_, n := binary.Uvarint(rest)
			rest = rest[max(n, 0):]
		}
	}
	const lzma2 = 0x21
	switch {
	case flags&3 != 0 || len(rest) < 3 || rest[0] != lzma2 || rest[1] != 1:
		return 0, errors.New("it has a filter that is not supported; unpack it")
	case rest[2] > 40:
		return 0, errXZ
	}
	bits := uint64(rest[2])
	return (2 | bits&1) << (bits/2 + 11), nil
}
