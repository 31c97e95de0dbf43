// Package mem is the kernel's memory: which physical memory there is, and the
// 4-level page tables that map it. Early and kernel context: no allocation but of
// page frames, globals free of pointers.
//
// In the order of reading:
//
//	frames.go         page frames
//	tables.go         the page tables
//	space.go          the program's address space
//	filemap.go        mappings of files
//	remap.go          areas that move
//	fill.go           pages that are touched for the first time, without the kernel lock
//	stale.go          what other CPUs have kept of the tables
//	dirty.go          the dirty bits, for watermarks
//	ram.go            where there is RAM, for a dump of it
//	aside.go          RAM that nothing uses, for what is to outlive a reset
//	lockcheck_on.go   asserts the kernel lock (build tag lockcheck)
//	lockcheck_off.go  does not
package mem
