package tracer

import "testing"

// TestDecodeBoundsCheck tests every value that the compiler can write, encoded here after the table
// in internal/abi/bounds.go.
func TestDecodeBoundsCheck(t *testing.T) {
	n := 0
	for code := range int(numBoundsCodes) {
		for x := range 2*2*16 + 32 { // unsigned and signed registers, then constants
			for y := range 16 + 32 {
				want := BoundsCheck{Code: BoundsCode(code)}
				bits := 0
				if x < 32 {
					want.XIsReg, want.Signed, want.X = true, x&1 != 0, uint8(x>>1)
					bits |= 1 | x<<2
				} else {
					want.X = uint8(x % 32)
					bits |= x % 32 << 2
				}
				if y < 16 {
					want.YIsReg, want.Y = true, uint8(y)
					bits |= 2 | y<<7
				} else {
					want.Y = uint8(y - 16)
					bits |= (y - 16) << 7
				}
				v := int32(bits*int(numBoundsCodes) + code)
				if got, ok := DecodeBoundsCheck(v); !ok || got != want {
					t.Fatalf("DecodeBoundsCheck(%d) = %+v, %t; want %+v", v, got, ok, want)
				}
				n++
			}
		}
	}
	t.Logf("%d values", n)
	for _, v := range []int32{-1, -1 << 31, 1<<31 - 1, (2 | 16<<7) * 9, 32 << 7 * 9} {
		if c, ok := DecodeBoundsCheck(v); ok {
			t.Errorf("DecodeBoundsCheck(%d) = %+v; want none", v, c)
		}
	}
}
