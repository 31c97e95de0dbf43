package amd64

import "unsafe"

// What the kernel needs in order to die is stored twice: its code, and the variables that are set
// once at boot. A fatal trap first restores whatever has changed. The entry code does so, too, for
// an invalid opcode, and for traps that are nested too deeply to be right, because then the path to
// the fatal trap may be broken.

// A kept is memory that is stored twice: its address, its size and the address of the copy.
type kept struct{ at, size, copy uintptr }

// maxKept is the largest number of pieces: keptPerCPU for each CPU, for this package and the record
// that contains its CPU.
const (
	maxKept    = 256 + keptPerCPU*MaxCPUs
	keptPerCPU = 6
)

// The pieces that Keep was given. Set once at boot.
var (
	keptRows [maxKept]kept
	numKept  int
)

// Keep adds size bytes at p to what [SaveKept] copies. It returns false if there is no room for it.
// Early context.
//
//go:noinline
func Keep(p unsafe.Pointer, size uintptr) bool {
	if numKept == maxKept {
		return false
	}
	keptRows[numKept] = kept{at: uintptr(p), size: size}
	numKept++
	return true
}

// KeepVar adds the variable at p.
func KeepVar[T any](p *T) { Keep(unsafe.Pointer(p), unsafe.Sizeof(*p)) }

// KeepCPU adds this package's own variables.
func KeepCPU() {
	c := ThisCPU()
	KeepVar(&direct)
	KeepVar(&trapMark)
	KeepVar(&vectorIST)
	KeepVar(&hasFSGSBASE)
	KeepVar(&syscallHandler)
	KeepVar(&xsaveMask)
	KeepVar(&xsaveSize)
	KeepVar(&rightCR4)
	KeepVar(&branches)
	KeepVar(&branchMSR)
	KeepVar(&branchOn)
	KeepVar(&branchOff)
	// Other CPUs' are set later.
	KeepVar(&c.tablesLocked)
}

// Keep adds what the CPU's own code needs of its record. Call it once the CPU has started. Early
// context.
func (c *CPU) Keep() {
	KeepVar(&c.self)
	if c.syscallTop != 0 {
		Keep(unsafe.Pointer(&c.syscallTop), 2*unsafe.Sizeof(c.syscallTop)) // and its guard
	}
	// All but the bounds of the stack.
	Keep(unsafe.Pointer(&c.g[4]), unsafe.Sizeof(c.g)-4*unsafe.Sizeof(c.g[4]))
}

// KeptSize returns the room in bytes that SaveKept needs.
func KeptSize() uintptr {
	n := uintptr(numKept) * unsafe.Sizeof(kept{})
	for i := range keptRows[:numKept] {
		n += (keptRows[i].size + 7) &^ 7
	}
	return n
}

// SaveKept copies everything that Keep was given to room, which must then be made read-only. If all
// is lost, giveUp, a top-level function, is called. Early and kernel context.
func SaveKept(room uintptr, giveUp func()) {
	rows := unsafe.Slice((*kept)(Pointer(room)), numKept)
	next := room + uintptr(numKept)*unsafe.Sizeof(kept{})
	for i := range rows {
		r := keptRows[i]
		r.copy = next
		n := uintptr(0)
		for ; n+32 <= r.size; n += 32 { // assigning arrays would call the runtime's memmove
			to, from := (*[4]uint64)(Pointer(next+n)), (*[4]uint64)(Pointer(r.at+n))
			to[0], to[1], to[2], to[3] = from[0], from[1], from[2], from[3]
		}
		for ; n < r.size; n++ {
			*(*byte)(Pointer(next + n)) = *(*byte)(Pointer(r.at + n))
		}
		next += (r.size + 7) &^ 7
		rows[i] = r
	}
	c := ThisCPU()
	t := c.tables()
	cr0 := c.openTables()
	t.giveUp = EntryOf(giveUp)
	t.kept, t.numKept = room, uintptr(numKept)
	c.closeTables(cr0)
}

// RestoreKept restores what SaveKept copied, where it has changed. It returns the number of words
// restored since the last call, including those that the entry code restored, and the address of
// the first. Early and kernel context.
func RestoreKept() (words, first uintptr) {
	restoreKept()
	c := ThisCPU()
	words, first = c.restored, c.restoredAt
	c.restored = 0
	return words, first
}

func restoreKept()

// patchKept also changes the byte in the copy of the code at addr.
func patchKept(addr uintptr, b byte) {
	t := ThisCPU().tables()
	if t.numKept == 0 {
		return
	}
	for _, r := range unsafe.Slice((*kept)(Pointer(t.kept)), t.numKept) {
		if addr-r.at < r.size {
			*(*byte)(Pointer(r.copy + addr - r.at)) = b
		}
	}
}
