// Package bare has what the tracer's speed is measured against: the same work as
// plainly as it can be done, which believes everything that it reads. It is for
// benchmarks alone.
//
//	bare_amd64.go, bare_amd64.s  a walk of frame records
//	bare_other.go                the same on other CPUs
package bare
