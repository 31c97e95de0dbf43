// Package option has the kernel command line: one table of all options, and what reads a
// value as its row says.
//
//	option.go   the table's type, and the value of an option: text, a word, a number
//	table.go    the options
//	words.go    a line -> its words
//	unknown.go  options that no row has, and the name that was probably meant
//
// `zf help kernel` (tools/zf/kernel.txt) and the chapter doc/options.md are made of the
// table by `go generate`; a test compares them. tools does not import the table, since it
// imports nothing of the kernel.
//
// It may import console, where it says what is wrong with a value. Context: early; what
// only reads the line may run in any context.
package option
