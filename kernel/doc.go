// Package kernel turns a Go main package into a bare-metal kernel: import it, build with zf build,
// boot the result.
//
//	import _ "github.com/zeroframe/zeroframe/kernel"
//
// The functions here are all that a program may call of the kernel; a change of them is in
// CHANGELOG.md. The packages below may change at any time.
//
// The kernel boots, reports, runs the program's early hook, and starts the Go runtime, to which it
// looks like the Linux that the runtime was built for: package linux answers its system calls. When
// the program dies, the kernel writes a trace.
//
// A program sets its early hook in the source. It runs in early context:
//
//	//go:linkname earlyHook github.com/zeroframe/zeroframe/kernel.earlyHook
//	var earlyHook = func() { ... }
//
// The kernel's Go code runs in early and kernel context, without a runtime: no allocation, no write
// barrier, no map, channel, defer or allocating interface conversion, no call into the runtime
// except those that the compiler inserts for panics and stack checks, and those end in a trace.
// Globals are pointer-free or set in the source. The tests in this folder check this.
//
// This package is the order of the start, and imports all others:
//
//	public.go      what a program may call
//	early.go       from boot/start_amd64.s: the order in which everything is set up
//	screen.go      the console: serial port or screen
//	card.go        the network card, if an option needs it; and the devices of programs
//	shares.go      folders of the host
//	netlog.go      log and traces by network
//	bootreport.go  the boot report
//	program.go     the program starts
//	cpus.go        its threads on all CPUs
//	keep.go        what is stored twice, from then on
//	args.go        its arguments and environment
//	presets.go     files that every program expects
//
// The packages, from below. Imports go to the left and upwards:
//
//	option image goinfo clock       the command line; the image; the Go runtime's structures; time
//	mem thread stack                frames and page tables; threads; the table of stacks, the walker
//	dev/ console tty crashlog       drivers; the console; the terminal; the crash record in RAM
//	smp                             the other CPUs
//	vfs linux net/                  files; system calls; log and traces by network
//	observe/                        handles, profile, probes, and the stream that carries them
//	fault                           from a trap to the last byte of its trace; see its doc.go
//	monitor                         the prompt
//	memdump secret                  the memory of a dead machine, and what is hidden in it
//	crashlab                        a program with every way to crash
//
// Package parts says which of them an image is without.
package kernel
