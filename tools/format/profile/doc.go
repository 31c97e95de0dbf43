// Package profile is the host's side of the sampling profiler: it reads the record that
// the kernel sends (package kernel/observe/profile has the format), names what is in it, and
// writes profiles in pprof's format, stacks as flame-graph scripts read them, a table, and
// a flame graph that is one SVG file.
//
//	record.go  the record, from any bytes
//	pprof.go   the record and an ELF file to pprof's format
//	tail.go    callers that are not on the stack
//	folded.go  pprof's format to lines of stacks, and a tree of them
//	top.go     a table of functions
//	svg.go     the flame graph
//	flame.css, flame.js  its style, and what it does in a browser
//
// Context: host.
package profile
