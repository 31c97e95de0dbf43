// Package bare has what the tracer's speed is measured against: the same work as
// plainly as it can be done, which believes everything that it reads. It is for
// benchmarks alone.
package bare
