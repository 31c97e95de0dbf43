// What a file says of its own lengths costs nothing to write. Room is made, and time taken, only
// in proportion to what is really there: the bytes that a compressed stream has taken, the parts of
// a sparse file that are no holes.

package elf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
)

const (
	// hollowLeast is from which length on a part of a file is looked at for holes, in bytes, and
	// hollowRatio how many times longer than its contents it may be.
	hollowLeast = 8 << 20
	hollowRatio = 8
)

// NotHollow returns an error if the n bytes of a file from off on are nearly all holes, which a
// copy that was not finished has, or a file that was made to keep its reader busy. It knows
// holes on Linux alone.
func NotHollow(file io.ReaderAt, off, n int64) error {
	const seekData, seekHole = 3, 4 // lseek(2)
	fd, ok := file.(*os.File)
	if !ok || n < hollowLeast || runtime.GOOS != "linux" {
		return nil
	}
	have := int64(0)
	for at := off; at < off+n && have < n/hollowRatio; {
		from, err := fd.Seek(at, seekData)
		if err != nil || from >= off+n {
			if err == nil || errors.Is(err, syscall.ENXIO) {
				return hollow(off, n, have)
			}
			return nil // the file system does not say
		}
		if at, err = fd.Seek(from, seekHole); err != nil || at <= from {
			return nil
		}
		have += min(at, off+n) - from
	}
	if have < n/hollowRatio {
		return hollow(off, n, have)
	}
	return nil
}

func hollow(off, n, have int64) error {
	return fmt.Errorf(
		"%d bytes at offset %#x are a hole with %d bytes of contents: cut short or made to waste memory; get the file again", n, off, have)
}

// A Bound says when a stream has unpacked to more than what was read for it can be.
type Bound struct {
	Least int64        // bytes that are always allowed
	Ratio int64        // bytes more for each one of In
	In    func() int64 // how many bytes have been read
	out   int64
}

// Reader returns what reads r and gives up, with an error, when all that was read through the
// bound is too much.
func (b *Bound) Reader(r io.Reader) io.Reader { return &boundedReader{b, r} }

type boundedReader struct {
	*Bound
	r io.Reader
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.out += int64(n)
	if limit := b.Least + b.Ratio*b.In(); b.out > limit {
		return 0, fmt.Errorf(
			"that unpacks to more than %d bytes, %d times what was read of it: no ELF file does; unpack it by hand if you trust it", limit, b.Ratio)
	}
	return n, err
}

// A Counter counts the bytes that have been read.
type Counter struct {
	r byteReader
	n int64
}

type byteReader interface {
	io.Reader
	io.ByteReader
}

// NewCounter returns a reader of r that counts.
func NewCounter(r byteReader) *Counter { return &Counter{r: r} }

// Count returns how many bytes have been read.
func (c *Counter) Count() int64 { return c.n }

// Read is that of [io.Reader].
func (c *Counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// ReadByte is that of [io.ByteReader].
func (c *Counter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}
