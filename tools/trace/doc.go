// Package trace reads on the host what a target says when it dies: it finds
// traces in a stream of serial output, resolves their addresses and shows them
// in place, without changing or delaying anything else in the stream.
//
// The format is defined in one place, the file wire.go of package tracer, and
// in none other; this package reads all three of its forms. What a screen shows is
// described in typed.go there.
//
// Bytes flow one way through these parts, one file each:
//
//	parser.go    bytes -> text to pass through, trace lines, ended traces
//	prefix.go    what a log collector puts in front of each line; prefix_foreign.go: of
//	             the lines of others
//	record.go    one line of the text or markup form -> a Record
//	compact.go   the byte string of the compact form -> Records
//	format.go    a Record -> the line of the text form that it would be
//	trace.go     Records -> a Trace, within fixed limits
//	resolve.go   addresses -> functions, with the build ID checked first
//	repair.go    the caller that the walk of frame pointers has to miss
//	unwind.go    the callers that a walk of frame pointers cannot see
//	render.go    how it looks in 80 columns
//	link.go      file and line, as a link, and the source around it
//	source.go    where source files are on this host, and their lines
//	again.go     what an earlier run has resolved is not shown twice
//	json.go      the same as one JSON object a line
//	kformat.go   the same in the columns of a debugger's k
//	markdown.go  the same to be pasted into an issue
//	words.go     the same for others who show traces
//	typed.go     what somebody types from a screen -> the text form
//	typedline.go a line of that, its check, and what was meant
//	sanitize.go  nothing from a target may drive the user's terminal
//	foreign.go   the traces of others in the text: foreign_oops.go (Linux),
//	             foreign_markup.go, foreign_goroutine.go, foreign_board.go,
//	             foreign_debugger.go, foreign_marked.go; foreign_names.go: C++ and Rust
//	group.go     their lines -> a Trace
//	ahead.go     many addresses looked up at once
//	filter.go    all of it as an io.Writer
//	follow.go    a log that still grows, as its input
//
// What comes from a target is never trusted: lines are damaged on the way,
// traces are cut when the panic path dies, and a program may print anything.
// No input makes this package panic, and memory stays bounded whatever the
// input (see the Max constants).
//
// The package may import packages tracer (names and constants of the format),
// tools/symbol (what a resolver returns), tools/code and tools/unwind. It runs on
// the host only.
package trace
