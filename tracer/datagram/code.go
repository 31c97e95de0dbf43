package datagram

// The code: CRC-32C over a datagram, and the arithmetic of GF(256) that replaces lost datagrams.
// Neither uses large tables, because the kernel's image carries them.

const crcStart = ^uint32(0)

// AddCRC adds b to an inverted CRC-32C, four bits at a time. Any context.
func AddCRC(c uint32, b []byte) uint32 {
	for _, v := range b {
		c ^= uint32(v)
		c = c>>4 ^ crcTable[c&15]
		c = c>>4 ^ crcTable[c&15]
	}
	return c
}

func crcFinish(c uint32) uint32 { return ^c }

// crcTable is for the reflected polynomial 0x82f63b78.
var crcTable = [16]uint32{
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
	0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
}

// Multiply returns the product of a and b in GF(256). Any context.
func Multiply(a, b byte) byte {
	p := byte(0)
	for ; b != 0; b >>= 1 {
		p ^= a & -(b & 1)
		a = double(a)
	}
	return p
}

// double returns 2*a.
func double(a byte) byte { return a<<1 ^ 0x1d&-(a>>7) }

// Inverse returns 1/a, and 0 for 0. Any context.
func Inverse(a byte) byte {
	p := byte(1) // a to the power of 254 = 2+4+8+...+128
	for i := 0; i < 7; i++ {
		a = Multiply(a, a)
		p = Multiply(p, a)
	}
	return p
}

// Coefficient returns the factor of piece i in parity piece j. Any context.
func Coefficient(j, i int) byte { return Inverse(byte(255-j) ^ byte(i)) }

// AddMultiple adds c times each byte of src to the byte of dst at the same index. dst is at least
// as long as src. Any context.
func AddMultiple(dst, src []byte, c byte) {
	var times [256]byte
	for bit := 1; bit < 256; bit <<= 1 {
		times[bit] = c
		c = double(c)
		for i := 1; i < bit; i++ {
			times[bit+i] = times[bit] ^ times[i]
		}
	}
	dst = dst[:len(src)]
	for n, v := range src {
		dst[n] ^= times[v]
	}
}

// parityPiece makes parity piece j of a trace; dst is as long as a piece.
func parityPiece(dst, trace []byte, j int) {
	for n := 0; n < len(dst); n++ { // with range it would be a call of the runtime
		dst[n] = 0
	}
	size := len(dst)
	for i := 0; i*size < len(trace); i++ {
		AddMultiple(dst, trace[i*size:min((i+1)*size, len(trace))], Coefficient(j, i))
	}
}
