// Package monitor is the part of the kernel's debugger prompt that touches no machine:
// the line that is typed, and the words and numbers in it. Package kernel has the prompt
// itself and its commands (kernel/monitor*.go).
//
// It allocates nothing and calls nothing of the runtime, so it may run in every context.
package monitor
