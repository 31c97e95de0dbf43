package photo

// Black and white. What is dark is so beside what is around it: the light of a screen and of the
// room is not the same everywhere. How far around depends on how large the modules are, which is
// not known.

// bitmap is a picture in black and white.
type bitmap struct {
	w, h int
	v    []bool // dark
}

func (b *bitmap) dark(x, y int) bool {
	return uint(x) < uint(b.w) && uint(y) < uint(b.h) && b.v[y*b.w+x]
}

// parts are how far around a pixel local looks: the shorter side of the picture divided by these.
var parts = []int{16, 32, 8}

// local makes dark what is darker than the mean of a square around it.
func (g *gray) local(radius int) *bitmap {
	b := &bitmap{g.w, g.h, make([]bool, len(g.v))}
	s := g.sums()
	for y := range g.h {
		y0, y1 := max(y-radius, 0), min(y+radius+1, g.h)
		for x := range g.w {
			x0, x1 := max(x-radius, 0), min(x+radius+1, g.w)
			b.v[y*g.w+x] = (uint64(g.at(x, y))+1)*uint64((x1-x0)*(y1-y0)) < s.of(x0, y0, x1, y1)
		}
	}
	return b
}
