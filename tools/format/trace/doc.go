// Package trace is the filter that follows a stream: serial output in, the same out with
// its traces resolved in place, without changing or delaying anything else.
//
//	options.go what a Filter is asked to do, and what it has seen
//	filter.go  the Filter: an io.Writer over all of it
//	render.go  how Zeroframe's own traces look in 80 columns
//	idle.go    what a Filter does when no input comes
//	hits.go    what is said below a line of another system's trace
//	list.go    a list of all goroutines, as a whole
//	again.go   what an earlier run has resolved is not shown twice
//	timeline.go  what CPUs did last, for a viewer; timelinecore.go: of a core; perfetto.go: the form
//
// What it joins: tools/format/wire (our traces), tools/format/foreign (others'),
// tools/format/resolve (addresses and missed callers), tools/format/render (JSON and words),
// tools/format/source (source lines and links), tools/format/terminal. Which image answers is
// behind tools/symbol/lookup. Context: the host.
package trace
