// Package kernel turns a Go main package into a bare-metal kernel: import it,
// build with zf build, boot the result.
//
//	import _ "github.com/zeroframe/zeroframe/kernel"
//
// The kernel boots, reports, runs what a program has put into the early hook (see
// crashlab), and starts the Go runtime, which finds in it the Linux that it was
// built for: package linuxabi answers its system calls, sched keeps its threads, mm
// its memory, clock the time, fs its files, tty the serial port, nic the network card.
// When the program dies, the kernel tells how.
//
// The kernel's Go code runs in early and kernel context, without a runtime: no
// allocation, no write barrier, no map, channel, defer or allocating interface
// conversion, no call into the runtime but those that the compiler inserts for
// panics and stack checks, and those end in a trace. Globals are pointer-free
// or set in the source. The tests in this folder check it.
//
// How it comes up: early.go, from start_amd64.s, with what the command line says (cmdline.go),
// what the image says of itself (image.go), a network card if one is wanted (card.go), a way
// for records (records.go), and the boot report (bootreport.go). How the program starts and
// ends: program.go, args.go, presets.go, programend.go. What one may ask of it while it runs:
// how much of the stacks is used (stackuse.go), a trace at each instruction (step.go); and
// what a person may, at a prompt: monitor.go, and its commands in monitor*.go. Who has what
// open: resources.go, resource/. Where its time goes, what it calls: sampling.go, probes.go.
//
// How it dies, from the gate to the wire:
//
//	arch/amd64/vectors_amd64.s   the stub of a vector
//	arch/amd64/trap_amd64.s      trapEntry: saves the registers, calls
//	trap.go                      trap: what to do about it
//	ladder.go                    die, Panic: one trace, and what if that dies too
//	stacks.go, stacklimits.go    the stacks that this runs on, and how deep each can get
//	death.go                     what is known of a death
//	place.go                     whose it was: thread, goroutine, and their stacks
//	marks.go                     how a walk passes the runtime's stack switches
//	goroutines.go, watchdog.go   what all goroutines wait for
//	gopanic.go, text.go          what a panic of compiled Go was about, in words
//	report.go                    the trace, in the order of tracer/wire.go
//	tracer/                      walk, watermarks, format
//	console/console.go           console.Byte: the last byte on the wire
//	onscreen.go, screen/         what of it is on the screen, to be photographed: each piece
//	                             when it is on the wire
//	netlog.go, netconsole/, nic/ the same by network, when all of a rung is on the wire
//	exit.go                      endFatal: what then happens, in this order:
//	crashrecord.go, record/      what is left in RAM for the next boot to tell
//	resources.go, sampling.go, probes.go, recordport/
//	                             records of what was counted until then
//	monitor.go                   with panic=monitor, the prompt
//
// [Panic] enters at ladder.go.
package kernel
