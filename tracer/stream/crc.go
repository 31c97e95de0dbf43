package stream

// CRC-32 (IEEE 802.3), eight bytes at a time ("slicing by 8": M. Kounavis and F. Berry, A
// Systematic Approach to Building High Performance Software-based CRC Generators, 2005), because
// each record goes through it twice. The tables are built when the first record begins.

const ieee = 0xedb88320 // the polynomial with its bits reversed

var (
	tables     [8][256]uint32
	haveTables bool
)

func makeTables() {
	if haveTables {
		return
	}
	for i := range tables[0] {
		c := uint32(i)
		for range 8 {
			c = c>>1 ^ ieee&-(c&1)
		}
		tables[0][i] = c
	}
	for i := range tables[0] {
		c := tables[0][i]
		for k := 1; k < len(tables); k++ {
			c = c>>8 ^ tables[0][c&0xff]
			tables[k][i] = c
		}
	}
	haveTables = true
}

// crc32sum adds b to a CRC, which is 0 for no bytes.
func crc32sum(crc uint32, b []byte) uint32 {
	c := ^crc
	for len(b) >= 8 {
		c ^= uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		c = tables[7][c&0xff] ^ tables[6][c>>8&0xff] ^ tables[5][c>>16&0xff] ^ tables[4][c>>24] ^
			tables[3][b[4]] ^ tables[2][b[5]] ^ tables[1][b[6]] ^ tables[0][b[7]]
		b = b[8:]
	}
	for _, x := range b {
		c = c>>8 ^ tables[0][byte(c)^x]
	}
	return ^c
}
