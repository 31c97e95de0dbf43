//go:build stub

package arch

func MaskInterrupts() { panic(stub) }

func InterruptRegisters() (base uintptr, ok bool) { panic(stub) }

func StartInterrupts(base uintptr) { panic(stub) }

func LocalInterrupts() bool { panic(stub) }

func InterruptSelf(number uint8) { panic(stub) }

func InterruptMessage(number uint8) (address, data uint32) { panic(stub) }

func MessageAddress(id uint32) uint32 { panic(stub) }

func JoinInterrupts() { panic(stub) }

func FindCPUs(hint uintptr, ids *[MaxCPUs]uint32) (n, more, far int, acpi bool) { panic(stub) }

func ThisID() uint32 { panic(stub) }

func InitCPU(id uint32) { panic(stub) }

func StartCPU(id uint32, page uintptr) { panic(stub) }

func InterruptCPU(id uint32, number uint8) { panic(stub) }

func StopCPU(id uint32) { panic(stub) }

func EndOfInterrupt(number uint8) { panic(stub) }

const (
	LineRegisters = 4273995776
)

func ConnectConsole(mapped bool) { panic(stub) }

const (
	InterruptTimer   = 64
	InterruptConsole = 68
	InterruptNetwork = 69
	InterruptShare   = 70
	InterruptPort    = 67
	InterruptWake    = 71
	InterruptFlush   = 73
)

func MeasureCounter(mapped bool) (hz uint64) { panic(stub) }

func CounterReference() string { panic(stub) }

func CounterCheck(i int) (name, wrong string, hz uint64, found, more bool) { panic(stub) }

func ChooseTimer(counterHz uint64) (hz, most uint64) { panic(stub) }

func TimerName() string { panic(stub) }

func JoinTimer() { panic(stub) }

func StartTimer(now, ticks uint64) { panic(stub) }

func StopTimer() { panic(stub) }

func AlarmRegisters() uintptr { panic(stub) }

func InitAlarm(mapped bool) bool { panic(stub) }

func SetAlarm(ns uint64) { panic(stub) }

func StopAlarm() { panic(stub) }

func HasRTC() bool { panic(stub) }

const (
	UARTConsole = UARTBase(1016)
	UARTSecond  = UARTBase(760)
	UARTRoom    = 16
)

func HasPCI() bool { panic(stub) }

func ReadPCI(function uint16, off uint8) uint32 { panic(stub) }

func WritePCI(function uint16, off uint8, v uint32) { panic(stub) }

func WritePCI16(function uint16, off uint8, v uint16) { panic(stub) }

const (
	TextScreen = 753664
	CellSize   = 2
	HalfUpper  = 223
	HalfLower  = 220
)

func HasTextScreen() bool { panic(stub) }

func TextScreenSize() (columns, lines int) { panic(stub) }

func StartText(address uintptr) { panic(stub) }

func DrawText(cell uintptr, b byte, bright bool) { panic(stub) }

func KeyPressed() bool { panic(stub) }

func Exit(value uint32) { panic(stub) }

func Restart() { panic(stub) }

func LastWord(value uint32) { panic(stub) }
