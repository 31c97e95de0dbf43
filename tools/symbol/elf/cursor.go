// A cursor reads numbers from bytes and, once it has run out of them,
// reads zeros and says so; no loop over a cursor goes on after that.
//
// Source: DWARF 5, section 7.6 "Variable Length Data".

package elf

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A Cursor reads a piece of a section, which lies at offset base of the section,
// from at on, up to the piece's end.
type Cursor struct {
	B    []byte
	At   int
	Base uint64
	Big  bool // big-endian
	Bad  bool // something was read beyond the end
}

// Take returns the next n bytes, or nil at the end.
func (c *Cursor) Take(n uint64) []byte {
	if c.Bad || n > uint64(len(c.B)-c.At) {
		c.Bad = true
		return nil
	}
	b := c.B[c.At : c.At+int(n)]
	c.At += int(n)
	return b
}

// Uint reads an unsigned number of n bytes: 1, 2, 3, 4 or 8.
func (c *Cursor) Uint(n int) uint64 {
	b := c.Take(uint64(n))
	var v uint64
	switch {
	case b == nil:
		return 0
	case n == 1:
		return uint64(b[0])
	case n == 2:
		v = uint64(binary.LittleEndian.Uint16(b))
	case n == 3:
		v = uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16
	case n == 4:
		v = uint64(binary.LittleEndian.Uint32(b))
	case n == 8:
		v = binary.LittleEndian.Uint64(b)
	default:
		c.Bad = true
		return 0
	}
	if c.Big {
		v = bits.ReverseBytes64(v) >> (64 - 8*n)
	}
	return v
}

// Sint reads a signed number of n bytes: 1, 2, 4 or 8.
func (c *Cursor) Sint(n int) int64 {
	shift := uint(64 - 8*n)
	return int64(c.Uint(n)<<shift) >> shift
}

// Left returns how many bytes there are yet.
func (c *Cursor) Left() int { return len(c.B) - c.At }

// U8 reads a byte; where none is left it returns 0 and sets Bad.
func (c *Cursor) U8() uint8 {
	if c.Bad || c.At >= len(c.B) {
		c.Bad = true
		return 0
	}
	v := c.B[c.At]
	c.At++
	return v
}

// Offset reads an offset: 8 bytes in the 64-bit format of DWARF, otherwise 4.
func (c *Cursor) Offset(dwarf64 bool) uint64 {
	if dwarf64 {
		return c.Uint(8)
	}
	return c.Uint(4)
}

// Length reads the length that a unit of DWARF begins with, which says whether it is of the 64-bit
// format.
func (c *Cursor) Length() (n uint64, dwarf64 bool) {
	if n = c.Uint(4); n == 0xffffffff {
		return c.Uint(8), true
	}
	return n, false
}

// ULEB reads an unsigned LEB128 number (DWARF 5, section 7.6) and drops bits above 64.
func (c *Cursor) ULEB() uint64 {
	if c.At < len(c.B) && !c.Bad {
		if b := c.B[c.At]; b < 0x80 { // most are short
			c.At++
			return uint64(b)
		}
	}
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := c.U8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
	}
}

// SLEB reads a signed LEB128 number (DWARF 5, section 7.6) and drops bits above 64.
func (c *Cursor) SLEB() int64 {
	var v int64
	for shift := uint(0); ; {
		b := c.U8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// SkipString skips a string and its NUL.
func (c *Cursor) SkipString() {
	if n := bytes.IndexByte(c.B[c.At:], 0); n >= 0 {
		c.At += n + 1
	} else {
		c.At, c.Bad = len(c.B), true
	}
}

// Skip skips n bytes.
func (c *Cursor) Skip(n uint64) {
	if c.Bad || n > uint64(len(c.B)-c.At) {
		c.Bad = true
		return
	}
	c.At += int(n)
}
