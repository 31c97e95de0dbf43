// Package render shows a trace that has ended: as JSON (json.go), what its CPU did last (events.go)
// and the branches that it took last (branches.go), in the columns of a debugger's k (k.go), as
// Markdown (markdown.go), in a few lines (short.go), and in the words that all of these and the
// text form share (words.go).
//
// It imports tools/format/wire, tools/symbol/lookup, tools/format/source and tools/format/terminal.
// Context: the host.
package render
