// Package argument shows what the functions of a stack were called with: names, types and
// values, from DWARF and from the registers and words of memory that a trace carries.
//
//	image.go     the parameters of the functions at a pc
//	location.go  where DWARF says that a value lives at a pc
//	parts.go     which part of a value is at a place
//	frame.go     what is known of one frame: registers, memory, the place of its frame
//	abi.go       where a function gets its parameters
//	entry.go     what a function was called with, by its own frame and its callers'
//	value.go     the bytes there -> text, by their type
//	dynamic.go   what an interface holds, which function a value is
//
// DWARF's word is not doubted, but what it says must be known: a register that a call in
// between may have changed is not, nor is memory that the trace does not carry. Of a parameter
// with a part that is not known there is no value.
//
// Go's location lists leave one thing open. Where a function assigns to a parameter, they may
// still have the place of the value before, as all debuggers show it; a value of several words is
// shown only if these have stayed together. What DWARF has no place for is proved from the machine
// code, if it can be.
//
// It imports tracer, elf, flow and lookup, golang.org/x/arch, and debug/dwarf for the types.
// Context: the host.
package argument
