// Package tracer is the debug module: it walks a stack by its frame pointers, measures how deep a
// stack has been used, reads Go's pc tables, and writes a trace in the wire format that the host
// command zf resolves.
//
// It is pure, so that any Go kernel can import it: it allocates nothing, takes no lock, calls
// nothing of the Go runtime, and imports nothing of Zeroframe. It learns about a machine through
// [Walker] (the table of stacks, the bounds of the text, how to read a word) and writes through
// [Writer] (a function that takes one byte). Its only global state is the table of [OnReturn] and
// the lines of [Dump].
//
// Everything here may run in every context, the panic path included: early, kernel, goroutine and
// host.
//
// The files, in the order of reading. A file whose name ends in _amd64 or _other belongs to the
// file named by its first part.
//
//	frame.go         what a walk yields: frames, kinds, end reasons, the stack table
//	arch.go          what a walk needs to know of a CPU: amd64, arm64
//	native_arm64.go, native_other.go  which of the two the program was built for
//	walk.go          the walk: which records it accepts, how it goes from stack to stack
//	records.go       the frame records of one stack and their guards
//	ends.go          both ends of a deep stack, with repeated frames folded
//	marks.go         functions in which the walk needs a rule: a runtime's stack switches
//	load_amd64.go    the only instructions that touch memory that may be unmapped
//	load_other.go    the same on other CPUs
//	onreturn.go      hooks on the return of functions
//	wire.go          the trace format, documented once for both sides
//	events.go        what a CPU did last, on the wire
//	calls.go         the names of system calls
//	branches.go      the branches that it took last
//	writer.go        the target's side of the format: text and markup
//	compact.go       the same in few bytes
//	compacttable.go  the table of stacks in few bytes
//	repeat.go        a trace that equals the previous one, in one short line
//	crc.go           the checksum of all of them
//	capture.go       one stack's return addresses at a high rate, with the same guards
//	packed.go        the same, packed and hashed on the way into a depot (depot/)
//	watermark.go     painting a stack and finding its high-water mark
//	measure_amd64.go what one call takes of the stack, and how much is left
//	pclntab.go       Go's pc tables, read in place
//	inltree.go       the inlined calls in them, and the running program's own tables
//	argkept.go      which arguments a function has kept
//	parts.go         which bytes of the tables an answer needs, for readers on the host
//	bounds.go        what a failed bounds check was about
//	calledfrom.go    whether a function is up the running stack
//	tables.go        where the tables that a trace needs lie, for a kernel that keeps copies
//	dump.go          the running stack as text
//	bare/            the walk that the tracer's speed is measured against
//	datagram/        how a trace travels by UDP
//	dump/            how a dead machine's memory travels
//	seal/            how that is encrypted for one receiver
//	depot/           stacks kept once, by number
//	qr/              QR codes, and a trace cut into them
//	stream/          the format of events that a program logs
package tracer
