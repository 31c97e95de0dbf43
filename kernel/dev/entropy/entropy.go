// Package entropy makes random numbers for programs: from the CPU's own generator if it has one,
// mixed into a state, so that one bad source does not spoil the result. Kernel context, except
// where noted.
package entropy

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

var (
	state [4]uint64 // under the kernel lock
	found bool      // the CPU has a generator; set once at boot
)

// Source names the source of the randomness, for the boot report.
func Source() string {
	if found {
		return arch.RandomName()
	}
	return "none: random numbers come from the clock and can be guessed"
}

// Init looks for the CPU's generators and seeds the state. seed is anything that differs from boot
// to boot, such as the wall clock. Early context.
func Init(seed uint64) {
	found = arch.FindRandom()
	for i := range state {
		state[i] = seed ^ arch.ReadCounter()<<uint(i) ^ hardware()
		for range 16 {
			Word()
		}
	}
}

// hardware returns a number from the CPU's generator, or the counter if there is none, or if it has
// no number at the moment.
func hardware() uint64 {
	if v, ok := arch.Seed(); ok {
		return v
	}
	return arch.ReadCounter()
}

// Word returns 64 random bits: a step of xoshiro256** (Blackman and Vigna, 2018), mixed with a
// number from the CPU's generator, or from its clock.
func Word() uint64 {
	percpu.AssertLocked()
	s := &state
	result := rotl(s[1]*5, 7) * 9
	t := s[1] << 17
	s[2] ^= s[0]
	s[3] ^= s[1]
	s[1] ^= s[2]
	s[0] ^= s[3]
	s[2] ^= t
	s[3] = rotl(s[3], 45)
	if v, ok := arch.Random(); ok {
		return result ^ v
	}
	s[0] += arch.ReadCounter()
	return result
}

func rotl(v uint64, n uint) uint64 { return v<<n | v>>(64-n) }

// Key fills b with bytes for a key, and reports whether the CPU's own generator made all of them.
// It never falls back on the clock, and rejects a generator that repeats itself: RDRAND of some AMD
// processors returned all ones (systemd issue 11810). Early context, after Init.
func Key(b []byte) bool {
	last := uint64(0)
	for i := range b {
		v, ok := arch.Seed()
		if !ok || i > 0 && v == last {
			return false
		}
		last = v
		b[i] = byte(v >> 13)
	}
	return true
}
