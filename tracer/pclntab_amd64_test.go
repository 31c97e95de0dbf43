package tracer

import (
	"reflect"
	"testing"
)

//go:noinline
func indexes(s []int, i int) int { return s[i] }

//go:noinline
func slices3(s []byte, i uint) []byte { return s[7:i:9] }

// TestPanicBounds decodes the bounds checks of two functions whose arguments are in the Go ABI's
// registers: AX, BX, CX hold s, DI holds i.
func TestPanicBounds(t *testing.T) {
	const bx, cx, di = 3, 1, 7
	tab, _ := ownTable(t)
	for _, tt := range []struct {
		fn   any
		want []BoundsCheck
	}{
		{indexes, []BoundsCheck{{Code: BoundsIndex, Signed: true, XIsReg: true, X: di, YIsReg: true, Y: bx}}},
		{slices3, []BoundsCheck{
			{Code: BoundsSlice3Acap, X: 9, YIsReg: true, Y: cx},
			{Code: BoundsSlice3B, XIsReg: true, X: di, Y: 9},
			{Code: BoundsSlice3C, X: 7, YIsReg: true, Y: di},
		}},
	} {
		f, ok := tab.Find(reflect.ValueOf(tt.fn).Pointer())
		if !ok {
			t.Fatal("a function of the test is not in its table")
		}
		got := make(map[BoundsCheck]bool)
		for pc := f.Entry(); pc < f.End(); pc++ {
			if v, ok := f.PCData(PCDataPanicBounds, pc); ok && v >= 0 {
				c, ok := DecodeBoundsCheck(v)
				if !ok {
					t.Errorf("DecodeBoundsCheck(%d) = false", v)
				}
				got[c] = true
			}
		}
		for _, c := range tt.want {
			if !got[c] {
				t.Errorf("%s: bounds checks %+v; want %+v among them", f.Name(), got, c)
			}
		}
	}
}
