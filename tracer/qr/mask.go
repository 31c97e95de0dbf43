package qr

// The mask: the one of eight that makes the code look least like something else, by the penalties
// of the standard (7.8.3). They are counted on 64 modules of a line at once, which takes a
// hundredth of the time.

// mask chooses a mask and applies it.
func (c *Code) mask() {
	best := uint32(1<<32 - 1)
	for m := range uint8(8) {
		c.format(m)
		if p := c.penalty(m); p < best {
			best, c.Mask = p, m
		}
	}
	c.format(c.Mask)
	for i := 0; i < c.size; i++ {
		c.rows[i] = masked(&c.rows[i], &c.rowsData[i], c.Mask, i, false)
	}
}

// masked returns a line with a mask applied.
func masked(l, data *line, m uint8, i int, column bool) line {
	// Each mask has a period of 12 in both directions.
	period := uint64(0)
	for k := range 12 {
		x, y := k, i
		if column {
			x, y = i, k
		}
		if inverts(m, x, y) {
			period |= 1 << uint(k)
		}
	}
	var out line
	for w := range out {
		// 64 bits are 5 periods and 4 bits.
		p := period>>(uint(w)*4) | period<<(12-uint(w)*4)&0xfff
		p |= p << 12
		p |= p<<24 | p<<48
		out[w] = l[w] ^ p&data[w]
	}
	return out
}

// inverts reports whether a mask inverts a module (table 10).
func inverts(m uint8, x, y int) bool {
	switch m {
	case 0:
		return (x+y)%2 == 0
	case 1:
		return y%2 == 0
	case 2:
		return x%3 == 0
	case 3:
		return (x+y)%3 == 0
	case 4:
		return (x/3+y/2)%2 == 0
	case 5:
		return x*y%2+x*y%3 == 0
	case 6:
		return (x*y%2+x*y%3)%2 == 0
	}
	return ((x+y)%2+x*y%3)%2 == 0
}

// penalty returns the penalties of a mask.
func (c *Code) penalty(m uint8) (sum uint32) {
	var before line
	dark := 0
	for i := 0; i < c.size; i++ {
		row := masked(&c.rows[i], &c.rowsData[i], m, i, false)
		col := masked(&c.cols[i], &c.colsData[i], m, i, true)
		sum += c.inLine(&row) + c.inLine(&col)
		dark += row.count()
		if i > 0 {
			sum += 3 * uint32(c.squares(&before, &row))
		}
		before = row
	}
	// The distance of the dark share from a half: 10 for each 5 %.
	all := c.size * c.size
	off := max(dark*20-all*10, all*10-dark*20)
	return sum + uint32(off/all)*10
}

// inLine returns the penalties of one line: for five or more modules of a kind in a row, and for
// what looks like a finder.
func (c *Code) inLine(l *line) (sum uint32) {
	light := l.inverted(c.size)
	for k := range 2 {
		five := *l
		if k == 1 {
			five = light
		}
		one := five
		for i := 1; i < 5; i++ {
			s := one.down(uint(i))
			five.and(&s)
		}
		// A run of n has n-4 places where five in a row begin, and costs n-2.
		first := five
		up := five.up()
		for w := range first {
			first[w] &^= up[w]
		}
		sum += uint32(five.count() + 2*first.count())
	}
	// Dark, light, three dark, light, dark, with four light modules on one side. Beyond the code
	// everything is light.
	like := *l
	for i := 1; i < 7; i++ {
		s := l.down(uint(i))
		if i == 1 || i == 5 {
			s = light.down(uint(i))
		}
		like.and(&s)
	}
	for at := 0; at+7 <= c.size && like != (line{}); at++ {
		if like.at(at) {
			if c.light(l, at-4) || c.light(l, at+7) {
				sum += 40
			}
			like.set(at, false)
		}
	}
	return sum
}

// light reports whether four modules from i on are light.
func (c *Code) light(l *line, i int) bool {
	for k := i; k < i+4; k++ {
		if k >= 0 && k < c.size && l.at(k) {
			return false
		}
	}
	return true
}

// squares returns the number of squares of four equal modules in two rows.
func (c *Code) squares(a, b *line) int {
	a1, b1 := a.down(1), b.down(1)
	n := c.size - 1
	var same line
	for w := range same {
		same[w] = ^((a[w] ^ b[w]) | (a[w] ^ a1[w]) | (b[w] ^ b1[w]))
	}
	same.cut(n)
	return same.count()
}

// cut clears all modules from i on.
func (l *line) cut(i int) {
	for w := range l {
		switch {
		case i <= w*64:
			l[w] = 0
		case i < w*64+64:
			l[w] &= 1<<uint(i-w*64) - 1
		}
	}
}

// inverted returns the line with its first n modules inverted.
func (l *line) inverted(n int) line {
	out := line{^l[0], ^l[1], ^l[2]}
	out.cut(n)
	return out
}

func (l *line) and(with *line) {
	for w := range l {
		l[w] &= with[w]
	}
}

// down returns the line shifted n modules towards its start; up shifts it one module away.
func (l *line) down(n uint) line {
	return line{l[0]>>n | l[1]<<(64-n), l[1]>>n | l[2]<<(64-n), l[2] >> n}
}

func (l *line) up() line {
	return line{l[0] << 1, l[1]<<1 | l[0]>>63, l[2]<<1 | l[1]>>63}
}

// count returns the number of dark modules.
func (l *line) count() (n int) {
	for _, x := range l {
		x -= x >> 1 & 0x5555555555555555
		x = x&0x3333333333333333 + x>>2&0x3333333333333333
		x = (x + x>>4) & 0x0f0f0f0f0f0f0f0f
		n += int(x * 0x0101010101010101 >> 56)
	}
	return n
}
