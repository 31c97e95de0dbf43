// Package timeline puts what the CPUs of a machine did last on one line of time, for a viewer: the
// events of the traces in a log, or of all CPUs' rings in a core (kernel/percpu/ring.go).
//
//	timeline.go  the events of several CPUs, from traces
//	core.go      the same from a core
//	perfetto.go  -> the JSON that ui.perfetto.dev and chrome://tracing show
//
// It imports tools/format/wire, tools/symbol/lookup and tracer. Context: the host.
package timeline
