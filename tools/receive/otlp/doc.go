// Package otlp exports crashes to an OpenTelemetry collector, one log record each, by the
// OTLP exporter of OpenTelemetry's Go SDK over HTTP.
//
// A crash waits in memory until the collector has acknowledged it, and a failure is tried
// again. If the answer is lost, the crash is sent again: its attribute log.record.uid, which is
// the same then, tells whoever stores it. What is to outlive the receiver is kept by the
// collector, which has queues on disk for that.
//
// The attributes of a record:
//
//	exception.type                   kind, and of a fault the CPU's exception
//	exception.message                the reason, in the machine's words
//	exception.stacktrace             the functions, as Go prints a stack
//	log.record.uid                   the crash's ID
//	process.executable.build_id.gnu  build ID
//	thread.id                        thread
//	zeroframe.fingerprint            the crash group (fingerprint.go)
//	zeroframe.kind, .context         as in JSON
//	zeroframe.damaged                true if not all of the trace arrived
//
// The resource has service.name (zeroframe), host.name and host.ip. Host.
//
// In the order of reading:
//
//	crash.go     a crash, without its trace
//	fingerprint.go  which crashes are the same
//	exporter.go  the queue, and the sending
//	record.go    a crash as a log record
//	answer.go    what a collector answers
package otlp
