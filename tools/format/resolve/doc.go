// Package resolve finds out what the addresses of a trace mean, and which callers its walk
// has missed.
//
//	resolve.go   the image of a trace, by its build ID; addresses -> functions
//	repair.go    the caller that a walk of frame pointers has to miss
//	inferred.go  callers that are not on the stack
//	watched.go  the variable that a trace of a watched place is of
//	unwind.go    the callers that a walk of frame pointers cannot see
//	arguments.go what the functions were called with
//	cache.go     what was asked before, and what will be asked, is asked once
//
// It imports tools/format/wire, tools/symbol/lookup, tools/symbol/argument, tools/symbol/code,
// tools/symbol/unwind and tools/format/terminal.
// Context: the host.
package resolve
