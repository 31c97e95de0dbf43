package arch

import "github.com/zeroframe/zeroframe/arch/pc"

// The board: a PC. doc.go is the list.

// Interrupts.

// MaskInterrupts moves the two 8259s' vectors away from the exceptions and masks all their inputs
// (Intel 8259A data sheet, ICW1-4).
func MaskInterrupts() { pc.MaskInterrupts() }

// InterruptRegisters returns the physical address of the page of the local interrupt controller's
// registers; ok is false if there is none.
func InterruptRegisters() (base uintptr, ok bool) { return pc.InterruptRegisters() }

// StartInterrupts turns the local interrupt controller on, and makes its input LINT1 an NMI, as on
// every PC (firmware does the same, except microvm's).
func StartInterrupts(base uintptr) { pc.StartInterrupts(base) }

// LocalInterrupts reports whether StartInterrupts has been called: whether the CPU can interrupt
// itself and devices can send it messages.
func LocalInterrupts() bool { return pc.LocalInterrupts() }

// InterruptSelf sends the CPU an interrupt of the given number.
func InterruptSelf(number uint8) { pc.InterruptSelf(number) }

// InterruptMessage returns what a device writes, and where, to interrupt this CPU: the local APIC
// at the address takes the data as a vector.
func InterruptMessage(number uint8) (address, data uint32) { return pc.InterruptMessage(number) }

// MessageAddress returns where a device writes an InterruptMessage for the CPU of that ID, 255 at
// most.
func MessageAddress(id uint32) uint32 { return pc.MessageAddress(id) }

// JoinInterrupts turns on the local interrupt controller of a CPU that was started.
func JoinInterrupts() { pc.JoinInterrupts() }

// FindCPUs lists the CPUs by their IDs in interrupt controllers, and says whether ACPI listed them;
// early, with the first page tables.
func FindCPUs(hint uintptr, ids *[MaxCPUs]uint32) (n, more, far int, acpi bool) {
	return pc.FindCPUs(hint, ids)
}

// ThisID returns the ID of the running CPU there.
func ThisID() uint32 { return pc.ThisID() }

// InitCPU makes a CPU wait for StartCPU.
func InitCPU(id uint32) { pc.InitCPU(id) }

// ResetTime returns how many nanoseconds there must be between InitCPU and StartCPU.
func ResetTime() uint64 { return pc.ResetTime() }

// StartCPU starts the CPU at the start of a page below 1 MiB.
func StartCPU(id uint32, page uintptr) { pc.StartCPU(id, page) }

// InterruptCPU sends a CPU an interrupt of the given number.
func InterruptCPU(id uint32, number uint8) { pc.InterruptCPU(id, number) }

// StopCPU sends a CPU an NMI.
func StopCPU(id uint32) { pc.StopCPU(id) }

// EndOfInterrupt tells the interrupt controllers that the handler of an interrupt of this number is
// done.
func EndOfInterrupt(number uint8) { pc.EndOfInterrupt(number) }

const (
	LineRegisters = pc.LineRegisters // registers of the controller for devices' interrupt wires
)

// ConnectConsole makes the console's UART interrupt with InterruptConsole.
func ConnectConsole(mapped bool) { pc.ConnectConsole(mapped) }

const (
	InterruptTimer   = pc.InterruptTimer   // numbers of interrupts: the timer's
	InterruptConsole = pc.InterruptConsole // the console's serial port's
	InterruptNetwork = pc.InterruptNetwork // the network card's message
	InterruptPort    = pc.InterruptPort    // a virtio console's message
	InterruptShare   = pc.InterruptShare   // the message of devices that share folders
	InterruptWake    = pc.InterruptWake    // sent by a CPU to wake another one
	// Sent by a CPU to make another drop cached page-table entries.
	InterruptFlush = pc.InterruptFlush
)

// Time.

// MeasureCounter returns the frequency of ReadCounter's counter; mapped says that AlarmRegisters
// are mapped.
func MeasureCounter(mapped bool) (hz uint64) { return pc.MeasureCounter(mapped) }

// CounterReference returns what MeasureCounter measured against; "": nothing, it is a guess.
func CounterReference() string { return pc.CounterReference() }

// CounterCheck returns what is wrong with another clock that could serve as a reference, by number;
// more is false after the last.
func CounterCheck(i int) (name, wrong string, hz uint64, found, more bool) {
	return pc.CounterCheck(i)
}

// ChooseTimer takes the best timer that works, which interrupts with InterruptTimer.
func ChooseTimer(counterHz uint64) (hz, most uint64) { return pc.ChooseTimer(counterHz) }

// TimerName returns what interrupts: "tsc-deadline", "lapic", "pit" or "none".
func TimerName() string { return pc.TimerName() }

// JoinTimer sets up the timer of a CPU that was started, as ChooseTimer did.
func JoinTimer() { pc.JoinTimer() }

// StartTimer makes the timer interrupt once, after that many of its ticks.
func StartTimer(now, ticks uint64) { pc.StartTimer(now, ticks) }

// StopTimer cancels that.
func StopTimer() { pc.StopTimer() }

// AlarmRegisters returns the address of the registers of the timer that raises NMIs, 0: there is
// none. Call FindCPUs first.
func AlarmRegisters() uintptr { return pc.AlarmRegisters() }

// InitAlarm sets up that timer; false: there is none.
func InitAlarm(mapped bool) bool { return pc.InitAlarm(mapped) }

// SetAlarm makes an NMI come in ns nanoseconds.
func SetAlarm(ns uint64) { pc.SetAlarm(ns) }

// StopAlarm cancels that.
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
	UARTRoom    = pc.UARTRoom    // the largest number of bytes that a UART takes at a time
)

// PCI.

// HasPCI reports whether the machine has PCI.
func HasPCI() bool { return pc.HasPCI() }

// ReadPCI reads the four bytes at off, a multiple of four, of a function's configuration space; all
// ones if there is no such function.
func ReadPCI(function uint16, off uint8) uint32 { return pc.ReadPCI(function, off) }

// WritePCI writes the four bytes at off, a multiple of four.
func WritePCI(function uint16, off uint8, v uint32) { pc.WritePCI(function, off, v) }

// WritePCI16 writes only the two bytes at off, a multiple of two.
func WritePCI16(function uint16, off uint8, v uint16) { pc.WritePCI16(function, off, v) }

// Screen and keyboard.

const (
	TextScreen = pc.TextScreen // address of the text screen's memory
	CellSize   = pc.CellSize   // the size of a character there, in bytes
	HalfUpper  = pc.HalfUpper  // the character whose upper half is lit
	HalfLower  = pc.HalfLower  // the character whose lower half is lit
)

// HasTextScreen reports whether there is a screen in a text mode at TextScreen.
func HasTextScreen() bool { return pc.HasTextScreen() }

// TextScreenSize returns the size of the text screen in characters, as a BIOS left it in its data
// area (IBM PS/2 and PC BIOS reference, 40:4A and 40:84), if that is possible.
func TextScreenSize() (columns, lines int) { return pc.TextScreenSize() }

// StartText starts using the text screen at the address: its first line is the first in memory, and
// there is no cursor.
func StartText(address uintptr) { pc.StartText(address) }

// DrawText writes a character, bright if asked, to a cell of a text screen's memory.
func DrawText(cell uintptr, b byte, bright bool) { pc.DrawText(cell, b, bright) }

// KeyPressed reports whether a key was pressed since the last call.
func KeyPressed() bool { return pc.KeyPressed() }

// The end.

// Exit ends QEMU, with status value*2+1, if the debug-exit device is there; otherwise it returns.
func Exit(value uint32) { pc.Exit(value) }

// Restart resets the machine: by the chip set's reset control register, then by the keyboard
// controller, then by a triple fault, which works on every CPU.
func Restart() { pc.Restart() }

// LastWord writes to the console's UART that the panic path itself has failed, and then does what
// Exit does, unless value is 0.
func LastWord(value uint32) { pc.LastWord(value) }
