// Package replay runs a recorded machine once more, under a debugger's commands: to an instruction,
// or until it stops. Each start does the same again.
//
//	machine.go  one replay
//	server.go   a gdb stub that goes backwards, too
//	travel.go   how it does that
//
// The package may import qemu, tools/postmortem/memory. Context: the host.
package replay
