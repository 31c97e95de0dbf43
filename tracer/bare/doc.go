// Package bare is the baseline for the tracer's speed: the same work as plain as possible, without
// any checks. It is for benchmarks only.
//
//	bare_amd64.go, bare_amd64.s  a walk of frame records
//	bare_other.go                the same on other CPUs
package bare
