// Since Go 1.26 a failed bounds check is a bare call of runtime.panicBounds. No argument holds the
// two numbers; the pc tables say for each such call where they are. This file decodes that entry,
// so that a kernel that can no longer enter the runtime can still say "index 7 with length 3".
// Source: internal/abi/bounds.go of Go 1.26.

package tracer

// A BoundsCode says which kind of bounds check failed. The names and numbers are
// those of internal/abi.BoundsErrorCode.
type BoundsCode uint8

// The checks. x is the number out of bounds, y what it was compared with.
const (
	BoundsIndex      BoundsCode = iota // s[x], 0 <= x < len(s) = y failed
	BoundsSliceAlen                    // s[?:x], 0 <= x <= len(s) = y failed
	BoundsSliceAcap                    // s[?:x], 0 <= x <= cap(s) = y failed
	BoundsSliceB                       // s[x:y], 0 <= x <= y failed
	BoundsSlice3Alen                   // s[?:?:x], 0 <= x <= len(s) = y failed
	BoundsSlice3Acap                   // s[?:?:x], 0 <= x <= cap(s) = y failed
	BoundsSlice3B                      // s[?:x:y], 0 <= x <= y failed
	BoundsSlice3C                      // s[x:y:?], 0 <= x <= y failed
	BoundsConvert                      // (*[x]T)(s), x <= len(s) = y failed
	numBoundsCodes
)

// A BoundsCheck says which numbers a failed bounds check compared and where they are. A register is
// named by its hardware number (on amd64: AX 0, CX 1, DX 2, BX 3, SP 4, BP 5, SI 6, DI 7, R8 8 to
// R15 15) and holds the number at the call of runtime.panicBounds. Any context.
type BoundsCheck struct {
	Code   BoundsCode
	Signed bool  // x is a signed number; only set if it is in a register
	XIsReg bool  // X is a register's number, otherwise x itself
	YIsReg bool  // Y is a register's number, otherwise y itself
	X      uint8 // 0 to 15 for a register, 0 to 31 for a constant
	Y      uint8 // likewise
}

// DecodeBoundsCheck decodes v, the value of PCDataPanicBounds at the call of runtime.panicBounds
// (its return address - 1). ok is false if v is not such a value. Any context.
func DecodeBoundsCheck(v int32) (c BoundsCheck, ok bool) {
	if v < 0 {
		return BoundsCheck{}, false // -1: not the call of a bounds check
	}
	c.Code = BoundsCode(uint32(v) % uint32(numBoundsCodes))
	// From bit 0: x is a register, y is a register, then 5 bits of x, whose lowest bit says
	// "signed" if x is a register, then y.
	bits := uint32(v) / uint32(numBoundsCodes)
	c.XIsReg = bits&1 != 0
	c.YIsReg = bits&2 != 0
	c.X = uint8(bits >> 2 & 31)
	if c.XIsReg {
		c.Signed = c.X&1 != 0
		c.X >>= 1
	}
	y := bits >> 7
	if y > 31 || c.YIsReg && y > 15 {
		return BoundsCheck{}, false
	}
	c.Y = uint8(y)
	return c, true
}
