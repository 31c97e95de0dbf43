package photo

import (
	"errors"
	"image"
	"math"

	"github.com/makiuchi-d/gozxing/qrcode/decoder"
)

// ErrNoCode is the error of a picture in which no code was found.
var ErrNoCode = errors.New("no code was found in it")

// sizes are the lengths of the longer side in which a photo is looked at, in pixels: the noise of a
// large one is gone in a small one, in which the modules of a code may be too small.
var sizes = []int{1200, 1800, 800, 2800, 4200}

// Read returns what the code in a picture has in it: the text, which is of digits if the code is of
// a trace. One way after the other is tried to see it, until the code's error correction says
// that it is right. The error is ErrNoCode.
func Read(img image.Image) (string, error) {
	all := newGray(img)
	before := 0
	for _, size := range sizes {
		g := all.fit(size)
		if g.w == before {
			continue
		}
		before = g.w
		for _, g := range []*gray{g, g.median()} {
			for _, part := range parts {
				if s, ok := g.read(g.local(max(min(g.w, g.h)/part, 3))); ok {
					return s, nil
				}
			}
		}
	}
	return "", ErrNoCode
}

// read reads a code whose finders are seen in black and white.
func (g *gray) read(b *bitmap) (string, bool) {
	for _, c := range threes(b.finders()) {
		r := g.relief(math.Sqrt(c.corner.area))
		for _, grid := range versions(b, c) {
			if best, ok := r.refine(grid); ok {
				if s, ok := decode(g.modules(best)); ok {
					return s, true
				}
			}
		}
	}
	return "", false
}

// decode reads a code by its modules.
func decode(modules [][]bool) (s string, ok bool) {
	defer func() {
		if recover() != nil { // what it is given may be anything
			s, ok = "", false
		}
	}()
	got, err := decoder.NewDecoder().DecodeBoolMap(modules, nil)
	if err != nil {
		return "", false
	}
	return got.GetText(), true
}
