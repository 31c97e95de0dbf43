// Package symstore reads the files that crash reporters keep symbols in, in the place of an ELF
// file: Breakpad's .sym (Chromium, Firefox, Sentry). They have functions, lines and inlined calls.
//
//	table.go     what a file is read into, and look-ups in it
//	breakpad.go  .sym files
//	layout.go    where a symbol server has the file of a build
//
// The files come from anywhere. They are kept in memory, in proportion to their size. The package
// may import tools/symbol/lookup and tools/symbol/elf. Context: the host.
package symstore
