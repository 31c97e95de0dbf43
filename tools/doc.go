// Package tools is empty; its folder holds the host side of Zeroframe.
//
//	zf/        the command, thin, over the packages below and ../qemu
//	image/     a main package or its tests -> a bootable image
//	initrd/    files of the host -> an archive for the guest
//	gotest/    what zf test has in common with go test: flags, results, events
//	iso/       an image and its files -> an ISO image, for real machines
//	lookup/    what is asked about an address, and the answer: types alone
//	code/      machine code -> calls, tail calls, function starts, the call graph
//	elf/       an ELF file -> sections, their contents, the build ID
//	dwarf/     debug information -> functions, source lines, inlined calls
//	argument/  a frame and its memory -> what the function was called with
//	symbol/    an address -> function, source line, inlined calls
//	mapfile/   nm's output and linkers' maps -> functions by address, and back
//	unwind/    an address, registers, words of a stack -> the callers
//	stacks/    machine code -> how deep each stack can get
//	wire/      our traces: bytes -> traces
//	foreign/   other systems' traces, line by line
//	photo/     photos of a screen -> the traces in its codes, in our compact form
//	resolve/   a trace's addresses -> functions, missed callers
//	render/    a trace -> JSON, the columns of k, Markdown
//	trace/     the filter that follows a stream: the same text, its traces resolved
//	source/    source files on this host: lines and links
//	terminal/  text made safe, colours
//	input/     a log, a serial device, a socket -> live text, even if it vanishes
//	lazyregexp/ regular expressions that are compiled when first used
//	debuginfod/ a build ID -> a debuginfod server's file, kept as all clients keep it
//	symstore/  Breakpad's .sym -> an address's function, line, inlined calls
//	unpack/    a .deb, a .rpm, a tar file -> the ELF files in it
//	buildid/   a build ID -> its ELF file: given, in a folder, from debuginfod
//	receive/   many machines' datagrams -> their logs and traces, counted, exported
//	eventstream/ records between a target's text -> the records
//	reassemble/ datagrams -> whole traces
//	depot/     stacks that a target has sent once -> their addresses
//	profile/   a CPU profile -> a table, a flame graph, pprof's file
//	handle/    snapshots of what is open -> who opened it, and what has grown
//	probe/     names of functions -> where breakpoints go, and what they have counted
//	page/      a log, profiles, snapshots -> one HTML page
//	inspect/   a core file, or a traceback -> goroutines, variables, as Delve has them
//	heap/      a core file -> the objects in the heap, their types, who holds them
//	memory/    a dump, a gdb stub -> a machine's memory, by virtual addresses
//	core/      a trace, a machine's memory -> a core file, for a debugger
//	record/    a run of a machine, in a file -> what it needs to do the same again
//	dump/      the packets of a dead machine's memory -> a file of it
//	flow/      machine code -> what registers and stack words hold at each instruction
//	locks/     machine code -> which mutexes a frame holds at a pc
//	replay/    a recorded machine, run once more by a debugger's commands
//	rewind/    a recording -> a gdb stub that goes backwards, too
//	why/       a recording -> what the death came from, and who has written a word
//	waits/     a core -> who waits for whom, and what keeps the program from going on
//	gotrace/   Go's execution trace
//	timeline/  what CPUs did last -> a line of time, for a viewer
//	install/   what is missing -> the command that installs it here
//	doctor/    this machine -> what of it the commands need
//	symbolizer/ which llvm-symbolizer the tests compare with
//	await/     how tests wait: for what is sent, never for a time
//	imports_test.go holds that imports flow one way, in short chains
//	setup.sh   installs what `make run`, `make test` and `make test-boot` need
//	lossy/     a bad network, for tests and measurements
//	testrun/   what `make test`, `make test-all` and `make test-repeat` do
//
// The packages here may import tracer, whose format they read, and never the
// kernel; tools/zf also imports qemu and doc. Context: the host.
package tools
