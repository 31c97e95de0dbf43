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
