// Package option reads the kernel command line: it has one table of all options, to which a program
// can add some of its own, and functions that read a value as its row says.
//
//	option.go   the table's type, and the value of an option: text, a word, a number
//	table.go    the options
//	words.go    a line -> its words
//	unknown.go  options that do nothing, and the name that was probably meant
//	parts.go    the parts of the kernel that options need
//
// `go generate` makes `zf help kernel` (tools/zf/kernel.txt) and the chapter doc/options.md from
// the table; a test compares them. tools does not import the table, because it imports nothing of
// the kernel.
//
// It may import console, to say what is wrong with a value. Context: early; functions that only
// read the line may run in any context.
package option
