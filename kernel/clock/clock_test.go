package clock

import (
	"math/big"
	"math/rand"
	"testing"
)

// exactly returns v*num/den, rounded down, computed with big numbers.
func exactly(v, num, den uint64) *big.Int {
	b := new(big.Int).SetUint64(v)
	b.Mul(b, new(big.Int).SetUint64(num))
	return b.Div(b, new(big.Int).SetUint64(den))
}

var frequencies = []uint64{10_000_000, 24_000_000, 999_999_999, 1_000_000_000, 1_000_000_001, 1_193_182_000, 2_596_153_633, 1 << 32, 20_000_000_000}

// TestScale compares with big numbers: never above, at most 1 below, and never
// going back.
func TestScale(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, hz := range frequencies {
		for _, f := range [][2]uint64{{second, hz}, {hz, second}, {1_193_182, hz}} {
			s := ratio(f[0], f[1])
			last, lastV := uint64(0), uint64(0)
			check := func(v uint64) {
				want := exactly(v, f[0], f[1])
				got := s.of(v)
				below := new(big.Int).Sub(want, new(big.Int).SetUint64(got))
				if below.Sign() < 0 || below.Cmp(big.NewInt(1)) > 0 {
					t.Fatalf("%d * %d / %d = %d; want %d or one less", v, f[0], f[1], got, want)
				}
				if v >= lastV && got < last {
					t.Fatalf("%d after %d goes back from %d to %d", v, lastV, last, got)
				}
				last, lastV = got, v
			}
			// 2^57 ticks are 83 days at 20 GHz; the product fits for all.
			for v := uint64(0); v < 10_000; v++ {
				check(v)
			}
			for i := 0; i < 10_000; i++ {
				v := r.Uint64() >> (7 + r.Intn(50))
				check(v)
				check(v + 1)
			}
		}
	}
}

// TestSameUnit: at 1 GHz, a tick is a nanosecond, exactly.
func TestSameUnit(t *testing.T) {
	s := ratio(second, 1_000_000_000)
	for _, v := range []uint64{0, 1, 1 << 32, 1<<63 + 12345, 1<<64 - 1} {
		if got := s.of(v); got != v {
			t.Errorf("%d ticks at 1 GHz are %d ns", v, got)
		}
	}
}

// TestNotEarly: after the ticks of a shot, by an exact clock, the deadline has come;
// and not more than three ticks late.
func TestNotEarly(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for _, hz := range frequencies {
		nanos, ticks := ratio(second, hz), ratio(hz, second)
		for i := 0; i < 20_000; i++ {
			tsc := r.Uint64() >> (7 + r.Intn(50))
			now := nanos.of(tsc)
			deadline := now + uint64(r.Int63())>>(22+r.Intn(40))
			n := shotTicks(ticks, untilAt(deadline, now), 1<<63)
			if got := nanos.of(tsc + n); got < deadline && deadline-now <= longest {
				t.Fatalf("%d Hz: at %d for %d, a shot of %d ticks ends at %d", hz, tsc, deadline, n, got)
			}
			if n > 3 && deadline-now <= longest && nanos.of(tsc+n-4) > deadline {
				t.Fatalf("%d Hz: at %d for %d, a shot of %d ticks is late", hz, tsc, deadline, n)
			}
		}
	}
}

func TestShotTicks(t *testing.T) {
	s := ratio(1_000_000_000, second)
	for _, tt := range []struct{ deadline, now, max, want uint64 }{
		{0, 0, 100, 1},
		{5, 10, 100, 1},
		{Never - 1, 0, 1<<32 - 1, 1<<32 - 1},
		{Never - 1, 0, 1 << 63, longest + 2},
		{1000, 0, 65535, 1002},
	} {
		if got := shotTicks(s, untilAt(tt.deadline, tt.now), tt.max); got != tt.want {
			t.Errorf("ticks to %d from %d, at most %d = %d; want %d", tt.deadline, tt.now, tt.max, got, tt.want)
		}
	}
}
