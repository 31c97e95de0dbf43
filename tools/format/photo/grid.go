package photo

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/zeroframe/zeroframe/tracer/qr"
)

// Where the modules of a code are in a photo. A photo of a plane is a projection: with homogeneous
// coordinates the picture of the place (u, v), counted in modules, is O + u U + v V. The areas of
// the modules in the three finders say how far they are from the camera, as an area shrinks with
// the third power of that; so three finders are enough to begin with. Then the four corners are
// moved until what is known of a code, its patterns, is seen best.

// grid is the projection of a code.
type grid struct {
	o, u, v [3]float64
	size    int
}

// at returns where a place is in the picture; (0, 0) is the outer corner of the first module.
func (g *grid) at(u, v float64) point {
	w := g.o[2] + u*g.u[2] + v*g.v[2]
	return point{(g.o[0] + u*g.u[0] + v*g.v[0]) / w, (g.o[1] + u*g.u[1] + v*g.v[1]) / w}
}

// fromCorners returns the grid whose finders' middles, and the place where the fourth would be, are
// at these points.
func fromCorners(q [4]point, size int) (g grid, ok bool) {
	// The weights with which fourth = right + below - corner.
	r, l, f := q[1].minus(q[0]), q[2].minus(q[0]), q[3].minus(q[0])
	// f (wr + wl - 1) = wr r + wl l
	a, b := r.minus(f), l.minus(f)
	det := a.cross(b)
	if math.Abs(det) < 1e-9 {
		return g, false
	}
	wr, wl := -f.cross(b)/det, -a.cross(f)/det
	if wr <= 0.05 || wl <= 0.05 || wr+wl-1 <= 0.05 {
		return g, false
	}
	return fromWeights(q[0], q[1], q[2], 1, wr, wl, size), true
}

// fromWeights returns the grid with these middles of the finders and their homogeneous coordinates.
func fromWeights(corner, right, below point, wc, wr, wl float64, size int) grid {
	n := float64(size - 7)
	g := grid{size: size}
	c := [3]float64{corner.x * wc, corner.y * wc, wc}
	for i, v := range [3]float64{right.x * wr, right.y * wr, wr} {
		g.u[i] = (v - c[i]) / n
	}
	for i, v := range [3]float64{below.x * wl, below.y * wl, wl} {
		g.v[i] = (v - c[i]) / n
	}
	for i := range c {
		g.o[i] = c[i] - 3.5*g.u[i] - 3.5*g.v[i]
	}
	return g
}

// middles returns the points that fromCorners takes.
func (g *grid) middles() [4]point {
	n := float64(g.size) - 3.5
	return [4]point{g.at(3.5, 3.5), g.at(n, 3.5), g.at(3.5, n), g.at(n, n)}
}

// versions returns the grids that three finders may be of, the most likely first.
func versions(b *bitmap, c corners) (all []grid) {
	weight := func(f finder) float64 { return math.Cbrt(1 / f.area) }
	wc, wr, wl := weight(c.corner), weight(c.right), weight(c.below)
	// The distance in modules, as each end sees it.
	sum, n := 0.0, 0.0
	for _, e := range []struct {
		from, to finder
		wf, wt   float64
	}{{c.corner, c.right, wc, wr}, {c.right, c.corner, wr, wc}, {c.corner, c.below, wc, wl},
		{c.below, c.corner, wl, wc}} {
		d := e.to.at.minus(e.from.at)
		long := d.length()
		if module := b.size(e.from.at, point{d.x / long, d.y / long}); module > 0 {
			sum += long * e.wt / e.wf / module
			n++
		}
	}
	if n == 0 {
		return nil
	}
	most := (sum/n + 7 - 17) / 4
	for version := max(1, int(most)-2); version <= min(int(most)+3, qr.MaxVersion); version++ {
		all = append(all, fromWeights(c.corner.at, c.right.at, c.below.at, wc, wr, wl, qr.Size(version)))
	}
	off := func(g grid) float64 { return math.Abs(float64(g.size) - 17 - 4*most) }
	slices.SortStableFunc(all, func(g, h grid) int { return cmp.Compare(off(g), off(h)) })
	return all
}

// known is a module whose colour is the same in each code of a version.
type known struct {
	u, v float64
	dark float64 // 1, or -1 if it is light
}

// patternsOf has them by version.
var patternsOf sync.Map

// patterns returns them for a version.
func patterns(version int) (all []known) {
	if v, ok := patternsOf.Load(version); ok {
		return v.([]known)
	}
	defer func() { patternsOf.Store(version, all) }()
	var c qr.Code
	c.Patterns(version)
	for y := range qr.Size(version) {
		for x := range qr.Size(version) {
			if !c.Fixed(x, y) {
				continue
			}
			dark := -1.0
			if c.Dark(x, y) {
				dark = 1
			}
			all = append(all, known{float64(x) + 0.5, float64(y) + 0.5, dark})
		}
	}
	return all
}

// relief is a picture in gray, each pixel the mean of what is around it farther off less that of
// what is near: dark is above 0, and the middle of a module stands out.
type relief struct {
	w, h int
	v    []float32
}

// relief returns it for modules of such a length in pixels.
func (g *gray) relief(module float64) *relief {
	r := &relief{g.w, g.h, make([]float32, len(g.v))}
	s := g.sums()
	near, far := int(0.4*module), int(5*module)
	for y := range g.h {
		for x := range g.w {
			r.v[y*g.w+x] = s.mean(x, y, far) - s.mean(x, y, near)
		}
	}
	return r
}

// at returns how dark it is at a point; beyond the picture it is 0.
func (r *relief) at(p point) float64 {
	x, y := p.pixel()
	if x < 0 || y < 0 || x >= r.w || y >= r.h {
		return 0
	}
	return float64(r.v[y*r.w+x])
}

// fits says how well the patterns are seen where a grid has them.
func (r *relief) fits(g *grid, all []known) (sum float64) {
	for _, k := range all {
		sum += k.dark * r.at(g.at(k.u, k.v))
	}
	return sum
}

// contrast is what fits would be if all were seen.
func (r *relief) contrast(g *grid, all []known) (sum float64) {
	for _, k := range all {
		sum += math.Abs(r.at(g.at(k.u, k.v)))
	}
	return sum
}

// leastFit is the share of what could be seen of the patterns with which it is worth to go on.
const leastFit = 0.5

// refine moves the corners of a grid until the patterns are seen best: first the fourth one, which
// is known least, within some modules, then all by less and less. It reports whether they are seen.
func (r *relief) refine(g grid) (best grid, ok bool) {
	all := patterns((g.size - 17) / 4)
	q := g.middles()
	module := q[1].minus(q[0]).length() / float64(g.size-7)
	best, fit := g, r.fits(&g, all)
	try := func(i int, d point) bool {
		to := q
		to[i] = point{q[i].x + d.x, q[i].y + d.y}
		if h, ok := fromCorners(to, g.size); ok {
			if f := r.fits(&h, all); f > fit {
				best, fit = h, f
				return true
			}
		}
		return false
	}
	const reach, steps = 4, 6 // modules, to each side
	for y := -steps; y <= steps; y++ {
		for x := -steps; x <= steps; x++ {
			try(3, point{float64(x) * module * reach / steps, float64(y) * module * reach / steps})
		}
	}
	if fit < leastFit*r.contrast(&best, all) {
		return best, false
	}
	q = best.middles()
	for step := module / 2; step > module/30; step /= 2 {
		for again := 4; again > 0; again-- {
			better := false
			for i := range q {
				for _, d := range []point{{step, 0}, {-step, 0}, {0, step}, {0, -step}} {
					if try(i, d) {
						q, better = best.middles(), true
					}
				}
			}
			if !better {
				break
			}
		}
	}
	return best, true
}

// modules returns the modules of a code, by how dark they are beside those around them.
func (g *gray) modules(at grid) [][]bool {
	n := at.size
	level := &gray{n, n, make([]uint8, n*n)}
	for v := range n {
		for u := range n {
			sum, points := 0, 0
			for _, dv := range []float64{0.3, 0.5, 0.7} {
				for _, du := range []float64{0.3, 0.5, 0.7} {
					x, y := at.at(float64(u)+du, float64(v)+dv).pixel()
					if x >= 0 && y >= 0 && x < g.w && y < g.h {
						sum += int(g.at(x, y))
						points++
					}
				}
			}
			level.v[v*n+u] = uint8(sum / max(points, 1))
		}
	}
	b := level.local(6)
	out := make([][]bool, n)
	for v := range out {
		out[v] = b.v[v*n:][:n]
	}
	return out
}
