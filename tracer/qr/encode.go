package qr

// From bytes to codewords.
//
// The bytes become digits: 7 bytes, the highest first, are a number of 17 digits, and fewer at the
// end are one of 3, 5, 8, 10, 13 or 15. The standard's numeric mode puts 3 digits into 10 bits, so
// 98 of 100 bits are used. Byte mode would use all, but then a telephone reads something that is no
// text and cannot be sent to anybody; the mode for capital letters and digits would use 97.

const (
	groupBytes  = 7
	groupDigits = 17

	modeBits    = 4
	modeNumeric = 1
)

// digitsOf returns the number of digits of n bytes, up to one group.
func digitsOf(n int) int { return (n*groupDigits + groupBytes - 1) / groupBytes }

// Digits returns the number of digits of n bytes.
func Digits(n int) int { return n/groupBytes*groupDigits + digitsOf(n%groupBytes) }

// Code is a QR code. Its zero value is ready for Encode. It is some 27 KiB, so it is best a static
// variable.
type Code struct {
	// Version and Level are those of the latest Encode, Mask the mask that it chose.
	Version int
	Level   Level
	Mask    uint8

	size int

	// The modules, by rows and by columns, dark ones set; and which of them are data.
	rows, cols         [MaxSize]line
	rowsData, colsData [MaxSize]line

	// The codewords that were collected, and their number in bits.
	words [3706]byte
	bits  int
	check [81][30]byte

	path path

	// Digits that wait for a group of three.
	waiting, nWaiting uint32

	// Powers of 2 in the field of 256 elements, and their logarithms; the generator.
	exp       [512]byte
	log       [256]byte
	generator [30]byte
}

// Size returns the number of modules of a side.
func (c *Code) Size() int { return c.size }

// Encode encodes head and data, and reports whether they fit.
func (c *Code) Encode(version int, level Level, head, data []byte) bool {
	n := len(head) + len(data)
	if version < 1 || version > MaxVersion || level > H || n > Capacity(version, level) {
		return false
	}
	c.Version, c.Level, c.size = version, level, Size(version)
	c.gather(head, data)
	c.correct()
	c.draw()
	c.place()
	c.mask()
	return true
}

// gather makes the data codewords.
func (c *Code) gather(head, data []byte) {
	for i := range c.words {
		c.words[i] = 0
	}
	n := len(head) + len(data)
	c.bits, c.waiting, c.nWaiting = 0, 0, 0
	c.put(modeNumeric, modeBits)
	c.put(uint32(Digits(n)), countBits(c.Version))
	group, have := uint64(0), 0
	for i := range n {
		b := byte(0)
		if i < len(head) {
			b = head[i]
		} else {
			b = data[i-len(head)]
		}
		group = group<<8 | uint64(b)
		if have++; have == groupBytes {
			c.number(group, groupDigits)
			group, have = 0, 0
		}
	}
	c.number(group, digitsOf(have))
	switch c.nWaiting {
	case 1:
		c.put(c.waiting, 4)
	case 2:
		c.put(c.waiting, 7)
	}
	// Up to four zeros end the data, and zeros fill up the word; then two padding words alternate.
	total := dataWords(c.Version, c.Level)
	c.bits = min(c.bits+4, total*8)
	pad := byte(0xec)
	for i := (c.bits + 7) / 8; i < total; i++ {
		c.words[i] = pad
		pad ^= 0xec ^ 0x11
	}
}

// put appends the n low bits of v, the highest first.
func (c *Code) put(v uint32, n int) {
	for n--; n >= 0; n-- {
		if v>>(uint(n)&31)&1 != 0 {
			c.words[c.bits>>3] |= 0x80 >> (uint(c.bits) & 7)
		}
		c.bits++
	}
}

// number appends v in n digits.
func (c *Code) number(v uint64, n int) {
	div := uint64(1)
	for i := 1; i < n; i++ {
		div *= 10
	}
	for ; n > 0; n-- {
		c.waiting = c.waiting*10 + uint32(v/div%10)
		if c.nWaiting++; c.nWaiting == 3 {
			c.put(c.waiting, 10)
			c.waiting, c.nWaiting = 0, 0
		}
		div /= 10
	}
}

// correct computes the error correction codewords of each block: the remainder of the division of
// its data by the generator, whose roots are the first powers of 2.
func (c *Code) correct() {
	x := uint32(1)
	for i := range 255 {
		c.exp[i], c.exp[i+255] = byte(x), byte(x)
		c.log[x&255] = byte(i)
		if x <<= 1; x&0x100 != 0 {
			x ^= 0x11d
		}
	}
	n := checkWords.of(c.Version, c.Level)
	g := &c.generator // without the highest coefficient, which is 1; the next highest first
	for i := range g {
		g[i] = 0
	}
	g[n-1] = 1
	for root := range n {
		for k := range n {
			g[k] = c.times(g[k], c.exp[root])
			if k+1 < n {
				g[k] ^= g[k+1]
			}
		}
	}
	for b := 0; b < c.blocks(); b++ {
		r := &c.check[b]
		for i := range r {
			r[i] = 0
		}
		first, length := c.block(b)
		for i := range length {
			f := c.words[first+i] ^ r[0]
			for k := 0; k+1 < n; k++ {
				r[k] = r[k+1] ^ c.times(g[k], f)
			}
			r[n-1] = c.times(g[n-1], f)
		}
	}
}

// times multiplies in the field.
func (c *Code) times(a, b byte) byte {
	if a == 0 || b == 0 {
		return 0
	}
	return c.exp[int(c.log[a])+int(c.log[b])]
}

func (c *Code) blocks() int { return blocks.of(c.Version, c.Level) }

// block returns where the data of a block begins, and its length: the last blocks have one word
// more.
func (c *Code) block(i int) (first, n int) {
	total, all := dataWords(c.Version, c.Level), c.blocks()
	n = total / all
	first = i * n
	if short := all - total%all; i >= short {
		first += i - short
		n++
	}
	return first, n
}
