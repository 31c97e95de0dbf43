// Package amd64 is the CPU: its instructions, descriptor tables, trap entry and page-table format,
// and the switch of stacks. It imports nothing of Zeroframe and contains no policy: the kernel
// decides what a trap means.
//
// Everything here runs in early and kernel context (the host may import it for the constants): it
// does not allocate or call the runtime, and its globals hold no pointers.
//
// The files:
//
//	trap_amd64.s     from the interrupt gate to the kernel's handler and back
//	vectors_amd64.s  the 256 stubs
//	trap.go          the frame they make
//	atentry.go       how a walk passes the entry code, at each instruction
//	tables.go        GDT, TSS, IDT
//	syscall_amd64.s  into the kernel by SYSCALL, and out of it to a thread
//	user_amd64.s     accesses to the program's memory, which may fault
//	fpu.go           the FPU's state
//	percpu.go        one CPU's own data, and the GS base that leads to it
//	ring.go          the ring of the latest events
//	cpus.go          several CPUs
//	fakeg_amd64.s    what compiled Go needs to run without a runtime
//	stack_amd64.s    running a function on another stack
//	instr_amd64.s    single instructions
//	debug.go         places whose accesses trap
//	branch.go        records of the latest branches
//	paging.go        page-table entries
//	counter.go       the frequency of the time stamp counter, if CPUID gives it
//	frame.go         a trap frame's fields for other packages; its registers by a trace's numbers
//	signal.go        the CPU's part of what Linux puts on a thread's stack for a signal
//	exit.go          a call that a goroutine makes before the program exits
//	cpu.go           the CPU's name and features
//	device.go        registers of devices, in ports and in memory
//	cache.go         caches written back to RAM
//	keep.go          what is stored twice, and restored by a fatal trap
//	image.go         the image's addresses
//
// References are to the Intel 64 and IA-32 Architectures Software Developer's Manual ("SDM") and
// the AMD64 Architecture Programmer's Manual ("APM").
package amd64
