package photo

import (
	"image"
	"image/color"
	"slices"
)

// gray is a picture in gray.
type gray struct {
	w, h int
	v    []uint8
}

func (g *gray) at(x, y int) uint8 { return g.v[y*g.w+x] }

// newGray returns a picture in gray.
func newGray(img image.Image) *gray {
	b := img.Bounds()
	g := &gray{b.Dx(), b.Dy(), make([]uint8, b.Dx()*b.Dy())}
	y, isYCbCr := img.(*image.YCbCr)
	for i := range g.v {
		x0, y0 := b.Min.X+i%g.w, b.Min.Y+i/g.w
		if isYCbCr {
			g.v[i] = y.Y[y.YOffset(x0, y0)]
		} else {
			g.v[i] = color.GrayModel.Convert(img.At(x0, y0)).(color.Gray).Y
		}
	}
	return g
}

// fit returns the picture with a longer side of so many pixels, if it has more: each is the mean of
// those that it stands for.
func (g *gray) fit(size int) *gray {
	long := max(g.w, g.h)
	if long <= size {
		return g
	}
	out := &gray{max(g.w*size/long, 1), max(g.h*size/long, 1), nil}
	out.v = make([]uint8, out.w*out.h)
	sums := g.sums()
	for y := range out.h {
		y0, y1 := y*g.h/out.h, max((y+1)*g.h/out.h, y*g.h/out.h+1)
		for x := range out.w {
			x0, x1 := x*g.w/out.w, max((x+1)*g.w/out.w, x*g.w/out.w+1)
			out.v[y*out.w+x] = uint8(sums.of(x0, y0, x1, y1) / uint64((x1-x0)*(y1-y0)))
		}
	}
	return out
}

// median returns the picture with each pixel the median of the nine around it.
func (g *gray) median() *gray {
	out := &gray{g.w, g.h, slices.Clone(g.v)}
	var nine [9]uint8
	for y := 1; y < g.h-1; y++ {
		for x := 1; x < g.w-1; x++ {
			for i := range 3 {
				copy(nine[i*3:], g.v[(y+i-1)*g.w+x-1:][:3])
			}
			slices.Sort(nine[:])
			out.v[y*g.w+x] = nine[4]
		}
	}
	return out
}

// sums are, for each pixel, the sum of all above it and left of it.
type sums struct {
	w int
	v []uint64
}

func (g *gray) sums() *sums {
	s := &sums{g.w + 1, make([]uint64, (g.w+1)*(g.h+1))}
	for y := range g.h {
		line := uint64(0)
		for x := range g.w {
			line += uint64(g.at(x, y))
			s.v[(y+1)*s.w+x+1] = s.v[y*s.w+x+1] + line
		}
	}
	return s
}

// of returns the sum of the pixels from x0, y0 up to x1, y1.
func (s *sums) of(x0, y0, x1, y1 int) uint64 {
	return s.v[y1*s.w+x1] - s.v[y0*s.w+x1] - s.v[y1*s.w+x0] + s.v[y0*s.w+x0]
}

// mean returns the mean of the square around a pixel, as far as that is in the picture.
func (s *sums) mean(x, y, radius int) float32 {
	h := len(s.v)/s.w - 1
	x0, y0, x1, y1 := max(x-radius, 0), max(y-radius, 0), min(x+radius+1, s.w-1), min(y+radius+1, h)
	return float32(s.of(x0, y0, x1, y1)) / float32((x1-x0)*(y1-y0))
}
