// A section that zlib has compressed can be unfolded from its beginning only, unless one knows
// where in it a block begins and what the 32 KiB before that are. Who has unfolded it once
// knows such points, a megabyte from each other; with them the next one unfolds no more than
// the pieces that are read.

package elf

import (
	"sort"
	"sync"
)

const (
	// pointEvery is how many bytes there are between two points, at least.
	pointEvery = 1 << 20
	// MaxWindow is the length of the longest window.
	MaxWindow = 32 << 10
)

// A Point is where the unfolding of a section can begin.
type Point struct {
	In  uint64 // bits of the section before it
	Out uint64 // bytes of its contents before it
	Sum uint32 // their checksum
}

// WindowSize returns how many bytes before p unfolding from there can refer to.
func (p Point) WindowSize() uint64 { return min(p.Out, MaxWindow) }

// Points returns the points of a section that was unfolded as a whole, and its end as the last
// one. There are none of what was not compressed by zlib, or is not as the file has it.
func (s *Contents) Points() []Point { return s.points }

// Window returns the bytes before a point of Points.
func (s *Contents) Window(p Point) []byte { return s.whole[p.Out-p.WindowSize() : p.Out] }

// A foldedSection is a section that is unfolded in pieces.
type foldedSection struct {
	f      *File
	s      *Section
	points []Point
	window func(i int) ([]byte, error)

	mu   sync.Mutex
	z    inflater
	out  []byte // what is done of it does not change any more
	done []bool // the piece from each point on is there
	n    int    // bytes unfolded
}

// FoldedContents returns what DebugContents does, by the points of the section that was found
// there before. window returns the window of the i'th of them. Neither is believed: where a piece
// is not what it was, the section is unfolded as a whole. It is nil if there is no such section.
func (f *File) FoldedContents(name string, points []Point, window func(i int) ([]byte, error)) *Contents {
	s := f.debugSection(name)
	if s == nil || f.relocated(s) || !f.Compressed(s) || len(points) < 2 || points[0].Out != 0 {
		return nil
	}
	if _, err := f.Extent(s); err != nil {
		return nil
	}
	for i := range points {
		if points[i].In > 8*s.Len || i > 0 && (points[i].In < points[i-1].In || points[i].Out < points[i-1].Out) {
			return nil
		}
	}
	size := points[len(points)-1].Out
	if size > 1032*s.Len { // what no stream unfolds to
		return nil
	}
	c := &foldedSection{f: f, s: s, points: points, window: window, done: make([]bool, len(points)-1)}
	return &Contents{f: f, Size: size, folded: c}
}

// Folded reports whether the section is unfolded in pieces.
func (s *Contents) Folded() bool { return s.folded != nil }

// Unfolded returns how many bytes of the section were unfolded.
func (s *Contents) Unfolded() int {
	if s.folded == nil {
		return len(s.whole) // relocated ones, too
	}
	s.folded.mu.Lock()
	defer s.folded.mu.Unlock()
	return s.folded.n
}

// bytes returns n bytes from off, which the section has, or nil if it cannot be read.
func (c *foldedSection) bytes(off, n uint64) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out == nil {
		c.out = make([]byte, c.points[len(c.done)].Out)
	}
	first := sort.Search(len(c.done), func(i int) bool { return c.points[i].Out > off }) - 1
	for i := first; i < len(c.done) && c.points[i].Out < off+n; i++ {
		if !c.done[i] && !c.unfold(i) {
			return nil
		}
	}
	return c.out[off : off+n : off+n]
}

// unfold makes the i'th piece, or all of them. c.mu is held.
func (c *foldedSection) unfold(i int) bool {
	from, to := c.points[i], c.points[i+1]
	window, err := c.window(i)
	if err == nil && uint64(len(window)) == from.WindowSize() {
		var in, b []byte
		if in, err = c.f.Read(c.s.Off+from.In/8, (to.In+7)/8-from.In/8); err == nil && len(in) > 0 {
			if b, err = c.z.unfoldFrom(from, to, window, append(in, make([]byte, readBehind)...)); err == nil {
				copy(c.out[from.Out:], b)
				c.done[i], c.n = true, c.n+len(b)
				return true
			}
		}
	}
	b, err := c.f.Data(c.s)
	if err != nil || len(b) != len(c.out) {
		return false
	}
	c.out, c.n = b, c.n+len(b)
	for i := range c.done {
		c.done[i] = true
	}
	return true
}
