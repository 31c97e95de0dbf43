// Package amd64 is the CPU: its instructions, descriptor tables, trap entry
// and page-table format, and the switch of stacks.
// It imports nothing of Zeroframe and knows no policy; what a trap means is for
// the kernel to say.
//
// Everything here runs in early and kernel context (the host may import it for
// the constants): no allocation, no runtime, globals free of pointers.
//
// Where to look:
//
//	trap_amd64.s     from the interrupt gate to the kernel's handler and back
//	vectors_amd64.s  the 256 stubs
//	trap.go          the frame they make
//	atentry.go       what those stubs are about, at each of their instructions
//	tables.go        GDT, TSS, IDT
//	syscall_amd64.s  into the kernel by SYSCALL, and out of it to a thread
//	user_amd64.s     memory that a program has named, which may fault
//	fpu.go           the FPU's state
//	percpu.go        one CPU's own data, and the GS base that leads to it
//	ring.go          the ring of the latest events
//	cpus.go          several CPUs
//	fakeg_amd64.s    what compiled Go needs in order to run without a runtime
//	stack_amd64.s    running a function on another stack
//	instr_amd64.s    single instructions
//	debug.go         places whose accesses trap
//	branch.go        records of the latest branches
//	paging.go        page-table entries
//	counter.go       how fast the time stamp counter counts, if CPUID says so
//	frame.go         what is asked of a trap frame; its registers as a trace numbers them
//	signal.go        what Linux puts on a thread's stack for a signal, as far as it is the CPU's
//	cpu.go           what the CPU says it is and has
//	device.go        registers of devices, in ports and in memory
//	cache.go         caches written back to RAM
//	keep.go          what is kept twice, and put back by a fatal trap
//	image.go         the image's addresses
//
// References are to the Intel 64 and IA-32 Architectures Software Developer's
// Manual ("SDM") and the AMD64 Architecture Programmer's Manual ("APM").
package amd64
