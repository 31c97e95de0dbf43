// Package gotest has what makes `zf test` behave as `go test` does: its command line, its
// result lines, its events, its cache, the files that tests write.
//
// It knows nothing of machines: package main of tools/zf builds a test binary
// (tools/machine/image), boots it, and gives what it prints to this package. What the go command
// can do itself is left to it: `go tool test2json` makes the events, `go list` knows the packages.
//
// Context of all of it: host.
//
// In the order of reading:
//
//	flags.go   the flags of go test and go build, and what becomes of each
//	args.go    a command line, parted into flags, packages and the test's own arguments
//	result.go  the line that ends a package's tests
//	events.go  -json: output -> events
//	cache.go   results that are kept
//	inputs.go  what a test has read, as long as which they hold
//	files.go   files that tests write, back on this host
package gotest
