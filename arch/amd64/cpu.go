package amd64

// The CPU's name and features, from CPUID (SDM Vol. 2A). Early context.

// CPUName writes the brand string, or the vendor if there is none (leaves 0x80000002 to 4 and 0),
// and returns its length.
func CPUName(to *[48]byte) (n int) {
	var words [12]uint32
	if max, _, _, _ := CPUID(0x80000000, 0); max < 0x80000004 {
		_, words[0], words[2], words[1] = CPUID(0, 0)
	} else {
		for i := range uint32(3) {
			words[4*i], words[4*i+1], words[4*i+2], words[4*i+3] = CPUID(0x80000002+i, 0)
		}
	}
	for _, v := range words {
		for ; v != 0; v >>= 8 {
			to[n] = byte(v)
			n++
		}
	}
	return n
}

// EnableNoExec makes it possible to forbid execution of pages (PTENoExec). It returns false if the
// CPU cannot do that.
func EnableNoExec() bool {
	if _, _, _, edx := CPUID(0x80000001, 0); edx&(1<<20) == 0 {
		return false
	}
	WriteMSR(MSREFER, ReadMSR(MSREFER)|EFERNoExecute)
	return true
}

// UseTables switches to the page tables with that root; their rights apply to the kernel, too.
func UseTables(root uintptr) {
	WriteCR0(ReadCR0() | CR0WriteProtect)
	WriteCR3(root)
}

// The CPU's random generators. Set once at boot.
var hasRDRAND, hasRDSEED bool

// FindRandom looks for the CPU's random generators, and reports whether there is one.
func FindRandom() bool {
	_, _, ecx, _ := CPUID(1, 0)
	hasRDRAND = ecx&(1<<30) != 0
	if max, _, _, _ := CPUID(0, 0); max >= 7 {
		_, ebx, _, _ := CPUID(7, 0)
		hasRDSEED = ebx&(1<<18) != 0
	}
	return hasRDRAND || hasRDSEED
}

// RandomName names the best generator that FindRandom found.
func RandomName() string {
	if hasRDSEED {
		return "RDSEED"
	}
	return "RDRAND"
}

// Random returns a number from the CPU's random generator; ok is false if it has none at the
// moment. Any context, after FindRandom.
func Random() (v uint64, ok bool) {
	if !hasRDRAND {
		return 0, false
	}
	return ReadRandom()
}

// Seed returns the most random number that the CPU can give: from its entropy source if it has one,
// otherwise from its generator; ok is false if neither has one at the moment. Any context, after
// FindRandom.
func Seed() (v uint64, ok bool) {
	const tries = 10
	for range tries {
		if hasRDSEED {
			if v, ok = ReadSeed(); ok {
				return v, true
			}
			Pause()
		}
	}
	for range tries {
		if v, ok = Random(); ok {
			return v, true
		}
	}
	return 0, false
}
