package core

// Memory that the program has and never touched. The kernel gives it a page when it is touched;
// until then it is zeros, and in no page table. A debugger that finds nothing there says that it
// cannot read it, as of a slice that was made and not written to. So such memory gets segments,
// too: of a hole of the file that they share.

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
)

const (
	areaType = "kernel/mem.spaceArea"

	mostAreas = 4096
	mostZeros = 1024     // segments of zeros
	zerosSize = 64 << 20 // of one of them at most
)

// area is a piece of the program's address space, from lo up to hi, where what is not mapped is
// zeros.
type area struct{ lo, hi uint64 }

// areas reads them from the kernel's table, in the order of their addresses.
func (r *variables) areas() (all []area) {
	size := uint64(0)
	if t := r.types[areaType]; t != nil {
		size = uint64(max(t.ByteSize, 0))
	}
	n := min(r.word(r.variable("kernel/mem.numAreas"), 8), mostAreas)
	b := r.bytes(r.variable("kernel/mem.areas"), n*size)
	get := func(i uint64, field string) uint64 {
		off, width := r.at(i*size, areaType, field)
		var w [8]byte
		if off+width <= uint64(len(b)) {
			copy(w[:], b[off:off+min(width, 8)])
		}
		return binary.LittleEndian.Uint64(w[:])
	}
	const readOrWrite = 3
	last := uint64(0)
	for i := range n {
		a := area{get(i, "lo"), get(i, "hi")}
		if r.err != nil || a.lo < last || a.hi <= a.lo || (a.lo|a.hi)%memory.PageSize != 0 {
			return all
		}
		last = a.hi
		if get(i, "file") == 0 && get(i, "prot")&readOrWrite != 0 {
			all = append(all, a)
		}
	}
	return all
}

// untouched returns what of areas is not mapped, the largest pieces first, and how large the
// largest is.
func untouched(space *memory.Space, all []area) (gaps []memory.Run, most uint64, err error) {
	add := func(lo, hi uint64) {
		for lo < hi {
			n := min(hi-lo, zerosSize)
			gaps = append(gaps, memory.Run{Virtual: lo, Size: n, Write: true})
			lo, most = lo+n, max(most, n)
			if len(gaps) == 2*mostZeros { // so much is not kept
				gaps = largest(gaps)
			}
		}
	}
	err = space.Walk(func(r memory.Run) error {
		for len(all) > 0 && all[0].hi <= r.Virtual {
			add(all[0].lo, all[0].hi)
			all = all[1:]
		}
		for end := r.Virtual + r.Size; len(all) > 0 && all[0].lo < end; {
			a := &all[0]
			if a.lo < r.Virtual {
				add(a.lo, r.Virtual)
			}
			if a.lo = max(a.lo, end); a.lo < a.hi {
				break
			}
			all = all[1:]
		}
		return nil
	})
	for _, a := range all {
		add(a.lo, a.hi)
	}
	return largest(gaps), most, err
}

// largest returns the mostZeros largest.
func largest(gaps []memory.Run) []memory.Run {
	slices.SortStableFunc(gaps, func(a, b memory.Run) int { return cmp.Compare(b.Size, a.Size) })
	return gaps[:min(len(gaps), mostZeros)]
}

// zeros adds segments of zeros.
func (f *fullFile) zeros(gaps []memory.Run, size uint64) {
	if len(gaps) == 0 {
		return
	}
	slices.SortFunc(gaps, func(a, b memory.Run) int { return cmp.Compare(a.Virtual, b.Virtual) })
	for _, g := range gaps {
		f.prog(g, f.end)
	}
	f.end += int64(size)
}
