// Package pc is the board: what a PC has around its CPU. The kernel reaches it by package
// arch.
//
// It imports arch/amd64. Everything here runs in early and kernel context: no allocation,
// no runtime, globals free of pointers; interrupts are off.
//
// Where to look:
//
//	apic.go           the local APIC: interrupts of the CPU by itself and by messages
//	msr.go            its registers in x2APIC mode
//	cpus.go           which CPUs there are
//	line.go           the I/O APIC, and the 8259s where there is none; interrupt numbers
//	timer.go          what interrupts when a time is over
//	pit.go            the i8254
//	hpet.go           the HPET: a reference of time, and an NMI for a CPU that takes no interrupts
//	pmtimer.go        ACPI's timer, another reference
//	counter.go        how fast the time stamp counter counts
//	rtc.go            the clock that tells the date
//	uart.go           the serial ports
//	pci.go            PCI configuration space
//	screen.go         the text screen of a VGA
//	keyboard.go       that a key goes down
//	exit.go           QEMU's debug-exit device, reset
//	lastword_amd64.s  what is said when nothing else works
package pc
