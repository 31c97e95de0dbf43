// Package tools is empty; its folder holds the host side of Zeroframe.
//
//	zf/        the command, thin, over the packages below and ../qemu
//	image/     a main package or its tests -> a bootable image
//	initrd/    files of the host -> an archive for the guest
//	iso/       an image and its files -> an ISO image, for real machines
//	code/      machine code -> calls, tail calls, function starts, the call graph
//	symbol/    an address -> function, source line, inlined calls
//	mapfile/   nm's output and linkers' maps -> functions by address, and back
//	unwind/    an address, registers, words of a stack -> the callers
//	stacks/    machine code -> how deep each stack can get
//	trace/     serial output -> the same with its traces resolved
//	source/    a log, a serial device, a socket -> live text, even if it vanishes
//	buildid/   a build ID -> its ELF file: given, in a folder, from debuginfod
//	receive/   many machines' datagrams -> their logs and traces, counted, exported
//	resource/  snapshots of what is open -> who opened it, and what has grown
//	probe/     names of functions -> where breakpoints go, and what they have counted
//	report/    a log, profiles, snapshots -> one HTML page
//	core/      a trace -> a core file, for a debugger
//	setup.sh   installs what `make run`, `make test` and `make test-boot` need
//	fuzz.sh    runs every fuzz target for a short time
//
// The packages here may import tracer, whose format they read, and never the
// kernel; tools/zf also imports qemu. Context: the host.
package tools
