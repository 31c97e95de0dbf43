// Package tools is empty; its folder holds the host side of Zeroframe.
//
//	zf/         the command, thin, over the packages below and ../qemu
//	machine/    what a machine is made of, and this host
//	  image/      a main package or its tests -> a bootable image
//	  initrd/     files of the host -> an archive for the guest
//	  gotest/     what zf test has in common with go test: flags, results, events
//	  iso/        an image and its files -> an ISO image, for real machines
//	  record/     a run of a machine, in a file -> what it needs to do the same again
//	  replay/     a recorded machine, run once more, and backwards, by a debugger's commands
//	  host/       what is missing -> the command that installs it here; a program that ^C reaches
//	                by its starter alone
//	  doctor/     this machine -> what of it the commands need
//	symbol/     addresses, code and files; itself: an address -> function, source line, inlined calls
//	  lookup/     what is asked about an address, the answer, and whose code that is
//	  elf/        an ELF file -> sections, their contents, the build ID; the ELF files in a .deb,
//	                a .rpm, a tar file
//	  dwarf/      debug information -> functions, source lines, inlined calls
//	  mapfile/    nm's output and linkers' maps -> functions by address, and back
//	  code/       machine code -> calls, tail calls, the call graph
//	  unwind/     an address, registers, words of a stack -> the callers
//	  flow/       machine code -> what registers and stack words hold at each instruction
//	  argument/   a frame and its memory -> what the function was called with
//	  stacks/     machine code -> how deep each stack can get
//	  buildid/    a build ID -> its ELF file: given, in a folder, from debuginfod
//	format/     our traces and records, others' reports, and how all of them look
//	  wire/       our traces: bytes -> traces
//	  foreign/    other systems' traces, line by line
//	  photo/      photos of a screen -> the traces in its codes, in our compact form
//	  resolve/    a trace's addresses -> functions, missed callers
//	  trace/      the filter that follows a stream: the same text, its traces resolved
//	  render/     a trace -> JSON, the columns of k, Markdown
//	  source/     source files on this host: lines and links
//	  terminal/   text made safe, colours
//	  page/       a log, profiles, snapshots -> one HTML page
//	  whole/      a file that is whole, or as it was
//	  input/      a log, a serial device, a socket -> live text, even if it vanishes
//	  eventstream/records between a target's text -> the records
//	  profile/    a CPU profile -> a table, a flame graph, pprof's file
//	  handle/     snapshots of what is open -> who opened it, and what has grown
//	  probe/      names of functions -> where breakpoints go, and what they have counted
//	postmortem/ questions to a dead machine
//	  memory/     a dump, a gdb stub -> a machine's memory, by virtual addresses
//	  core/       a trace, a machine's memory -> a core file, for a debugger
//	  inspect/    a core file, or a traceback -> goroutines, variables, as Delve has them
//	  heap/       a core file -> the objects in the heap, their types, who holds them
//	  locks/      machine code -> which mutexes a frame holds at a pc
//	  waits/      a core -> who waits for whom, and what keeps the program from going on
//	  why/        a recording -> what the death came from, and who has written a word
//	receive/    many machines' datagrams -> their logs and traces, counted, exported
//	imports_test.go holds that imports flow one way, in short chains
//	setup.sh    installs what `make run`, `make test` and `make test-boot` need
//
// The packages here may import tracer, whose format they read, and never the
// kernel; tools/machine/replay, tools/postmortem/why and tools/zf also import qemu, and
// tools/zf doc. Context: the host.
package tools
