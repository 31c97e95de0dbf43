package arch

import "github.com/zeroframe/zeroframe/arch/pc"

// The board: a PC. doc.go is the list.

// Interrupts.

// MaskInterrupts moves the two 8259s' vectors out of the way of the exceptions and masks all their inputs (Intel 8259A data sheet, ICW1-4).
func MaskInterrupts() { pc.MaskInterrupts() }

// InterruptRegisters returns the physical address of the page of the local interrupt controller's registers; ok is false if there is none.
func InterruptRegisters() (base uintptr, ok bool) { return pc.InterruptRegisters() }

// StartInterrupts turns the local interrupt controller on, and its input LINT1 into the NMI that it is on every PC (firmware does the same, but not microvm's).
func StartInterrupts(base uintptr) { pc.StartInterrupts(base) }

// LocalInterrupts reports whether StartInterrupts has been called: whether the CPU can interrupt itself and devices can send it messages.
func LocalInterrupts() bool { return pc.LocalInterrupts() }

// InterruptSelf sends the CPU an interrupt of the given number.
func InterruptSelf(number uint8) { pc.InterruptSelf(number) }

// InterruptMessage returns what a device writes, and where, to interrupt this CPU: the local APIC behind the address takes the data for a vector.
func InterruptMessage(number uint8) (address, data uint32) { return pc.InterruptMessage(number) }

// MessageAddress returns where a device writes an InterruptMessage for the CPU of that ID, 255 at most.
func MessageAddress(id uint32) uint32 { return pc.MessageAddress(id) }

// JoinInterrupts turns on the local interrupt controller of a CPU that has been started.
func JoinInterrupts() { pc.JoinInterrupts() }

// FindCPUs lists the CPUs as interrupt controllers name them, and says whether ACPI has told of them; early, with the first page tables.
func FindCPUs(hint uintptr, ids *[MaxCPUs]uint32) (n, more, far int, acpi bool) {
	return pc.FindCPUs(hint, ids)
}

// ThisID returns how they name the running CPU.
func ThisID() uint32 { return pc.ThisID() }

// InitCPU makes a CPU wait to be started.
func InitCPU(id uint32) { pc.InitCPU(id) }

// StartCPU starts it at the beginning of a page below 1 MiB.
func StartCPU(id uint32, page uintptr) { pc.StartCPU(id, page) }

// InterruptCPU sends a CPU an interrupt of the given number.
func InterruptCPU(id uint32, number uint8) { pc.InterruptCPU(id, number) }

// StopCPU sends a CPU an NMI.
func StopCPU(id uint32) { pc.StopCPU(id) }

// EndOfInterrupt tells the interrupt controllers that the handler of an interrupt of this number is done.
func EndOfInterrupt(number uint8) { pc.EndOfInterrupt(number) }

const (
	LineRegisters = pc.LineRegisters // address of the registers of the controller that wires of devices go to
)

// ConnectConsole makes the console's UART interrupt with InterruptConsole.
func ConnectConsole(mapped bool) { pc.ConnectConsole(mapped) }

const (
	InterruptTimer   = pc.InterruptTimer   // numbers of interrupts: the timer's
	InterruptConsole = pc.InterruptConsole // the console's serial port's
	InterruptNetwork = pc.InterruptNetwork // the network card's message
	InterruptPort    = pc.InterruptPort    // that of a virtio console
	InterruptShare   = pc.InterruptShare   // that of devices which share folders
	InterruptWake    = pc.InterruptWake    // that by which a CPU wakes another one
	InterruptFlush   = pc.InterruptFlush   // that by which a CPU has another one drop what it has kept of page tables
)

// Time.

// MeasureCounter returns the frequency of ReadCounter's counter; mapped: AlarmRegisters are.
func MeasureCounter(mapped bool) (hz uint64) { return pc.MeasureCounter(mapped) }

// CounterReference returns what MeasureCounter has measured against; "": nothing, it has guessed.
func CounterReference() string { return pc.CounterReference() }

// CounterCheck returns what is wrong with another clock that could be measured against, by number; more is false behind the last.
func CounterCheck(i int) (name, wrong string, hz uint64, found, more bool) { return pc.CounterCheck(i) }

// ChooseTimer takes the best timer that works, which interrupts with InterruptTimer.
func ChooseTimer(counterHz uint64) (hz, most uint64) { return pc.ChooseTimer(counterHz) }

// TimerName returns what interrupts: "tsc-deadline", "lapic", "pit" or "none".
func TimerName() string { return pc.TimerName() }

// JoinTimer makes the timer of a CPU that has been started ready, as ChooseTimer has done.
func JoinTimer() { pc.JoinTimer() }

// StartTimer makes the timer interrupt once, when so many of its ticks are over.
func StartTimer(now, ticks uint64) { pc.StartTimer(now, ticks) }

// StopTimer takes that back.
func StopTimer() { pc.StopTimer() }

// AlarmRegisters returns the address of the registers of the timer that raises NMIs, 0: there is none; FindCPUs.
func AlarmRegisters() uintptr { return pc.AlarmRegisters() }

// InitAlarm makes that timer ready; false: there is none.
func InitAlarm(mapped bool) bool { return pc.InitAlarm(mapped) }

// SetAlarm makes an NMI come in ns nanoseconds.
func SetAlarm(ns uint64) { pc.SetAlarm(ns) }

// StopAlarm takes that back.
func StopAlarm() { pc.StopAlarm() }

// RTC is the clock that tells the date.
type RTC = pc.RTC

// HasRTC reports whether a clock answers at the RTC's ports and has not lost its time.
func HasRTC() bool { return pc.HasRTC() }

// Serial ports.

// UART is a serial port.
type UART = pc.UART

const (
	UARTConsole = pc.UARTConsole // the serial port of the console
	UARTSecond  = pc.UARTSecond  // the second serial port
	UARTRoom    = pc.UARTRoom    // how many bytes a UART takes at a time at most
)

// PCI.

// HasPCI reports whether the machine has PCI.
func HasPCI() bool { return pc.HasPCI() }

// ReadPCI reads the four bytes at off, a multiple of four, of a function's configuration space; all ones if there is no such function.
func ReadPCI(function uint16, off uint8) uint32 { return pc.ReadPCI(function, off) }

// WritePCI writes the four bytes at off, a multiple of four.
func WritePCI(function uint16, off uint8, v uint32) { pc.WritePCI(function, off, v) }

// WritePCI16 writes the two bytes at off, a multiple of two, and nothing beside them.
func WritePCI16(function uint16, off uint8, v uint16) { pc.WritePCI16(function, off, v) }

// Screen and keyboard.

const (
	TextScreen = pc.TextScreen // address of the text screen's memory
	CellSize   = pc.CellSize   // what a character takes of such memory, in bytes
	HalfUpper  = pc.HalfUpper  // the character of which the upper half is lit
	HalfLower  = pc.HalfLower  // that of which the lower half is
)

// HasTextScreen reports whether there is a screen in a text mode at TextScreen.
func HasTextScreen() bool { return pc.HasTextScreen() }

// TextScreenSize returns the characters of the text screen, as a BIOS has left them in its data area (IBM PS/2 and PC BIOS reference, 40:4A and 40:84), if it can be so.
func TextScreenSize() (columns, lines int) { return pc.TextScreenSize() }

// StartText takes the text screen at the address in use: its first line is the first in memory, and there is no cursor.
func StartText(address uintptr) { pc.StartText(address) }

// DrawText writes a character, or one that stands out, to a cell of a text screen's memory.
func DrawText(cell uintptr, b byte, bright bool) { pc.DrawText(cell, b, bright) }

// KeyPressed reports whether a key has gone down since it was last called.
func KeyPressed() bool { return pc.KeyPressed() }

// The end.

// Exit ends QEMU, with status value*2+1, if the debug-exit device is there; otherwise it returns.
func Exit(value uint32) { pc.Exit(value) }

// Restart resets the machine: by the chip set's reset control register, then by the keyboard controller, then by a triple fault, which every CPU knows.
func Restart() { pc.Restart() }

// LastWord says on the console's UART that the panic path itself has failed, and then does what Exit does, unless value is 0.
func LastWord(value uint32) { pc.LastWord(value) }
