// Package tools is empty; its folder holds the host side of Zeroframe.
//
//	zf/        the command, thin, over the packages below and ../qemu
//	image/     a main package or its tests -> a bootable image
//	initrd/    files of the host -> an archive for the guest
//	code/      machine code -> calls, tail calls, function starts, the call graph
//	symbol/    an address -> function, source line, inlined calls
//	mapfile/   nm's output and linkers' maps -> functions by address, and back
//	unwind/    an address, registers, words of a stack -> the callers
//	stacks/    machine code -> how deep each stack can get
//	trace/     serial output -> the same with its traces resolved
//	core/      a trace -> a core file, for a debugger
//	setup.sh   installs what `make run` and `make test` need
//	fuzz.sh    runs every fuzz target for a short time
//
// The packages here may import tracer, whose format they read, and never the
// kernel; tools/zf also imports qemu. Context: the host.
package tools
