// Package heap reads the Go heap of a dead program: every object, what type it has, what holds
// it.
//
//	layout.go     the ELF file's debug information -> types, and where variables are
//	spans.go      the runtime's spans -> the objects, and its own statistics
//	pointers.go   where an object has pointers, as the garbage collector sees it
//	roots.go      variables, stacks, finalizers: what the collector starts from
//	graph.go      who points to whom; what is reachable; who holds what
//	flow.go       types from roots along pointers
//	name.go       which of an object's types are certain
//	most.go       what has the most, in a line, from a part of the objects
//	report.go     tables, paths, JSON
//	pprof.go      a profile, for pprof and flame graphs
//
// What is reachable, and how much there is, is the garbage collector's view: its bitmaps and
// type headers say where pointers are. Stacks are read word by word, so that a value that is
// no pointer may hold an object that the collector would free. Types are another matter: the
// runtime knows that of an object only if it is larger than 512 bytes and has pointers. The
// others get theirs from the variable that leads to them, and an object whose size or pointers
// do not fit is said to be of unknown type.
//
// No layout of a Go version is written down here but how a span keeps its bits (see
// pointers.go): fields are found by the debug information. It is written for Go 1.25 to 1.27 on
// machines with 64 bits.
//
// The package may import tools/postmortem/inspect. Context: the host.
package heap
