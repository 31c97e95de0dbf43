// Package worsen makes of a picture of a screen what a bad photo of it would be, for the tests of
// package photo: seen from the side, with the room around it, dark, blurred, with the moiré of
// the screen's pixels and the camera's, noise, and compressed. The same seed gives the same photo.
//
// It imports nothing of Zeroframe. Context: the host, tests.
package worsen

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
)

// How bad a photo is.
const (
	tilt       = 25 // degrees by which the camera is beside the middle of the screen
	roll       = 5  // degrees that it is turned at most, to either side
	brightness = 0.5
	quality    = 40   // of the JPEG file
	width      = 1600 // pixels
	height     = 1200
	blurLeast  = 0.8 // pixels, the standard deviation of the blur
	blurMost   = 1.8
	noise      = 8    // of 255, the standard deviation
	moireLeast = 0.05 // of the light
	moireMost  = 0.2
	far        = 1.3 // distance of the camera, in widths of the screen
)

// plane is a picture of floating point numbers, three a pixel.
type plane struct {
	w, h int
	v    []float32
}

// Photo returns a JPEG file. The camera is tilt degrees to the side in a direction that the seed
// gives, and so is the rest.
func Photo(screen image.Image, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 0x7a65726f))
	p := shoot(screen, r)
	p.blur(blurLeast + r.Float64()*(blurMost-blurLeast))
	p.moire(r)
	img := image.NewRGBA(image.Rect(0, 0, p.w, p.h))
	for i := range p.w * p.h {
		var c [3]uint8
		for k := range c {
			v := float64(p.v[i*3+k])*brightness + r.NormFloat64()*noise
			c[k] = uint8(min(max(v, 0), 255))
		}
		img.SetRGBA(i%p.w, i/p.w, color.RGBA{c[0], c[1], c[2], 255})
	}
	var out bytes.Buffer
	jpeg.Encode(&out, img, &jpeg.Options{Quality: quality})
	return out.Bytes()
}

// shoot looks at the screen by a pinhole: for each pixel of the photo, where its ray meets the
// screen's plane.
func shoot(screen image.Image, r *rand.Rand) *plane {
	b := screen.Bounds()
	w, h := b.Dx(), b.Dy()
	src := &plane{w, h, make([]float32, w*h*3)}
	for i := range w * h {
		cr, cg, cb, _ := screen.At(b.Min.X+i%w, b.Min.Y+i/w).RGBA()
		src.v[i*3], src.v[i*3+1], src.v[i*3+2] = float32(cr>>8), float32(cg>>8), float32(cb>>8)
	}
	// The screen turns about an axis in its plane, then about the line of sight.
	axis := r.Float64() * 2 * math.Pi
	turn := (r.Float64()*2 - 1) * roll * math.Pi / 180
	sa, ca := math.Sincos(axis)
	st, ct := math.Sincos(tilt * math.Pi / 180)
	sr, cr := math.Sincos(turn)
	// The directions of the screen's sides, in the camera's coordinates.
	rotate := func(x, y float64) (rx, ry, rz float64) {
		along, across := x*ca+y*sa, -x*sa+y*ca
		x, y, rz = along*ca-across*ct*sa, along*sa+across*ct*ca, across*st
		return x*cr - y*sr, x*sr + y*cr, rz
	}
	ux, uy, uz := rotate(1, 0)
	vx, vy, vz := rotate(0, 1)
	scale := float64(w)
	// The focal length with which the screen fills most of the photo.
	most := 0.0
	for _, c := range [][2]float64{{-1, -1}, {1, -1}, {-1, 1}, {1, 1}} {
		x, y := c[0]/2, c[1]/2*float64(h)/scale
		px, py, pz := ux*x+vx*y, uy*x+vy*y, far+uz*x+vz*y
		most = max(most, math.Abs(px/pz)/width, math.Abs(py/pz)/height)
	}
	focus := 0.46 / most
	out := &plane{width, height, make([]float32, width*height*3)}
	room := 20 + r.Float64()*60
	dx, dy := (r.Float64()*2-1)*width*0.03, (r.Float64()*2-1)*height*0.03
	for y := range height {
		for x := range width {
			// Ray (a, b, 1) t = (0, 0, far) + s u + q v.
			a, c := (float64(x)-width/2-dx)/focus, (float64(y)-height/2-dy)/focus
			// s(ux - a uz) + q(vx - a vz) = a far; the same with y.
			m11, m12, m21, m22 := ux-a*uz, vx-a*vz, uy-c*uz, vy-c*vz
			det := m11*m22 - m12*m21
			s := (a*far*m22 - m12*c*far) / det
			q := (m11*c*far - a*far*m21) / det
			src.sample(s*scale+float64(w)/2, q*scale+float64(h)/2, room, out.v[(y*width+x)*3:])
		}
	}
	return out
}

// sample puts the colour at a place into out, between the pixels by its neighbours.
func (p *plane) sample(x, y, room float64, out []float32) {
	x, y = x-0.5, y-0.5
	x0, y0 := int(math.Floor(x)), int(math.Floor(y))
	fx, fy := float32(x-float64(x0)), float32(y-float64(y0))
	at := func(x, y, k int) float32 {
		if x < 0 || y < 0 || x >= p.w || y >= p.h {
			if x < -p.w/40 || y < -p.w/40 || x >= p.w+p.w/40 || y >= p.h+p.w/40 {
				return float32(room)
			}
			return 8 // the frame of the screen
		}
		return p.v[(y*p.w+x)*3+k]
	}
	for k := range 3 {
		up := at(x0, y0, k)*(1-fx) + at(x0+1, y0, k)*fx
		down := at(x0, y0+1, k)*(1-fx) + at(x0+1, y0+1, k)*fx
		out[k] = up*(1-fy) + down*fy
	}
}

// blur blurs by a Gaussian.
func (p *plane) blur(sigma float64) {
	n := int(math.Ceil(3 * sigma))
	kernel := make([]float32, 2*n+1)
	sum := float32(0)
	for i := range kernel {
		d := float64(i-n) / sigma
		kernel[i] = float32(math.Exp(-d * d / 2))
		sum += kernel[i]
	}
	for _, down := range []bool{false, true} {
		out := make([]float32, len(p.v))
		for y := range p.h {
			for x := range p.w {
				var v [3]float32
				for i, k := range kernel {
					sx, sy := x, y
					if down {
						sy = min(max(y+i-n, 0), p.h-1)
					} else {
						sx = min(max(x+i-n, 0), p.w-1)
					}
					for c := range v {
						v[c] += k * p.v[(sy*p.w+sx)*3+c]
					}
				}
				for c := range v {
					out[(y*p.w+x)*3+c] = v[c] / sum
				}
			}
		}
		p.v = out
	}
}

// moire lays waves over the picture, for each colour in another phase: narrow ones, as of the
// pixels of the screen, and the wide ones that they make with those of the camera.
func (p *plane) moire(r *rand.Rand) {
	for _, period := range []float64{3 + 3*r.Float64(), 20 + 60*r.Float64()} {
		strength := moireLeast + r.Float64()*(moireMost-moireLeast)
		angle, phase := r.Float64()*math.Pi, r.Float64()*2*math.Pi
		s, c := math.Sincos(angle)
		for i := range p.w * p.h {
			at := (float64(i%p.w)*c+float64(i/p.w)*s)/period*2*math.Pi + phase
			for k := range 3 {
				p.v[i*3+k] *= float32(1 - strength/2 + strength/2*math.Sin(at+float64(k)*2*math.Pi/3))
			}
		}
	}
}
