// Package goinfo is what the kernel knows of the Go runtime above it: where its goroutines
// (runtime.g) and its threads (runtime.m) keep what a trace shows, and a reader of them.
//
// No layout of any Go version is written down here. The linker describes the runtime in DWARF, and
// `zf build` copies the items that items.go lists from there into the variable table, in the file.
// So the package fits the program that contains it, whatever toolchain made it. If there is no
// DWARF (-ldflags=-w), or a runtime lacks a field, the table says so, and the functions here answer
// "not known" instead of guessing.
//
// The runtime's memory is read as it is, at any moment, perhaps damaged: every load goes through
// [tracer.ReadWord], nothing is believed without a bound, and only [SetMaxStack] changes anything.
//
// It imports tracer and arch. Early, kernel and goroutine context; if the runtime runs meanwhile,
// answers may be out of date.
//
// In the order of reading:
//
//	items.go      the table of offsets and addresses in the runtime, made by zf build
//	load.go       loads from the runtime's memory
//	goroutine.go  goroutines
//	waiting.go    what a goroutine waits for: its sudogs, their channels and semaphores
//	thread.go     the runtime's threads
//	heap.go       the heap profile
package goinfo
