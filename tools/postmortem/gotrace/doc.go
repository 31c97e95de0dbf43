// Package gotrace writes Go's execution trace, version 1.26, which `go tool trace` reads.
//
//	kinds.go   the kinds of its events, batches of them
//	tables.go  its tables of strings and of stacks
//
// GOROOT/src/internal/trace/tracev2 says what there is in a trace. It is made of batches, each of
// one system thread, of a generation: the events of about a second, with tables of what they name
// by numbers.
//
// It imports tools/symbol/lookup. Context: host.
package gotrace
