package qr

// The modules: the patterns, which are the same in each code of a version, and the codewords
// between them.

// line is a row or a column of modules, the first one in the lowest bit.
type line [3]uint64

func (l *line) set(i int, on bool) {
	if on {
		l[i>>6] |= 1 << (uint(i) & 63)
	} else {
		l[i>>6] &^= 1 << (uint(i) & 63)
	}
}

func (l *line) at(i int) bool { return l[i>>6]>>(uint(i)&63)&1 != 0 }

// Dark reports whether the module at column x of row y is dark.
func (c *Code) Dark(x, y int) bool {
	return uint(x) < MaxSize && uint(y) < MaxSize && c.rows[y].at(x)
}

// set sets a module of a pattern.
func (c *Code) set(x, y int, dark bool) {
	c.rows[y].set(x, dark)
	c.cols[x].set(y, dark)
	c.rowsData[y].set(x, false)
	c.colsData[x].set(y, false)
}

// Patterns makes a code that has only the patterns of a version: what is the same in each of its
// codes, as Fixed tells.
func (c *Code) Patterns(version int) {
	c.Version, c.size = version, Size(version)
	c.draw()
}

// Fixed reports whether the module in column x of row y is the same in each code of this version:
// finders, timing, alignment, and the version. Level and mask, beside the finders, are not.
func (c *Code) Fixed(x, y int) bool {
	format := x == 8 && (y < 9 || y >= c.size-8) || y == 8 && (x < 9 || x >= c.size-8)
	return uint(x) < MaxSize && uint(y) < MaxSize && !c.rowsData[y].at(x) &&
		(!format || x == 6 || y == 6)
}

// draw draws the patterns.
func (c *Code) draw() {
	all := line{1<<64 - 1, 1<<64 - 1, 1<<64 - 1}
	all.cut(c.size)
	for i := range c.rows {
		c.rows[i], c.cols[i], c.rowsData[i], c.colsData[i] = line{}, line{}, all, all
	}
	for i := 0; i < c.size; i++ { // timing
		c.set(6, i, i&1 == 0)
		c.set(i, 6, i&1 == 0)
	}
	c.finder(3, 3)
	c.finder(c.size-4, 3)
	c.finder(3, c.size-4)
	c.alignment()
	c.format(0)
	c.version()
}

// ring returns the distance of a module from the middle of a pattern.
func ring(dx, dy int) int { return max(dx, -dx, dy, -dy) }

// finder draws one of the three large squares, with the light modules around it.
func (c *Code) finder(x, y int) {
	for dy := -4; dy <= 4; dy++ {
		for dx := -4; dx <= 4; dx++ {
			if x+dx >= 0 && x+dx < c.size && y+dy >= 0 && y+dy < c.size {
				r := ring(dx, dy)
				c.set(x+dx, y+dy, r != 2 && r != 4)
			}
		}
	}
}

// alignment draws the small squares (annex E): in rows and columns at equal distances, except where
// a finder is.
func (c *Code) alignment() {
	if c.Version == 1 {
		return
	}
	n := c.Version/7 + 2
	step := (c.Version*4 + n*2 + 1) / (n*2 - 2) * 2
	if c.Version == 32 {
		step = 26
	}
	for i := range n {
		for k := range n {
			if i == 0 && (k == 0 || k == n-1) || i == n-1 && k == 0 {
				continue
			}
			x, y := c.center(i, n, step), c.center(k, n, step)
			for dy := -2; dy <= 2; dy++ {
				for dx := -2; dx <= 2; dx++ {
					c.set(x+dx, y+dy, ring(dx, dy) != 1)
				}
			}
		}
	}
}

// center returns where alignment pattern i of n is.
func (c *Code) center(i, n, step int) int {
	if i == 0 {
		return 6
	}
	return c.size - 7 - (n-1-i)*step
}

// format draws level and mask, twice, with their check bits (BCH 15,5).
func (c *Code) format(mask uint8) {
	levels := [...]uint32{L: 1, M: 0, Q: 3, H: 2}
	v := levels[c.Level&3]<<3 | uint32(mask)
	rest := v
	for range 10 {
		rest = rest<<1 ^ rest>>9*0x537
	}
	v = v<<10 | rest
	v ^= 0x5412
	for i := range 15 {
		dark := v>>uint(i)&1 != 0
		// Around the first finder.
		switch {
		case i < 6:
			c.set(8, i, dark)
		case i < 8:
			c.set(8, i+1, dark)
		case i == 8:
			c.set(7, 8, dark)
		default:
			c.set(14-i, 8, dark)
		}
		// Beside the two others.
		if i < 8 {
			c.set(c.size-1-i, 8, dark)
		} else {
			c.set(8, c.size-15+i, dark)
		}
	}
	c.set(8, c.size-8, true)
}

// version draws the version, twice, with its check bits (BCH 18,6).
func (c *Code) version() {
	if c.Version < 7 {
		return
	}
	rest := uint32(c.Version)
	for range 12 {
		rest = rest<<1 ^ rest>>11*0x1f25
	}
	v := uint32(c.Version)<<12 | rest
	for i := range 18 {
		dark := v>>uint(i)&1 != 0
		a, b := c.size-11+i%3, i/3
		c.set(a, b, dark)
		c.set(b, a, dark)
	}
}

// path is the position of the next bit: up and down in columns of two, from the right.
type path struct {
	x, y     int
	up, left bool // the left one of the two columns is next
}

// place puts the codewords into the free modules: the first word of each block, then the second of
// each, and so on; all data first.
func (c *Code) place() {
	c.path = path{x: c.size - 1, y: c.size - 1, up: true}
	n := c.blocks()
	_, longest := c.block(n - 1)
	for i := range longest {
		for b := range n {
			if first, length := c.block(b); i < length {
				c.word(c.words[first+i])
			}
		}
	}
	for i := 0; i < checkWords.of(c.Version, c.Level); i++ {
		for b := range n {
			c.word(c.check[b][i])
		}
	}
}

// word places a codeword, the highest bit first.
func (c *Code) word(v byte) {
	p := &c.path
	for bit := uint(8); bit > 0 && p.x > 0; p.step(c.size) {
		if x := p.x - when(p.left, 1); c.rowsData[p.y].at(x) {
			bit--
			if v>>bit&1 != 0 {
				c.rows[p.y].set(x, true)
				c.cols[x].set(p.y, true)
			}
		}
	}
}

// step goes on to the next module.
func (p *path) step(size int) {
	if p.left = !p.left; p.left {
		return
	}
	switch {
	case p.up && p.y > 0:
		p.y--
	case !p.up && p.y < size-1:
		p.y++
	default:
		p.up = !p.up
		if p.x -= 2; p.x == 6 { // the timing pattern
			p.x--
		}
	}
}

// when returns n if is is true, and otherwise 0.
func when(is bool, n int) int {
	if is {
		return n
	}
	return 0
}
