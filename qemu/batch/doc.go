// Package batch is what the commands share that try many things, several at a time, and make
// a table of them: the command line, the order of work, and what is said of a failed test.
//
//	batch.go  Main, Parse: the command and its flags; Each: some at once; BuildZF: what they run
//	said.go   Said: the first words of a failed test; NeedsProgram: whether it wants another program
//
// It imports the standard library only. Context: the host.
package batch
