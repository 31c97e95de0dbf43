//go:build stub

// Package arch is, in this folder, a CPU and a board that have nothing but the names of the
// list in arch/doc.go, with bodies that panic. A test builds the kernel with these files in
// the place of arch's own: what they lack the kernel does not need.
//
//	types.go  types and constants
//	cpu.go    the CPU's names
//	board.go  the board's names
package arch

const stub = "a stub runs"
