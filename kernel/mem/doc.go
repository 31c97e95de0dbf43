// Package mem manages the kernel's memory: the physical memory, and the 4-level page tables that
// map it. Early and kernel context: it allocates only page frames, and its globals hold no
// pointers.
//
// In the order of reading:
//
//	frames.go         page frames
//	tables.go         the page tables
//	space.go          the program's address space
//	filemap.go        mappings of files
//	remap.go          areas that move
//	fill.go           pages that are touched for the first time, without the kernel lock
//	stale.go          table entries that other CPUs have cached
//	dirty.go          the dirty bits, for watermarks
//	ram.go            where there is RAM, for a dump of it
//	aside.go          RAM that nothing uses, for data that must survive a reset
//	lockcheck_on.go   asserts the kernel lock (build tag lockcheck)
//	lockcheck_off.go  the same without the check
package mem
