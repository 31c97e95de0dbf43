// Package monitor is the prompt on the serial port at which the kernel answers questions while the
// machine stands still.
//
//	monitor.go  when it opens, its loop, the table of commands
//	line.go     the input line and its editing
//	words.go    the words and numbers in it
//	show.go     goroutines, threads, stacks, registers
//	cpus.go     CPUs
//	memory.go   memory and functions
//	watch.go    watched places
//	handles.go  what is open
//	records.go  profile and probes
//	crash.go    ways to crash
//
// It allocates nothing and calls nothing of the runtime. Kernel and early context. It imports
// package fault, which opens the monitor through an address that is set at boot ([Open]).
package monitor
