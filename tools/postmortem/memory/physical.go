package memory

import (
	"cmp"
	"errors"
	"slices"
)

// PageSize is the smallest size of a page, in bytes.
const PageSize = 4096

// Physical is memory by physical addresses.
type Physical interface {
	// ReadPhysical fills p from the address. ErrNotRAM is returned if not all of it is there.
	ReadPhysical(p []byte, addr uint64) error
	// Blocks returns where there is RAM, in ascending order, without overlaps.
	Blocks() []Block
}

// Block is RAM without a gap: Size bytes from the physical address Start.
type Block struct{ Start, Size uint64 }

// End is the address behind it.
func (b Block) End() uint64 { return b.Start + b.Size }

// Union sorts blocks, and returns them with those that touch or overlap as one.
func Union(all []Block) (union []Block) {
	slices.SortFunc(all, func(a, b Block) int { return cmp.Compare(a.Start, b.Start) })
	for _, b := range all {
		if n := len(union) - 1; n >= 0 && b.Start <= union[n].End() {
			union[n].Size = max(union[n].End(), b.End()) - union[n].Start
		} else {
			union = append(union, b)
		}
	}
	return union
}

// ErrNotRAM is returned for physical addresses where there is no RAM, or none that is known.
var ErrNotRAM = errors.New("no RAM there")

// CPU is a processor's registers, by the names that the x86-64 manuals have in small letters: rip,
// rsp, rflags, cs, fs_base, gs_base, cr0, cr2, cr3, cr4. One that is not known is not there.
type CPU map[string]uint64

// Source is a machine, stopped, whose memory is to be copied.
type Source interface {
	// CPUs returns the registers of each processor, none if they are not known.
	CPUs() []CPU
	// Blocks returns where there is RAM.
	Blocks() []Block
	// Copy gives all RAM to put, in pieces; zeros may be left out. It ends with the first error of
	// put.
	Copy(put func(addr uint64, data []byte) error) error
}
