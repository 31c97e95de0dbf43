// Package goinfo is what the kernel knows of the Go runtime above it: where its
// goroutines (runtime.g) and its threads (runtime.m) keep what a trace wants to
// say, and a reader of them.
//
// No layout of any Go version is written down here. The linker describes the
// runtime that it has linked in DWARF, and `zf build` copies from there what
// items.go lists into the variable table, in the file. So the package fits the
// program that it lies in, whatever toolchain made it. Where there is no DWARF
// (-ldflags=-w), and for a field that a runtime no longer has, the table says so,
// and the functions here answer "not known" instead of guessing.
//
// The runtime's memory is read as it is found, at any moment, broken perhaps:
// every load goes through [tracer.ReadWord], nothing that was read is believed
// without a bound, and nothing is changed but by [SetMaxStack].
//
// It imports tracer and arch. Early, kernel and goroutine context; the runtime
// must not run meanwhile, or answers may be out of date.
//
// In the order of reading:
//
//	items.go      the table of what is where in the runtime, made by zf build
//	load.go       loads from the runtime's memory
//	goroutine.go  goroutines
//	waiting.go    what a goroutine waits on: its sudogs, their channels and semaphores
//	thread.go     the runtime's threads
//	heap.go       the heap profile
package goinfo
