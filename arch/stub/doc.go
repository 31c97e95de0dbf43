//go:build stub

// In this folder, package arch is a CPU and a board that have only the names of the list in
// arch/doc.go, with bodies that panic. A test builds the kernel with these files in place of arch's
// own, which shows that the kernel needs nothing else.
//
//	types.go  types and constants
//	cpu.go    the CPU's names
//	board.go  the board's names
package arch

const stub = "a stub runs"
