// Package pc is the board: what a PC has around its CPU. The kernel uses it through package arch.
//
// It imports arch/amd64. Everything here runs in early and kernel context, with interrupts off: it
// does not allocate or call the runtime, and its globals hold no pointers.
//
// The files:
//
//	apic.go           the local APIC: interrupts of the CPU by itself and by messages
//	msr.go            its registers in x2APIC mode
//	cpus.go           which CPUs there are
//	line.go           the I/O APIC, and the 8259s where there is none; interrupt numbers
//	timer.go          the timer that interrupts when a time is over
//	pit.go            the i8254
//	hpet.go           the HPET: a reference of time, and an NMI for a CPU that takes no interrupts
//	pmtimer.go        ACPI's timer, another reference
//	counter.go        the frequency of the time stamp counter
//	rtc.go            the clock that tells the date
//	uart.go           the serial ports
//	pci.go            PCI configuration space
//	screen.go         the text screen of a VGA
//	keyboard.go       whether a key was pressed
//	exit.go           QEMU's debug-exit device, reset
//	lastword_amd64.s  the message when nothing else works
package pc
