// Package crashlog keeps what a dying kernel has to say in RAM that a warm reset
// leaves alone, so that the next boot can tell it: the crash record.
//
// It imports arch, boot and tracer only, and knows nothing of traces: it stores bytes in
// parts (reason, trace, other CPUs' traces, console) under a CRC, twice, and finds them again.
// Early and kernel context; no allocation; bounded in time and space.
//
//	place.go    where in RAM, and why there
//	crashlog.go the form of a record: writing, finding, clearing
package crashlog
