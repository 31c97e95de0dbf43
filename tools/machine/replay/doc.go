// Package replay runs a machine under a debugger's commands: a recorded one, to an instruction or
// until it stops, of which each start does the same again, or one that runs its program now.
//
//	machine.go  one start of it
//	server.go   a gdb stub that goes backwards, too
//	travel.go   how it does that
//	live.go     what makes a machine look like a process
//	threads.go  the program's threads, as a process has them
//
// The package may import qemu, tools/postmortem/core, tools/postmortem/memory. Context: the host.
package replay
