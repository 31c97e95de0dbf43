package photo

import (
	"cmp"
	"math"
	"slices"
)

// The three large squares in the corners of a code: through the middle of each a line, in whatever
// direction, is dark, light, dark, light and dark on lengths of 1, 1, 3, 1 and 1.

type point struct{ x, y float64 }

func (p point) minus(q point) point            { return point{p.x - q.x, p.y - q.y} }
func (p point) cross(q point) float64          { return p.x*q.y - p.y*q.x }
func (p point) dot(q point) float64            { return p.x*q.x + p.y*q.y }
func (p point) length() float64                { return math.Hypot(p.x, p.y) }
func (p point) along(d point, n float64) point { return point{p.x + d.x*n, p.y + d.y*n} }

// pixel returns the pixel that is nearest.
func (p point) pixel() (x, y int) { return int(math.Floor(p.x + 0.5)), int(math.Floor(p.y + 0.5)) }

// finder is what may be such a square.
type finder struct {
	at   point
	area float64 // of a module, in pixels
	hits int     // lines in which it was seen
}

// finders returns what may be such squares, those that were seen in most lines first.
func (b *bitmap) finders() (all []finder) {
	middles, rings := newFiller(b, true), newFiller(b, false)
	for y := range b.h {
		runs, ends := [5]int{}, 0
		dark := false
		for x := 0; x <= b.w; x++ {
			if d := x < b.w && b.v[y*b.w+x]; d == dark && x < b.w {
				runs[4]++
				continue
			}
			if ends++; dark && ends >= 5 && ratio(runs) {
				middle := x - 1 - runs[4] - runs[3] - runs[2]/2
				all = b.finder(all, middles, rings, middle, y)
			}
			copy(runs[:], runs[1:])
			runs[4], dark = 1, !dark
		}
	}
	slices.SortStableFunc(all, func(f, g finder) int { return cmp.Compare(g.hits, f.hits) })
	return all
}

// ratio reports whether lengths are as 1, 1, 3, 1 and 1, or nearly so.
func ratio(runs [5]int) bool {
	sum := 0
	for _, r := range runs {
		if r == 0 {
			return false
		}
		sum += r
	}
	if sum < 7 {
		return false
	}
	module := float64(sum) / 7
	for i, r := range runs {
		want := module
		if i == 2 {
			want *= 3
		}
		if math.Abs(float64(r)-want) > max(0.6*want, 1.5) {
			return false
		}
	}
	return true
}

// finder adds the square with its middle at a pixel, or counts it again.
func (b *bitmap) finder(all []finder, middles, rings *filler, x, y int) []finder {
	for i := range all {
		if g := &all[i]; g.at.minus(point{float64(x), float64(y)}).length() < 1.5*math.Sqrt(g.area) {
			g.hits++
			return all
		}
	}
	inner, ok := middles.fill(b, x, y)
	if !ok {
		return all
	}
	middle := point{inner.sumX / float64(inner.n), inner.sumY / float64(inner.n)}
	// From there to the four sides: 3 dark, 1 light, 1 dark; the ratio upright is as level.
	for _, d := range []point{{0, 1}, {1, 0}} {
		if !ratio(b.across(middle, d)) {
			return all
		}
	}
	area := float64(inner.n) / 9
	// The ring: from the middle to the right until it is dark again.
	steps := int(6 * math.Sqrt(area))
	rx, ry, changes := int(math.Round(middle.x)), int(math.Round(middle.y)), 0
	for was := true; steps > 0 && changes < 2; steps-- {
		rx++
		if d := b.dark(rx, ry); d != was {
			was = d
			changes++
		}
	}
	ring, ok := rings.fill(b, rx, ry)
	if !ok {
		return all
	}
	if share := float64(ring.n) / float64(inner.n); share < 1.2 || share > 6 {
		return all
	}
	if far := (point{ring.sumX / float64(ring.n),
		ring.sumY / float64(ring.n)}).minus(middle).length(); far > 1.5*math.Sqrt(area) {
		return all
	}
	return append(all, finder{middle, float64(inner.n+ring.n) / 33, 1})
}

// across returns the five runs of a line through the middle of a square.
func (b *bitmap) across(middle, d point) (runs [5]int) {
	for _, way := range []int{-1, 1} {
		at, dark := 2, true
		for i := 0; i < b.w+b.h; i++ {
			p := middle.along(d, float64(i*way))
			x, y := int(math.Round(p.x)), int(math.Round(p.y))
			if is := b.dark(x, y); is != dark {
				dark = is
				if at += way; at < 0 || at > 4 {
					break
				}
			}
			if x < 0 || y < 0 || x >= b.w || y >= b.h {
				break
			}
			runs[at]++
		}
	}
	return runs
}

// size returns how long a module is in a direction, by the whole width of a finder.
func (b *bitmap) size(middle, d point) float64 {
	sum := 0
	for _, r := range b.across(middle, d) {
		sum += r
	}
	return float64(sum) / 7
}

// A blob is dark pixels that hang together.
type blob struct {
	n          int
	sumX, sumY float64
}

// filler finds blobs, each once or again and again.
type filler struct {
	once bool
	seen []int32 // the fill that has come to a pixel
	turn int32
	todo []int
}

func newFiller(b *bitmap, once bool) *filler {
	return &filler{once: once, seen: make([]int32, len(b.v))}
}

// mostBlob is the largest share of a picture that a blob may be.
const mostBlob = 16

// fill returns the blob at a pixel; ok is false if it is light there, if the blob is to be looked
// at once and has been, or if it is too large.
func (f *filler) fill(b *bitmap, x, y int) (got blob, ok bool) {
	if !f.once || f.turn == 0 {
		f.turn++
	}
	if !b.dark(x, y) || f.seen[y*b.w+x] == f.turn {
		return got, false
	}
	f.todo = append(f.todo[:0], y*b.w+x)
	f.seen[y*b.w+x] = f.turn
	for len(f.todo) > 0 {
		i := f.todo[len(f.todo)-1]
		f.todo = f.todo[:len(f.todo)-1]
		x, y := i%b.w, i/b.w
		got.n++
		got.sumX += float64(x)
		got.sumY += float64(y)
		for _, d := range [4][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
			if nx, ny := x+d[0], y+d[1]; b.dark(nx, ny) && f.seen[ny*b.w+nx] != f.turn {
				f.seen[ny*b.w+nx] = f.turn
				f.todo = append(f.todo, ny*b.w+nx)
			}
		}
	}
	return got, got.n <= len(b.v)/mostBlob
}

// mostFinders is how many finders are looked at, and mostCorners how many threes of them.
const mostFinders, mostCorners = 12, 8

// corners are three finders that may be those of a code: at its corner, right of that, and below
// it.
type corners struct {
	corner, right, below finder
	wrong                float64 // how little it looks like one
}

// threes returns what may be the finders of a code, the most likely first.
func threes(all []finder) (found []corners) {
	all = all[:min(len(all), mostFinders)]
	for i, a := range all {
		for k, r := range all {
			for m, l := range all {
				if k == i || m == i || m == k {
					continue
				}
				right, below := r.at.minus(a.at), l.at.minus(a.at)
				if right.cross(below) <= 0 {
					continue
				}
				long, short := right.length(), below.length()
				if long < short {
					long, short = short, long
				}
				areas := []float64{a.area, r.area, l.area}
				slices.Sort(areas)
				cosine := math.Abs(right.dot(below)) / (long * short)
				if cosine > 0.6 || long > 2.2*short || areas[2] > 4*areas[0] || short < 12*math.Sqrt(areas[0]) {
					continue
				}
				found = append(found, corners{a, r, l, cosine + (long/short - 1) + (areas[2]/areas[0]-1)/2})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b corners) int { return cmp.Compare(a.wrong, b.wrong) })
	return found[:min(len(found), mostCorners)]
}
