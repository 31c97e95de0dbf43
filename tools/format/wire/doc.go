// Package wire reads Zeroframe's own traces out of a stream of bytes: the text, the
// markup and the compact form, live or as a log collector or an earlier run of zf has
// saved them. The crash log of the boot before comes in the same forms.
//
// The format is defined in one place, the file tracer/wire.go, and in none
// other. The files, in the order in which bytes go through them:
//
//	parser.go        bytes -> text to pass through, trace lines, ended traces
//	prefix.go        what a log collector puts in front of each line
//	saved.go         what an earlier run of zf has put behind a frame's line
//	record.go        one line of the text or markup form -> a Record
//	compact.go       the lines of the compact form -> its byte string
//	compactdecode.go the byte string -> Records; compacttable.go: the table of stacks
//	repeat.go        the line that stands for a trace like the one before
//	trace.go         Records -> a Trace, within fixed limits
//	format.go        a Record -> the line of the text form that it would be
//	event.go         what the CPU did last
//	branch.go        the branches that it took last
//	fold.go          runs of the same frame, and frames left out
//
// What comes from a target is never trusted: lines are damaged on the way, traces are
// cut when the panic path dies, and a program may print anything. No input makes this
// package panic, and memory stays bounded whatever the input (see the Max constants).
//
// It imports tracer, tools/symbol/lookup and tools/format/terminal. Context: the host.
package wire
