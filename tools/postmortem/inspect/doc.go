// Package inspect reads a dead Go program out of its core file: its goroutines, with their
// stacks, and its variables. It does so by Delve's packages, so that what it says is what the
// debugger says.
//
//	core.go        the core file: is it whole, and of this ELF file
//	layout.go      fields of structures by their names, types behind names
//	open.go        the core and its ELF file -> the dead program
//	goroutine.go   its goroutines, and how they are chosen
//	stack.go       the stack of one, also where the runtime changes stacks
//	text.go        goroutines as text: grouped, with columns, as JSON
//	traceback.go   goroutines from a log that has Go's own traceback
//	variable.go    variables and expressions
//	address.go     where an expression lies in memory
//	names.go       what they may be called
//	live.go        variables of a program that runs, behind a debugger's stub
//	flight.go      what the program's flight recorder (runtime/trace) has
//	gotrace.go     Go's execution trace; gotracetables.go: its strings and stacks
//
// A core file is what a machine of ours or Linux, gdb or Delve has written. It is hostile
// input: what Delve does not survive becomes an error here.
//
// The package may import tracer, and other packages of tools. Context: the host.
package inspect
