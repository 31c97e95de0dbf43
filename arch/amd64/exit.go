package amd64

// The exit call: a function that a goroutine calls before the program exits, though nothing in the
// program's code calls it. The kernel has runtime.exit make the call where it stands, and make its
// system call again when the function has returned.

// ExitCall is the function; nil: there is none. Set once at boot, by a goroutine.
var ExitCall func()

// runExitCall calls it.
func runExitCall() { ExitCall() }

// exitCall is where a goroutine that exits goes on, as if SYSCALL had called it. It keeps the
// status.
func exitCall()

// exitEntry returns the address of exitCall.
func exitEntry() uintptr

// MakeExitCall makes a goroutine that is in the system call of runtime.exit go on with ExitCall,
// and then make that call again. It returns false if the goroutine's stack cannot be written to.
// Kernel context.
func (f *TrapFrame) MakeExitCall() bool {
	if !StoreUser64(f.SP-8, uint64(f.PC-SyscallSize)) {
		return false
	}
	f.SP -= 8
	f.PC = exitEntry()
	return true
}
