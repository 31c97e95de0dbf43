// Package stacks computes how deep a program's stack can get below a function,
// from the code itself: the stack pointer at each instruction and who calls whom.
//
//	New              a program, with the notes on it
//	Program.Bound    the worst case below one entry (bound.go)
//	Program.Stacks   the same for each of the kernel's stacks (kernel.go)
//	Notes            what the code does not tell (notes.go, kernel.txt)
//
// The depth at an instruction comes from Go's pcsp table, from call frame
// information (.eh_frame, .debug_frame) and, in assembly, from what the instructions
// do to SP (frame.go, sp.go). A call takes the depth at the call, 8 bytes for the
// return address and what the function called takes; a jump to another function takes
// no 8 bytes. The bound of a function is the largest sum along any way. It is a bound,
// not a guess: where the code does not prove one, there is none, and the reason is
// named:
//
//	recursion                 unless a note bounds it (depth)
//	an indirect call          unless a note says whom it calls (calls)
//	SP loaded with a value    unless a note says that the function goes on to another
//	                          stack (leaves)
//	a variable frame          alloca, arrays of variable length
//
// It knows the 64-bit x86 only. It may import tools/symbol, tools/symbol/code and
// tools/symbol/unwind. Context: the host. ELF files may be damaged or hostile: time and
// memory are bounded by their size.
//
// In the order of reading:
//
//	program.go  a program whose stacks are bounded
//	frame.go    a function, as far as stacks are concerned
//	sp.go       where SP is, from the instructions
//	notes.go    what the code alone does not tell
//	bound.go    the deepest way through the calls
//	kernel.go   the kernel's stacks
package stacks
