package memdump

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/secret"
)

// What the program has marked as secret, by physical addresses. It is zeros wherever it is read, since
// there is one way to read (read).

// maxHidden is room for one more piece than pages on each range.
const maxHidden = secret.MaxBytes/arch.PageSize + 2*secret.MaxRanges

// A piece is one of them, which crosses no page's end.
type piece struct{ lo, hi uintptr }

// numHidden are in use of room.hidden; hiddenBytes is how much they are. Panic path only.
var (
	numHidden   int
	hiddenBytes uint32
)

// findHidden finds them.
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

// hide makes zeros of what is secret in a copy of the memory at from.
func hide(b []byte, from uintptr) {
	for i := 0; i < numHidden; i++ {
		h := space().hidden[i]
		for a := max(h.lo, from); a < min(h.hi, from+uintptr(len(b))); a++ {
			b[a-from] = 0
		}
	}
}
