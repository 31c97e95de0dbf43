// Package unwind finds the callers of code that keeps no frame pointers. For an
// instruction of an ELF file it gives the rules by which the caller's registers
// are got back (a Row), and by these rules it walks a stack of which the words
// are known (Tables.Unwind).
//
// The rules come from the best source that knows the instruction:
//
//	pcsp       .gopclntab, for Go functions (gorules.go)
//	cfi        .eh_frame and .debug_frame: call frame information (package elf,
//	           program.go, expr.go)
//	prologue   the machine code from the function's start up to the instruction,
//	           where there is no table (prologue.go)
//
// Go's own .debug_frame is left aside for Go functions: it does not say where RBP
// was saved, and what it says of SP is what the pc tables say.
//
// Sources: DWARF 5, sections 6.4 (call frame information) and 2.5 (expressions);
// Linux Standard Base 5.0, "Exception Frames" (.eh_frame); System V ABI, AMD64
// supplement, figure 3.36 (register numbers) and section 3.2.1 (which registers a
// function keeps).
//
// It knows amd64 only and runs on the host only. It may import tools/symbol/lookup,
// tools/symbol/code, tools/symbol/elf, tools/symbol/flow and tracer. Sections and stacks may be
// damaged or hostile: no input makes it panic, and time and memory are bounded by the input's size.
//
// In the order of reading:
//
//	unwind.go    the rules of an ELF file, and the walk by them
//	program.go   the program of an FDE
//	row.go       a row of its table
//	expr.go      DWARF expressions
//	gorules.go   rules for Go functions
//	prologue.go  the last resort: prologues
package unwind
