// Package amd64 is the CPU: its instructions, descriptor tables, trap entry,
// page-table format and local interrupt controller, and the switch of stacks.
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
//	fakeg_amd64.s    what compiled Go needs in order to run without a runtime
//	stack_amd64.s    running a function on another stack
//	lastword_amd64.s what is said when nothing else works
//	instr_amd64.s    single instructions
//	paging.go        page-table entries
//	apic.go          the local APIC
//	ioapic.go        the I/O APIC, and the 8259 where there is none
//	timer.go         the timers: the local APIC's, the time stamp counter, the PIT
//	rtc.go           the clock that tells the date
//
// References are to the Intel 64 and IA-32 Architectures Software Developer's
// Manual ("SDM") and the AMD64 Architecture Programmer's Manual ("APM").
package amd64
