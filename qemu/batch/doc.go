// Package batch is what the commands share that try many things, several at a time, and make
// a table of them: the command line, the order of work, machines by their numbers, packages'
// tests, and what is said of a failed test.
//
//	batch.go     Main, Parse: the command and its flags; Each: some at once; BuildZF: what they run
//	lab.go       Lab: a program with the kernel in it, and what machines with it have sent
//	machines.go  Machines: a command that boots many machines, each with a case of its own
//	tests.go     TestFlags, Tests: a command that runs packages' tests, and what they have said
//	linux.go     Linux: a Linux kernel to compare with, or to start from; Kept: the cache that has it
//	said.go      Said: the first words of a failed test; NeedsProgram: whether it wants another
//	             program
//
// It imports qemu and packages of tools. Context: the host.
package batch
