// Package source finds source files on this host and shows their lines (source.go), and
// makes links on them (link.go).
//
// It imports tools/format/terminal and tools/symbol/lookup. Context: the host.
package source
