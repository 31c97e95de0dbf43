package elf

// An xz file is read block by block, for each says how large a window it wants, and only
// who reads its header before the decompressor does can refuse it. The index behind the
// blocks says less than they do, and may lie.
//
// Source: The .xz File Format, version 1.2.1, sections 2.1.1, 3 and 4.

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"slices"

	"github.com/ulikunitz/xz/lzma"
)

// maxWindows and, for each byte that was unpacked, windowRatio bound the windows of all
// blocks together, in bytes: each is allocated and cleared, however little is in its block.
const (
	maxWindows  = 1 << 30
	windowRatio = 8
)

// errXZ is the cause where an xz file is not what it should be.
var errXZ = errors.New("damaged, or cut short")

// xzReader unpacks the first stream of an xz file.
type xzReader struct {
	in      *Counter // behind what has been read
	newSum  func() hash.Hash
	block   *lzma.Reader2 // nil: a block's header is next
	at      int64         // where in the stream its data begins
	sum     hash.Hash     // of the block's contents
	longest uint64        // what the file can unpack to, in bytes: no window need be longer
	windows uint64        // what they may take yet, in bytes
}

// openXZ returns a reader of a stream that unpacks to longest bytes at most.
func openXZ(in byteReader, longest int64) (io.Reader, error) {
	var head [12]byte
	if _, err := io.ReadFull(in, head[:]); err != nil ||
		binary.LittleEndian.Uint32(head[8:]) != crc32.ChecksumIEEE(head[6:8]) {
		return nil, errXZ
	}
	x := &xzReader{in: NewCounter(in), longest: uint64(longest), windows: maxWindows}
	switch head[7] {
	case 0:
		x.newSum = func() hash.Hash { return noSum{crc32.NewIEEE()} }
	case 1:
		x.newSum = func() hash.Hash { return crc32.NewIEEE() }
	case 4:
		x.newSum = func() hash.Hash { return crc64.New(crc64.MakeTable(crc64.ECMA)) }
	case 10:
		x.newSum = sha256.New
	default:
		return nil, errors.New("it has a check that is not supported; unpack it")
	}
	return x, nil
}

// noSum is the check of a file that has none.
type noSum struct{ hash.Hash }

func (noSum) Size() int           { return 0 }
func (noSum) Sum(b []byte) []byte { return b }

func (x *xzReader) Read(p []byte) (int, error) {
	for {
		if x.block == nil {
			if err := x.open(); err != nil {
				return 0, err
			}
		}
		n, err := x.block.Read(p)
		x.sum.Write(p[:n])
		x.windows += windowRatio * uint64(n)
		if err == io.EOF {
			err = x.close()
		} else if err != nil {
			err = fmt.Errorf("%w (%w)", errXZ, err)
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// open begins with the next block. Behind the last one it returns io.EOF.
func (x *xzReader) open() error {
	words, err := x.in.ReadByte()
	switch {
	case err != nil:
		return errXZ
	case words == 0: // the index
		return io.EOF
	}
	head := make([]byte, (int(words)+1)*4)
	head[0] = words
	if _, err := io.ReadFull(x.in, head[1:]); err != nil {
		return errXZ
	}
	end := len(head) - 4
	if binary.LittleEndian.Uint32(head[end:]) != crc32.ChecksumIEEE(head[:end]) {
		return errXZ
	}
	window, err := xzWindow(head[:end])
	if err != nil {
		return err
	}
	if window > maxWindow {
		return fmt.Errorf("it wants a window of %d MiB, and %d are allowed", window>>20, maxWindow>>20)
	}
	if window = min(window, x.longest); window > x.windows {
		return errors.New("the windows of its blocks take too much memory; unpack it")
	}
	x.windows -= window
	x.at, x.sum = x.in.n, x.newSum()
	if x.block, err = (lzma.Reader2Config{DictCap: int(window)}).NewReader2(x.in); err != nil {
		return fmt.Errorf("%w (%w)", errXZ, err)
	}
	return nil
}

// close reads what is behind a block's data.
func (x *xzReader) close() error {
	x.block = nil
	tail := make([]byte, -(x.in.n-x.at)&3+int64(x.sum.Size()))
	if _, err := io.ReadFull(x.in, tail); err != nil {
		return errXZ
	}
	want := x.sum.Sum(nil)
	if x.sum.Size() < sha256.Size { // the others are little-endian here
		slices.Reverse(want)
	}
	if !bytes.Equal(tail[len(tail)-len(want):], want) {
		return errXZ
	}
	return nil
}

// xzWindow returns the size in bytes of the window that a block wants, by its header.
func xzWindow(head []byte) (uint64, error) {
	if len(head) < 2 {
		return 0, errXZ
	}
	flags, rest := head[1], head[2:]
	for _, sizes := range [...]byte{0x40, 0x80} { // compressed, and uncompressed
		if flags&sizes != 0 {
			_, n := binary.Uvarint(rest)
			rest = rest[max(n, 0):]
		}
	}
	const lzma2 = 0x21
	switch {
	case flags&0x3f != 0 || len(rest) < 3 || rest[0] != lzma2 || rest[1] != 1:
		return 0, errors.New("it has a filter that is not supported; unpack it")
	case rest[2] > 40:
		return 0, errXZ
	}
	bits := uint64(rest[2])
	return (2 | bits&1) << (bits/2 + 11), nil
}
