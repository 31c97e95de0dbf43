package tracer

// CRC is the CRC-32 of the trace format (wire.go), a byte at a time. The zero value is the CRC of
// no bytes. Any context.
type CRC struct {
	c uint32 // inverted twice, so that zero is the start
}

// Byte adds a byte.
func (c *CRC) Byte(b byte) { c.c = ^crcByte(^c.c, b) }

// Sum returns the CRC of the bytes so far.
func (c *CRC) Sum() uint32 { return c.c }

// crcByte adds a byte to an inverted CRC, four bits at a time: a table of 16 entries stays in the
// cache when a table of 256 does not, and the wire is far slower.
func crcByte(crc uint32, b byte) uint32 {
	c := crc ^ uint32(b)
	c = c>>4 ^ crcTable[c&15]
	return c>>4 ^ crcTable[c&15]
}
