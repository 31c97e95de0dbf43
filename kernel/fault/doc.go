// Package fault is the panic path: what happens from a trap to the last byte of its trace, and how
// the machine then ends. [Panic] enters it at stages.go.
//
//	arch/amd64/vectors_amd64.s   the stub of a vector
//	arch/amd64/trap_amd64.s      trapEntry: saves the registers, calls
//	trap.go                      Trap: resume, signal, trace, or end
//	stages.go                    fatalTrap, NextStage: one trace, and what follows if that faults
//	cpus.go                      takeMachine: of several CPUs one writes all traces
//	keep.go                      beginDeath: puts back what the panic path needs, as it was at boot
//	details.go, place.go         what is known: cause and registers, context, thread, goroutine
//	gopanic.go, text.go          what a panic of compiled Go was about, in words
//	trace.go                     the trace, in the order of tracer/wire.go
//	events.go                    the CPU's last events
//	branches.go                  the branches that it took last, where it records them
//	args.go                      the words that hold the arguments of the innermost frames
//	waits.go                     the words that tell what a goroutine waits for
//	kernel/stack                 the table of stacks and the walk (package tracer)
//	onscreen.go                  the part that the screen shows, each piece after the wire has it
//	codes.go                     all of it on the screen, as QR codes
//	output.go                    putTrace: each byte, to the console and the network's buffer
//	kernel/console/console.go    console.TraceByte, and from there
//	arch/pc/uart.go              the serial port's Send: the last byte on the wire
//	end.go                       EndMachine: what follows, in this order:
//	crashlog.go                  what is left in RAM for the next boot (package crashlog)
//	kernel/observe               the handles, the profile and the counts of probes
//	dump.go                      the memory, if core= asks for it (package memdump)
//	stop.go                      with panic=monitor, the prompt (package monitor)
//
// trap.go returns from a trap that is not fatal: step.go traces each instruction, probe.go steps
// over a probed instruction, watch.go reports writes to watched places, steer.go sends devices'
// interrupts to a CPU that is idle. A fatal trace can also begin in programend.go, when the program
// ends; in lockup.go, when a CPU locks up (lockreport.go says who has the kernel lock); in
// watchdog.go, when the program hangs; and in stackcheck.go, when a stack is over its limit.
// goroutines.go traces waiting goroutines after another trace, and groups.go puts those that wait
// alike in one group.
//
// The package runs in early and kernel context, takes no lock and allocates nothing. Packages
// kernel and monitor import it.
package fault
