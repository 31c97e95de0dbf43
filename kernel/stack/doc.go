// Package stack is the kernel's table of stacks and the walker over it.
//
//	table.go    the table: where each stack is, its guard page, its paint
//	cpus.go     where each CPU's stacks are, and whose are in the table
//	limits.go   how deep each stack can get, as zf build proves
//	check.go    the check of the limits while the machine runs
//	use.go      how deep each stack has got, for programs that ask
//	program.go  the rows of the program's goroutines and threads
//	walk.go     the walker
//	keep.go     which data is stored twice
//	marks.go    the functions of the Go runtime in which a walk needs a rule
//
// Early and kernel context, unless a function says otherwise. Observation and the panic path use
// its walks.
package stack
