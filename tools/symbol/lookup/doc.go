// Package lookup has the types of the questions about addresses of an image and of the
// answers, and says whose code an answer names. Package symbol answers them from an ELF file or
// a map. Those who show traces ask them, and need not know what answers: they import this
// package alone.
//
//	lookup.go  one address
//	owner.go   whose code a call is in: the runtime's, the program's
//	blame.go   which calls of a stack a death is told by
//	batch.go   many addresses at once
//	images.go  several images, by build ID or module
//	regexp.go  regular expressions that are compiled when they are first used
//
// It imports nothing of ours. Context: the host.
package lookup
