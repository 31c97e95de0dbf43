// Package crashlog keeps a dying kernel's report in RAM that survives a warm reset, so that the
// next boot can print it: the crash record.
//
// It imports only arch, boot and tracer, and knows nothing of traces: it stores bytes in parts
// (reason, trace, other CPUs' traces, console) under a CRC, twice, and finds them again. Early and
// kernel context; no allocation; bounded in time and space.
//
//	place.go    where in RAM, and why there
//	crashlog.go the form of a record: writing, finding, clearing
package crashlog
