// Package typed reads the lines of the typed form, as somebody types them from a screen
// (line.go), and writes them as the text form (typed.go). The form is defined in typed.go
// of package tracer.
//
// It imports tracer, tools/lookup, tools/resolve, tools/terminal and tools/wire. Context:
// the host.
package typed
