// Package eventstream takes the records out of what a target says: snapshots, profiles and
// other data that it sends between its text (package tracer/stream, where the format is).
//
// [Text] reads a console: text in, the same text without records out. [Frames] reads a
// port that has nothing but records. Both give whole records, verified, to
// [Options.OnRecord], and say of the others what became of them.
//
// Who wants records of one kind among others looks at [Record.Kind]; the kinds are
// documented by the packages that read them. Context of all of it: host.
//
// In the order of reading:
//
//	record.go   records, put together from their pieces
//	text.go     records between text
//	frames.go   records on a port of their own
//	numbers.go  the numbers in them
//	depot.go    stacks that a target has sent once
package eventstream
