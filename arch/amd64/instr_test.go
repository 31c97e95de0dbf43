package amd64

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// TestMulDiv compares with package math/bits.
func TestMulDiv(t *testing.T) {
	edges := []uint64{0, 1, 2, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for i := range 10000 {
		a, b, den := rand.Uint64(), rand.Uint64(), rand.Uint64()>>rand.IntN(64)
		if i < len(edges)*len(edges) {
			a, b = edges[i%len(edges)], edges[i/len(edges)]
		}
		hi, lo := Mul64(a, b)
		if wantHi, wantLo := bits.Mul64(a, b); hi != wantHi || lo != wantLo {
			t.Fatalf("Mul64(%#x, %#x) = %#x, %#x; want %#x, %#x", a, b, hi, lo, wantHi, wantLo)
		}
		if hi >= den {
			continue
		}
		quo, rem := Div64(hi, lo, den)
		if wantQuo, wantRem := bits.Div64(hi, lo, den); quo != wantQuo || rem != wantRem {
			t.Fatalf("Div64(%#x, %#x, %#x) = %#x, %#x; want %#x, %#x", hi, lo, den, quo, rem, wantQuo, wantRem)
		}
	}
}
