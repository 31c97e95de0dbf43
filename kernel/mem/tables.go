package mem

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
)

// The page tables. The image is mapped at its physical addresses, with the rights of its program
// headers, except guard pages. All usable RAM is mapped in the direct map (arch.Virtual), writable
// except for the image's read-only part, not executable, in pages of 2 MiB where nothing needs
// smaller ones; page 0 is left out. Nothing else is mapped until someone asks for it (MapDevice;
// the program), so a stray pointer faults.
//
// Frames for the tables come from the RAM after the image, from low to high, until Release hands
// all RAM to the frame allocator. They are never freed.

// Segment is a part of the loaded image: Lo <= address < Hi.
type Segment struct {
	Lo, Hi      uintptr
	Write, Exec bool
}

var (
	root     uintptr // physical address of the PML4; set once at boot
	nextPage uintptr // physical address of the next free frame for tables; under the kernel lock
	endPage  uintptr // end of the usable region it is in; under the kernel lock

	noExec   uint64 // PTENoExec, or 0 on a CPU without it; set once at boot
	total    uint64 // bytes of usable RAM; set once at boot
	highest  uint64 // end of the highest usable region; set once at boot
	problem  bool   // frames ran out; under the kernel lock
	newTable uint64 // bytes of tables; under the kernel lock

	segments    [maxSegments]Segment // the image's; set once at boot
	numSegments int                  // set once at boot
)

const maxSegments = 8

// Errors of Init, as text: there is no runtime to make error values.
const (
	errNoMap    = "the loader gave no memory map"
	errNoRegion = "the memory behind the kernel's image is not usable RAM: give the machine more (QEMU: -m)"
	errFull     = "not enough RAM behind the kernel's image for page tables: give the machine more (QEMU: -m)"
)

// lowMemory is the first MiB, where BIOS, loader and video memory lie. The direct map contains all
// of it except page 0.
const lowMemory = 1 << 20

// Init builds the tables from the loader's memory map and the image's segments (in ascending
// order), and switches to them. imageEnd is the end of the image's memory. It returns "", or what
// was wrong. Early context, once.
func Init(regions []boot.Region, image []Segment, imageEnd uintptr) (wrong string) {
	if len(regions) == 0 {
		return errNoMap
	}
	keepRAM(regions)
	nextPage, endPage = tablesRoom(pageUp(imageEnd))
	if endPage <= nextPage {
		return errNoRegion
	}
	// The first tables map 4 GiB: frames must come from below.
	if endPage > 4<<30 {
		endPage = 4 << 30
	}
	if arch.EnableNoExec() {
		noExec = arch.PTENoExec
	}

	root = arch.Physical(frame())
	mapDirect(arch.PageSize, lowMemory, arch.PTEWrite|noExec)
	for i := range ram[:numRAM] {
		mapDirect(max(ram[i].lo, lowMemory), ram[i].hi, arch.PTEWrite|noExec)
	}
	for i := range image {
		s := &image[i]
		if numSegments < maxSegments {
			segments[numSegments] = *s
			numSegments++
		}
		flags := uint64(0)
		if s.Write {
			flags |= arch.PTEWrite
		}
		mapDirect(pageDown(s.Lo), pageUp(s.Hi), flags|noExec)
		if !s.Exec {
			flags |= noExec
		}
		mapRange(pageDown(s.Lo), pageUp(s.Hi), pageDown(s.Lo), flags)
	}
	if problem {
		return errFull
	}
	arch.UseTables(root)
	spaceLo = pageUp(imageEnd)
	return ""
}

// UseTables makes the running CPU use the tables, if it did not call Init itself, or drop its
// cached entries. Early and kernel context.
func UseTables() {
	arch.EnableNoExec()
	arch.UseTables(root)
}

// KeepRoot stores a second copy of where the page tables begin (arch.Keep). Early context.
func KeepRoot() {
	arch.KeepVar(&root)
	arch.KeepVar(&noExec)
	arch.KeepVar(&spaceLo)
}

// tablesRoom returns the RAM after the image, which ends at next, in which tables can lie: up to
// the end of the region, or to a kept range.
func tablesRoom(next uintptr) (lo, hi uintptr) {
	// Skip kept ranges that are too close after the image, or after one another.
	for i := 0; i < numKept; i++ {
		if k := &kept[i]; k.hi > next && k.lo < next+tableRoom {
			next, i = k.hi, -1
		}
	}
	for i := range ram[:numRAM] {
		if m := &ram[i]; next >= m.lo && next < m.hi {
			hi = m.hi
		}
	}
	for i := range kept[:numKept] {
		if k := &kept[i]; k.lo >= next {
			hi = min(hi, k.lo)
		}
	}
	return next, hi
}

// Keep reserves RAM that the loader has used. It returns false if there are more than
// boot.MaxModules ranges. Early context, before Init.
func Keep(lo, hi uintptr) bool {
	if numKept == boot.MaxModules || hi < lo {
		return false
	}
	kept[numKept] = frameRange{pageDown(lo), pageUp(hi)}
	numKept++
	return true
}

// tableRoom is the amount of RAM in one piece that the tables are sure to find.
const tableRoom = 4 << 20

var (
	kept    [boot.MaxModules + 2]frameRange // the reserved ranges, and the image; set once at boot
	numKept int                             // set once at boot
)

// Release gives all RAM above 1 MiB to the frame allocator, except the image, the tables and what
// Keep has reserved. From then on frames for tables come from the allocator, too. Early context,
// once.
func Release(imageLo uintptr) {
	kept[numKept] = frameRange{pageDown(imageLo), nextPage}
	numKept++
	for i := range ram[:numRAM] {
		releaseRange(max(ram[i].lo, lowMemory), ram[i].hi)
	}
	useNear()
	endPage = nextPage
	released = true
}

// releaseRange adds the parts of lo <= address < hi that are not kept.
func releaseRange(lo, hi uintptr) {
	for lo < hi {
		// The lowest kept range that ends above lo.
		at, end := hi, hi
		for i := range kept[:numKept] {
			if k := &kept[i]; k.hi > lo && k.lo < at {
				at, end = max(k.lo, lo), k.hi
			}
		}
		AddFrames(lo, at)
		lo = end
	}
}

// released is set when frames for tables come from the frame allocator. Set once at boot.
var released bool

// Total returns the bytes of usable RAM in the loader's map; overlaps count once.
func Total() uint64 { return total }

// ImageSegment returns segment number i of the loaded image, by address; ok is false after the
// last. Any context.
func ImageSegment(i int) (s Segment, ok bool) {
	if i >= numSegments {
		return s, false
	}
	return segments[i], true
}

// Highest returns the address just above the highest usable RAM.
func Highest() uint64 { return highest }

// TableBytes returns the size of the page tables in bytes.
func TableBytes() uint64 { return newTable }

// NoExec reports whether data cannot be executed on this CPU.
func NoExec() bool { return noExec != 0 }

// Unmap removes the mapping of the page that holds addr; an access to it is a
// page fault from then on. It returns false if frames for tables have run out.
func Unmap(addr uintptr) bool {
	addr &^= arch.PageSize - 1
	e := entry(addr)
	if e == 0 {
		return false
	}
	*at(e) = 0
	arch.FlushPage(addr)
	return true
}

// ReadOnly makes the pages of lo <= address < hi read-only. It returns false if one of them has no
// 4 KiB entry. Early and kernel context.
func ReadOnly(lo, hi uintptr) bool {
	for a := lo; a < hi; a += arch.PageSize {
		e := entry(a)
		if e == 0 {
			return false
		}
		*at(e) &^= arch.PTEWrite
		arch.FlushPage(a)
	}
	return true
}

// MapDevice maps the pages of the size bytes of a device's registers at a physical address,
// uncached, and returns their address in the direct map. It returns 0 if frames for tables have run
// out, for page 0, and for addresses beyond the direct map. Early and kernel context.
func MapDevice(physical, size uintptr) (registers uintptr) {
	if physical < arch.PageSize || physical > arch.MaxPhysical || size > arch.MaxPhysical-physical {
		return 0
	}
	mapDirect(pageDown(physical), pageUp(physical+size), arch.PTEWrite|arch.PTEUncached|noExec)
	if problem {
		return 0
	}
	return arch.Virtual(physical)
}

// Mapped returns the page-table entry that maps addr, or 0. A 2 MiB page's
// entry has PTELarge.
func Mapped(addr uintptr) uint64 {
	e, _ := lookUp(addr)
	return e
}

// lookUp returns the entry that maps addr, or 0, and the size of the range that an entry on that
// level maps.
func lookUp(addr uintptr) (entry uint64, size uintptr) {
	t := root
	for level := 3; ; level-- {
		size = 1 << (12 + 9*uint(level))
		e := *at(slot(t, addr, level))
		if e&arch.PTEPresent == 0 {
			return 0, size
		}
		if level == 0 || e&arch.PTELarge != 0 {
			return e, size
		}
		t = uintptr(e & arch.PTEAddr)
	}
}

// mapDirect is mapRange for lo <= physical address < hi in the direct map.
func mapDirect(lo, hi uintptr, flags uint64) {
	mapRange(arch.Virtual(lo), arch.Virtual(hi), lo, flags)
}

// mapRange maps lo <= address < hi to the physical addresses from physical on, all page-aligned,
// and replaces existing mappings.
func mapRange(lo, hi, physical uintptr, flags uint64) {
	for size := uintptr(0); lo < hi && !problem; lo, physical = lo+size, physical+size {
		if (lo|physical)%arch.PageSize2 == 0 && hi-lo >= arch.PageSize2 {
			if e := tableEntry(lo, 1); e != 0 && *at(e)&arch.PTEPresent == 0 {
				*at(e) = uint64(physical) | flags | arch.PTELarge | arch.PTEPresent
				size = arch.PageSize2
				continue
			}
		}
		if e := entry(lo); e != 0 {
			*at(e) = uint64(physical) | flags | arch.PTEPresent
			arch.FlushPage(lo)
		}
		size = arch.PageSize
	}
}

// entry returns the address of the 4 KiB entry for addr; it makes missing tables and splits a 2 MiB
// page. It returns 0 if frames have run out.
func entry(addr uintptr) uintptr { return tableEntry(addr, 0) }

// tableEntry is entry for any level: 0 is a page table, 3 the PML4.
func tableEntry(addr uintptr, want int) uintptr {
	t := root
	for level := 3; ; level-- {
		s := slot(t, addr, level)
		if level == want {
			return s
		}
		e := *at(s)
		switch {
		case e&arch.PTEPresent == 0:
			f := frame()
			if f == 0 {
				return 0
			}
			// Only the last level decides the rights.
			t = arch.Physical(f)
			*at(s) = uint64(t) | arch.PTEWrite | arch.PTEPresent
		case e&arch.PTELarge != 0:
			f := frame()
			if f == 0 {
				return 0
			}
			for i := range uintptr(512) {
				*at(f + i*8) = e&^arch.PTELarge + uint64(i*arch.PageSize)
			}
			t = arch.Physical(f)
			*at(s) = uint64(t) | arch.PTEWrite | arch.PTEPresent
		default:
			t = uintptr(e & arch.PTEAddr)
		}
	}
}

// slot returns the address of addr's entry in the table at the physical address t.
func slot(t, addr uintptr, level int) uintptr {
	return arch.Virtual(t + addr>>(12+9*uint(level))&511*8)
}

// frame returns the address of a zeroed page for a table, or 0.
func frame() uintptr {
	assertLocked()
	if released {
		f := Frame()
		if f != 0 {
			newTable += arch.PageSize
		}
		return f
	}
	if endPage-nextPage < arch.PageSize {
		problem = true
		return 0
	}
	f := arch.Virtual(nextPage)
	nextPage += arch.PageSize
	newTable += arch.PageSize
	for i := uintptr(0); i < arch.PageSize; i += 8 {
		*at(f + i) = 0
	}
	return f
}

func at(a uintptr) *uint64 { return (*uint64)(arch.Pointer(a)) }

// Contiguous takes size bytes of RAM in one piece from the RAM after the image, all zero,
// page-aligned, and at physical addresses below 4 GiB: memory that devices read and write. It
// returns its address in the direct map, or 0 if there is not that much. It is never freed. Early
// context, after Init and before Release.
//
//go:noinline
func Contiguous(size uintptr) uintptr {
	size = pageUp(size)
	// Half of what is left is for tables.
	if released || size > (endPage-nextPage)/2 {
		return 0
	}
	a := arch.Virtual(nextPage)
	nextPage += size
	for p := a; p < a+size; p += 64 {
		*(*[8]uint64)(arch.Pointer(p)) = [8]uint64{}
	}
	return a
}
