package memdump

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/tracer/dump"
)

// In RAM, over a reset (core=ram). A warm reset leaves RAM unchanged, but the next boot puts its
// image where the dead one was, and its tables after it. So the dying machine copies that memory to
// an area that was set aside for it, with a description, and a mark for each page of RAM, by which
// the next boot tells which pages are unchanged (tracer/dump/kept.go). It overwrites secrets in
// place, because the next boot does not know them.

// The area, and the number of ranges of room.saves that are copied into it. Set once at boot.
var (
	area, areaSize uintptr
	numSaves       uint32
)

// setAside takes the area. It returns what is wrong, or "". Early context, when BootEnd is close to
// its final value: memory after that is not overwritten before the next boot has sent it.
func setAside(regions []boot.Region) (wrong string) {
	size := uintptr(dump.KeptDescription)
	for i := 0; ; i++ {
		lo, hi, ok := mem.RAM(i)
		if !ok {
			break
		}
		size += (hi - lo) / arch.PageSize * 8
	}
	numSaves = 0
	end := uintptr(0)
	for i := 0; ; i++ {
		seg, ok := mem.ImageSegment(i)
		if !ok {
			break
		}
		end = seg.Hi
		if seg.Write {
			size = save(seg.Lo, seg.Hi, size)
		}
	}
	size = save(end, mem.BootEnd(), size)
	// A dump that must still be sent stays until there is a newer one.
	if area = mem.SetAside(regions, max(size, leftSize), left); area == 0 {
		return "not enough RAM in one piece for a copy of the kernel's data and a note of each page"
	}
	areaSize = max(size, leftSize)
	for i := range numSaves {
		space().saves[i%dump.MaxSaved].At += uint64(area)
	}
	return ""
}

// save notes that pages are to be copied after size bytes of the area, and returns its new size. It
// leaves out what another range already contains.
//
//go:noinline
func save(lo, hi, size uintptr) uintptr {
	lo, hi = lo&^(arch.PageSize-1), (hi+arch.PageSize-1)&^(arch.PageSize-1)
	saves := &space().saves
	if numSaves > 0 {
		lo = max(lo, uintptr(saves[(numSaves-1)%dump.MaxSaved].Hi))
	}
	if lo >= hi || numSaves == dump.MaxSaved {
		return size
	}
	size = (size + arch.PageSize - 1) &^ (arch.PageSize - 1)
	s := &saves[numSaves%dump.MaxSaved]
	s.Lo, s.Hi, s.At = uint64(lo), uint64(hi), uint64(size)
	numSaves++
	return size + hi - lo
}

// keepArea stores a second copy of where the area is (arch.Keep).
func keepArea() {
	arch.KeepVar(&area)
	arch.KeepVar(&areaSize)
	arch.KeepVar(&numSaves)
}

// keepInRAM leaves everything in RAM.
func keepInRAM() {
	began := clock.Now()
	console.FreshLine()
	console.String("core: keeping the memory in RAM for the next boot\n")
	k := keptAt(area)
	k.Clear() // there is no description until everything is there
	unhidden := hideInPlace()
	describe(k)
	n, all := uint32(0), true
	for i := uint32(0); i < k.Pages; i++ {
		*markAt(k, i) = 0
	}
	for pages.reset(); ; {
		if pages.count%256 == 0 && clock.Now()-began > limit {
			all = false
			break
		}
		f, ok := pages.next()
		if !ok {
			break
		}
		i, ok := indexOf(k, f)
		if !ok || secretIn(f, unhidden) {
			continue
		}
		if m := markPage(k, f); m != 0 {
			*markAt(k, i) = m
			n++
		}
	}
	k.Finish()
	arch.WriteBackCaches()
	console.Printf("core: %d of %d pages kept in %d ms",
		uint64(n), uint64(k.Pages), (clock.Now()-began)/1e6)
	if !all {
		console.String(": the time is over (core.time=)")
	}
	console.String("; behind a warm reset the next boot sends what is left of them\n")
}

// keptAt returns the description at a physical address.
func keptAt(at uintptr) *dump.Kept { return (*dump.Kept)(arch.Pointer(arch.Virtual(at))) }

// describe fills in a description.
func describe(k *dump.Kept) {
	k.Tries, k.Hidden, k.Size, k.Dump = 0, hiddenBytes, uint64(areaSize), number
	k.Marks = uint64(area) + dump.KeptDescription
	k.NumRAM, k.Pages = 0, 0
	for i := 0; ; i++ {
		lo, hi, ok := mem.RAM(i)
		if !ok {
			break
		}
		addRAM(k, lo, min(hi, area))
		addRAM(k, max(lo, area+areaSize), hi)
	}
	k.Highest, k.Root, k.CPUs, k.Dead = mem.Highest(), uint64(mem.Root()), numCPUs, dead
	id := image.BuildID()
	for k.ID = 0; k.ID < uint32(min(len(id), len(k.BuildID))); k.ID++ {
		k.BuildID[k.ID] = id[k.ID]
	}
	k.NumSaved = numSaves
	for i := range k.Saved {
		k.Saved[i] = space().saves[i]
	}
	for c := range numCPUs {
		k.CPU[c%dump.MaxCPUs] = space().cpus[c%dump.MaxCPUs]
	}
}

// addRAM adds a range, if it is not empty.
//
//go:noinline
func addRAM(k *dump.Kept, lo, hi uintptr) {
	if lo < hi && k.NumRAM < dump.MaxRanges {
		r := &k.RAM[k.NumRAM]
		r.Lo, r.Hi = uint64(lo), uint64(hi)
		k.NumRAM++
		k.Pages += uint32((hi - lo) / arch.PageSize)
	}
}

// indexOf returns the index of a page's mark.
//
//go:noinline
func indexOf(k *dump.Kept, f uintptr) (index uint32, ok bool) {
	for i := range min(k.NumRAM, dump.MaxRanges) {
		r := &k.RAM[i]
		if uint64(f)-r.Lo < r.Hi-r.Lo {
			return index + uint32((uint64(f)-r.Lo)/arch.PageSize), true
		}
		index += uint32((r.Hi - r.Lo) / arch.PageSize)
	}
	return 0, false
}

// markAt returns the mark at that index.
func markAt(k *dump.Kept, index uint32) *dump.Mark {
	return (*dump.Mark)(arch.Pointer(arch.Virtual(uintptr(k.Marks) + uintptr(index)*8)))
}

// markPage copies a page, if it must be copied, and returns its mark; 0 if it cannot be read.
func markPage(k *dump.Kept, f uintptr) dump.Mark {
	to, copied := k.Where(f)
	if to = arch.Virtual(to); !copied {
		to = uintptr(unsafe.Pointer(&space().buffer))
	}
	if arch.CopyUser(to, arch.Virtual(f), arch.PageSize) != 0 {
		return 0
	}
	return dump.MarkOf(pages.class, (*[arch.PageSize / 8]uint64)(arch.Pointer(to)))
}

// hideInPlace overwrites secrets with zeros, and returns the number of pieces that it could not
// write to; these are the first ones of room.hidden.
func hideInPlace() (left int) {
	hidden := &space().hidden
	for i := 0; i < numHidden; i++ {
		if h := hidden[i]; arch.FillUser(arch.Virtual(h.lo), h.hi-h.lo, 0) != 0 {
			hidden[left] = h
			left++
		}
	}
	return left
}

// secretIn reports whether one of the first n pieces of room.hidden lies in a page.
func secretIn(f uintptr, n int) bool {
	for i := range n {
		if space().hidden[i].lo&^(arch.PageSize-1) == f {
			return true
		}
	}
	return false
}

// beginRAM prepares core=ram once the previous boot's dump has been handled. Early context.
func beginRAM(regions []boot.Region) {
	if wrong := setAside(regions); wrong != "" {
		value, _ := option.Value("core")
		option.Ignored("core", value, wrong)
		chosen = off
		return
	}
	fault.OnDump(run)
}
