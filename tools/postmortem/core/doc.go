// Package core makes an ELF core file of a trace, and of those of the other CPUs, so that a
// debugger can look at a kernel that died where no debugger was: gdb ELF CORE. Where all of the
// machine's memory can be had, it makes a full core, with which Delve works, too: dlv core ELF
// CORE.
//
//	core.go      what goes into the file, and what does not
//	threads.go   a trace -> the places where code was running, with their registers
//	memory.go    a trace -> the words of memory that are known
//	image.go     the ELF file -> the memory that is in it
//	words.go     words of memory -> a core file of nothing else
//	notes.go     the notes of a Linux core file
//	full.go      a machine's memory -> a full core
//	kernel.go    the kernel's records -> its threads
//	layout.go    the image -> where those records are
//	running.go   the threads and the memory of a machine that runs
//	untouched.go memory that the program has never touched
//	stub.go      which memory is read through a gdb stub
//
// It invents nothing: memory that the trace does not tell of is not in the file,
// and the debugger says that it cannot read it. Of registers that is not possible,
// since the format has a place for each: one that nothing tells of is 0.
//
// The package may import tracer, tools/format/trace, tools/symbol, tools/symbol/code and
// tools/postmortem/memory. Context: the host.
package core
