package unwind

import "encoding/binary"

// A cursor reads b from at on. Behind the end it reads zeros and says so; no loop
// over a cursor goes on after that.
type cursor struct {
	b     []byte
	at    int
	order binary.ByteOrder
	bad   bool // something was read beyond the end
}

func (c *cursor) left() int { return len(c.b) - c.at }

func (c *cursor) take(n uint64) []byte {
	if c.bad || n > uint64(c.left()) {
		c.bad = true
		return nil
	}
	b := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return b
}

// uint reads an unsigned number of 1, 2, 4 or 8 bytes.
func (c *cursor) uint(n int) uint64 {
	b := c.take(uint64(n))
	switch {
	case b == nil:
		return 0
	case n == 1:
		return uint64(b[0])
	case n == 2:
		return uint64(c.order.Uint16(b))
	case n == 4:
		return uint64(c.order.Uint32(b))
	case n == 8:
		return c.order.Uint64(b)
	}
	c.bad = true
	return 0
}

// sint reads a signed number of 1, 2, 4 or 8 bytes.
func (c *cursor) sint(n int) int64 {
	shift := uint(64 - 8*n)
	return int64(c.uint(n)<<shift) >> shift
}

func (c *cursor) u8() byte { return byte(c.uint(1)) }

func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
	}
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		if shift += 7; b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// cstring reads up to the next NUL.
func (c *cursor) cstring() string {
	for i := c.at; i < len(c.b); i++ {
		if c.b[i] == 0 {
			s := string(c.b[c.at:i])
			c.at = i + 1
			return s
		}
	}
	c.bad = true
	return ""
}
