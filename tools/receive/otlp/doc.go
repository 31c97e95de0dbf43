// Package otlp exports crashes to an OpenTelemetry collector, one log record each, by the
// OTLP exporter of OpenTelemetry's Go SDK over HTTP.
//
// What is to be exported waits in the spool of the store (package crash), over restarts
// if need be, and leaves it when the collector has acknowledged it. If the answer is
// lost, it is sent again: its attribute log.record.uid, which is the same then, tells
// the one who stores it. One process exports from a store at a time.
//
// The attributes of a record:
//
//	exception.type                   kind, and of a fault the CPU's exception
//	exception.message                the reason, in the machine's words
//	exception.stacktrace             the functions, as Go prints a stack
//	log.record.uid                   the crash's ID
//	process.executable.build_id.gnu  build ID
//	thread.id                        thread
//	zeroframe.fingerprint            the crash group (tools/receive/crash/fingerprint.go)
//	zeroframe.kind, .context         as in JSON
//	zeroframe.damaged                true if not all of the trace arrived
//
// The resource has service.name (zeroframe), host.name and host.ip. Host.
//
// In the order of reading:
//
//	exporter.go  the queue, and the sending
//	record.go    a crash as a log record
//	answer.go    what a collector answers
package otlp
