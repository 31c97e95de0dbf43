package clock

import "github.com/zeroframe/zeroframe/arch"

// second is one second in the unit of all times here.
const second = 1_000_000_000

// scale multiplies by a fraction without dividing: by mult / 2^shift. The fraction is as exact as
// 64 bits allow and never above the true one, so a time in nanoseconds is at most 1 below the exact
// one, rounded down, and never above it.
type scale struct {
	mult  uint64
	shift uint
}

// ratio returns num/den as a scale. den is not 0 and num/den less than 2^63.
func ratio(num, den uint64) scale {
	shift := uint(64)
	for num>>(64-shift) >= den {
		shift--
	}
	mult, _ := arch.Div64(num>>(64-shift), num<<shift, den)
	return scale{mult, shift}
}

// of returns v times the fraction, rounded down. The result must fit in 64 bits.
func (s scale) of(v uint64) uint64 {
	hi, lo := arch.Mul64(v, s.mult)
	// shift is 1 to 64; the mask saves the compiler a check for more.
	return hi<<((64-s.shift)&63) | lo>>1>>((s.shift-1)&63)
}
