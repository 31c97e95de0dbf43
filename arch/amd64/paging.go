package amd64

// Page-table entries of 4-level paging (SDM Vol. 3A, 4.5).

// Sizes of pages, in bytes.
const (
	PageSize  = 4 << 10
	PageSize2 = 2 << 20
)

// Bits of an entry.
const (
	PTEPresent  = 1 << 0
	PTEWrite    = 1 << 1
	PTEUncached = 1<<3 | 1<<4 // write-through and cache-disable: UC
	PTEDirty    = 1 << 6      // set by the CPU at a write
	PTELarge    = 1 << 7      // a 2 MiB page, in a page directory
	PTENoExec   = 1 << 63
	PTEAddr     = 0x000f_ffff_ffff_f000
)

// Bits of a page fault's error code (SDM Vol. 3A, figure 4-12).
const (
	PFPresent = 1 << 0 // a protection violation, else a page that is not present
	PFWrite   = 1 << 1
	PFFetch   = 1 << 4
)

// pfReserved is set if a reserved bit of an entry is.
const pfReserved = 1 << 3

// DirectMap is the start of the kernel's map of physical memory: RAM, and the registers of devices
// in use, each byte at its physical address plus this. A program runs with the kernel's rights, so
// the map is where no wild pointer is likely to point: in the upper half, where no program has
// memory, and at neither its start nor that of a page table's range. It has room for MaxPhysical
// bytes.
const (
	DirectMap   = 0xffff_8e53_4000_0000
	MaxPhysical = 112 << 40
)

// direct is DirectMap on the machine, where the entry code of package boot sets it, and 0 in a
// process. Set once at boot.
var direct uintptr

// Virtual returns the address in the direct map of a physical address. Any context.
func Virtual(physical uintptr) uintptr { return physical + direct }

// Physical returns the physical address of an address in the direct map, or in the image, which
// lies at its physical addresses. Any context.
func Physical(virtual uintptr) uintptr {
	if virtual >= direct {
		return virtual - direct
	}
	return virtual
}

// Allows reports whether an entry of the last level allows the access that caused a page fault with
// that error code.
func Allows(entry uint64, code uintptr) bool {
	return entry&PTEPresent != 0 && code&pfReserved == 0 &&
		(code&PFWrite == 0 || entry&PTEWrite != 0) && (code&PFFetch == 0 || entry&PTENoExec == 0)
}
