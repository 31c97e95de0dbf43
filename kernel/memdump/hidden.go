package memdump

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/secret"
)

// What the program has marked as secret, by physical addresses. It reads as zeros, because all
// reading goes through one function (read).

// maxHidden has room for one more piece than pages for each range.
const maxHidden = secret.MaxBytes/arch.PageSize + 2*secret.MaxRanges

// A piece is part of a secret range, within one page.
type piece struct{ lo, hi uintptr }

// numHidden is the number of entries in use of room.hidden; hiddenBytes is their size. Panic path
// only.
var (
	numHidden   int
	hiddenBytes uint32
)

// findHidden collects the pieces.
func findHidden() {
	numHidden, hiddenBytes = 0, 0
	hidden := &space().hidden
	for i := 0; ; i++ {
		lo, hi, ok := secret.Range(i)
		if !ok {
			return
		}
		for lo < hi {
			end := min(hi, lo&^(arch.PageSize-1)+arch.PageSize)
			if f, _ := physical(lo); f != 0 && numHidden < maxHidden {
				f += lo & (arch.PageSize - 1)
				hidden[numHidden].lo, hidden[numHidden].hi = f, f+end-lo
				numHidden++
				hiddenBytes += uint32(end - lo)
			}
			lo = end
		}
	}
}

// hide clears the secret bytes in a copy of the memory at from.
func hide(b []byte, from uintptr) {
	for i := 0; i < numHidden; i++ {
		h := space().hidden[i]
		for a := max(h.lo, from); a < min(h.hi, from+uintptr(len(b))); a++ {
			b[a-from] = 0
		}
	}
}
