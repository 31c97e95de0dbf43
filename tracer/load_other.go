//go:build !amd64

package tracer

import "unsafe"

// Other CPUs use the loop in records.go and read memory as Go does: a fault is a fault of the
// program. Zeroframe itself runs on amd64; this is for the host.

const haveChase = false

func chase(c *chaser, out unsafe.Pointer, max uintptr) {}

func capture(c *Capture, fp uintptr) { captureSlow(c, fp) }

func pack(p *Packed) { packSlow(p) }

func recapture(c *Capture) (unchanged bool) {
	fp := c.first
	for i := range c.Records[:c.N] {
		r := &c.Records[i]
		if next, ok := ReadWord(fp); !ok || next != r.FP {
			return false
		}
		if ra, ok := ReadWord(fp + 8); !ok || ra != r.RA {
			return false
		}
		fp = r.FP
	}
	return true
}

// ReadWord reads the 8-byte word at addr, which must be mapped.
func ReadWord(addr uintptr) (word uintptr, ok bool) {
	return *(*uintptr)(pointer(addr)), true
}

// Fixup returns 0: there are no loads to fix up on this CPU.
func Fixup(pc uintptr) (resume uintptr) { return 0 }
