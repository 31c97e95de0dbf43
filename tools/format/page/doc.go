// Package page makes one HTML page of what a target said: its traces with the source
// around each frame, registers, stacks and goroutines, flame graphs of its profiles, what
// it had open, and its log. It is to be attached to a bug, and read years later in any
// browser.
//
// The page needs nothing but itself, not even the network, and its content security
// policy forbids all else. It can be read and printed without its script, which only
// zooms, searches and opens sections. What comes from a target, an ELF file or a source
// file is text on it whatever that holds, and characters that do not show, or turn the
// direction of others, are written as escapes. However long a log is, memory and page
// stay bounded (limits.go).
//
// The same input gives the same page, byte for byte, but for the source files, which are
// looked for on this host.
//
//	report.go   a log as an io.Writer, records, the page
//	limits.go   what is shown at most
//	log.go      the log: its beginning and its end
//	visible.go  characters that would not show
//	traces.go   a trace -> what the page says of it
//	frames.go   its frames and their source
//	machine.go  registers, words of memory, stacks
//	events.go   what its CPU did last, on a line of time
//	tasks.go    threads and goroutines
//	why.go      what a death came from
//	flame.go    a profile -> a picture
//	handles.go  a snapshot of resources -> tables
//	page.go     all of it -> HTML: page.html, page.css, page.js
//
// Context: host.
package page
