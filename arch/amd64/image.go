package amd64

// The program image's addresses that only the linker knows, for the CPU's code. Any context.

// TextBounds bounds the program's code.
func TextBounds() (lo, hi uintptr)

// TypesBase returns the address from which the runtime counts types' offsets.
func TypesBase() uintptr

// PCTableBounds bounds Go's pc tables.
func PCTableBounds() (lo, hi uintptr)

// RuntimeEntry returns where the Go runtime starts under Linux.
func RuntimeEntry() uintptr

// PollWaiters returns the address of the runtime's count of goroutines that wait for a descriptor's
// events (netpollWaiters of runtime/netpoll.go).
func PollWaiters() *uint32

// Syscall makes a system call. Goroutine context.
func Syscall(number, a, b, c, d, e uintptr) (result uintptr)
