// Package entropy makes random numbers for programs: from the CPU's own generator
// where it has one, mixed into a state, so that one bad source does not spoil the
// result. Kernel context, except where noted.
package entropy

import "github.com/zeroframe/zeroframe/arch/amd64"

var (
	state  [4]uint64
	rdrand bool
	rdseed bool
)

// Source says where the randomness comes from, for the boot report.
func Source() string {
	switch {
	case rdseed:
		return "RDSEED"
	case rdrand:
		return "RDRAND"
	}
	return "none: random numbers come from the clock and can be guessed"
}

// Init looks for the CPU's generators and seeds the state. seed is anything that
// differs from boot to boot, such as the wall clock. Early context.
func Init(seed uint64) {
	_, _, ecx, _ := amd64.CPUID(1, 0)
	rdrand = ecx&(1<<30) != 0
	if max, _, _, _ := amd64.CPUID(0, 0); max >= 7 {
		_, ebx, _, _ := amd64.CPUID(7, 0)
		rdseed = ebx&(1<<18) != 0
	}
	for i := range state {
		state[i] = seed ^ amd64.ReadTSC()<<uint(i) ^ hardware()
		for n := 0; n < 16; n++ {
			Word()
		}
	}
}

// hardware returns a number of the CPU's generator, or the time stamp counter if
// there is none, or if it has nothing to give.
func hardware() uint64 {
	for try := 0; try < 10 && rdseed; try++ {
		if v, ok := amd64.ReadSeed(); ok {
			return v
		}
		amd64.Pause()
	}
	for try := 0; try < 10 && rdrand; try++ {
		if v, ok := amd64.ReadRandom(); ok {
			return v
		}
	}
	return amd64.ReadTSC()
}

// Word returns 64 random bits: a step of xoshiro256** (Blackman and Vigna, 2018), with
// a number of the CPU's generator, or of its clock, mixed in.
func Word() uint64 {
	s := &state
	result := rotl(s[1]*5, 7) * 9
	t := s[1] << 17
	s[2] ^= s[0]
	s[3] ^= s[1]
	s[1] ^= s[2]
	s[0] ^= s[3]
	s[2] ^= t
	s[3] = rotl(s[3], 45)
	if rdrand {
		if v, ok := amd64.ReadRandom(); ok {
			return result ^ v
		}
	}
	s[0] += amd64.ReadTSC()
	return result
}

func rotl(v uint64, n uint) uint64 { return v<<n | v>>(64-n) }
